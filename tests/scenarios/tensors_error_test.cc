// One bad input per rule of a scenario's `tensors`.
#include "tests/scenarios/error_of.h"

namespace refit::test {
namespace {

const char* const kGood = R"(scenario: good
cluster: {catalog: dgx_h100, nodes: 2}
tensors:
  - name: w
    shape: [8, 6]
    dtype: bf16
    role: attention
    count: 2
    source:
      ranks: 0..3
      mesh: {a: 2, b: 2}
      placements: [shard(0), shard(1)]
    destination:
      ranks: [8, 10..12]
      placements: [replicate]
)";

std::string with(const std::string& from, const std::string& to) {
  return error_of(changed(kGood, from, to));
}

}  // namespace

TEST_CASE("the good tensors of this file are good", "[scenarios][errors]") {
  CHECK(error_of(kGood) == "read without an error");
}

TEST_CASE("keys of a tensor are known, present and of their type", "[scenarios][errors]") {
  CHECK(with("shape:", "shap:") ==
        "s.yaml:5:5: tensors[0]: unknown key 'shap'; did you mean 'shape'? known keys: name, "
        "shape, dtype, "
        "role, count, source, destination");
  CHECK(with("placements:", "placement:") ==
        "s.yaml:12:7: tensors[0].source: unknown key 'placement'; did you mean 'placements'? known "
        "keys: "
        "ranks, mesh, placements");
  CHECK(with("    shape: [8, 6]\n", "") == "s.yaml:4:5: tensors[0]: missing key 'shape'");
  CHECK(with("      ranks: 0..3\n", "") == "s.yaml:10:7: tensors[0].source: missing key 'ranks'");
  CHECK(with("      placements: [replicate]\n", "") ==
        "s.yaml:14:7: tensors[0].destination: missing key 'placements'");
  CHECK(with("[8, 6]", "8") == "s.yaml:5:12: tensors[0].shape: expected a list, got '8'");
  CHECK(with("bf16", "bf17")
            .find("s.yaml:6:12: tensors[0].dtype: 'bf17' is not an element type; use one "
                  "of bf16, ") == 0);
  CHECK(with("bf16", "[bf16]") == "s.yaml:6:12: tensors[0].dtype: expected text, got a list");
  CHECK(
      with("attention", "atention")
          .find("s.yaml:7:11: tensors[0].role: 'atention' is not a role; use one of embedding, ") ==
      0);
  CHECK(error_of("scenario: s\ncluster: {catalog: dgx_h100, nodes: 2}\ntensors: []\n") ==
        "s.yaml:3:10: tensors: at least one tensor is needed");
  CHECK(error_of("scenario: s\ncluster: {catalog: dgx_h100, nodes: 2}\ntensors: {w: 1}\n") ==
        "s.yaml:3:10: tensors: expected a list, got a map");
}

TEST_CASE("a name is given once", "[scenarios][errors]") {
  const std::string again =
      "  - {name: w, shape: [4], source: {ranks: 0, placements: [replicate]}, destination: {ranks: "
      "1, "
      "placements: [replicate]}}\n";
  CHECK(error_of(kGood + again) ==
        "s.yaml:16:12: tensors[1].name: 'w' is named twice; give each its own name");
}

TEST_CASE("ranks are GPUs of the cluster, each named once", "[scenarios][errors]") {
  const auto ranks = [](const std::string& text) { return with("[8, 10..12]", text); };
  CHECK(ranks("16") ==
        "s.yaml:14:14: tensors[0].destination.ranks: rank 16 is named, but the cluster has "
        "GPUs 0 to 15");
  CHECK(ranks("[8, 10..4000000]") ==
        "s.yaml:14:18: tensors[0].destination.ranks[1]: rank 4000000 is named, but the cluster has "
        "GPUs 0 "
        "to 15");
  CHECK(ranks("[8, 10, 8]") ==
        "s.yaml:14:22: tensors[0].destination.ranks[2]: rank 8 is listed twice; list each once");
  CHECK(ranks("[8..11, 10..12]") ==
        "s.yaml:14:22: tensors[0].destination.ranks[1]: rank 10 is listed twice; list each once");
  CHECK(ranks("12..8") ==
        "s.yaml:14:14: tensors[0].destination.ranks: '12..8' is no rank; write 5, or 0..3 for 0 to "
        "3");
  CHECK(ranks("-1") ==
        "s.yaml:14:14: tensors[0].destination.ranks: '-1' is no rank; write 5, or 0..3 for 0 to 3");
  CHECK(
      ranks("8-11") ==
      "s.yaml:14:14: tensors[0].destination.ranks: '8-11' is no rank; write 5, or 0..3 for 0 to 3");
  CHECK(ranks("99999999999") ==
        "s.yaml:14:14: tensors[0].destination.ranks: '99999999999' is no rank; write 5, or 0..3 "
        "for 0 to "
        "3");
  CHECK(ranks("[]") ==
        "s.yaml:14:14: tensors[0].destination.ranks: a layout needs at least one rank");
}

