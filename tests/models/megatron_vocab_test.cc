// Padding of the vocabulary.
#include <catch2/catch.hpp>

#include "models/parcels.h"
#include "tests/models/megatron_case.h"

namespace refit::test {
namespace {

ModelSpec with_vocab(std::int64_t vocab) {
  ModelSpec model = small_model(2);
  model.vocab = vocab;
  TensorSpec embedding;
  embedding.name = "embedding";
  embedding.role = Role::embedding;
  embedding.dims = {{vocab, Axis::vocab, {}}, {4, Axis::none, {}}};
  model.tensors = {embedding};
  return model;
}

// Rows of every rank, one by one: padded to a multiple, cut evenly, what is beyond the end left
// out.
void require_rows(std::int64_t vocab, int tensor, std::optional<std::int64_t> divisor) {
  const ModelSpec model = with_vocab(vocab);
  MegatronOptions options = degrees(tensor, tensor, 1, 1);
  options.vocab_divisible_by = divisor;
  std::int64_t padded = vocab;
  while (divisor && padded % (*divisor * tensor) != 0) ++padded;
  const Layout layout = layout_of(*megatron(model, options), model.tensors.front());
  for (int rank = 0; rank < tensor; ++rank) {
    const std::int64_t each = padded / tensor;
    const Interval rows{std::min(vocab, each * rank), std::min(vocab, each * (rank + 1))};
    REQUIRE(held(layout, Rank(rank), 0) == IntervalSet(rows));
  }
}

}  // namespace

TEST_CASE("vocab_padding: rows are those of an evenly cut, padded vocabulary",
          "[models][megatron]") {
  for (const std::int64_t vocab : {1, 100, 49'155, 151'936}) {
    for (const int tensor : {1, 2, 4, 8}) {
      for (const std::int64_t divisor : {1, 2, 64, 128, 1280}) {
        CAPTURE(vocab, tensor, divisor);
        require_rows(vocab, tensor, divisor);
      }
    }
  }
  require_rows(151'936, 8, std::nullopt);
  REQUIRE(refusal([] { require_rows(49'155, 8, std::nullopt); }) ==
          "tensor: embedding can't be cut by 8 ranks: 49155 rows do not divide evenly; use 1");
}

TEST_CASE("vocab_padding: Bridge takes the largest power of two up to 128, but for some models",
          "[models][megatron]") {
  const auto divisor = [](std::int64_t vocab) { return bridge_vocab_divisor(with_vocab(vocab)); };
  REQUIRE(divisor(50'257) == 1);
  REQUIRE(divisor(49'155) == 1);
  REQUIRE(divisor(151'936) == 128);  // 2^7 x 1187
  REQUIRE(divisor(32'000) == 128);   // 2^8 x 125
  REQUIRE(divisor(128'004) == 4);
  for (const char* name : {"deepseek-v3", "deepseek-r1", "kimi-k2"}) {
    REQUIRE(bridge_vocab_divisor(catalog_model(name)) == 1280);
  }
  REQUIRE(bridge_vocab_divisor(catalog_model("kimi-k3")) == std::nullopt);
  REQUIRE(bridge_vocab_divisor(catalog_model("qwen3-8b")) == 128);
}

TEST_CASE("vocab_padding: 49,155 rows cut differently on both sides are all sent, and no others",
          "[models][megatron]") {
  // Megatron TP8 pads to 50,176 and cuts 6,272 each; TP4 without a divisor to 49,156 and 12,289.
  const ModelSpec model = with_vocab(49'155);
  MegatronOptions from = degrees(8, 8, 1, 1), to = degrees(4, 4, 1, 1);
  to.first = Rank(8);
  to.vocab_divisible_by = 1;
  const Refit refit = make_refit(model, *megatron(model, from), *megatron(model, to), 12);
  std::int64_t rows = 0;
  for (const Parcel& parcel : find_parcels(refit)) {
    for (const Fragment& fragment : parcel.fragments) {
      REQUIRE(fragment.region[1].end <= 49'155);
      rows += fragment.region[1].size();
    }
  }
  REQUIRE(rows == 49'155);
  REQUIRE(held(layout_of(*megatron(model, to), model.tensors.front()), Rank(8 + 3), 0) ==
          IntervalSet(Interval{36'867, 49'155}));
}

}  // namespace refit::test
