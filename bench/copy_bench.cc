// What the copies inside a process cost beside the machine's memcpy, by length of run, and what the
// `inproc` transport adds.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/interleaved.h"
#include "executor/inproc_transport.h"
#include "executor/memory_space.h"

namespace {

using namespace refit;
using namespace refit::bench;

constexpr std::int64_t kBytes = 64 << 20;  // of a copy: more than a cache holds
constexpr int kRepeats = 25;

double gb_per_s(const Timing& timing) { return static_cast<double>(kBytes) / timing.best_s * 1e-9; }

// Every other run of `base`, kBytes in all.
StridedBox strided(std::byte* base, std::int64_t run) {
  return {base, run, {{kBytes / run, 2 * run}}};
}

double copy_s(const StridedBox& from, const StridedBox& to) {
  return cpu_seconds_of([&] { host_memory().copy({&from, 1}, {&to, 1}); });
}

// One memcpy as a whole, or a call for each `piece`.
void copy_plainly(std::byte* from, std::byte* to, std::int64_t piece) {
  for (std::int64_t at = 0; at < kBytes; at += piece)
    std::memcpy(to + at, from + at, static_cast<std::size_t>(piece));
}

// `count` messages between two ranks of a process: the `i`th is box `i` of each list (the last,
// when a list is shorter). All are posted at once, or each when the one before has ended.
void send_messages(const std::vector<StridedBox>& from, const std::vector<StridedBox>& to,
                   std::size_t count, bool all_at_once) {
  InprocHub hub(2);
  const auto run = [&](bool sending) {
    const auto transport = hub.transport(Rank(sending ? 0 : 1));
    const std::vector<StridedBox>& boxes = sending ? from : to;
    std::vector<Ended> ended;
    for (std::size_t i = 0; i < count; ++i) {
      Message m;
      m.move = static_cast<std::uint32_t>(i);
      m.peer = Rank(sending ? 1 : 0);
      m.boxes = {boxes[std::min(i, boxes.size() - 1)]};
      m.bytes = m.boxes.front().bytes();
      sending ? transport->send(std::move(m)) : transport->receive(std::move(m));
      while (!all_at_once && ended.size() <= i) transport->wait(ended);
    }
    while (ended.size() < count) transport->wait(ended);
  };
  std::thread sender(run, true);
  run(false);
  sender.join();
}

std::vector<StridedBox> pieces(std::byte* base, std::int64_t piece) {
  std::vector<StridedBox> boxes;
  for (std::int64_t at = 0; at < kBytes; at += piece) boxes.push_back(contiguous(base + at, piece));
  return boxes;
}

void print_runs(std::byte* from, std::byte* to) {
  fmt::print("{:>10}{:>9}{:>9}{:>15}{:>15}{:>15}{:>9}\n", "", "memcpy", "", "gather", "scatter",
             "both strided", "");
  fmt::print("{:>10}{:>9}{:>9}{:>9}{:>6}{:>9}{:>6}{:>9}{:>6}{:>9}\n", "run", "GB/s", "", "GB/s",
             "ratio", "GB/s", "ratio", "GB/s", "ratio", "spread");
  for (std::int64_t run = 2; run <= 1 << 20; run *= 2) {
    const StridedBox apart_from = strided(from, run), apart_to = strided(to, run);
    const auto t = interleaved(
        kRepeats, {[&] { return cpu_seconds_of([&] { copy_plainly(from, to, kBytes); }); },
                   [&] { return copy_s(apart_from, contiguous(to, kBytes)); },
                   [&] { return copy_s(contiguous(from, kBytes), apart_to); },
                   [&] { return copy_s(apart_from, apart_to); }});
    double spread = 0;
    for (const Timing& timing : t) spread = std::max(spread, timing.spread());
    fmt::print("{:>8} B{:>9.2f}{:>9}", run, gb_per_s(t[0]), "");
    for (std::size_t i = 1; i < t.size(); ++i)
      fmt::print("{:>9.2f}{:>6.2f}", gb_per_s(t[i]), t[0].best_s / t[i].best_s);
    fmt::print("{:>8.0f}%\n", spread * 100);
  }
}

void print_messages(std::byte* from, std::byte* to) {
  for (const std::int64_t piece : {std::int64_t{1} << 20, std::int64_t{16} << 20, kBytes}) {
    const auto a = pieces(from, piece), b = pieces(to, piece);
    const auto t = interleaved(
        kRepeats, {[&] { return cpu_seconds_of([&] { copy_plainly(from, to, piece); }); },
                   [&] { return cpu_seconds_of([&] { send_messages(a, b, a.size(), true); }); }});
    fmt::print("{:<44}{:>8.2f} GB/s  {:.2f} of memcpy's {:.2f} GB/s, spread {:.0f}%\n",
               fmt::format("{} messages of {} MiB", a.size(), piece >> 20), gb_per_s(t[1]),
               t[0].best_s / t[1].best_s, gb_per_s(t[0]),
               100 * std::max(t[0].spread(), t[1].spread()));
  }
  constexpr std::size_t kMessages = 10000;
  const std::vector<StridedBox> a{contiguous(from, 1)}, b{contiguous(to, 1)};
  const auto t = interleaved(
      kRepeats, {[&] { return seconds_of([&] { send_messages(a, b, kMessages, true); }); },
                 [&] { return seconds_of([&] { send_messages(a, b, kMessages, false); }); }});
  const char* names[] = {"posted together", "one after the other"};
  for (std::size_t i = 0; i < t.size(); ++i)
    fmt::print("{:<44}{:>8.2f} us each, spread {:.0f}%\n",
               fmt::format("{} messages of 1 B, {}", kMessages, names[i]),
               t[i].best_s / kMessages * 1e6, 100 * t[i].spread());
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  SpaceBuffer from(host_memory(), 2 * kBytes), to(host_memory(), 2 * kBytes);
  fmt::print(
      "{} MiB per copy, processor time, best of {}; spread: median above best, worst column\n\n",
      kBytes >> 20, kRepeats);
  print_runs(from.data(), to.data());
  fmt::print(
      "\nThrough the inproc transport, between two threads; rates by processor time of both\n\n");
  print_messages(from.data(), to.data());
  return 0;
}