TEST_CASE("a mesh has as many places as there are ranks", "[scenarios][errors]") {
  const auto mesh = [](const std::string& text) { return with("{a: 2, b: 2}", text); };
  CHECK(mesh("{a: 2, b: 4}") ==
        "s.yaml:11:13: tensors[0].source.mesh: mesh axes make 8 coordinates but 4 ranks are "
        "listed; make "
        "them equal");
  CHECK(mesh("{a: 2, b: 0}") ==
        "s.yaml:11:23: tensors[0].source.mesh.b: expected an integer from 1 to 1000000, got '0'");
  CHECK(mesh("{a: 1000000, b: 1000000}") ==
        "s.yaml:11:13: tensors[0].source.mesh: mesh has more than 1000000 ranks; use fewer");
  CHECK(mesh("[2, 2]") == "s.yaml:11:13: tensors[0].source.mesh: expected a map, got a list");
}

TEST_CASE("there is one placement per axis, of a dim that the tensor has", "[scenarios][errors]") {
  const auto placements = [](const std::string& text) {
    return with("[shard(0), shard(1)]", text);
  };
  CHECK(placements("[shard(0)]") ==
        "s.yaml:12:19: tensors[0].source.placements: 1 placements for a mesh of 2 axes; give one "
        "per axis, "
        "outermost first");
  CHECK(placements("[shard(0), shard(2)]") ==
        "s.yaml:12:30: tensors[0].source.placements[1]: dim 2 of a tensor with 2 dims; use 0 to 1");
  for (const char* word :
       {"shards(0)", "shard", "shard()", "shard(x)", "shard(-1)", "split(0)", "Replicate"}) {
    CHECK(placements(std::string("[shard(0), ") + word + "]") ==
          std::string("s.yaml:12:30: tensors[0].source.placements[1]: '") + word +
              "' is no placement; write replicate, shard(0) or shard(0, chunk | balanced | even)");
  }
  CHECK(placements("[shard(0), 'shard(1, evenly)']") ==
        "s.yaml:12:30: tensors[0].source.placements[1]: 'shard(1, evenly)' is no placement; write "
        "replicate, shard(0) or shard(0, chunk | balanced | even)");
  CHECK(placements("shard(0)") ==
        "s.yaml:12:19: tensors[0].source.placements: expected a list, got 'shard(0)'");
  // 6 columns over 4 ranks.
  CHECK(error_of(changed(changed(kGood, "mesh: {a: 2, b: 2}", "mesh: {a: 4}"),
                         "[shard(0), shard(1)]", "['shard(1, even)']")) ==
        "s.yaml:12:19: tensors[0].source.placements: a dim of 6 rows does not divide evenly into "
        "4; use a "
        "divisor of 6, or split: chunk or balanced");
}

TEST_CASE("absurd sizes are refused before they cost memory", "[scenarios][errors]") {
  CHECK(with("[8, 6]", "[]") == "s.yaml:5:12: tensors[0].shape: a tensor needs at least one dim");
  CHECK(with("[8, 6]", "[0, 6]") ==
        "s.yaml:5:13: tensors[0].shape[0]: expected an integer from 1 to 1099511627776, got '0'");
  CHECK(with("[8, 6]", "[1099511627776, 1099511627776]") ==
        "s.yaml:5:12: tensors[0].shape: the tensor has more than 2^50 elements; use fewer");
  CHECK(with("[8, 6]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]") ==
        "s.yaml:5:12: tensors[0].shape: a tensor has at most 16 dims");
  CHECK(with("count: 2", "count: 1000001") ==
        "s.yaml:8:12: tensors[0].count: expected an integer from 1 to 1000000, got '1000001'");
  // Two tensors of 700,000 members.
  const std::string many =
      "  - {name: v, shape: [4], count: 700000, source: {ranks: 0, placements: [replicate]}, "
      "destination: "
      "{ranks: 1, placements: [replicate]}}\n";
  CHECK(error_of(changed(kGood, "count: 2", "count: 700000") + many) ==
        "s.yaml:16:34: tensors[1].count: more than 1000000 tensors up to here; use fewer");
  // 2^50 elements of 8 B on a cluster of 1,024 GPUs could be held 2^63 times.
  CHECK(
      error_of(
          "scenario: s\ncluster: {catalog: dgx_h100, nodes: 128}\ntensors:\n"
          "  - {name: w, shape: [1099511627776, 1024], dtype: f64, source: {ranks: 0, placements: "
          "[replicate]}, destination: {ranks: 1, placements: [replicate]}}\n") ==
      "s.yaml:4:22: tensors[0].shape: 9007199254740992 B of tensors up to here; with 1024 GPUs use "
      "at "
      "most 2251799813685248");
}

}  // namespace refit::test
