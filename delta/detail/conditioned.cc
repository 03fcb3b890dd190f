#include "delta/detail/conditioned.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "base/check.h"
#include "delta/detail/bit_stream.h"
#include "delta/detail/differences.h"
#include "delta/detail/gaps.h"
#include "delta/detail/kernel_choice.h"
#include "delta/detail/scan_scalar.h"
#include "delta/segment_codec.h"

namespace refit::detail {
namespace {

// The share of elements that the small tier may hold. Each octave of magnitudes has as many changes
// as the next but half the elements, so a larger tier saves little and costs time.
constexpr double kSmallTierShare = 0.1;
// Samples are short runs: a line of memory costs as much as all elements in it.
constexpr std::size_t kSampleRuns = 128, kSampleRun = 32;
constexpr int kOctaves = 12;  // below, 2^-12 of the elements are left
constexpr int kLargeCountOrder = 10;
constexpr int kOctaveCountOrder = 6;

// Memory that is not written before it is used: a segment's worst case, of which little is touched.
struct Workspace {
  std::unique_ptr<Member[]> members =
      std::make_unique_for_overwrite<Member[]>(kMostSegmentElements + kSlack);
  std::unique_ptr<Member[]> taken =
      std::make_unique_for_overwrite<Member[]>(kMostSegmentElements + kSlack);
  std::array<std::uint16_t, kBlockElements + kSlack> positions;
  std::array<std::uint16_t, kBlockElements + kSlack> differences;
  Changes large;
  Changes of_octave;  // positions are ranks
  std::vector<std::uint32_t> unchanged;
  std::vector<std::byte> written;
};

Workspace& workspace() {
  thread_local const auto space = std::make_unique<Workspace>();
  return *space;
}

std::uint8_t choose_threshold(std::span<const std::byte> elements) {
  std::array<std::size_t, 256> of_exponent{};
  const std::size_t count = elements.size() / 2;
  // Odd, so that no matrix is sampled in one column.
  const std::size_t step = std::max(kSampleRun, count / kSampleRuns) | 1;
  std::size_t samples = 0;
  for (std::size_t first = 0; first < count; first += step) {
    for (std::size_t i = first; i < std::min(first + kSampleRun, count); ++i, ++samples)
      ++of_exponent[(load<std::uint16_t>(elements.data(), i) >> 7) & 0xff];
  }
  std::size_t below = 0;
  int threshold = 0;
  for (; threshold < 255; ++threshold) {
    below += of_exponent[static_cast<std::size_t>(threshold)];
    if (static_cast<double>(below) > kSmallTierShare * static_cast<double>(samples)) break;
  }
  return static_cast<std::uint8_t>(threshold);
}

// Fills `members`, and `large` if there are new elements, and returns how many members there are.
std::size_t divide(std::span<const std::byte> old_elements, const std::byte* new_elements,
                   std::uint8_t threshold, const ScanKernels& kernels, Workspace& space) {
  space.large.positions.clear();
  space.large.differences.clear();
  const std::size_t all = old_elements.size() / 2;
  std::size_t members = 0;
  TierBlock block;
  block.limit = static_cast<std::uint16_t>(threshold << 7);
  block.positions = space.positions.data();
  block.differences = space.differences.data();
  for (std::size_t first = 0; first < all; first += kBlockElements) {
    block.old_elements = old_elements.data() + 2 * first;
    block.count = std::min(kBlockElements, all - first);
    block.members = space.members.get() + members;
    block.first = static_cast<std::uint32_t>(first);
    TierCounts found;
    if (new_elements != nullptr) {
      block.new_elements = new_elements + 2 * first;
      found = kernels.tiers_to_encode(block);
    } else {
      found = kernels.tiers_to_decode(block);
    }
    append_block(first, std::span<const std::uint16_t>(space.positions).first(found.changes),
                 std::span<const std::uint16_t>(space.differences).first(found.changes),
                 space.large);
    members += found.members;
  }
  return members;
}

// Calls `work(members of the octave)` from the highest exponent of the small tier down.
template <class Work>
void each_octave(std::size_t members, std::uint8_t threshold, const ScanKernels& kernels,
                 Workspace& space, const Work& work) {
  for (int c = 1; c <= kOctaves && members > 0; ++c) {
    const int exponent = c == kOctaves ? 0 : std::max(0, threshold - c);
    const std::size_t taken =
        kernels.take(space.members.get(), members,
                     static_cast<Member>(exponent) << kMemberExponentShift, space.taken.get());
    members -= taken;
    if (taken > 0) work(std::span<const Member>(space.taken.get(), taken));
  }
}

// The ranks below `count` that are not in `ranks`.
void complement(std::span<const std::uint32_t> ranks, std::uint32_t count,
                std::vector<std::uint32_t>& others) {
  others.clear();
  std::uint32_t next = 0;
  for (const std::uint32_t rank : ranks) {
    for (; next < rank; ++next) others.push_back(next);
    next = rank + 1;
  }
  for (; next < count; ++next) others.push_back(next);
}

bool codes_unchanged(std::size_t changed, std::size_t members) { return 2 * changed > members; }

// Writes the changes of an octave and returns how many there are.
std::uint32_t put_octave(BitWriter& out, std::span<const Member> members, Workspace& space) {
  Changes& changes = space.of_octave;
  changes.positions.resize(members.size() + 1);
  std::size_t found = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    changes.positions[found] = static_cast<std::uint32_t>(i);
    found += (members[i] & kMemberCarried) != 0 ? 1 : 0;
  }
  changes.positions.resize(found);
  changes.differences.resize(found);
  for (std::size_t i = 0; i < found; ++i)
    changes.differences[i] =
        static_cast<std::int16_t>(members[changes.positions[i]] & kMemberCarried);
  put_count(out, changes.count(), kOctaveCountOrder);
  if (codes_unchanged(found, members.size())) {
    complement(changes.positions, static_cast<std::uint32_t>(members.size()), space.unchanged);
    put_gaps(out, space.unchanged);
  } else {
    put_gaps(out, changes.positions);
  }
  put_differences(out, changes.differences);
  return changes.count();
}

// Applies the changes of an octave, at most `most`, and returns how many there were.
std::uint32_t get_octave(BitReader& in, std::span<const Member> members, std::uint32_t most,
                         std::span<std::byte> elements, Workspace& space) {
  Changes& changes = space.of_octave;
  const std::uint32_t changed = get_count(in, kOctaveCountOrder);
  if (changed > most || changed > members.size())
    bad_payload(fmt::format("{} changes in an octave of {}, {} of the segment's left", changed,
                            members.size(), most));
  if (codes_unchanged(changed, members.size())) {
    space.unchanged.resize(members.size() - changed);
    get_gaps(in, space.unchanged, members.size());
    complement(space.unchanged, static_cast<std::uint32_t>(members.size()), changes.positions);
  } else {
    changes.positions.resize(changed);
    get_gaps(in, changes.positions, members.size());
  }
  changes.differences.resize(changed);
  get_differences(in, changes.differences);
  for (std::uint32_t& position : changes.positions) position = members[position] & kMemberCarried;
  add_changes(changes, 2, elements);
  return changed;
}

}  // namespace

