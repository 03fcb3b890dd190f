#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "delta/joint_commit.h"
#include "delta/receiver.h"
#include "delta/sender.h"
#include "tests/delta/weights_case.h"

namespace refit {
namespace {

struct Crash {};

const RegionSizes kSizes{{700, 64, 1100}, 128};  // 6 + 1 + 9 segments

std::vector<HeldRegion> held(ByteVector& weights) {
  std::vector<HeldRegion> regions;
  const auto memory = kSizes.memory(std::span(weights));
  for (std::size_t r = 0; r < memory.size(); ++r) {
    regions.push_back({kSizes.regions()[r], memory[r]});
  }
  return regions;
}

DeltaSender sender_of(ByteVector& baseline, std::uint64_t version) {
  return DeltaSender(kSizes.header(0, 0), held(baseline), version);
}

DeltaReceiver receiver_of(std::vector<HeldRegion> regions, VersionStore& versions,
                          ReceiverOptions options = {}) {
  const DeltaHeader header = kSizes.header(0, 0);
  return DeltaReceiver(header.model_id, header.plan_hash, std::move(regions), versions,
                       std::move(options));
}

void prepare(DeltaSender& sender, const ByteVector& weights, std::uint64_t version,
             DeltaMode mode = DeltaMode::empty) {
  sender.prepare(kSizes.memory(std::span<const std::byte>(weights)), version, mode);
}

// Through a network that reorders, repeats, delays and damages.
void deliver(const DeltaSender& sender, const std::vector<SegmentMessage>& stale,
             DeltaReceiver& receiver, std::mt19937_64& random) {
  std::vector<SegmentMessage> messages;
  for (const SegmentName& name : sender.names()) {
    messages.push_back(sender.message(name));
    if (random() % 3 == 0) messages.push_back(messages.back());
    if (random() % 4 == 0) {
      messages.push_back(messages.back());
      messages.back().encoded.payload[0] ^= std::byte{1} << (random() % 8);
    }
  }
  messages.insert(messages.end(), stale.begin(), stale.end());
  std::shuffle(messages.begin(), messages.end(), random);
  for (const SegmentMessage& message : messages) {
    if (random() % 10 != 0) receiver.stage(message);
  }
  while (!receiver.missing().empty()) {
    for (const SegmentName& name : receiver.missing()) receiver.stage(sender.message(name));
  }
}

// Applies to the end; returns how many segments had to be rewritten.
std::size_t finish(const DeltaSender& sender, DeltaReceiver& receiver) {
  std::size_t rewritten = 0;
  for (auto requests = receiver.apply(); !requests.empty(); requests = receiver.apply()) {
    for (const RewriteRequest& request : requests) {
      REQUIRE(receiver.stage(sender.rewrite(request)) == Staged::taken);
    }
    rewritten += requests.size();
    REQUIRE(rewritten < 100);
  }
  return rewritten;
}

TEST_CASE("delta protocol: 200 crashes at random points leave no wrong bit", "[delta]") {
  const std::uint64_t seed = 2026;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const ByteVector before = random_weights(kSizes.total(), random);
  const ByteVector after = updated(before, 20, random);
  ByteVector baseline = before;
  DeltaSender sender = sender_of(baseline, 4);
  const VersionRecord start{4, sender.state(), false, 0, {}};

  prepare(sender, updated(before, 9, random), 5);
  std::vector<SegmentMessage> stale;
  for (const SegmentName& name : sender.names()) stale.push_back(sender.message(name));
  prepare(sender, after, 6);
  std::stringstream file_text;
  sender.write_file(file_text);
  const std::string file_bytes = file_text.str();
  const DeltaFile file(std::as_bytes(std::span(file_bytes)), "v6");

  int naive_wrong = 0;
  std::size_t torn = 0;
  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    ByteVector weights = before;
    MemoryVersionStore versions(start);
    std::size_t writes_left = random() % 16;
    ReceiverOptions options;
    options.before_write = [&](std::size_t position) {
      if (writes_left-- > 0) return;
      if (random() % 2 == 0) {  // some of the elements had arrived
        const DeltaSegment& segment = sender.index().segments[position];
        const auto new_part = kSizes.memory(std::span<const std::byte>(after))[segment.region];
        ByteVector scratch;
        const auto elements =
            new_part.read(segment.first_element, 1 + random() % segment.elements, scratch);
        kSizes.memory(std::span(weights))[segment.region].write(segment.first_element, elements);
      }
      throw Crash{};
    };
    std::size_t first_try = 0;
    {
      DeltaReceiver receiver = receiver_of(held(weights), versions, options);
      receiver.announce(sender.index());
      deliver(sender, stale, receiver, random);
      try {
        first_try = finish(sender, receiver);
      } catch (const Crash&) {
      }
    }
    REQUIRE(first_try == 0);
    naive_wrong += applied_in_turn(kSizes, file, weights) != after ? 1 : 0;

    DeltaReceiver receiver = receiver_of(held(weights), versions);
    receiver.announce(sender.index());
    deliver(sender, stale, receiver, random);
    torn += finish(sender, receiver);
    REQUIRE((weights == after));
    REQUIRE(receiver.commit() ==
            VersionRecord{6, sender.index().header.target_state, false, 0, {}});
  }
  // A crash before the first write leaves the base whole: 1 of 16 or so. All others are wrong.
  CHECK(naive_wrong > 170);
  CHECK(torn > 50);
  CHECK((baseline == before));
}

TEST_CASE("delta protocol: a receiver killed while it writes a mapped file is mended", "[delta]") {
  const std::uint64_t seed = 5;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const ByteVector before = random_weights(kSizes.total(), random);
  const ByteVector after = updated(before, 20, random);
  ByteVector baseline = before;
  DeltaSender sender = sender_of(baseline, 1);
  prepare(sender, after, 2);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("refit-delta-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto regions_of = [&](MappedFile& file) {
    std::vector<HeldRegion> regions;
    const auto memory = kSizes.memory(file.writable_bytes());
    for (std::size_t r = 0; r < memory.size(); ++r) {
      regions.push_back({kSizes.regions()[r], memory[r]});
    }
    return regions;
  };
  for (std::size_t trial = 0; trial < 12; ++trial) {
    CAPTURE(trial);
    const std::string path = (folder / "weights").string();
    const std::string version = (folder / ("version" + std::to_string(trial))).string();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(before.data()), static_cast<long>(before.size()));
    FileVersionStore::create(version, {1, sender.state(), false, 0, {}});
    const pid_t child = ::fork();
    if (child == 0) {
      MappedFile file(path, MappedFile::Access::write);
      FileVersionStore versions(version);
      std::size_t writes = 0;
      ReceiverOptions options;
      options.before_write = [&](std::size_t position) {
        if (writes++ < trial) return;
        const DeltaSegment& segment = sender.index().segments[position];
        const auto part = kSizes.memory(std::span<const std::byte>(after))[segment.region];
        ByteVector scratch;
        kSizes.memory(file.writable_bytes())[segment.region].write(
            segment.first_element, part.read(segment.first_element, segment.elements / 2, scratch));
        ::kill(::getpid(), SIGKILL);
      };
      DeltaReceiver receiver = receiver_of(regions_of(file), versions, options);
      receiver.announce(sender.index());
      for (const SegmentName& name : sender.names()) receiver.stage(sender.message(name));
      receiver.apply();
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));

