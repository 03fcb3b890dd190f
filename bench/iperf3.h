#pragma once

namespace refit::bench {

// Whether the program iperf3 can be run here.
bool has_iperf3();

// Bytes per second that iperf3 receives over loopback with so many streams, in one run of a second.
// Error(environment) if it does not work.
double iperf3_bytes_per_s(int streams);

}  // namespace refit::bench
