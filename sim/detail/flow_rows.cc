#include "sim/detail/flow_rows.h"

#include <algorithm>
#include <set>
#include <utility>

namespace refit::detail {
namespace {

constexpr double kNone = LinearProgram::kUnbounded;

}  // namespace

RateRows::RateRows(LinearProgram& program, int t, std::vector<double> bytes_per_s)
    : program_(program),
      t_(t),
      bytes_per_s_(std::move(bytes_per_s)),
      row_(bytes_per_s_.size(), -1) {}

void RateRows::use(int place, int column) {
  const auto p = static_cast<std::size_t>(place);
  if (row_[p] < 0) {
    row_[p] = program_.add_row(-kNone, 0);
    program_.set(row_[p], t_, -bytes_per_s_[p] * kGigabytes);
  }
  program_.set(row_[p], column, 1);
}

TrunkRows::TrunkRows(const DomainClasses& view, LinearProgram& program, int t)
    : view_(view),
      program_(program),
      any_(!view.pod_out_bytes_per_s.empty()),
      out_(program, t, view.pod_out_bytes_per_s),
      in_(program, t, view.pod_in_bytes_per_s) {}

void TrunkRows::begin(const DomainClasses::Class& c, double gigabytes,
                      const std::vector<Received>& received) {
  balance_.clear();
  leaves_.clear();
  std::map<int, std::vector<const Received*>> takers;  // by pod
  std::set<int> owning;
  for (const int i : c.owners) owning.insert(pod(i));
  for (const Received& r : received) takers[pod(r.island)].push_back(&r);
  const bool enters = std::any_of(c.needers.begin(), c.needers.end(),
                                  [&](int i) { return !owning.contains(pod(i)); });
  // What leaves all pods enters others; it leaves those that own it at least once.
  const int sum = program_.add_row(0, 0);
  const int once = enters ? program_.add_row(gigabytes, kNone) : -1;
  std::set<int> pods = owning;
  for (const auto& [p, of_pod] : takers) pods.insert(p);
  for (const int p : pods) {
    const int row = balance_[p] = program_.add_row(0, 0);
    const int z = program_.add_column(0);
    program_.set(row, z, -1);
    program_.set(sum, z, 1);
    if (once >= 0 && owning.contains(p)) program_.set(once, z, 1);
    limit(out_, p, z);
    const auto found = takers.find(p);
    if (found == takers.end()) continue;
    const int w = program_.add_column(0), inside = program_.add_column(0);
    program_.set(row, inside, -1);
    program_.set(sum, w, -1);
    limit(in_, p, w);
    const int taken = add_taken(found->second, -1, true);
    program_.set(taken, w, 1);
    program_.set(taken, inside, 1);
    const bool must_enter =
        !owning.contains(p) &&
        std::any_of(found->second.begin(), found->second.end(), [&](const Received* r) {
          return std::binary_search(c.needers.begin(), c.needers.end(), r->island);
        });
    if (must_enter) program_.set(program_.add_row(gigabytes, kNone), w, 1);
    // Nobody sends to itself.
    for (const Received* r : found->second) {
      const int leaves = leaves_[r->island] = add_taken(found->second, r->island, false);
      program_.set(leaves, z, -1);
    }
  }
}

int TrunkRows::add_taken(const std::vector<const Received*>& takers, int but, bool equal) {
  double fixed = 0;
  for (const Received* r : takers) fixed += r->island == but || r->column >= 0 ? 0 : r->gigabytes;
  const int row = program_.add_row(equal ? fixed : -kNone, fixed);
  for (const Received* r : takers) {
    if (r->island != but && r->column >= 0) program_.set(row, r->column, -1);
  }
  return row;
}

void TrunkRows::add_sender(int island, int column) {
  program_.set(balance_.at(pod(island)), column, 1);
  const auto found = leaves_.find(island);
  if (found != leaves_.end()) program_.set(found->second, column, 1);
}

void TrunkRows::add_first_copies(const DomainClasses::Class& c, int owner, int column) {
  const int p = pod(owner), to = pod(c.needers.front());
  const auto in = [&](int q) { return [&, q](int needer) { return pod(needer) == q; }; };
  if (std::any_of(c.needers.begin(), c.needers.end(), in(p))) return;
  limit(out_, p, column);
  if (std::all_of(c.needers.begin(), c.needers.end(), in(to))) limit(in_, to, column);
}

}  // namespace refit::detail
