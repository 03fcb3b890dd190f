#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/conversion.h"
#include "models/precision.h"

namespace refit {

// How one side keeps a model: what its engine does to a checkpoint's tensors, and in what
// precision.
struct StoredForm {
  std::string engine;  // "megatron", "vllm", …; empty: as the checkpoint
  Precision precision;
};

// From what a source holds to what a destination needs. `convert`: where the precision changes;
// nothing: where fewer bytes travel, but formats of 32-blocks at the destination, whose kernel
// decides the order of their scales.
struct Edge {
  StoredForm source, destination;
  std::optional<EdgeSide> convert;
};

// What travels between two forms of a tensor.
ElementForm wire_form(const ElementForm& source, const ElementForm& destination,
                      std::optional<EdgeSide> convert);

// Whether any tensor has two forms.
bool changes_precision(const ModelSpec& model, const Edge& edge);

// A tensor on its way.
struct EdgeTensor {
  const ModelSpec& model;
  const TensorSpec& tensor;
  ElementForm source, wire, destination;
  bool source_transposed = false, destination_transposed = false;  // Parallelism::is_transposed
};

// What is done to a tensor besides copying bytes, per element of it: first what the source undoes
// of its engine's own form, then changes of precision, then the destination's own form. Nothing if
// both sides keep it alike.
std::vector<Conversion> conversions_of(const EdgeTensor& tensor, const Edge& edge);

// The same for the scales of a tensor that travels with some, per scale.
std::vector<Conversion> scale_conversions_of(const EdgeTensor& tensor, const Edge& edge);

}  // namespace refit
