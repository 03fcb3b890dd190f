#include <catch2/catch.hpp>

#include <map>
#include <string>

#include "base/error.h"
#include "executor/rank_environment.h"

namespace refit::test {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<RankEnvironment> read(const Variables& variables) {
  return environment_rank([&](const char* name) -> const char* {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

std::string fault(const Variables& variables) {
  try {
    read(variables);
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "no error";
}

void require_place(const Variables& variables, const std::string& launcher, int rank, int ranks,
                   int local, const std::string& host, int port) {
  const auto place = read(variables);
  REQUIRE(place);
  REQUIRE(place->launcher == launcher);
  REQUIRE(place->rank == Rank(rank));
  REQUIRE(place->ranks == ranks);
  REQUIRE(place->local_rank == local);
  REQUIRE(place->master_host == host);
  REQUIRE(place->master_port == port);
}

}  // namespace

TEST_CASE("environment: no launcher, no place", "[executor][tcp]") {
  REQUIRE_FALSE(read({}));
  REQUIRE_FALSE(read({{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}));
}

TEST_CASE("environment: each launcher's variables are understood", "[executor][tcp]") {
  require_place({{"REFIT_RANK", "3"},
                 {"REFIT_SIZE", "4"},
                 {"REFIT_LOCAL_RANK", "1"},
                 {"REFIT_MASTER", "h:29500"}},
                "refit", 3, 4, 1, "h", 29500);
  require_place({{"RANK", "9"},
                 {"WORLD_SIZE", "16"},
                 {"LOCAL_RANK", "1"},
                 {"MASTER_ADDR", "n0"},
                 {"MASTER_PORT", "29400"}},
                "torchrun", 9, 16, 1, "n0", 29400);
  require_place({{"OMPI_COMM_WORLD_RANK", "1"},
                 {"OMPI_COMM_WORLD_SIZE", "2"},
                 {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                 {"REFIT_MASTER", "n0:1000"}},
                "Open MPI", 1, 2, 1, "n0", 1000);
  require_place({{"SLURM_PROCID", "5"},
                 {"SLURM_STEP_ID", "0"},
                 {"SLURM_STEP_NUM_TASKS", "8"},
                 {"SLURM_LOCALID", "1"},
                 {"MASTER_ADDR", "n0"},
                 {"MASTER_PORT", "7"}},
                "Slurm", 5, 8, 1, "n0", 7);
  require_place({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"REFIT_MASTER", "n0:7"}}, "PMI", 0, 1, 0,
                "n0", 7);
}

TEST_CASE("environment: the first launcher in the list decides", "[executor][tcp]") {
  require_place({{"REFIT_RANK", "0"},
                 {"REFIT_SIZE", "2"},
                 {"RANK", "9"},
                 {"WORLD_SIZE", "16"},
                 {"REFIT_MASTER", "h:1"}},
                "refit", 0, 2, 0, "h", 1);
}

TEST_CASE("environment: torchrun's own store has MASTER_PORT, so rank 0 takes the next",
          "[executor][tcp]") {
  require_place({{"RANK", "0"},
                 {"WORLD_SIZE", "2"},
                 {"MASTER_ADDR", "h"},
                 {"MASTER_PORT", "29500"},
                 {"TORCHELASTIC_USE_AGENT_STORE", "True"}},
                "torchrun", 0, 2, 0, "h", 29501);
}

TEST_CASE("environment: a job on one host needs no address, and two jobs get two ports",
          "[executor][tcp]") {
  Variables job{{"OMPI_COMM_WORLD_RANK", "0"},
                {"OMPI_COMM_WORLD_SIZE", "2"},
                {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                {"PMIX_NAMESPACE", "1234"}};
  const auto first = read(job);
  REQUIRE(first->master_host == "127.0.0.1");
  REQUIRE(first->master_port >= 20000);
  REQUIRE(first->master_port < 30000);
  job["OMPI_COMM_WORLD_RANK"] = "1";
  REQUIRE(read(job)->master_port == first->master_port);
  job["PMIX_NAMESPACE"] = "1235";
  REQUIRE(read(job)->master_port != first->master_port);
}

TEST_CASE("environment: steps of one Slurm allocation are jobs of their own, its script is none",
          "[executor][tcp]") {
  Variables step{{"SLURM_PROCID", "1"},         {"SLURM_STEP_ID", "0"},
                 {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "2"},
                 {"SLURM_JOB_ID", "7"},         {"SLURM_NTASKS", "4"}};
  const auto first = read(step);
  REQUIRE(first->ranks == 2);
  REQUIRE(first->job == "7.0");
  step["SLURM_STEP_ID"] = "1";
  REQUIRE(read(step)->job == "7.1");
  REQUIRE(read(step)->master_port != first->master_port);
  // What a batch script sees (Slurm 22.05): its one process is rank 0 of the whole allocation.
  REQUIRE_FALSE(read({{"SLURM_PROCID", "0"},
                      {"SLURM_NTASKS", "4"},
                      {"SLURM_TASKS_PER_NODE", "4"},
                      {"SLURM_JOB_ID", "7"}}));
}

TEST_CASE("environment: malformed and inconsistent values are refused with what is wrong",
          "[executor][tcp]") {
  REQUIRE(fault({{"REFIT_RANK", "1"}}) == "environment: REFIT_RANK is set and REFIT_SIZE is not");
  REQUIRE(fault({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}}) ==
          "environment: RANK=2 is no number from 0 to 1");
  REQUIRE(fault({{"RANK", "x"}, {"WORLD_SIZE", "2"}}) ==
          "environment: RANK=x is no number from 0 to 1");
  REQUIRE(fault({{"RANK", "0"}, {"WORLD_SIZE", "0"}}) ==
          "environment: WORLD_SIZE=0 is no number from 1 to 1048576");
  REQUIRE(fault({{"RANK", "0"}, {"WORLD_SIZE", "2 "}}) ==
          "environment: WORLD_SIZE=2  is no number from 1 to 1048576");
  REQUIRE(fault({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}) ==
          "environment: LOCAL_RANK=2 is no number from 0 to 1");
  REQUIRE(fault({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}}) ==
          "environment: MASTER_ADDR is set and MASTER_PORT is not");
  REQUIRE(
      fault({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "65536"}}) ==
      "environment: MASTER_PORT=65536 is no number from 1 to 65535");
  REQUIRE(fault({{"REFIT_RANK", "0"}, {"REFIT_SIZE", "2"}, {"REFIT_MASTER", "host"}}) ==
          "environment: REFIT_MASTER=host is not host:port");
  REQUIRE(fault({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}) ==
          "environment: started by Slurm as one of 2 ranks, but where is rank 0? Set "
          "REFIT_MASTER=host:port");
}

}  // namespace refit::test
