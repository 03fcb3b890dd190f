#include <algorithm>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "delta/merge.h"
#include "tests/delta/weights_case.h"

namespace refit {
namespace {

// Versions 0 to 5, and the deltas between them.
struct Chain {
  RegionSizes sizes{{300, 130}, 128};
  std::mt19937_64 random{21};
  std::vector<ByteVector> versions;
  std::vector<ByteVector> bytes;
  std::vector<DeltaFile> files;

  explicit Chain(const std::vector<DeltaMode>& modes) {
    versions.push_back(random_weights(sizes.total(), random));
    for (const DeltaMode mode : modes) {
      const std::uint64_t version = versions.size() - 1;
      versions.push_back(updated(versions.back(), 12, random));
      bytes.push_back(delta_bytes(sizes, sizes.header(version, version + 1), versions[version],
                                  versions.back(), mode));
      files.emplace_back(bytes.back(), "v" + std::to_string(version + 1));
    }
  }

  std::vector<const DeltaFile*> all() const {
    std::vector<const DeltaFile*> pointers;
    for (const DeltaFile& file : files) pointers.push_back(&file);
    return pointers;
  }

  BaseElements base() const {
    return [this](std::size_t position) {
      const DeltaSegment& segment = files[0].index().segments[position];
      ByteVector scratch;
      const auto part = sizes.memory(std::span<const std::byte>(versions[0]))[segment.region].read(
          segment.first_element, segment.elements, scratch);
      return ByteVector(part.begin(), part.end());
    };
  }
};

ByteVector merged(std::span<const DeltaFile* const> files, const MergeOptions& options = {}) {
  std::stringstream out;
  merge_deltas(files, options, out);
  const std::string text = out.str();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string refusal(std::span<const DeltaFile* const> files, const MergeOptions& options = {}) {
  try {
    merged(files, options);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "";
}

TEST_CASE("merge: differences add up without a base, and are what one diff would have found",
          "[delta]") {
  const Chain chain(std::vector<DeltaMode>(5, DeltaMode::rice));
  const auto all = chain.all();
  const ByteVector one = merged(all);
  CHECK((one == delta_bytes(chain.sizes, chain.sizes.header(0, 5), chain.versions[0],
                            chain.versions[5], DeltaMode::rice)));
  const DeltaFile file(one, "merged");
  CHECK((applied_in_turn(chain.sizes, file, chain.versions[0]) == chain.versions[5]));
  // Merging is associative: (1 2) 3 = 1 (2 3).
  const ByteVector left = merged(std::span(all).first(2));
  const ByteVector right = merged(std::span(all).subspan(1, 2));
  const DeltaFile left_file(left, "left");
  const DeltaFile right_file(right, "right");
  CHECK((merged(std::vector{&left_file, all[2]}) == merged(std::vector{all[0], &right_file})));
}

TEST_CASE("merge: a change taken back is no change", "[delta]") {
  Chain chain({DeltaMode::rice});
  const ByteVector back = delta_bytes(chain.sizes, chain.sizes.header(1, 2), chain.versions[1],
                                      chain.versions[0], DeltaMode::rice);
  const DeltaFile back_file(back, "back");
  const ByteVector one = merged(std::vector<const DeltaFile*>{&chain.files[0], &back_file});
  CHECK(DeltaFile(one, "merged").index().changed() == 0);
  CHECK(DeltaFile(one, "merged").index().header.payload_bytes == 0);
}

TEST_CASE("merge: any modes merge where the base is given, and the smallest is taken", "[delta]") {
  const Chain chain(
      {DeltaMode::overwrite, DeltaMode::rice, DeltaMode::dense, DeltaMode::empty, DeltaMode::rice});
  MergeOptions options;
  options.base = chain.base();
  options.threads = 2;
  CHECK((merged(chain.all(), options) ==
         delta_bytes(chain.sizes, chain.sizes.header(0, 5), chain.versions[0], chain.versions[5])));
  options.base = [&](std::size_t position) {
    ByteVector elements = chain.base()(position);
    elements[0] ^= std::byte{1};
    return elements;
  };
  CHECK(refusal(chain.all(), options) ==
        "v1: region 3 segment 0: the base given is not the one this delta was made for");
}

TEST_CASE("merge: overwritten elements stay overwritten elements", "[delta]") {
  const Chain chain({DeltaMode::overwrite, DeltaMode::overwrite, DeltaMode::overwrite});
  const ByteVector one = merged(chain.all());
  const DeltaFile file(one, "merged");
  CHECK((applied_in_turn(chain.sizes, file, chain.versions[0]) == chain.versions[3]));
  // Still of no need of the base: half applied weights get there as well.
  CHECK((applied_in_turn(chain.sizes, file, chain.versions[2]) == chain.versions[3]));
}

TEST_CASE("merge: all elements and then differences are all elements", "[delta]") {
  const Chain chain({DeltaMode::rice, DeltaMode::dense, DeltaMode::rice, DeltaMode::overwrite});
  const ByteVector one = merged(chain.all());
  const DeltaFile file(one, "merged");
  CHECK(file.index().segments[0].mode == DeltaMode::dense);
  CHECK((applied_in_turn(chain.sizes, file, chain.versions[0]) == chain.versions[4]));
  // From anything: of the first segment no old element is needed.
  const ByteVector from_zeros =
      applied_in_turn(chain.sizes, file, ByteVector(chain.versions[0].size()));
  CHECK(std::equal(from_zeros.begin(), from_zeros.begin() + 2 * 128, chain.versions[4].begin()));
}

TEST_CASE("merge: an anchor and deltas make a newer anchor", "[delta]") {
  const Chain chain({DeltaMode::rice, DeltaMode::rice, DeltaMode::rice});
  DeltaHeader header = chain.sizes.header(0, 1);
  header.anchor = true;
  const ByteVector first =
      delta_bytes(chain.sizes, header, chain.versions[1], chain.versions[1], DeltaMode::anchor);
  const DeltaFile anchor(first, "anchor");
  header.target_version = 3;
  CHECK((merged(std::vector<const DeltaFile*>{&anchor, &chain.files[1], &chain.files[2]}) ==
         delta_bytes(chain.sizes, header, chain.versions[3], chain.versions[3], DeltaMode::dense)));
  CHECK(refusal(std::vector<const DeltaFile*>{&chain.files[0], &anchor}) ==
        "anchor: is an anchor: it needs no deltas before it, begin with it");
}

TEST_CASE("merge: what can't be one delta is refused", "[delta]") {
  const Chain chain({DeltaMode::rice, DeltaMode::overwrite, DeltaMode::rice});
  CHECK(refusal(std::vector<const DeltaFile*>{&chain.files[0], &chain.files[2]})
            .rfind("v3: begins at state ", 0) == 0);
  CHECK(refusal(chain.all()) ==
        "v3: region 3 segment 0: adds to some elements and overwrites others: give the base to "
        "merge the "
        "two");
  RegionSizes cut = chain.sizes;
  cut.segment_elements = 100;
  const ByteVector other =
      delta_bytes(cut, cut.header(1, 2), chain.versions[1], chain.versions[2], DeltaMode::rice);
  const DeltaFile other_file(other, "other");
  CHECK(refusal(std::vector<const DeltaFile*>{&chain.files[0], &other_file}) ==
        "other: has other regions than the one before it");
}

}  // namespace
}  // namespace refit