    MappedFile file(path, MappedFile::Access::write);
    FileVersionStore versions(version);
    CHECK(versions.read().applying);
    ReceiverOptions options;
    options.flush = [&] { file.flush(); };
    DeltaReceiver receiver = receiver_of(regions_of(file), versions, options);
    receiver.announce(sender.index());
    for (const SegmentName& name : sender.names()) receiver.stage(sender.message(name));
    finish(sender, receiver);
    receiver.commit();
    REQUIRE(std::ranges::equal(file.bytes(), after));
    CHECK(versions.read().version == 2);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("delta protocol: 20 versions, each interrupted somewhere, end bit by bit equal",
          "[delta]") {
  const std::uint64_t seed = 77;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  ByteVector trainer = random_weights(kSizes.total(), random);
  ByteVector baseline = trainer;
  ByteVector weights = trainer;
  DeltaSender sender = sender_of(baseline, 0);
  MemoryVersionStore versions({0, sender.state(), false, 0, {}});
  for (std::uint64_t version = 1; version <= 20; ++version) {
    CAPTURE(version);
    const ByteVector last = trainer;
    trainer = updated(trainer, 30, random);
    const DeltaMode modes[] = {DeltaMode::empty, DeltaMode::rice, DeltaMode::overwrite,
                               DeltaMode::dense};
    prepare(sender, trainer, version, modes[version % 4]);
    std::size_t writes_left = random() % 16;
    ReceiverOptions options;
    options.threads = 2;
    options.before_write = [&](std::size_t) {
      if (writes_left == 0) throw Crash{};
    };
    try {
      DeltaReceiver receiver = receiver_of(held(weights), versions, options);
      receiver.announce(sender.index());
      deliver(sender, {}, receiver, random);
      if (random() % 2 == 0) writes_left = 0;
      receiver.apply();
    } catch (const Crash&) {
    }
    CHECK(versions.read().version == version - 1);
    CHECK((baseline == last));
    DeltaReceiver receiver = receiver_of(held(weights), versions);
    receiver.announce(sender.index());
    deliver(sender, {}, receiver, random);
    finish(sender, receiver);
    receiver.commit();
    sender.commit(version);
    REQUIRE((weights == trainer));
    REQUIRE((baseline == trainer));
    REQUIRE(versions.read().state == sender.state());
  }
}

struct Pair {
  std::mt19937_64 random{3};
  ByteVector before = random_weights(kSizes.total(), random);
  ByteVector after = updated(before, 20, random);
  ByteVector baseline = before;
  ByteVector weights = before;
  DeltaSender sender = sender_of(baseline, 4);
  MemoryVersionStore versions{{4, sender.state(), false, 0, {}}};

