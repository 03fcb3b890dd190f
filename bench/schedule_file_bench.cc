// From a schedule file to its prediction: what `refit simulate FILE --wire-only` costs, against the
// number of transfers of 16 MiB. 2,048 GPUs hold a matrix in 64 shards of 32 replicas each, 2,048
// others want all of it.
//
//   conflict-free  rounds in which every source sends to one destination and no two to the same
//   random         from a replica drawn at random, in an order drawn at random; a source sends one
//                  transfer at a time, a destination takes what comes
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/exponent.h"
#include "bench/measured_child.h"
#include "models/parcels.h"
#include "scenarios/scenario.h"
#include "schedule/builder.h"
#include "schedule/schedule_json.h"

namespace refit::bench {
namespace {

constexpr int kShards = 64, kReplicas = 32;
constexpr int kSources = kShards * kReplicas, kDestinations = 2048;
constexpr std::int64_t kTransferBytes = std::int64_t{16} << 20;

// A shard is `chunks` rows of 16 MiB, so that there are chunks * 131,072 transfers.
std::string scenario_text(int chunks) {
  return fmt::format(R"(scenario: a schedule file
cluster: {{catalog: dgx_h100, nodes: {}}}
tensors:
  - name: matrix
    shape: [{}, {}]
    dtype: bf16
    source: {{ranks: 0..{}, mesh: {{shard: {}, replica: {}}}, placements: [shard(0), replicate]}}
    destination: {{ranks: {}..{}, placements: [replicate]}}
)",
                     (kSources + kDestinations) / 8, kShards * chunks, kTransferBytes / 2,
                     kSources - 1, kShards, kReplicas, kSources, kSources + kDestinations - 1);
}

// One row of one shard, for one destination.
struct Piece {
  int destination = 0;
  int shard = 0;
  int chunk = 0;
};

class PlanWriter {
 public:
  PlanWriter(const Refit& refit, const char* name, int chunks)
      : builder_(refit, name, parcels(refit, chunks), 1) {
    for (int shard = 0; shard < kShards; ++shard)
      cargos_.push_back(builder_.cargo({parcel(shard)}));
  }

  void begin() { builder_.begin_phase("direct"); }
  // Each source sends one at a time, in the order of the ops, and nobody waits to receive.
  void send_one_at_a_time() {
    const std::size_t ranks = kSources + kDestinations;
    builder_.set_window(
        0, {std::vector<std::uint16_t>(ranks, 1), std::vector<std::uint16_t>(ranks, 0)});
  }
  void send(const Piece& piece, int replica, int round) {
    builder_.transfer(
        {0, round}, Rank{piece.shard * kReplicas + replica}, Rank{kSources + piece.destination},
        cargos_[static_cast<std::size_t>(piece.shard)], {piece.chunk, piece.chunk + 1});
  }
  Schedule finish() && { return std::move(builder_).finish(); }

 private:
  static std::vector<Parcel> parcels(const Refit& refit, int chunks) {
    std::vector<Parcel> parcels = find_parcels(refit);
    REFIT_CHECK(parcels.size() == kShards);
    for (Parcel& parcel : parcels) parcel.chunks = chunks;
    return parcels;
  }
  ParcelId parcel(int shard) const {
    for (std::size_t p = 0; p < kShards; ++p) {
      if (builder_.parcels()[p].owners.front() == Rank{shard * kReplicas})
        return ParcelId{static_cast<std::int64_t>(p)};
    }
    std::abort();  // every shard is a parcel
  }

  ScheduleBuilder builder_;
  std::vector<CargoId> cargos_;  // by shard
};

// In round r destination d takes from shard d + r; for each r that is a permutation.
Schedule conflict_free(const Refit& refit, int chunks) {
  PlanWriter plan(refit, "conflict-free", chunks);
  plan.begin();
  for (int round = 0; round < kShards * chunks; ++round) {
    const int turn = round / kShards;
    for (int d = 0; d < kDestinations; ++d)
      plan.send({d, (d + round) % kShards, turn}, (d / kShards + turn) % kReplicas, round);
  }
  return std::move(plan).finish();
}

Schedule random_m2n(const Refit& refit, int chunks) {
  std::vector<Piece> pieces;
  for (int d = 0; d < kDestinations; ++d) {
    for (int shard = 0; shard < kShards; ++shard)
      for (int chunk = 0; chunk < chunks; ++chunk) pieces.push_back({d, shard, chunk});
  }
  std::mt19937 random(1);
  for (std::size_t i = pieces.size(); i > 1; --i) std::swap(pieces[i - 1], pieces[random() % i]);

  PlanWriter plan(refit, "random", chunks);
  plan.send_one_at_a_time();
  plan.begin();
  for (const Piece& piece : pieces) plan.send(piece, static_cast<int>(random() % kReplicas), 0);
  return std::move(plan).finish();
}

// A folder that goes away with what is in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "refit-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

using Build = Schedule (*)(const Refit&, int chunks);

// Returns the number of transfers.
std::string write_plan(const std::filesystem::path& file, Build build, int chunks) {
  const std::string text = scenario_text(chunks);
  const Scenario scenario = parse_scenario(text, "bench.yaml");
  const SavedSchedule saved{scenario.name, text, build(scenario.refit, chunks)};
  std::ofstream out(file, std::ios::binary);
  write_schedule(out, saved);
  return std::to_string(saved.schedule.ops.size());
}

std::string simulate(const std::filesystem::path& file) {
  const std::string command =
      fmt::format("'{}' simulate '{}' --wire-only > /dev/null", REFIT_PROGRAM, file.string());
  return std::system(command.c_str()) == 0 ? "" : "FAILED";
}

void print_case(const char* name, Build build) {
  std::vector<std::pair<double, double>> cpu, memory;
  for (const int chunks : {1, 2, 4, 8}) {
    const Folder folder;
    const std::filesystem::path file = folder.path() / "plan.json";
    // In a process of its own too: what is measured next would inherit its memory.
    const Measured written = measured_child([&] { return write_plan(file, build, chunks); });
    const double transfers = std::atof(written.text.c_str());
    const Measured m = measured_child([&] { return simulate(file); });
    fmt::print("{:14} {:>9} {:9.1f} {:9.2f} {:9.2f} {:9.1f} {:9.2f}  {}\n", name, written.text,
               static_cast<double>(std::filesystem::file_size(file)) / 1e6, m.seconds, m.cpu_s,
               m.peak_mib, 1e6 * m.cpu_s / transfers, m.text);
    cpu.emplace_back(transfers, m.cpu_s);
    memory.emplace_back(transfers, m.peak_mib);
  }
  fmt::print("exponent: time {:.2f}, memory {:.2f}\n\n", exponent(cpu), exponent(memory));
}

}  // namespace
}  // namespace refit::bench

int main() {
  using namespace refit::bench;
  fmt::print("{:14} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "", "transfers", "file MB", "wall s",
             "cpu s", "peak MiB", "cpu us each");
  print_case("conflict-free", conflict_free);
  print_case("random", random_m2n);
}
