#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/import/imported.h"

namespace refit {

// The allocation string of AReaL that a text holds: alone, or behind `allocation_mode:` or
// `allocation_mode=`; several are told apart by `entry`, counted from 1. Error(bad_input) lists
// them if there are several and none is chosen. Or a training's YAML with `backend:` of its rollout
// and its actor, which says model and nodes, too.
//
//   sglang:d4p1t4+megatron:(attn:d1p4t2c2|ffn:d1p4t2e2)
//   16 generation GPUs in 4 engines of 4, then 16 training GPUs: PP4 TP2 CP2, experts EP2 ETP2
Imported read_areal(std::string_view text, const std::string& file, int entry = 0);

// All allocation strings of a text.
std::vector<std::string> areal_allocations(std::string_view text, const std::string& file);

}  // namespace refit