  Pair() { prepare(sender, after, 5); }

  DeltaReceiver staged(ReceiverOptions options = {}) {
    DeltaReceiver receiver = receiver_of(held(weights), versions, std::move(options));
    receiver.announce(sender.index());
    for (const SegmentName& name : sender.names()) receiver.stage(sender.message(name));
    return receiver;
  }
};

std::string error_of(const std::function<void()>& work, ErrorCode code = ErrorCode::bad_input) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "";
}

TEST_CASE("delta protocol: what is staged is told apart", "[delta]") {
  Pair p;
  DeltaReceiver receiver = receiver_of(held(p.weights), p.versions);
  SegmentMessage message = p.sender.message(p.sender.names()[0]);
  CHECK(receiver.stage(message) == Staged::stale);  // nothing announced
  receiver.announce(p.sender.index());
  CHECK(receiver.missing().size() == p.sender.names().size());
  SegmentMessage wrong = message;
  wrong.name.target_version = 4;
  CHECK(receiver.stage(wrong) == Staged::stale);
  wrong = message;
  wrong.name.region = 4;
  CHECK(receiver.stage(wrong) == Staged::unknown);
  wrong = message;
  wrong.name.segment = 6;  // region 3 has segments 0 to 5
  CHECK(receiver.stage(wrong) == Staged::unknown);
  wrong = message;
  wrong.encoded.payload[0] ^= std::byte{1};
  CHECK(receiver.stage(wrong) == Staged::damaged);
  wrong.payload_hash = hash64(wrong.encoded.payload);  // somebody else's difference
  CHECK(receiver.stage(wrong) == Staged::damaged);
  CHECK(receiver.stage(message) == Staged::taken);
  CHECK(receiver.stage(message) == Staged::repeated);
  receiver.announce(p.sender.index());  // again, as after a lost answer: nothing is dropped
  CHECK(receiver.missing().size() == p.sender.names().size() - 1);
  CHECK(error_of([&] { receiver.apply(); }) ==
        fmt::format("{} of 16 segments of version 5 are missing; ask for them again",
                    p.sender.names().size() - 1));
  CHECK((p.weights == p.before));
  CHECK(!p.versions.read().applying);
}

