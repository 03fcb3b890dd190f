#include "tests/cli/program.h"

namespace refit {
namespace {

TEST_CASE("models lists the catalog and shows one by role", "[cli][models]") {
  const Outcome list = refit_program({"models"});
  REQUIRE(list.code == 0);
  CHECK(has(list.out, "qwen3-30b-a3b"));
  CHECK(has(list.out, "deepseek-v3"));
  CHECK(has(list.out, "feed-forward"));
  const Outcome one = refit_program({"models", "qwen3-8b"});
  REQUIRE(one.code == 0);
  // Qwen3-8B: 36 layers; gate, up and down of each are dense feed-forward.
  CHECK(has(one.out, "36 layers"));
  CHECK(has(one.out, "dense_ffn"));
  CHECK_FALSE(has(one.out, "routed_expert"));
}

TEST_CASE("clusters lists the catalog and shows one with sources", "[cli][clusters]") {
  const Outcome list = refit_program({"clusters"});
  REQUIRE(list.code == 0);
  CHECK(has(list.out, "dgx_h100"));
  CHECK(has(list.out, "gb200_nvl72"));
  const Outcome one = refit_program({"clusters", "dgx_h100"});
  REQUIRE(one.code == 0);
  CHECK(has(one.out, "8 x 400.0 Gbit/s"));
  CHECK(has(one.out, "450.00 GB/s"));
  CHECK(has(one.out, "data sheet"));
}

TEST_CASE("a name that is not in the catalog exits with 2 and names what is", "[cli]") {
  const Outcome model = refit_program({"models", "qwen3-8c"});
  CHECK(model.code == 2);
  CHECK(has(model.err, "qwen3-8b"));
  const Outcome cluster = refit_program({"clusters", "dgx_h1000"});
  CHECK(cluster.code == 2);
  CHECK(has(cluster.err, "dgx_h100"));
}

}  // namespace
}  // namespace refit
