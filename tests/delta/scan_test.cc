#include <cstring>
#include <random>

#include <catch2/catch.hpp>

#include "delta/cuda/elements.h"
#include "delta/detail/kernel_choice.h"
#include "delta/scan.h"

namespace refit {
namespace {

using Bytes = std::vector<std::byte>;

struct Pair {
  Bytes before, after;
};

// Elements at odd addresses are as good as any: the buffers begin `skew` bytes into their memory.
Pair random_pair(std::size_t count, int width, double density, std::size_t skew,
                 std::mt19937_64& random) {
  Pair pair;
  pair.before.resize(skew + count * static_cast<std::size_t>(width));
  for (std::byte& b : pair.before) b = static_cast<std::byte>(random());
  pair.after = pair.before;
  std::bernoulli_distribution is_changed(density);
  for (std::size_t i = 0; i < count; ++i) {
    if (is_changed(random))
      pair.after[skew + i * static_cast<std::size_t>(width) +
                 random() % static_cast<std::size_t>(width)] ^=
          static_cast<std::byte>(1 + random() % 255);
  }
  return pair;
}

Changes slow_scan(std::span<const std::byte> before, std::span<const std::byte> after, int width) {
  Changes changes;
  const auto w = static_cast<std::size_t>(width);
  for (std::size_t i = 0; i < before.size() / w; ++i) {
    std::uint32_t a = 0, b = 0;
    std::memcpy(&a, before.data() + i * w, w);
    std::memcpy(&b, after.data() + i * w, w);
    if (a == b) continue;
    changes.positions.push_back(static_cast<std::uint32_t>(i));
    const int unused = 32 - 8 * width;  // sign extension from the element's width
    changes.differences.push_back(static_cast<std::int32_t>((b - a) << unused) >> unused);
  }
  return changes;
}

}  // namespace

TEST_CASE("scan: every kernel finds what an element by element comparison finds", "[delta]") {
  std::mt19937_64 random(7);
  // Lengths around a vector, a block of 65536, and both; addresses that no vector likes.
  for (const std::size_t count :
       {0u, 1u, 15u, 16u, 31u, 32u, 33u, 63u, 65u, 65536u, 65537u, 131103u}) {
    for (const int width : {1, 2, 4}) {
      for (const double density : {0.0, 0.01, 0.5, 1.0}) {
        const std::size_t skew = random() % 3;
        const Pair pair = random_pair(count, width, density, skew, random);
        const auto before = std::span(pair.before).subspan(skew);
        const auto after = std::span(pair.after).subspan(skew);
        const Changes expected = slow_scan(before, after, width);
        for (const ScanKernel kernel : scan_kernels()) {
          CAPTURE(name(kernel), count, width, density, skew);
          Changes changes;
          scan(before, after, width, changes, kernel);
          REQUIRE((changes.positions == expected.positions));
          REQUIRE((changes.differences == expected.differences));
        }
      }
    }
  }
}

TEST_CASE("scan: what a GPU computes per element, computed here, is what the processor finds",
          "[delta]") {
  std::mt19937_64 random(9);
  for (const int width : {1, 2, 4}) {
    for (const double density : {0.01, 1.0}) {
      CAPTURE(width, density);
      const Pair pair = random_pair(65537, width, density, 0, random);
      const Elements before{pair.before.data(), width}, after{pair.after.data(), width};
      const IsChanged is_changed{before, after};
      Changes found;
      for (std::uint32_t i = 0; i < 65537; ++i) {
        if (!is_changed(i)) continue;
        found.positions.push_back(i);
        found.differences.push_back(difference(before, after, i));
      }
      const Changes expected = slow_scan(pair.before, pair.after, width);
      REQUIRE((found.positions == expected.positions));
      REQUIRE((found.differences == expected.differences));
    }
  }
}

TEST_CASE("scan: every kernel divides the tiers and takes octaves as the scalar one does",
          "[delta]") {
  std::mt19937_64 random(8);
  for (const std::size_t count : {0u, 1u, 31u, 32u, 33u, 2047u, 2049u, 65536u}) {
    for (const int limit : {0, 1 << 7, 30 << 7, 128 << 7, 255 << 7}) {
      const Pair pair = random_pair(count, 2, 0.1, 1, random);
      const auto divided = [&](const detail::ScanKernels& kernels, bool encoding, Changes& changes,
                               std::vector<detail::Member>& members) {
        std::vector<std::uint16_t> positions(count + detail::kSlack), differences(positions);
        members.resize(count + detail::kSlack);
        detail::TierBlock block;
        block.old_elements = pair.before.data() + 1;
        block.new_elements = pair.after.data() + 1;
        block.count = count;
        block.limit = static_cast<std::uint16_t>(limit);
        block.first = 3 << 16;
        block.positions = positions.data();
        block.differences = differences.data();
        block.members = members.data();
        const detail::TierCounts found =
            encoding ? kernels.tiers_to_encode(block) : kernels.tiers_to_decode(block);
        detail::append_block(0, std::span<const std::uint16_t>(positions).first(found.changes),
                             std::span<const std::uint16_t>(differences).first(found.changes),
                             changes);
        std::vector<detail::Member> taken(members.size());
        const detail::Member from = detail::Member{20} << detail::kMemberExponentShift;
        const std::size_t taken_count =
            kernels.take(members.data(), found.members, from, taken.data());
        members.resize(found.members - taken_count);
        members.insert(members.end(), taken.begin(),
                       taken.begin() + static_cast<std::ptrdiff_t>(taken_count));
      };
      for (const bool encoding : {true, false}) {
        Changes expected_changes;
        std::vector<detail::Member> expected_members;
        divided(detail::scalar_kernels(), encoding, expected_changes, expected_members);
        for (const ScanKernel kernel : scan_kernels()) {
          CAPTURE(name(kernel), count, limit, encoding);
          Changes changes;
          std::vector<detail::Member> members;
          divided(detail::kernels_of(kernel), encoding, changes, members);
          REQUIRE((changes.positions == expected_changes.positions));
          REQUIRE((changes.differences == expected_changes.differences));
          REQUIRE((members == expected_members));
        }
      }
    }
  }
}

}  // namespace refit
