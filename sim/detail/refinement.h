#pragma once

#include <cstdint>
#include <vector>

#include "sim/detail/task_graph.h"

namespace refit::detail {

// Colours of tasks and links, refined until equal ones are alike (quotient.h).
class Refinement {
 public:
  using Colour = std::uint64_t;

  explicit Refinement(const TaskGraph& graph);  // must outlive it

  // False if it is not worth it.
  bool run();

  const std::vector<Colour>& tasks() const { return tasks_; }
  const std::vector<Colour>& links() const { return links_; }
  bool used(std::size_t link) const { return used_[link]; }  // some task moves bytes over it

 private:
  void sweep_tasks();
  void sweep_links();
  std::size_t count_link_classes();

  const TaskGraph& graph_;
  std::vector<TaskId> order_;
  std::vector<Colour> tasks_, links_, paths_, loads_, before_, sorted_;
  std::vector<bool> used_;
  std::size_t used_links_ = 0;
};

}  // namespace refit::detail