TEST_CASE("delta protocol: a delta that does not belong here is refused by name", "[delta]") {
  Pair p;
  DeltaReceiver receiver = receiver_of(held(p.weights), p.versions);
  const auto refusal = [&](const std::function<void(DeltaIndex&)>& change) {
    DeltaIndex index = p.sender.index();
    change(index);
    return error_of([&] { receiver.announce(index); });
  };
  const auto starts = [](const std::string& text, const std::string& with) {
    CAPTURE(text);
    CHECK(text.rfind("delta refused: " + with, 0) == 0);
  };
  starts(refusal([](DeltaIndex& i) { i.header.model_id = {}; }), "model_id is 0000");
  starts(refusal([](DeltaIndex& i) { i.header.plan_hash = {}; }), "plan_hash is 0000");
  starts(refusal([](DeltaIndex& i) { i.header.target_version = 4; }),
         "it leads to version 4, the weights are version 4 (state ");
  starts(refusal([](DeltaIndex& i) { i.header.base_version = 3; }),
         "base_version is 3, the weights are version 4 (state ");
  starts(refusal([](DeltaIndex& i) { i.header.base_state = {}; }), "base_state is 0000");
  starts(refusal([](DeltaIndex& i) { i.regions.pop_back(); }), "it has 2 regions, 3 are held here");
  starts(refusal([](DeltaIndex& i) { i.regions[1].tensor = 9; }),
         "region 13 is not the region 13 held here: other id, tensor, width or box");
  receiver.announce(p.sender.index());
}

TEST_CASE("delta protocol: weights that are not the base are left as they are", "[delta]") {
  Pair p;
  p.weights[2 * (700 + 3)] ^= std::byte{4};  // region 13, its only segment
  const ByteVector found = p.weights;
  DeltaReceiver receiver = p.staged();
  const std::string message = error_of([&] { receiver.apply(); }, ErrorCode::check_failed);
  CHECK(message ==
        "region 13 segment 0: the weights are not those of version 4, they were changed since; "
        "nothing was applied, send new elements or an anchor");
  CHECK((p.weights == found));
  CHECK(p.versions.read() == VersionRecord{4, p.sender.state(), false, 0, {}});
  // With the new elements of that segment alone.
  const auto requests = receiver.check_base();
  REQUIRE(requests == std::vector<RewriteRequest>{{{5, 13, 0}, DeltaMode::dense}});
  CHECK(receiver.stage(p.sender.rewrite(requests[0])) == Staged::taken);
  CHECK(receiver.check_base().empty());
  CHECK(receiver.apply().empty());
  CHECK((p.weights == p.after));
}

TEST_CASE("delta protocol: where overwriting changes is not enough, all elements are sent",
          "[delta]") {
  Pair p;
  ReceiverOptions options;
  options.before_write = [&](std::size_t position) {
    if (position != 2) return;
    // Of region 3's third segment everything is lost.
    std::fill_n(p.weights.begin() + 2 * 2 * 128, 2 * 128, std::byte{0xee});
    throw Crash{};
  };
  DeltaReceiver crashed = p.staged(options);
  CHECK_THROWS_AS(crashed.apply(), Crash);
  DeltaReceiver receiver = p.staged();
  auto requests = receiver.apply();
  REQUIRE(requests == std::vector<RewriteRequest>{{{5, 3, 2}, DeltaMode::overwrite}});
  receiver.stage(p.sender.rewrite(requests[0]));
  CHECK(error_of([&] { receiver.commit(); }) ==
        "commit: not all weights are the target; apply first");
  requests = receiver.apply();
  REQUIRE(requests == std::vector<RewriteRequest>{{{5, 3, 2}, DeltaMode::dense}});
  CHECK(receiver.stage(p.sender.rewrite(requests[0])) == Staged::taken);
  CHECK(receiver.apply().empty());
  CHECK((p.weights == p.after));
}

