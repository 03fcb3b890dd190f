#pragma once

namespace refit {

// CLOCK_MONOTONIC, in seconds: one clock for all processes of a machine.
double steady_clock_s();
void sleep_until(double steady_s);

// Processor time of this process so far, user and system.
double process_cpu_s();
double thread_cpu_s();

}  // namespace refit
