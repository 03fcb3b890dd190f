// The language of Megatron's pipeline_model_parallel_layout: E embedding, t decoder layer, m
// prediction module, L loss, | the end of a chunk, x*n a repetition of one character, (…)*n of
// several; commas mean nothing, and characters are counted without them.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "models/megatron_stages.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::bad_input, "pipeline_layout: " + message);
}

// Writes repetitions out, never more than `most` characters.
class Unroller {
 public:
  Unroller(std::string_view text, std::size_t most) : text_(text), most_(most) {}

  std::string unrolled() {
    std::string all;
    while (at_ < text_.size()) {
      const std::string item = next_item();
      append(all, item, repetition());
    }
    return all;
  }

 private:
  std::string next_item() {
    const char c = text_[at_];
    if (c != '(') {
      if (std::string_view("EtmL|").find(c) == std::string_view::npos) {
        refuse(fmt::format("'{}' at character {} is unknown; use E, t, m, L, |, x*3 or (xy)*3", c,
                           at_ + 1));
      }
      ++at_;
      return std::string(1, c);
    }
    const std::size_t close = text_.find(')', at_);
    if (close == std::string_view::npos || close + 1 >= text_.size() || text_[close + 1] != '*') {
      refuse(fmt::format("the bracket at character {} needs a number of repetitions: (tt|)*3",
                         at_ + 1));
    }
    Unroller inside(text_.substr(0, close), most_);
    inside.at_ = at_ + 1;
    std::string item = inside.unrolled();
    at_ = close + 1;
    return item;
  }

  std::size_t repetition() {
    if (at_ >= text_.size() || text_[at_] != '*') return 1;
    std::size_t times = 0;
    const char* begin = text_.data() + at_ + 1;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), times);
    if (error != std::errc{}) {
      refuse(fmt::format("'*' at character {} needs a number after it, such as t*3", at_ + 1));
    }
    at_ += 1 + static_cast<std::size_t>(end - begin);
    return times;
  }

  void append(std::string& all, const std::string& item, std::size_t times) const {
    if (item.empty()) return;
    if (times > (most_ - std::min(most_, all.size())) / item.size()) {
      refuse(fmt::format("more than {} layers and chunks are written; the model has fewer", most_));
    }
    for (std::size_t i = 0; i < times; ++i) all += item;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t most_;
};

// One embedding at the start, one loss at the end, all layers, then all prediction modules.
void check_contents(const std::string& text, const ModelSpec& model) {
  const auto count = [&](char c) { return std::count(text.begin(), text.end(), c); };
  if (count('E') != 1 || !text.starts_with('E')) {
    refuse("the embedding (E) must stand once, at the very beginning");
  }
  if (count('L') != 1 || !text.ends_with('L')) {
    refuse("the loss (L) must stand once, at the very end");
  }
  if (count('t') != model.layers) {
    refuse(fmt::format("{} decoder layers (t) are written, but the model has {}", count('t'),
                       model.layers));
  }
  const bool sends_mtp = std::any_of(model.tensors.begin(), model.tensors.end(),
                                     [](const TensorSpec& tensor) { return tensor.mtp; });
  if (sends_mtp && count('m') == 0) {
    refuse("the model's prediction module is sent, but no m says where it is trained");
  }
  if (count('m') > 0 && text.find('m') < text.rfind('t')) {
    refuse("prediction modules (m) must stand behind all decoder layers (t)");
  }
}

}  // namespace

std::vector<PipelineChunk> read_pipeline_layout(const ModelSpec& model,
                                                const MegatronOptions& options) {
  // Chunks may be empty, but a bar each is needed for every one.
  const std::int64_t most = std::int64_t{model.layers} * 2 + 2 * std::int64_t{options.gpus} + 64;
  std::string written = options.pipeline_layout;
  std::erase(written, ',');
  const std::string text = Unroller(written, static_cast<std::size_t>(most)).unrolled();
  check_contents(text, model);

  std::vector<PipelineChunk> chunks(1);
  for (const char c : text) {
    if (c == '|') chunks.emplace_back();
    if (c == 't') ++chunks.back().layers;
    if (c == 'm') chunks.back().mtp = true;
  }
  const auto stages = static_cast<std::size_t>(options.pipeline);
  if (chunks.size() % stages != 0) {
    refuse(fmt::format("{} chunks do not divide evenly over {} stages; use {} or {} bars",
                       chunks.size(), stages,
                       std::max(chunks.size() / stages, std::size_t{1}) * stages - 1,
                       (chunks.size() / stages + 1) * stages - 1));
  }
  const std::size_t rounds = chunks.size() / stages;
  if (options.virtual_pipeline > 1 &&
      rounds != static_cast<std::size_t>(options.virtual_pipeline)) {
    throw Error(ErrorCode::bad_input,
                fmt::format("virtual_pipeline: {} chunks a stage, but pipeline_layout has {}; make "
                            "them equal or leave this out",
                            options.virtual_pipeline, rounds));
  }
  std::size_t with_mtp = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (!chunks[i].mtp) continue;
    if (++with_mtp > 1) refuse("all prediction modules (m) must be in one chunk");
    if (i < chunks.size() - stages || (i % stages == 0 && stages > 1)) {
      refuse("prediction modules (m) must be in the last chunk of a stage, and not on the first");
    }
  }
  return chunks;
}

}  // namespace refit
