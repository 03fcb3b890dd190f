#include "checks/nccl_m2n.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/units.h"

namespace refit {
namespace {

constexpr std::size_t kMostMeshAxes = 2;
constexpr int kMostDims = 3;
constexpr std::int64_t kMostSourceOverlaps = 16;                   // PACK and PIPE; DIRECT takes 32
constexpr std::int64_t kMostDestinationOverlaps = 64;              // per source shard
constexpr int kMostFollowers = 128;                                // of one receiver in its domain
constexpr std::int64_t kLargestSlotBytes = std::int64_t{2} << 30;  // default staging pool
constexpr std::int64_t kHangBytes = std::int64_t{4} << 30;         // of one tensor on one rank

// Equal shards are counted once: replicas hold the same.
std::vector<IntervalSet> distinct_pieces(const Layout& layout, int dim) {
  std::vector<IntervalSet> distinct;
  for (const IntervalSet& piece : layout.dim_pieces(dim).pieces) {
    if (!piece.empty() && std::find(distinct.begin(), distinct.end(), piece) == distinct.end())
      distinct.push_back(piece);
  }
  return distinct;
}

// The most shards of `other` that one shard of `one` shares elements with.
std::int64_t most_overlaps(const Layout& one, const Layout& other) {
  std::int64_t product = 1;
  for (int dim = 0; dim < static_cast<int>(one.shape().size()); ++dim) {
    const std::vector<IntervalSet> theirs = distinct_pieces(other, dim);
    std::int64_t most = 0;
    for (const IntervalSet& mine : distinct_pieces(one, dim)) {
      most = std::max(most, std::count_if(theirs.begin(), theirs.end(), [&](const IntervalSet& t) {
                        return !intersect(mine, t).empty();
                      }));
    }
    product *= std::max<std::int64_t>(most, 1);
  }
  return product;
}

// The mesh that a call would be told: which ranks hold replicas and which hold other shards, in the
// order of the ranks, neighbours of a kind taken as one axis.
std::vector<std::string> axes_of(const Layout& layout) {
  std::vector<std::size_t> order(layout.mesh().axes().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto stride = [&](std::size_t a) { return layout.mesh().axes()[a].stride; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return stride(a) > stride(b); });
  std::vector<std::string> axes;
  const auto add = [&](const char* kind) {
    if (axes.empty() || axes.back() != kind) axes.emplace_back(kind);
  };
  for (const std::size_t a : order) {
    const int size = layout.mesh().axes()[a].size;
    if (size == 1) continue;
    if (!layout.placements()[a].sharded) {
      add("replicas");
      continue;
    }
    add("shards");
    // Few pieces for many coordinates, as of KV heads: neighbours hold the same.
    const int dim = layout.placements()[a].dim;
    if (distinct_pieces(layout, dim).size() < layout.dim_pieces(dim).pieces.size()) add("replicas");
  }
  return axes;
}

bool is_strided(const Layout& layout) {
  for (int dim = 0; dim < static_cast<int>(layout.shape().size()); ++dim) {
    for (const IntervalSet& piece : layout.dim_pieces(dim).pieces) {
      if (piece.intervals().size() > 1) return true;
    }
  }
  return false;
}

class ClassCheck {
 public:
  ClassCheck(const TensorClass& c, Findings& findings) : c_(c), findings_(findings) {}

  void run() {
    // The first dim counts members, which a call does not see.
    const auto dims = static_cast<int>(c_.shape().size()) - 1;
    if (dims > kMostDims) {
      add("dims", fmt::format("{} dims, and at most {} are taken", dims, kMostDims),
          "send each expert by itself");
    }
    check_side("source", c_.source);
    check_side("destination", c_.destination);
    check_overlaps();
    check_sizes();
  }

 private:
  void add(const char* rule, std::string message, std::string cure) {
    findings_.push_back(
        {fmt::format("nccl_m2n.{}", rule), c_.name, std::move(message), std::move(cure)});
  }

  void check_side(const char* side, const Layout& layout) {
    std::string names;
    int cut = 0;
    for (std::size_t a = 0; a < layout.mesh().axes().size(); ++a) {
      const MeshAxis& axis = layout.mesh().axes()[a];
      if (axis.size == 1 || !layout.placements()[a].sharded) continue;
      ++cut;
      names += fmt::format("{}{} {}", names.empty() ? "" : " and ", axis.name, axis.size);
    }
    const std::vector<std::string> axes = axes_of(layout);
    if (cut > 1) {
      add("shard_axes", fmt::format("the {} cuts it along {}; one axis may", side, names),
          "use one of the two degrees only");
    } else if (axes.size() > kMostMeshAxes) {
      add("mesh_axes",
          fmt::format("the {} ranks are a mesh of {}; at most {} axes", side,
                      fmt::join(axes, " x "), kMostMeshAxes),
          "number the ranks so that all replicas of a shard, or all its copies of the model, "
          "follow "
          "one another");
    }
    if (is_strided(layout)) {
      add("strided", fmt::format("a {} shard is several runs of one dim; only one may", side),
          "send each run as a tensor of its own");
    }
    const std::vector<std::int64_t> elements = layout.elements_by_index();
    const auto [least, most] = std::minmax_element(elements.begin(), elements.end());
    if (*least != *most) {
      add("uneven",
          fmt::format("{} shards have {} to {} elements; all must be equal", side, *least, *most),
          "choose a degree that divides the dim, or send it with another strategy");
    }
  }

