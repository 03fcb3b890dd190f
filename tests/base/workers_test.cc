#include "base/workers.h"

#include <csignal>
#include <new>
#include <stdexcept>

#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/error.h"

namespace refit {
namespace {

std::pair<ErrorCode, std::string> error_of(const std::vector<Job>& jobs) {
  try {
    run_in_workers(jobs, 2);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  FAIL("no error");
  return {};
}

TEST_CASE("results keep the order of the jobs, whichever ends first", "[base][workers]") {
  // The first job ends last: it waits for a byte that the last one writes.
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::vector<Job> jobs;
  jobs.push_back({"first", [&] {
                    char byte = 0;
                    if (::read(ends[0], &byte, 1) != 1) throw std::runtime_error("no byte");
                    return std::string("first");
                  }});
  jobs.push_back({"big", [] { return std::string(1 << 20, 'x'); }});  // more than a pipe holds
  jobs.push_back({"last", [&] {
                    if (::write(ends[1], "!", 1) != 1) throw std::runtime_error("no byte");
                    return std::string();
                  }});
  std::vector<std::size_t> told;
  const std::vector<std::string> texts =
      run_in_workers(jobs, 2, [&](std::size_t done) { told.push_back(done); });
  ::close(ends[0]);
  ::close(ends[1]);
  REQUIRE(texts.size() == 3);
  CHECK(texts[0] == "first");
  CHECK(texts[1] == std::string(1 << 20, 'x'));
  CHECK(texts[2].empty());
  CHECK(told == std::vector<std::size_t>{1, 2, 3});
}

TEST_CASE("the largest jobs start first, equal ones in their order", "[base][workers]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto job = [&](const char* name, int size) {
    return Job{name,
               [&ends, name] {
                 if (::write(ends[1], name, 1) != 1) throw std::runtime_error("no byte");
                 return std::string(name);
               },
               size};
  };
  // One at a time, so each writes its letter before the next starts.
  const std::vector<std::string> texts =
      run_in_workers({job("a", 0), job("b", 2), job("c", 1), job("d", 2)}, 1);
  char letters[4] = {};
  REQUIRE(::read(ends[0], letters, 4) == 4);
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK(std::string(letters, 4) == "bdca");
  CHECK(texts == std::vector<std::string>{"a", "b", "c", "d"});
}

TEST_CASE("an Error arrives with its code and message", "[base][workers]") {
  const auto [code, message] =
      error_of({{"a", [] { return std::string("fine"); }},
                {"b", []() -> std::string { throw Error(ErrorCode::check_failed, "b is wrong"); }},
                {"c", []() -> std::string { throw Error(ErrorCode::bad_input, "c is wrong"); }}});
  CHECK(code == ErrorCode::check_failed);
  CHECK(message == "b is wrong");
}

TEST_CASE("a crash, an unknown exception and lost memory are environment errors",
          "[base][workers]") {
  const auto crash = error_of({{"a", []() -> std::string {
                                  ::kill(::getpid(), SIGKILL);
                                  return {};
                                }}});
  CHECK(crash.first == ErrorCode::environment);
  CHECK(crash.second == "a: its process was ended by signal 9 (Killed)");
  const auto gone = error_of({{"a", []() -> std::string { ::_exit(0); }}});
  CHECK(gone.second == "a: its process ended with status 0 and without a result");
  const auto unknown = error_of({{"a", []() -> std::string { throw std::runtime_error("odd"); }}});
  CHECK(unknown.first == ErrorCode::environment);
  CHECK(unknown.second == "a: odd");
  const auto memory = error_of({{"a", []() -> std::string { throw std::bad_alloc(); }}});
  CHECK(memory.second == "a: out of memory");
}

TEST_CASE("a job that is lost leaves the others alone, and each end is told", "[base][workers]") {
  const std::vector<Job> jobs = {
      {"a", [] { return std::string("A"); }},
      {"b",
       []() -> std::string {
         ::kill(::getpid(), SIGKILL);
         return {};
       }},
      {"c", []() -> std::string { throw Error(ErrorCode::bad_input, "c is wrong"); }},
      {"d", [] { return std::string("D"); }}};
  std::vector<std::string> ends(jobs.size());
  for_each_outcome(jobs, 2, [&](std::size_t job, JobOutcome outcome) {
    ends[job] += outcome.error ? outcome.error->what() : outcome.text;
  });
  CHECK(ends == std::vector<std::string>{"A", "b: its process was ended by signal 9 (Killed)",
                                         "c is wrong", "D"});
}

TEST_CASE("no jobs give no results", "[base][workers]") { CHECK(run_in_workers({}, 2).empty()); }

}  // namespace
}  // namespace refit
