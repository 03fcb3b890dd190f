#pragma once

#include <map>
#include <vector>

#include "sim/detail/linear_program.h"
#include "sim/domain_classes.h"

namespace refit::detail {

// Bytes enter programs as gigabytes, so that the solver's tolerances mean something.
constexpr double kGigabytes = 1e-9;

// Rows "what crosses a place <= t x its rate", each made on first use. A place is a port, an
// island's NICs, a trunk; t is a column in seconds.
class RateRows {
 public:
  RateRows(LinearProgram& program, int t, std::vector<double> bytes_per_s);

  void use(int place, int column);

 private:
  LinearProgram& program_;
  int t_;
  std::vector<double> bytes_per_s_;
  std::vector<int> row_;
};

// What an island takes in of a class: a column, or if that is negative the bytes, in gigabytes.
struct Received {
  int island = 0;
  int column = -1;
  double gigabytes = 0;
};

// Rows of the trunks between pods. Of what a pod's islands send, a part leaves the pod by its trunk
// and the rest stays inside; of what its islands take in, a part enters by the trunk and the rest
// comes from inside.
class TrunkRows {
 public:
  TrunkRows(const DomainClasses& view, LinearProgram& program, int t);

  bool any() const { return any_; }

  // One class of so many gigabytes, each of which enters every pod that needs and does not own it.
  // What its islands send is added next.
  void begin(const DomainClasses::Class& c, double gigabytes,
             const std::vector<Received>& received);
  void add_sender(int island, int column);

  // The first copies that an owner sends cross its trunk if nobody in its pod needs the class, and
  // another one if only one other pod does.
  void add_first_copies(const DomainClasses::Class& c, int owner, int column);

  int pod(int island) const { return view_.pod[static_cast<std::size_t>(island)]; }

 private:
  // A row "= (or, not `equal`, <=) what islands take in", but for one of them; columns are added to
  // it.
  int add_taken(const std::vector<const Received*>& takers, int but, bool equal);
  static void limit(RateRows& rows, int pod, int column) {
    if (pod >= 0) rows.use(pod, column);  // below: no trunk, nothing binds
  }

  const DomainClasses& view_;
  LinearProgram& program_;
  bool any_;
  RateRows out_, in_;
  // Of the class that was begun: by pod what its islands send, out of it and inside; by island what
  // it sends and nobody else of its pod takes in, which leaves the pod.
  std::map<int, int> balance_, leaves_;
};

}  // namespace refit::detail
