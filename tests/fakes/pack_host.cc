#include <cstring>

#include "executor/cuda/pack.h"
#include "tests/fakes/fake_cuda_nccl.h"

// Host versions of the kernels, in the stream's order. They use the kernels' own address arithmetic
// unit by unit, so a misaligned or stray access of a kernel is one here as well.
namespace refit {
namespace {

void copy_parts(const BoxPart* parts, int count, std::int64_t tiles, bool packing) {
  const char* who = packing ? "pack" : "unpack";
  if (!fake::check_access(parts, static_cast<std::size_t>(count) * sizeof(BoxPart),
                          alignof(BoxPart), who))
    return;
  std::int64_t before = 0;
  for (int p = 0; p < count; ++p) {
    const BoxPart& part = parts[p];
    if (part.first_tile != before) fake::note_fault("a list of parts counts its tiles wrong");
    before += (part.bytes + kTileBytes - 1) / kTileBytes;
    const auto width = static_cast<std::size_t>(part.width);
    for (std::int64_t at = 0; at < part.bytes; at += part.width) {
      std::byte* strided = strided_address(part, part.skip + at);
      std::byte* dense = part.dense + at;
      if (!fake::check_access(strided, width, width, who) ||
          !fake::check_access(dense, width, width, who)) {
        return;
      }
      std::memcpy(packing ? dense : strided, packing ? strided : dense, width);
    }
  }
  if (before != tiles) fake::note_fault("a list of parts counts its tiles wrong");
}

}  // namespace

cudaError_t launch_pack(const BoxPart* parts, int count, std::int64_t tiles, cudaStream_t stream) {
  fake::enqueue(stream, [=] { copy_parts(parts, count, tiles, true); });
  return cudaSuccess;
}

cudaError_t launch_unpack(const BoxPart* parts, int count, std::int64_t tiles,
                          cudaStream_t stream) {
  fake::enqueue(stream, [=] { copy_parts(parts, count, tiles, false); });
  return cudaSuccess;
}

cudaError_t launch_fill(std::byte* shard, const ShardIndex& index, const IntervalStart* table,
                        cudaStream_t stream) {
  fake::enqueue(stream, [=] {
    const auto size = static_cast<std::size_t>(index.element_bytes);
    for (std::int64_t i = 0; i < index.elements; ++i) {
      const std::uint64_t bits =
          element_bits(index.seed, index.tensor_class, global_element(index, table, i));
      std::byte* to = shard + static_cast<std::size_t>(i) * size;
      if (!fake::check_access(to, size, size, "fill")) return;
      std::memcpy(to, &bits, size);
    }
  });
  return cudaSuccess;
}

cudaError_t launch_check(const std::byte* shard, const ShardIndex& index,
                         const IntervalStart* table, CheckResult* result, cudaStream_t stream) {
  fake::enqueue(stream, [=] {
    for (std::int64_t i = 0; i < index.elements; ++i) {
      const std::uint64_t bits =
          element_bits(index.seed, index.tensor_class, global_element(index, table, i));
      const std::byte* found = shard + i * index.element_bytes;
      unsigned long long wrong = 0;
      for (int b = 0; b < index.element_bytes; ++b)
        wrong += std::to_integer<std::uint8_t>(found[b]) != byte_of(bits, b) ? 1 : 0;
      result->wrong_bytes += wrong;
      if (wrong > 0 && static_cast<unsigned long long>(i) < result->first)
        result->first = static_cast<unsigned long long>(i);
    }
  });
  return cudaSuccess;
}

}  // namespace refit
