// What the delta codec costs beside reading and copying memory, and whether all cores help.

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/workers.h"
#include "bench/interleaved.h"
#include "delta/baselines/baseline.h"
#include "delta/diff.h"
#include "delta/fingerprint.h"
#include "delta/hash.h"
#include "delta/scan.h"
#include "delta/segment_codec.h"
#include "delta/update_model.h"

namespace {

using namespace refit;
using namespace refit::bench;

constexpr std::size_t kSegments = 32;
constexpr std::size_t kElements = kSegments * kMostSegmentElements;
constexpr std::size_t kBytes = 2 * kElements;
constexpr int kRepeats = 15;

// Two buffers at the same place in their pages disturb each other when both are read, so each
// begins a few lines further in than the one before.
class Buffer {
 public:
  explicit Buffer(std::size_t number) : bytes_(kBytes + 4096), skip_(number * 832) {}
  std::span<std::byte> all() { return std::span(bytes_).subspan(skip_, kBytes); }
  std::span<std::byte> segment(std::size_t s) {
    return all().subspan(s * 2 * kMostSegmentElements, 2 * kMostSegmentElements);
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t skip_;
};

struct Weights {
  Buffer before{0}, after{1}, target{2};
};

void fill(Weights& weights) {
  UpdateModel model;
  std::vector<std::uint16_t> bf16(kMostSegmentElements);
  for (std::size_t s = 0; s < kSegments; ++s) {
    const ElementRun run{static_cast<std::int64_t>(s * kMostSegmentElements),
                         static_cast<std::int64_t>(kMostSegmentElements)};
    UpdatedShard shard(model, 0, {&run, 1});
    shard.cast(bf16);
    std::memcpy(weights.before.segment(s).data(), bf16.data(), 2 * bf16.size());
    shard.step();
    shard.cast(bf16);
    std::memcpy(weights.after.segment(s).data(), bf16.data(), 2 * bf16.size());
  }
}

double gb_per_s(const Timing& timing) { return static_cast<double>(kBytes) / timing.best_s * 1e-9; }

// Neither may be taken out by the compiler.
std::atomic<int> sink;

double copy_s(Weights& w) {
  return cpu_seconds_of([&] { std::memcpy(w.target.all().data(), w.before.all().data(), kBytes); });
}

double compare_s(Weights& w) {
  std::memcpy(w.target.all().data(), w.before.all().data(), kBytes);
  return cpu_seconds_of(
      [&] { sink = std::memcmp(w.before.all().data(), w.target.all().data(), kBytes); });
}

double scan_s(Weights& w, ScanKernel kernel) {
  Changes changes;
  return cpu_seconds_of([&] {
    for (std::size_t s = 0; s < kSegments; ++s)
      scan(w.before.segment(s), w.after.segment(s), 2, changes, kernel);
  });
}

std::vector<EncodedSegment> encoded(Weights& w, DeltaMode mode) {
  std::vector<EncodedSegment> segments;
  for (std::size_t s = 0; s < kSegments; ++s)
    segments.push_back(encode_segment(w.before.segment(s), w.after.segment(s), 2, mode));
  return segments;
}

double encode_s(Weights& w, DeltaMode mode) {
  return cpu_seconds_of([&] { encoded(w, mode); });
}

// As senders do it: hashes of both versions and the fingerprint, too, where those of the old one
// are known from the version before.
double change_s(Weights& w, DeltaMode mode) {
  DeltaRegion region;
  region.box = DeltaBox::whole(kElements);
  const DeltaIndex index = cut_into_segments({}, {region});
  std::vector<SegmentPrints> prints;
  for (std::size_t s = 0; s < kSegments; ++s) {
    const auto before = w.before.segment(s);
    prints.push_back({hash64(before), fingerprint(region.tensor, region.box,
                                                  index.segments[s].first_element, before, 2)});
  }
  return cpu_seconds_of([&] {
    for (std::size_t s = 0; s < kSegments; ++s)
      encode_change(index, s, w.before.segment(s), w.after.segment(s), mode, &prints[s]);
  });
}

double apply_s(Weights& w, const std::vector<EncodedSegment>& segments) {
  std::memcpy(w.target.all().data(), w.before.all().data(), kBytes);
  return cpu_seconds_of([&] {
    for (std::size_t s = 0; s < kSegments; ++s) apply_segment(segments[s], 2, w.target.segment(s));
  });
}

// All segments, by so many threads, each taking the next one. Processor time of a thread, on
// average: what passes if each has a core, with what they do to each other in memory, and without
// what other programs take.
double threads_s(int threads, const std::function<void(std::size_t)>& work) {
  const double all_s = cpu_seconds_of([&] {
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&] {
        for (std::size_t s = next++; s < kSegments; s = next++) work(s);
      });
    }
    for (std::thread& thread : running) thread.join();
  });
  return all_s / threads;
}

