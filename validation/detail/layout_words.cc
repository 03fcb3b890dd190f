#include "validation/detail/layout_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "validation/detail/words.h"

namespace refit::detail {
namespace {

constexpr int kMostDegree = 1'000'000;

using Degree = std::optional<int> LayoutWords::*;

// Words with a degree behind them: "TP4", "TP=4", "tensor parallel size 4".
constexpr std::pair<std::string_view, Degree> kDegrees[] = {
    {"tp", &LayoutWords::tensor},
    {"tensor", &LayoutWords::tensor},
    {"pp", &LayoutWords::pipeline},
    {"pipeline", &LayoutWords::pipeline},
    {"vpp", &LayoutWords::virtual_pipeline},
    {"cp", &LayoutWords::context},
    {"context", &LayoutWords::context},
    {"ep", &LayoutWords::expert},
    {"expert", &LayoutWords::expert},
    {"etp", &LayoutWords::expert_tensor},
    {"dp", &LayoutWords::data},
    {"data", &LayoutWords::data},
    {"ddp", &LayoutWords::replicate},
    {"replicate", &LayoutWords::replicate},
    {"shard", &LayoutWords::shard},
    {"fsdp", &LayoutWords::shard},
    {"hsdp", &LayoutWords::shard},
};

constexpr std::pair<std::string_view, Degree> kLetters[] = {
    {"t", &LayoutWords::tensor},  {"p", &LayoutWords::pipeline}, {"d", &LayoutWords::data},
    {"c", &LayoutWords::context}, {"e", &LayoutWords::expert},
};

constexpr std::pair<std::string_view, LayoutEngine> kEngines[] = {
    {"megatron", LayoutEngine::megatron},   {"mcore", LayoutEngine::megatron},
    {"fsdp", LayoutEngine::fsdp},           {"hsdp", LayoutEngine::fsdp},
    {"dtensor", LayoutEngine::fsdp},        {"zero", LayoutEngine::fsdp},
    {"deepspeed", LayoutEngine::fsdp},      {"ddp", LayoutEngine::fsdp},
    {"automodel", LayoutEngine::automodel}, {"vllm", LayoutEngine::vllm},
    {"sglang", LayoutEngine::sglang},
};

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_filler(std::string_view word) {
  return one_of(word, {"parallel", "parallelism", "size", "degree", "model", "=", ":"});
}

bool is_engine_noun(std::string_view word) {
  return one_of(word,
                {"replica", "replicas", "engine", "engines", "instance", "instances", "worker",
                 "workers", "receiver", "receivers", "server", "servers", "copies"});
}

class LayoutReader {
 public:
  explicit LayoutReader(std::string_view text) : tokens_(split_words(text)) {}

  LayoutWords read() {
    for (at_ = 0; at_ < tokens_.size();) {
      if (tokens_[at_].number) {
        read_number();
      } else {
        read_word();
      }
    }
    return std::move(words_);
  }

 private:
  std::string_view word(std::size_t i) const {
    return i < tokens_.size() ? std::string_view(tokens_[i].text) : std::string_view();
  }
  std::optional<int> number(std::size_t i) const {
    if (i >= tokens_.size() || !tokens_[i].number) return std::nullopt;
    const int value = *tokens_[i].number;
    return value >= 1 && value <= kMostDegree ? std::optional(value) : std::nullopt;
  }

  static void set(std::optional<int>& degree, std::optional<int> value) {
    if (!degree) degree = value;
  }

  void read_word() {
    if (read_letters()) return;
    const std::string_view name = word(at_);
    for (const auto& [known, engine] : kEngines) {
      if (name != known) continue;
      // "Megatron-FSDP" is an engine of its own; otherwise the first one named counts.
      if (engine == LayoutEngine::fsdp && words_.engine == LayoutEngine::megatron && at_ >= 1 &&
          (word(at_ - 1) == "megatron" ||
           (word(at_ - 1) == "-" && at_ >= 2 && word(at_ - 2) == "megatron"))) {
        words_.engine = LayoutEngine::megatron_fsdp;
      } else if (words_.engine == LayoutEngine::unsaid) {
        words_.engine = engine;
      }
    }
    if (name == "attention" && one_of(word(at_ + 1), {"dp", "data"})) words_.attention_data = true;
    if (name == "dpa") {  // attention data parallelism in one word
      words_.attention_data = true;
      set(words_.data, number(at_ + 1));
    }
    if (name == "full" || name == "whole") words_.whole_model = true;
    if (name == "host" || name == "pinned" || name == "cpu") words_.host_memory = true;
    if (name == "per") set(words_.gpus_of_replica, gpus_behind(at_ + 1));
    if (name == "x" && number(at_ + 1) && is_free(at_ + 2)) {  // "TP8 x 16"
      set(words_.replicas, number(at_ + 1));
      at_ += 2;
      return;
    }
    for (const auto& [known, degree] : kDegrees) {
      if (name == known) return read_degree(name, words_.*degree);
    }
    ++at_;
  }

