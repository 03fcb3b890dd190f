#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "sim/network_model.h"

namespace refit {

enum class ParameterKind {
  share,    // of a line rate, 0 to 1
  seconds,  // per piece
  rate,     // bytes per second; 0: free
  bytes,    // per piece
};

// More of it takes longer; of the others, less.
inline bool costs_per_piece(ParameterKind kind) {
  return kind == ParameterKind::seconds || kind == ParameterKind::bytes;
}

// One constant of a network model, as its file names it.
struct NetworkParameter {
  std::string_view key;
  ParameterKind kind = ParameterKind::seconds;
  double NetworkModel::*value = nullptr;
  // What physics allows, in the parameter's unit: a fit that ends outside lacks a term.
  double low = 0;
  double high = 0;
  std::string_view meaning;  // one line, for people
  bool fitted = true;        // false: too small or too rare to be seen in the time of a refit
};

// All constants, in the order of the file. A parameter's index is its place here.
std::span<const NetworkParameter> network_parameters();

// By key; Error(bad_input) lists the keys.
std::size_t network_parameter(std::string_view key);

// "0.15 s", "94 %", "163 GB/s".
std::string parameter_text(const NetworkParameter& parameter, double value);

}  // namespace refit
