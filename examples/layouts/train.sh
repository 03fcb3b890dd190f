#!/bin/bash
# Flags as slime takes them: Qwen3-30B-A3B on two nodes, rollouts on the same GPUs.
TP=4
MODEL_ARGS=(
  --num-layers 48 --hidden-size 2048 --num-attention-heads 32 --num-query-groups 4
  --vocab-size 151936 --num-experts 128 --moe-ffn-hidden-size 768
  --moe-layer-freq [0]*0+[1]*48
)
python3 train.py ${MODEL_ARGS[@]} \
  --tensor-model-parallel-size ${TP} --expert-model-parallel-size 8 \
  --expert-tensor-parallel-size 1 \
  --actor-num-nodes 2 --colocate \
  --rollout-num-gpus-per-engine 8 --sglang-ep-size 8
