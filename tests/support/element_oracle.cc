#include "tests/support/element_oracle.h"

#include <functional>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace refit::test {
namespace {

// An element of a class: its coordinates.
using Element = std::vector<std::int64_t>;
using Place = std::tuple<int, int, Element>;  // class, rank, element

void for_each_element(const std::vector<std::int64_t>& shape,
                      const std::function<void(const Element&)>& visit) {
  Element at(shape.size(), 0);
  while (true) {
    visit(at);
    std::size_t d = shape.size();
    while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

// Whether a rank of a layout holds an element, from the shard's definition.
bool holds(const std::vector<IntervalSet>& shard, const Element& element) {
  for (std::size_t d = 0; d < element.size(); ++d) {
    if (!shard[d].contains(element[d])) return false;
  }
  return true;
}

bool inside(const Region& region, const Element& element) {
  for (std::size_t d = 0; d < element.size(); ++d) {
    if (element[d] < region[d].begin || element[d] >= region[d].end) return false;
  }
  return true;
}

class Run {
 public:
  Run(const Schedule& schedule, const Refit& refit) : schedule_(schedule), refit_(refit) {}

  std::string run() {
    fill(has_, &TensorClass::source);
    initially_ = has_;
    fill(wants_, &TensorClass::destination);
    for (std::size_t id = 0; id < schedule_.ops.size() && fault_.empty(); ++id) step(id);
    if (!fault_.empty()) return fault_;
    for (const Place& place : wants_) {
      if (!has_.contains(place))
        return fmt::format("rank {} lacks an element of class {}", std::get<1>(place),
                           std::get<0>(place));
    }
    return "";
  }

 private:
  void fill(std::set<Place>& places, Layout TensorClass::*side) {
    for (std::size_t c = 0; c < refit_.classes.size(); ++c) {
      const Layout& layout = refit_.classes[c].*side;
      const std::vector<Rank> ranks = layout.mesh().ranks();
      for (int i = 0; i < layout.mesh().size(); ++i) {
        const std::vector<IntervalSet> shard = layout.shard(i);
        for_each_element(layout.shape(), [&](const Element& element) {
          if (holds(shard, element)) {
            places.insert({static_cast<int>(c), ranks[static_cast<std::size_t>(i)].value, element});
          }
        });
      }
    }
  }

  // The elements that an op moves, one by one.
  void for_each_moved(const Op& op, const std::function<void(int, const Element&)>& visit) {
    for (const ParcelId id : schedule_.cargos[op.cargo.index()].parcels) {
      const Parcel& parcel = schedule_.parcels[id.index()];
      for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk) {
        for (const Fragment& fragment : parcel.fragments) {
          const auto part = slice(fragment.region, chunk, parcel.chunks);
          if (!part) continue;
          const int c = fragment.tensor_class.value;
          for_each_element(refit_.classes[fragment.tensor_class.index()].shape(),
                           [&](const Element& element) {
                             if (inside(*part, element)) visit(c, element);
                           });
        }
      }
    }
  }

  void step(std::size_t id) {
    const Op& op = schedule_.ops[id];
    std::int64_t bytes = 0;
    if (op.kind == OpKind::transfer) {
      for_each_moved(op, [&](int c, const Element& element) {
        bytes += bytes_per_element(refit_.classes[static_cast<std::size_t>(c)].dtype);
        if (!has_.contains({c, op.src.value, element}))
          fault_ = fmt::format("op {}: rank {} sends what it lacks", id, op.src.value);
        const bool fresh = arrived_.insert({c, op.dst.value, element}).second;
        if (!fresh || initially_.contains({c, op.dst.value, element})) {
          fault_ = fmt::format("op {}: rank {} gets an element twice", id, op.dst.value);
        }
        has_.insert({c, op.dst.value, element});
      });
    }
    if (op.kind == OpKind::all_gather || op.kind == OpKind::broadcast) {
      const std::vector<Rank>& ranks = schedule_.groups[op.group.index()].ranks;
      for_each_moved(op, [&](int c, const Element& element) {
        bytes += bytes_per_element(refit_.classes[static_cast<std::size_t>(c)].dtype);
        bool found = false;
        for (const Rank rank : ranks) {
          if (op.kind == OpKind::broadcast && rank != op.src) continue;
          found = found || has_.contains({c, rank.value, element});
        }
        if (!found) fault_ = fmt::format("op {}: nobody in the group has an element", id);
        for (const Rank rank : ranks) has_.insert({c, rank.value, element});
      });
    }
    const bool moves = op.kind == OpKind::transfer || op.kind == OpKind::all_gather ||
                       op.kind == OpKind::broadcast;
    if (moves && bytes != op.bytes)
      fault_ = fmt::format("op {}: says {} bytes, moves {}", id, op.bytes, bytes);
  }

  const Schedule& schedule_;
  const Refit& refit_;
  std::set<Place> has_, initially_, wants_, arrived_;
  std::string fault_;
};

}  // namespace

std::string run_elements(const Schedule& schedule, const Refit& refit) {
  return Run(schedule, refit).run();
}

}  // namespace refit::test
