#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/id.h"
#include "models/conversion.h"
#include "models/layout.h"
#include "models/tensor_spec.h"

namespace refit {

// Tensors of equal shape, dtype and role whose layouts are equal on both sides: the projections of
// the layers of one pipeline stage. Whatever a plan says about a class it says about every member,
// so that 250,000 tensors cost what a few hundred classes cost. The layouts carry an extra first
// dim: the member, which nothing cuts.
//
//   experts.gate of 4 layers, 256 experts of [2048, 7168]: shape {4, 256, 2048, 7168}
struct TensorClass {
  std::string name;  // of the first member; for people
  Dtype dtype = Dtype::bf16;
  Role role = Role::unspecified;
  bool mtp = false;
  int stage = 0;  // source pipeline stage, or the group of classes that share a source mesh
  std::vector<std::int64_t> members;  // index of each member in the scenario's tensor list
  Layout source;
  Layout destination;

  const std::vector<std::int64_t>& shape() const { return source.shape(); }
  std::int64_t elements() const;
  std::int64_t bytes() const;
  int checkpoint_tensors = 1;  // over all members; costs per tensor count these
  std::string part;            // TensorSpec::part of every member
  // What is more than a copy of bytes, in the order in which it happens.
  std::vector<Conversion> conversions = {};
  bool scales = false;  // TensorSpec::scales of every member
};

// The question the planner answers: how do these tensors get from their source to their destination
// layouts?
struct Refit {
  int ranks = 0;                   // ranks 0 .. ranks-1
  int stages = 0;                  // TensorClass::stage < stages
  std::vector<Rank> sources;       // ascending: ranks that hold source shards
  std::vector<Rank> destinations;  // ascending; may overlap the sources
  std::vector<TensorClass> classes;

  std::int64_t unique_bytes() const;   // one copy of the model
  std::int64_t payload_bytes() const;  // sum over destination ranks of what each must end up with
};

}  // namespace refit