  void check_overlaps() {
    const std::int64_t sources = most_overlaps(c_.destination, c_.source);
    if (sources > kMostSourceOverlaps) {
      add("source_overlap",
          fmt::format("{} source shards meet in one destination shard; PACK takes {}", sources,
                      kMostSourceOverlaps),
          fmt::format("cut the destination into {} times as many, or the source into at most {} "
                      "per destination shard",
                      (sources + kMostSourceOverlaps - 1) / kMostSourceOverlaps,
                      kMostSourceOverlaps));
    }
    const std::int64_t destinations = most_overlaps(c_.source, c_.destination);
    if (destinations > kMostDestinationOverlaps) {
      add("destination_overlap",
          fmt::format("{} destination shards share one source shard; {} may", destinations,
                      kMostDestinationOverlaps),
          "");
    }
  }

  void check_sizes() {
    const std::int64_t members = std::max<std::int64_t>(c_.shape().front(), 1);
    const auto largest = [&](const Layout& layout) {
      const std::vector<std::int64_t> elements = layout.elements_by_index();
      return *std::max_element(elements.begin(), elements.end()) / members *
             bytes_per_element(c_.dtype);
    };
    const std::int64_t bytes = std::max(largest(c_.source), largest(c_.destination));
    const std::string text = format_bytes(static_cast<double>(bytes));
    if (bytes >= kHangBytes) {
      add("hang",
          fmt::format("one rank holds {} of it; from 4.29 GB (4 GiB) on a call never ends", text),
          "cut it further, or send it in parts");
    } else if (bytes > kLargestSlotBytes) {
      add("slot",
          fmt::format("one rank holds {} of it, and the largest staging slot is 2.15 GB", text),
          "raise the staging pool's largest slot, or cut it further");
    }
  }

  const TensorClass& c_;
  Findings& findings_;
};

// Lengths of runs of ranks in one NVLink domain, in the communicator's order.
std::vector<int> domain_runs(const std::vector<Rank>& ranks, const Cluster& cluster) {
  std::vector<int> runs;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0 && cluster.domain(ranks[i]) == cluster.domain(ranks[i - 1])) {
      ++runs.back();
    } else {
      runs.push_back(1);
    }
  }
  return runs;
}

// The domain size that M2N takes is the greatest common divisor of all runs, and its domains start
// at multiples of it.
void check_domains(const Refit& refit, const Cluster& cluster, Findings& findings) {
  std::map<int, std::set<Rank>> stages;
  for (const TensorClass& c : refit.classes) {
    const std::vector<Rank> ranks = c.source.mesh().ranks();
    stages[c.stage].insert(ranks.begin(), ranks.end());
  }
  std::set<std::string> said;
  for (const auto& [stage, sources] : stages) {
    std::vector<Rank> comm(sources.begin(), sources.end());
    const std::size_t first_destination = comm.size();
    comm.insert(comm.end(), refit.destinations.begin(), refit.destinations.end());
    const std::vector<int> runs = domain_runs(comm, cluster);
    if (runs.size() < 2) continue;
    const int domain =
        std::accumulate(runs.begin(), runs.end(), 0, [](int a, int b) { return std::gcd(a, b); });
    const std::vector<int> own = domain_runs(refit.destinations, cluster);
    const int real = *std::max_element(own.begin(), own.end());
    const std::string subject = fmt::format("communicator of stage {}", stage);
    if (domain < real && said.insert("gcd").second) {
      findings.push_back(
          {"nccl_m2n.domain_gcd", subject,
           fmt::format("{} source and {} destination ranks in runs with a common divisor of {}: "
                       "NVLink domains of {} are taken for domains of {}",
                       first_destination, refit.destinations.size(), domain, real, domain),
           fmt::format("use whole domains of {} ranks on both sides, or split communicators",
                       real)});
    }
    // What a larger domain size alone would do: domains start at multiples of it.
    const std::size_t inside = first_destination % static_cast<std::size_t>(real);
    if (domain < real && inside != 0 && said.insert("phantom").second) {
      findings.push_back(
          {"nccl_m2n.phantom_domain", subject,
           fmt::format("destinations start at rank {}, and domains of {} at multiples of {}: the "
                       "first would end after {} destinations, where no domain ends",
                       first_destination, real, real, static_cast<std::size_t>(real) - inside),
           fmt::format("use a multiple of {} source ranks per stage", real)});
    }
    if (real - 1 > kMostFollowers && said.insert("followers").second) {
      findings.push_back(
          {"nccl_m2n.followers", subject,
           fmt::format("domains of {} ranks have up to {} followers per receiver; {} "
                       "may",
                       real, real - 1, kMostFollowers),
           ""});
    }
  }
}

}  // namespace

Findings nccl_m2n_findings(const Refit& refit, const Cluster& cluster) {
  Findings findings;
  std::vector<Rank> both;
  std::set_intersection(refit.sources.begin(), refit.sources.end(), refit.destinations.begin(),
                        refit.destinations.end(), std::back_inserter(both));
  if (!both.empty()) {
    findings.push_back({"nccl_m2n.overlapping_ranks", "training and generation",
                        fmt::format("{} ranks are on both sides, rank {} first; none may",
                                    both.size(), both.front().value),
                        "use separate GPUs"});
  }
  for (const TensorClass& c : refit.classes) ClassCheck(c, findings).run();
  check_domains(refit, cluster, findings);
  return findings;
}

}  // namespace refit