void print_row(const std::string& what, const Timing& timing, const Timing& reference,
               const std::string& reference_name) {
  fmt::print("{:<28}{:>8.2f} GB/s  {:.2f} of {}, spread {:.0f}%\n", what, gb_per_s(timing),
             reference.best_s / timing.best_s, reference_name, 100 * timing.spread());
}

void print_one_core(Weights& w) {
  const auto rice = encoded(w, DeltaMode::rice), conditioned = encoded(w, DeltaMode::conditioned),
             overwrite = encoded(w, DeltaMode::overwrite);
  std::vector<std::function<double()>> runs{[&] { return copy_s(w); },
                                            [&] { return compare_s(w); },
                                            [&] { return encode_s(w, DeltaMode::rice); },
                                            [&] { return apply_s(w, rice); },
                                            [&] { return encode_s(w, DeltaMode::conditioned); },
                                            [&] { return apply_s(w, conditioned); },
                                            [&] { return encode_s(w, DeltaMode::overwrite); },
                                            [&] { return apply_s(w, overwrite); },
                                            [&] { return change_s(w, DeltaMode::rice); },
                                            [&] { return change_s(w, DeltaMode::conditioned); }};
  const std::size_t first_scan = runs.size();
  for (const ScanKernel kernel : scan_kernels())
    runs.push_back([&w, kernel] { return scan_s(w, kernel); });
  const auto t = interleaved(kRepeats, runs);
  const Timing &copy = t[0], &compare = t[1];
  fmt::print("{:<28}{:>8.2f} GB/s, spread {:.0f}%\n", "memcpy", gb_per_s(copy),
             100 * copy.spread());
  fmt::print("{:<28}{:>8.2f} GB/s, spread {:.0f}%\n", "memcmp of equal buffers", gb_per_s(compare),
             100 * compare.spread());
  for (std::size_t k = 0; k < scan_kernels().size(); ++k)
    print_row(fmt::format("scan, {}", name(scan_kernels()[k])), t[first_scan + k], compare,
              "memcmp");
  const char* names[] = {"rice, scan and encode",
                         "rice, decode and apply",
                         "conditioned, scan and encode",
                         "conditioned, decode and apply",
                         "overwrite, scan and encode",
                         "overwrite, decode and apply",
                         "rice, and hashed",
                         "conditioned, and hashed"};
  for (std::size_t i = 0; i < std::size(names); ++i) print_row(names[i], t[2 + i], copy, "memcpy");
}

std::span<std::uint16_t> elements_of(std::span<std::byte> bytes) {
  return {reinterpret_cast<std::uint16_t*>(bytes.data()), bytes.size() / 2};
}

// As written in delta/baselines, from the descriptions: the systems' own may be quicker or slower.
void print_baselines(Weights& w) {
  for (const Baseline baseline : kBaselines) {
    std::vector<std::vector<std::byte>> payloads(kSegments);
    const auto encode_all = [&] {
      for (std::size_t s = 0; s < kSegments; ++s)
        payloads[s] = encode_baseline(baseline, elements_of(w.before.segment(s)),
                                      elements_of(w.after.segment(s)));
    };
    const auto apply_all = [&] {
      for (std::size_t s = 0; s < kSegments; ++s)
        apply_baseline(baseline, payloads[s], elements_of(w.target.segment(s)));
    };
    const auto t = interleaved(
        kRepeats, {[&] { return copy_s(w); }, [&] { return cpu_seconds_of(encode_all); },
                   [&] { return cpu_seconds_of(apply_all); }});
    print_row(fmt::format("{}, encode", name(baseline)), t[1], t[0], "memcpy");
    print_row(fmt::format("{}, apply", name(baseline)), t[2], t[0], "memcpy");
  }
}

