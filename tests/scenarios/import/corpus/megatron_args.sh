A=(--num-layers 61 '--moe-layer-freq' ([0]*3+[1]*58) --tensor-model-parallel-size ${TP:-8} --actor-num-nodes 2 --colocate --rollout-num-gpus-per-engine "8")
run ${A[@]} $(nproc)
