#pragma once

#include <string>

#include "report/run_report.h"

namespace refit {

// A run for the terminal, in the manner of nccl-tests (docs/run.md): lines that start with '#' say
// what was run, where, and what the numbers are; the others are a row per phase and one in total.
std::string run_table(const RunReport& report);

// The rows of it for programs, in seconds and bytes; empty where there is no number.
std::string run_csv(const RunReport& report);

}  // namespace refit
