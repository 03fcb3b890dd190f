#include "sim/coding_rates.h"

#include <algorithm>

namespace refit {
namespace {

// How many times as long as `rice` a codec takes, of a table measured in one run on one core with
// AVX-512 at 1.07 % changed: the scan alone 15.9 GB/s of BF16, with encode 11.5 (rice), 6.7
// (conditioned), 6.4 (nemo_xor), 7.6 (nemo_overwrite); bare changes applied at 24 GB/s, decoded and
// applied at 16.7, 8.2, 16.6, 18.7. Encode alone is then 1 / (1/11.5 - 1/15.9) = 41.6 GB/s, and so
// on.
struct Cost {
  double encode = 1;
  double decode = 1;
};

Cost cost_of(Codec codec) {
  switch (codec) {
    case Codec::rice:
      return {1, 1};
    case Codec::conditioned:  // 41.6 / 11.6, 54.9 / 12.5
      return {3.6, 4.4};
    case Codec::nemo_xor:  // 41.6 / 10.7, 54.9 / 53.8
      return {3.9, 1.02};
    case Codec::nemo_overwrite:  // 41.6 / 14.6, 54.9 / 84.7
      return {2.85, 0.65};
  }
  return {1, 1};
}

double within_memory(double rate, const NetworkModel& model) {
  const double memory = model.delta_memory_bytes_per_s;
  return memory > 0 ? std::min(rate, memory) : rate;
}

}  // namespace

CodingRates coding_rates(const Coding& coding, const NetworkModel& model) {
  const Cost cost = cost_of(coding.codec);
  // Each change takes its time; without any there is nothing to code.
  const double changes = coding.changes_per_byte / kUsualChangesPerByte;
  CodingRates rates{model.delta_scan_bytes_per_s, 0, 0, model.delta_apply_bytes_per_s};
  if (changes > 0) {
    rates.encode_bytes_per_s = model.delta_encode_bytes_per_s / (cost.encode * changes);
    rates.decode_bytes_per_s = model.delta_decode_bytes_per_s / (cost.decode * changes);
  }
  double times = coding.cores;
  if (coding.place == CodingPlace::gpu) {
    times = model.delta_scan_bytes_per_s > 0
                ? model.delta_gpu_bytes_per_s / model.delta_scan_bytes_per_s
                : 0;
  }
  rates.scan_bytes_per_s *= times;
  rates.encode_bytes_per_s *= times;
  rates.decode_bytes_per_s *= times;
  rates.apply_bytes_per_s *= times;
  if (coding.place == CodingPlace::host) {
    rates.scan_bytes_per_s = within_memory(rates.scan_bytes_per_s, model);
    rates.apply_bytes_per_s = within_memory(rates.apply_bytes_per_s, model);
  }
  return rates;
}

}  // namespace refit
