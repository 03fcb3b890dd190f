#include "executor/measurement.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include <sys/utsname.h>

#include <fmt/format.h>

#include "executor/execute.h"

namespace refit {
namespace {

std::vector<double> sorted_seconds(const std::vector<Iteration>& iterations) {
  std::vector<double> seconds;
  for (const Iteration& iteration : iterations) seconds.push_back(iteration.seconds);
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

}  // namespace

double Measurement::minimum_s() const {
  const auto seconds = sorted_seconds(iterations);
  return seconds.empty() ? 0 : seconds.front();
}

double Measurement::median_s() const {
  const auto seconds = sorted_seconds(iterations);
  if (seconds.empty()) return 0;
  const std::size_t half = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
}

double Measurement::maximum_s() const {
  const auto seconds = sorted_seconds(iterations);
  return seconds.empty() ? 0 : seconds.back();
}

std::int64_t largest_rank_bytes(const Moves& moves, int ranks) {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks), 0), received(sent);
  for (const Move& move : moves.moves) {
    sent[move.src.index()] += move.bytes();
    received[move.dst.index()] += move.bytes();
  }
  std::int64_t most = 0;
  for (std::size_t r = 0; r < sent.size(); ++r) most = std::max({most, sent[r], received[r]});
  return most;
}

std::vector<std::pair<std::string, std::string>> machine_environment() {
  std::vector<std::pair<std::string, std::string>> facts;
  utsname system{};
  if (uname(&system) == 0)
    facts.emplace_back("kernel", fmt::format("{} {}", system.sysname, system.release));
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) facts.emplace_back("processor", line.substr(colon + 2));
    break;
  }
  facts.emplace_back("cores", std::to_string(std::thread::hardware_concurrency()));
  return facts;
}

}  // namespace refit