Conditioned encode_conditioned(std::span<const std::byte> old_elements,
                               std::span<const std::byte> new_elements, ScanKernel kernel) {
  REFIT_CHECK(old_elements.size() <= 2 * kMostSegmentElements);
  Workspace& space = workspace();
  const ScanKernels& kernels = kernels_of(kernel);
  Conditioned coded;
  coded.threshold = choose_threshold(old_elements);
  const std::size_t members =
      divide(old_elements, new_elements.data(), coded.threshold, kernels, space);

  space.written.clear();
  BitWriter out(space.written);
  put_count(out, space.large.count(), kLargeCountOrder);
  put_gaps(out, space.large.positions);
  put_differences(out, space.large.differences);
  coded.changed = space.large.count();
  each_octave(members, coded.threshold, kernels, space, [&](std::span<const Member> of_octave) {
    coded.changed += put_octave(out, of_octave, space);
  });
  out.finish();
  if (coded.changed > 0) coded.payload.assign(space.written.begin(), space.written.end());
  return coded;
}

void apply_conditioned(std::span<const std::byte> payload, std::uint32_t changed,
                       std::uint8_t threshold, std::span<std::byte> elements, ScanKernel kernel) {
  REFIT_CHECK(elements.size() <= 2 * kMostSegmentElements);
  Workspace& space = workspace();
  const ScanKernels& kernels = kernels_of(kernel);
  // Before anything changes: the octaves are those of the old elements.
  const std::size_t members = divide(elements, nullptr, threshold, kernels, space);

  BitReader in(payload);
  const std::uint32_t large = get_count(in, kLargeCountOrder);
  if (large > changed)
    bad_payload(fmt::format("{} changes of large elements; the segment has {}", large, changed));
  space.large.positions.resize(large);
  space.large.differences.resize(large);
  get_gaps(in, space.large.positions, elements.size() / 2);
  get_differences(in, space.large.differences);
  add_changes(space.large, 2, elements);
  std::uint32_t left = changed - large;
  each_octave(members, threshold, kernels, space, [&](std::span<const Member> of_octave) {
    left -= get_octave(in, of_octave, left, elements, space);
  });
  if (left != 0) bad_payload(fmt::format("{} of {} changes are missing", left, changed));
  in.finish();
}

}  // namespace refit::detail
