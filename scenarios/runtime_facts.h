#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace refit {

// What rules of runtimes ask and no layout shows: the `runtime` part of a scenario. What is not
// said has the value that nobody refuses.
struct RuntimeFacts {
  bool eplb = false;              // experts move at run time, with or without copies
  bool real_quant = false;        // generation quantises by itself
  bool quant_cfg = false;         // a quantisation of its own is set
  std::string kv_cache = "auto";  // type of its elements
  bool async_rollouts = false;    // generation goes on while training trains
  std::string algorithm = "grpo";
  bool importance_sampling = true;   // the loss corrects for generation's rounding
  bool reset_encoder_cache = false;  // after every refit
  std::optional<std::int64_t> refit_buffer_bytes;
  std::string s3_bucket;
};

}  // namespace refit
