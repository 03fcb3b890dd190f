// Padded vocabularies from the file to the last byte. Megatron pads rows to a multiple of
// 128 x tensor, vLLM to one of 64; both cut what they padded, so that the cuts differ, and padding
// is nobody's.
#include <catch2/catch.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "executor/execute.h"
#include "planner/plan.h"
#include "scenarios/scenario.h"
#include "schedule/verify.h"

namespace refit::test {
namespace {

constexpr std::int64_t kHidden = 16;
constexpr int kEngines = 2;

// A file that is gone when the test is over.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / fmt::format("refit-{}.json", getpid()))
                  .string()) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A narrow model with all rows of a real vocabulary. Ranks 0-7 train with TP8; ranks 8-15 are two
// engines of TP4.
Scenario scenario_with(std::int64_t vocab) {
  const TemporaryFile config(fmt::format(
      R"({{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": {},
           "intermediate_size": 32, "num_attention_heads": 8, "num_key_value_heads": 8,
           "num_hidden_layers": 1, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
           "vocab_size": {}}})",
      kHidden, vocab));
  return parse_scenario(
      fmt::format("scenario: vocabulary\ncluster: {{catalog: dgx_h100, nodes: 2}}\nmodel: {}\n"
                  "training: {{engine: megatron, gpus: 8, tensor: 8}}\n"
                  "generation: {{engine: vllm, gpus: 8, tensor: 4}}\n"
                  "plan: {{bucket: 1 MB}}\n",
                  config.path()),
      "s.yaml");
}

bool is_vocabulary(const TensorClass& c) {
  return c.role == Role::embedding || c.role == Role::lm_head;
}

// Rows of the embedding on a rank: dims are member, row, column.
IntervalSet rows_on(const Layout& layout, int index) { return layout.shard(index)[1]; }

// Bytes of the embedding and the head in all transfers of a plan without chunks.
std::int64_t vocabulary_bytes(const Schedule& schedule, const Refit& refit) {
  std::int64_t bytes = 0;
  for (const Op& op : schedule.ops) {
    if (op.kind != OpKind::transfer) continue;
    for (const ParcelId id : schedule.cargos[op.cargo.index()].parcels) {
      for (const Fragment& fragment : schedule.parcels[id.index()].fragments) {
        if (is_vocabulary(refit.classes[fragment.tensor_class.index()]))
          bytes += bytes_of(refit, fragment);
      }
    }
  }
  return bytes;
}

// Both tensors arrive in both engines, row by row, and nothing else.
void require_unpadded(Scenario s, std::int64_t vocab) {
  const std::int64_t tensor_bytes = vocab * kHidden * 2;
  s.plan.chunks = 1;
  const Schedule direct = plan(s.refit, s.cluster, named_policy("direct"), s.plan);
  CHECK(vocabulary_bytes(direct, s.refit) == 2 * kEngines * tensor_bytes);
  std::int64_t parcels = 0;
  for (const Parcel& parcel : direct.parcels) {
    for (const Fragment& fragment : parcel.fragments) {
      const TensorClass& c = s.refit.classes[fragment.tensor_class.index()];
      if (!is_vocabulary(c)) continue;
      parcels += bytes_of(s.refit, fragment);
      CHECK(fragment.region[1].end <= vocab);
    }
  }
  CHECK(parcels == 2 * tensor_bytes);
}

void require_right_bytes(const Scenario& s) {
  for (const char* strategy : {"direct", "reshard", "gather_broadcast", "hybrid", "optimal"}) {
    CAPTURE(strategy);
    const Schedule schedule = plan(s.refit, s.cluster, named_policy(strategy), s.plan);
    REQUIRE(verify(schedule, s.refit).empty());
    ExecuteOptions once;
    once.iterations = 1;
    once.warmup = 0;
    CHECK(execute_inproc(schedule, s.refit, s.cluster, once).wrong_bytes == 0);
  }
}

const TensorClass& embedding(const Scenario& s) {
  for (const TensorClass& c : s.refit.classes) {
    if (c.role == Role::embedding) return c;
  }
  FAIL("no embedding");
  return s.refit.classes.front();
}

}  // namespace

TEST_CASE("vocabulary: 49,155 rows padded to 50,176 and to 49,216 arrive whole and without padding",
          "[scenarios][vocabulary]") {
  const Scenario s = scenario_with(49'155);
  // Megatron: a multiple of 128 x 8 = 1,024: 49 of them, 6,272 rows to a rank; the last has from
  // 43,904 on. vLLM: 769 x 64 = 49,216, 12,304 to a rank; the last has from 36,912 on.
  const TensorClass& c = embedding(s);
  REQUIRE(rows_on(c.source, 6) == IntervalSet(Interval{37'632, 43'904}));
  REQUIRE(rows_on(c.source, 7) == IntervalSet(Interval{43'904, 49'155}));
  REQUIRE(rows_on(c.destination, 2) == IntervalSet(Interval{24'608, 36'912}));
  REQUIRE(rows_on(c.destination, 3) == IntervalSet(Interval{36'912, 49'155}));
  require_unpadded(s, 49'155);
  require_right_bytes(s);
}

TEST_CASE("vocabulary: 151,936 rows padded on one side only arrive whole and without padding",
          "[scenarios][vocabulary]") {
  const Scenario s = scenario_with(151'936);
  // Megatron: 149 x 1,024 = 152,576, 19,072 to a rank; the last has from 133,504 on. vLLM: 2,374 x
  // 64 are 151,936 as they are, 37,984 to a rank.
  const TensorClass& c = embedding(s);
  REQUIRE(rows_on(c.source, 7) == IntervalSet(Interval{133'504, 151'936}));
  REQUIRE(rows_on(c.destination, 2) == IntervalSet(Interval{75'968, 113'952}));
  REQUIRE(rows_on(c.destination, 3) == IntervalSet(Interval{113'952, 151'936}));
  require_unpadded(s, 151'936);
  require_right_bytes(s);
}

}  // namespace refit::test