  // AReaL's "d4t2p2": letters with a number right behind, at least two of them together.
  bool is_letter_degree(std::size_t i) const {
    return word(i).size() == 1 && number(i + 1) && tokens_[i + 1].adjacent;
  }
  bool read_letters() {
    const auto follows = [&](std::size_t i) { return is_letter_degree(i) && tokens_[i].adjacent; };
    if (!is_letter_degree(at_) || !follows(at_ + 2)) return false;
    do {
      for (const auto& [letter, degree] : kLetters) {
        if (word(at_) == letter) set(words_.*degree, number(at_ + 1));
      }
      at_ += 2;
    } while (follows(at_));
    return true;
  }

  void read_degree(std::string_view name, std::optional<int>& degree) {
    std::size_t i = at_ + 1;
    const bool of_data = one_of(name, {"dp", "data"});
    while (is_filler(word(i)) || (word(i) == "-" && name != "fsdp") ||
           (of_data && word(i) == "attention")) {
      words_.attention_data |= word(i) == "attention";
      ++i;
    }
    const auto value = number(i);
    if (!value) {
      // "expert parallelism on", "EP on", but not "expert copies".
      const bool is_number = i < tokens_.size() && tokens_[i].number;  // but no degree
      const bool says_parallel = name == "ep" || one_of(word(at_ + 1), {"parallel", "parallelism"});
      if (one_of(name, {"ep", "expert"}) && says_parallel && !is_number && word(i) != "off" &&
          word(i) != "no") {
        words_.expert_parallel = true;
      }
      at_ = std::max(i, at_ + 1);
      return;
    }
    // FSDP1 and FSDP2 are names of PyTorch's two interfaces, not degrees.
    const bool is_name = name == "fsdp" && *value <= 2 && tokens_[i].adjacent && i == at_ + 1;
    if (name == "hsdp" && word(i + 1) == "x" && number(i + 2)) {
      set(words_.replicate, value);
      set(words_.shard, number(i + 2));
      i += 2;
    } else if (!is_name) {
      set(degree, value);
    }
    at_ = i + 1;
  }

  // "16 replicas", "16 vLLM workers", "8x TP4", "2 NVL domains", "64 GPUs".
  void read_number() {
    const auto value = number(at_);
    const std::size_t first = at_ + 1;
    ++at_;
    if (!value) return;
    if (word(first) == "x") {
      for (const auto& [known, degree] : kDegrees) {
        if (word(first + 1) == known) set(words_.replicas, value);
      }
    }
    for (std::size_t i = first; i < first + 4 && i < tokens_.size(); ++i) {
      if (tokens_[i].number || one_of(word(i), {",", ";", "(", ")", "of", "per"})) return;
      if (is_engine_noun(word(i)) && word(i + 1) != "per") return set(words_.replicas, value);
      if (one_of(word(i), {"domain", "domains"})) return set(words_.nvlink_domains, value);
      if (one_of(word(i), {"gpu", "gpus"})) {
        const bool of_replica = first >= 2 && one_of(word(first - 2), {"per", "of"});
        if (!of_replica) set(words_.gpus, value);
        return;
      }
    }
  }

  std::optional<int> gpus_behind(std::size_t i) const {
    return one_of(word(i + 1), {"gpu", "gpus"}) ? number(i) : std::nullopt;
  }

  bool is_free(std::size_t i) const {
    return i >= tokens_.size() || one_of(word(i), {",", ";", "(", ")"});
  }

  std::vector<Word> tokens_;
  std::size_t at_ = 0;
  LayoutWords words_;
};

}  // namespace

bool LayoutWords::says_layout() const {
  return engine == LayoutEngine::fsdp || engine == LayoutEngine::automodel ||
         engine == LayoutEngine::megatron_fsdp || tensor || pipeline || context || expert || data ||
         shard || replicate || gpus_of_replica || whole_model;
}

LayoutWords read_layout_words(std::string_view text) { return LayoutReader(text).read(); }

}  // namespace refit::detail
