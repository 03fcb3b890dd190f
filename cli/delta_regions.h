#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "delta/delta_file.h"
#include "models/import/safetensors_checkpoint.h"

namespace refit {

// A checkpoint as the regions of a delta: each tensor that has bytes is one, whole and of one dim,
// with its place among the names in order as number. Elements of 8 bytes are two of 4; what is
// smaller than a byte goes by bytes.

// `header` with model_id and plan_hash of these tensors, and no changes yet.
DeltaIndex regions_of(const SafetensorsCheckpoint& checkpoint, DeltaHeader header);

// Error(bad_input) unless both have the same tensors, of the same dtypes and shapes.
void require_same_tensors(const SafetensorsCheckpoint& a, const SafetensorsCheckpoint& b);

// Error(bad_input) unless the delta is for such tensors.
void require_fits(const DeltaFile& delta, const SafetensorsCheckpoint& checkpoint);

// The elements of a segment, where they lie.
std::span<const std::byte> elements_of(const SafetensorsCheckpoint& checkpoint,
                                       const DeltaIndex& index, std::size_t position);
std::span<std::byte> writable_elements_of(SafetensorsCheckpoint& checkpoint,
                                          const DeltaIndex& index, std::size_t position);

// "model.embed.weight, elements 1,048,576 to 2,097,151", for messages.
std::string place_in(const SafetensorsCheckpoint& checkpoint, const DeltaIndex& index,
                     std::size_t position);

// A .rfd file, mapped and read.
class OpenDelta {
 public:
  explicit OpenDelta(const std::string& path) : file_(path), delta_(file_.bytes(), path) {}
  const DeltaFile& delta() const { return delta_; }
  std::uint64_t bytes() const { return file_.bytes().size(); }

 private:
  MappedFile file_;
  DeltaFile delta_;
};

}  // namespace refit
