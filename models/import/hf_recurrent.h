#pragma once

#include <cstdint>

#include "models/import/hf_keys.h"
#include "models/import/hf_tensor_list.h"

namespace refit {

// Layers that carry a state along the sequence instead of looking back at every token. All are cut
// by heads; matrices that hold several things name them as blocks, each cut on its own.

struct Mamba2Shape {
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t groups = 0;  // B and C are shared by the heads of a group
  std::int64_t state = 0;
  std::int64_t conv_kernel = 0;
  bool conv_bias = false;
};

Mamba2Shape read_mamba2(const HfKeys& keys);
void list_mamba2(const Mamba2Shape& shape, const TensorScope& at);

// Gated delta net.
struct GdnShape {
  std::int64_t hidden = 0;
  std::int64_t key_heads = 0;
  std::int64_t key_width = 0;  // key heads x key head dim
  std::int64_t value_heads = 0;
  std::int64_t value_width = 0;
  std::int64_t value_head_dim = 0;
  std::int64_t conv_kernel = 0;
  // Qwen3-Next: q, k, v and z of one key head lie together in one matrix, b and a in another, so
  // that plain row cuts by heads are right there.
  bool interleaved = false;
};

GdnShape read_gdn(const HfKeys& keys);
void list_gdn(const GdnShape& shape, const TensorScope& at);

// Kimi delta attention, with a full-rank output gate.
struct KdaShape {
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t conv_kernel = 0;
};

KdaShape read_kda(const HfKeys& keys, std::int64_t hidden);
void list_kda(const KdaShape& shape, const TensorScope& at);

// Lightning attention of MiniMax-M1.
struct LightningShape {
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
};

void list_lightning(const LightningShape& shape, const TensorScope& at);

}  // namespace refit
