#pragma once

#include <cstdint>
#include <string_view>

#include "base/codec.h"

namespace refit {

// Where weights are compared with their last version, coded, decoded and changed.
enum class CodingPlace { gpu, host };

std::string_view to_string(CodingPlace place);

// 1 % of BF16 weights: where rates of coding are measured.
inline constexpr double kUsualChangesPerByte = 0.01 / 2;

// How the coded parcels of a plan are made and taken in.
struct Coding {
  Codec codec = Codec::rice;
  CodingPlace place = CodingPlace::gpu;
  int cores = 0;       // of the host, per rank; 0 on GPUs
  bool staged = true;  // weights stay as they are until all changes have come
  double changes_per_byte = kUsualChangesPerByte;  // of content, on average

  friend bool operator==(const Coding&, const Coding&) = default;
};

inline constexpr int kMostCores = 1024;

// No coded chunk is shorter than this: what it is a change of, its length and its checksum.
inline constexpr std::int64_t kCodedHeaderBytes = 64;

}  // namespace refit
