#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "checks/finding.h"
#include "checks/nemo_rl.h"

namespace refit {

// Collects what a transport of NeMo RL would refuse.
class NemoRlRules {
 public:
  explicit NemoRlRules(std::string transport) : transport_(std::move(transport)) {}

  // `holds`, or a finding about `key` of the recipe.
  void require(bool holds, const char* rule, const char* key, std::string message,
               std::string cure);

  Findings take() && { return std::move(findings_); }

 private:
  std::string transport_;
  Findings findings_;
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words);

// NeMo RL's `precision: fp8` is blockwise, or MXFP8 with `is_mx`.
bool is_fp8(const std::string& precision);

// What NeMo RL refuses with any transport between separate clusters.
void require_general(const NemoRlCase& c, NemoRlRules& rules);

// The caches of encoders are reset by the default transport and by nccl_reshard only.
void require_no_encoder_reset(const NemoRlCase& c, NemoRlRules& rules);

}  // namespace refit