TEST_CASE("delta protocol: weights half way to one version take no other, but an anchor",
          "[delta]") {
  Pair p;
  ReceiverOptions options;
  options.before_write = [](std::size_t position) {
    if (position == 7) throw Crash{};
  };
  DeltaReceiver crashed = p.staged(options);
  CHECK_THROWS_AS(crashed.apply(), Crash);

  const ByteVector newest = updated(p.after, 10, p.random);
  prepare(p.sender, newest, 6);
  DeltaReceiver receiver = receiver_of(held(p.weights), p.versions);
  const std::string message = error_of([&] { receiver.announce(p.sender.index()); });
  CHECK(message.rfind("delta refused: the weights are version 4 (state ", 0) == 0);
  CHECK(message.find("on the way to version 5") != std::string::npos);

  DeltaHeader header = kSizes.header(0, 6);
  header.anchor = true;
  const ByteVector bytes = delta_bytes(kSizes, header, newest, newest, DeltaMode::anchor);
  const DeltaFile anchor(bytes, "anchor");
  receiver.announce(anchor.index());
  for (const DeltaRegion& region : anchor.index().regions) {
    for (std::uint32_t s = 0; s < region.segments; ++s) {
      const std::size_t position = region.first_segment + s;
      CHECK(receiver.stage({{6, region.id, s},
                            anchor.segment(position),
                            anchor.index().segments[position].payload_hash}) == Staged::taken);
    }
  }
  CHECK(receiver.apply().empty());
  CHECK(receiver.commit().version == 6);
  CHECK((p.weights == newest));
  // The state is that of the deltas' way to version 6, so the next delta fits.
  CHECK(anchor.index().header.target_state == p.sender.index().header.target_state);
}

TEST_CASE("delta protocol: the record moves only from where it was", "[delta]") {
  Pair p;
  DeltaReceiver receiver = p.staged();
  REQUIRE(receiver.apply().empty());
  const VersionRecord record = p.versions.read();
  REQUIRE(p.versions.compare_and_set(record, {9, {}, false, 0, {}}));
  CHECK(error_of([&] { receiver.commit(); }, ErrorCode::check_failed)
            .rfind("commit of version 5: the record says version 9", 0) == 0);
}

TEST_CASE("delta protocol: the sender's baseline moves with commit alone", "[delta]") {
  Pair p;
  CHECK((p.baseline == p.before));
  CHECK(error_of([&] { p.sender.commit(6); }) == "commit of version 6, but version 5 is under way");
  CHECK(error_of([&] {
          p.sender.message({4, 3, 0});
        }) == "version 4 region 3 segment 0 is not under way; version 5 is");
  p.sender.commit(5);
  CHECK((p.baseline == p.after));
  CHECK(p.sender.version() == 5);
  CHECK(error_of([&] { p.sender.index(); }) == "no version is under way; prepare one first");
  CHECK(error_of([&] { prepare(p.sender, p.after, 5); }) ==
        "version 5 does not come after the baseline's, 5");
  p.baseline[0] ^= std::byte{1};
  CHECK(error_of([&] { prepare(p.sender, p.after, 6); }, ErrorCode::check_failed)
            .rfind("the baseline of version 5 has state ", 0) == 0);
}

TEST_CASE("delta protocol: a version is committed when the last receiver has it", "[delta]") {
  const VersionRecord base{4, {}, false, 0, {}};
  const VersionRecord target{5, {}, false, 0, {}};
  MemoryVersionStore versions(base);
  JointCommit commit(versions, base, target, 3);
  CHECK(!commit.acknowledge(0, 5));
  CHECK(!commit.acknowledge(0, 5));
  CHECK(!commit.acknowledge(1, 4));  // of the version before, late
  CHECK(!commit.acknowledge(2, 5));
  CHECK(commit.outstanding() == std::vector<std::size_t>{1});
  CHECK(versions.read() == base);
  CHECK(commit.acknowledge(1, 5));
  CHECK(versions.read() == target);
  CHECK(commit.acknowledge(2, 5));
  CHECK(error_of([&] { commit.acknowledge(3, 5); }) == "receiver 3 acknowledges, but there are 3");

  JointCommit late(versions, base, {6, {}, false, 0, {}}, 1);
  CHECK(error_of([&] { late.acknowledge(0, 6); }, ErrorCode::check_failed)
            .rfind("all have version 6, but the record is version 5", 0) == 0);
}

}  // namespace
}  // namespace refit
