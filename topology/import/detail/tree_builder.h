#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "topology/import/slurm_topology.h"

namespace refit::detail {

// What a scheduler's file says, in whatever order, as a tree. Error(bad_input) if it is none.
class TreeBuilder {
 public:
  explicit TreeBuilder(const std::string& name) : name_(name) {}

  void add_switch(const std::string& name, std::vector<std::string> children,
                  std::vector<std::string> nodes, const std::string& where);
  // Blocks with equal domains are one.
  void add_block(const std::string& name, const std::string& domain, std::vector<std::string> nodes,
                 const std::string& where);
  void set_sizes(std::vector<int> sizes) { tree_.block_sizes = std::move(sizes); }
  SwitchTree finish();

 private:
  struct Written {
    std::string name;
    std::vector<std::string> children;
    std::vector<std::string> nodes;
    std::string where;
  };

  void walk();
  void check_nodes() const;
  void make_shape();
  void add_domains();
  std::string words() const;

  const std::string& name_;
  std::vector<Written> switches_;
  std::map<std::string, std::size_t> number_;
  std::map<std::string, std::size_t> block_number_;  // by domain
  std::size_t undefined_ = 0;
  SwitchTree tree_;
};

}  // namespace refit::detail
