#include <algorithm>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "planner/systems.h"
#include "tests/cli/program.h"

namespace refit {
namespace {

// Two rows of one machine: 4 GPUs send Qwen3-30B-A3B to 4 others.
const char* const kRows =
    "id,system,source,date,method,model,params_b,dtype,bytes_gb,train_gpus,train_gpu_type,train_"
    "nodes,"
    "train_layout,infer_gpus,infer_gpu_type,infer_nodes,infer_layout,interconnect,timing_scope,"
    "time_s,"
    "time_low_s,time_high_s,breakdown,cert_layout,cert_gpu_counts,cert_hardware,cert_bytes,cert_"
    "time,"
    "validation_grade,notes\n"
    "mine,verl,our log,2026-11-01,\"broadcast, single "
    "sender\",Qwen3-30B-A3B,30.5,BF16,61.1,4,GH200,1,FSDP 4,"
    "4,GH200,1,4 full-model receivers,25 GB/s per NIC,all,6.1,,,,,,,,,A,\n"
    "range,verl,our log,2026-11-01,\"broadcast, single sender\",Qwen3-30B-A3B,30.5,BF16,61.1,4 to "
    "8,GH200,1,"
    "FSDP 4,4,GH200,1,4 full-model receivers,25 GB/s per NIC,all,6.1,,,,,,,,,A,\n";

TEST_CASE(
    "validate: rows from elsewhere are predicted as the constants are, wrong ones are skipped",
    "[cli]") {
  const Folder folder;
  const std::string path = folder.write("rows.csv", kRows);
  const Outcome outcome = refit_program({"validate", "--rows", path, "--frozen", "--json"});
  REQUIRE(outcome.code == 0);
  REQUIRE(outcome.err.empty());
  const auto json = nlohmann::json::parse(outcome.out);
  CHECK(json.at("schema") == "refit.validation/1");
  CHECK(json.at("frozen") == true);
  CHECK(json.at("source") == path);
  REQUIRE(json.at("rows").size() == 1);
  const auto& row = json.at("rows").at(0);
  CHECK(row.at("id") == "mine");
  CHECK(row.at("system") == "verl_broadcast");
  CHECK(row.at("held_out_error") == row.at("error"));
  CHECK_FALSE(row.contains("system_held_out_error"));
  REQUIRE(json.at("skipped").size() == 1);
  CHECK(json.at("skipped").at(0).at("field") == "train_gpus");
  CHECK(has(json.at("skipped").at(0).at("reason").get<std::string>(), "'4 to 8' is not right"));

  // The same setting is in the fit: without --frozen its constants are those without it.
  const auto known =
      nlohmann::json::parse(refit_program({"validate", "--rows", path, "--json"}).out)
          .at("rows")
          .at(0);
  CHECK(known.at("predicted_s") == row.at("predicted_s"));
  CHECK(known.contains("system_held_out_error"));
}

TEST_CASE("validate: a file without rows to predict prints what it skipped", "[cli]") {
  const Folder folder;
  std::string rows = kRows;
  rows.erase(rows.find("mine,"), rows.find("range,") - rows.find("mine,"));
  const Outcome outcome =
      refit_program({"validate", "--rows", folder.write("rows.csv", rows), "--frozen"});
  CHECK(outcome.code == 0);
  CHECK(has(outcome.out, "range    train_gpus  '4 to 8' is not right"));
}

TEST_CASE("validate: options that do not go together and files that are none", "[cli]") {
  const Folder folder;
  const Outcome frozen = refit_program({"validate", "--frozen"});
  CHECK(frozen.code == 2);
  CHECK(has(frozen.err, "name others with --rows FILE"));
  CHECK(refit_program({"validate", "--page", "--json"}).code == 2);
  CHECK(refit_program({"validate", "--page", "--rows", "rows.csv"}).code == 2);
  CHECK(refit_program({"validate", "--rows", folder / "missing.csv"}).code == 3);
  const Outcome table =
      refit_program({"validate", "--rows", folder.write("x.csv", "id,system\nA,B\n")});
  CHECK(table.code == 2);
  CHECK(has(table.err, "x.csv: column 'source' is missing; the header needs it"));
}

TEST_CASE("systems: every preset is listed with its timer", "[cli]") {
  const Outcome outcome = refit_program({"systems"});
  REQUIRE(outcome.code == 0);
  for (const System& system : systems()) {
    CAPTURE(system.name);
    CHECK(has(outcome.out, std::string(system.name) + "  (" +
                               (system.calibrated ? "calibrated" : "no published time in the fit") +
                               ")\n  " + std::string(system.does) +
                               "\n  its timer: " + std::string(system.includes) + "\n"));
  }
}

}  // namespace
}  // namespace refit