// As lines of a network model, of one core of this machine: the rates that plans of changes are
// predicted with. What a receiver does beside decoding is hash, change and hash again.
void print_model(Weights& w, double changed) {
  const auto rice = encoded(w, DeltaMode::rice);
  std::vector<std::vector<std::byte>> bare(kSegments);
  for (std::size_t s = 0; s < kSegments; ++s)
    bare[s] = encode_baseline(Baseline::index_value, elements_of(w.before.segment(s)),
                              elements_of(w.after.segment(s)));
  const auto change_s = [&](bool checked) {
    std::memcpy(w.target.all().data(), w.before.all().data(), kBytes);
    return cpu_seconds_of([&] {
      for (std::size_t s = 0; s < kSegments; ++s) {
        if (checked) sink = static_cast<int>(hash64(w.target.segment(s)));
        apply_baseline(Baseline::index_value, bare[s], elements_of(w.target.segment(s)));
        if (checked) sink = static_cast<int>(hash64(w.target.segment(s)));
      }
    });
  };
  const auto t = interleaved(
      kRepeats, {[&] { return scan_s(w, best_scan_kernel()); },
                 [&] { return encode_s(w, DeltaMode::rice); }, [&] { return change_s(false); },
                 [&] { return apply_s(w, rice); }, [&] { return change_s(true); }});
  const auto line = [](const char* key, double seconds, const char* how) {
    if (seconds <= 0) return;  // less than the clock tells
    fmt::print("{}: {{value: {:.1f} GB/s, source: \"delta_bench, {}\"}}\n", key,
               static_cast<double>(kBytes) / seconds * 1e-9, how);
  };
  // Each change takes its time; rates are those at 1 %.
  const double at_1_percent = 0.01 / changed;
  line("delta_scan", t[0].best_s, "two streams compared");
  line("delta_encode", at_1_percent * (t[1].best_s - t[0].best_s),
       "rice at 1 % changed, less the scan");
  line("delta_decode", at_1_percent * (t[3].best_s - t[2].best_s),
       "rice at 1 % changed, less bare changes applied");
  line("delta_apply", t[4].best_s, "bare changes applied, hashed before and after");
}

void print_all_cores(Weights& w) {
  const auto rice = encoded(w, DeltaMode::rice);
  const int cores = all_cores();
  const std::function<void(std::size_t)> works[] = {
      [&](std::size_t s) {
        std::memcpy(w.target.segment(s).data(), w.before.segment(s).data(),
                    2 * kMostSegmentElements);
      },
      [&](std::size_t s) {
        encode_segment(w.before.segment(s), w.after.segment(s), 2, DeltaMode::rice);
      },
      [&](std::size_t s) {
        encode_segment(w.before.segment(s), w.after.segment(s), 2, DeltaMode::conditioned);
      },
      [&](std::size_t s) { apply_segment(rice[s], 2, w.target.segment(s)); }};
  const char* names[] = {"memcpy", "rice, scan and encode", "conditioned, scan and encode",
                         "rice, decode and apply"};
  for (std::size_t i = 0; i < std::size(works); ++i) {
    const auto t = interleaved(kRepeats, {[&] { return threads_s(1, works[i]); },
                                          [&] { return threads_s(cores, works[i]); }});
    fmt::print("{:<28}{:>8.2f} GB/s on 1, {:.2f} on {}: {:.2f} x, spread {:.0f}%\n", names[i],
               gb_per_s(t[0]), gb_per_s(t[1]), cores, t[0].best_s / t[1].best_s,
               100 * std::max(t[0].spread(), t[1].spread()));
  }
}

}  // namespace

// `--model`: only the rates that a network model has of these.
int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Weights weights;
  fill(weights);
  Changes changes;
  scan(weights.before.all(), weights.after.all(), 2, changes);
  const double changed = changes.count() / static_cast<double>(kElements);
  if (argc == 2 && std::strcmp(argv[1], "--model") == 0) {
    print_model(weights, changed);
    return 0;
  }
  fmt::print(
      "{} MiB of BF16 weights, {:.2f} % of them changed by a step; GB/s of dense bytes, processor "
      "time,\n"
      "best of {}; spread: median above best\n\n",
      kBytes >> 20, 100 * changed, kRepeats);
  print_one_core(weights);
  print_baselines(weights);
  fmt::print("\nSegments over threads, a thread's processor time\n\n");
  print_all_cores(weights);
  return 0;
}
