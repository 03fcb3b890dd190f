// Interruptions of a refit by changes through an object store, at seeded points: afterwards the
// weights are the new version bit for bit, or the old one and an error that says why.
#include <csignal>
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <random>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "delta/sender.h"
#include "delta/version_store.h"
#include "executor/delta/payload.h"
#include "executor/delta/weight_shard.h"
#include "executor/object_store/published_version.h"
#include "tests/executor/delta_case.h"
#include "tests/executor/memory_store.h"

namespace refit::test {
namespace {

using Objects = std::map<std::string, std::string>;
constexpr std::uint32_t kSegment = 200;  // elements
constexpr const char* kPrefix = "weights";

struct Crash {};

// One trainer, one engine, 64 x 96 BF16 elements in four chunks of eight segments each.
struct Site {
  DeltaCase c =
      delta_case({{1, 1, 0}, {1, 1, 0}, {64, 96}, Dtype::bf16, 1}, "delta_reshard", Codec::rice, 4);
  DeltaGeometry geometry{c.refit, in_four(c.schedule), kSegment};
  std::vector<std::size_t> chunks;

  static const Schedule& in_four(Schedule& schedule) {
    schedule.parcels.at(0).chunks = 4;  // which a plan would not do with so little
    return schedule;
  }

  Site() {
    for (std::size_t i = 0; i < geometry.chunks(); ++i) chunks.push_back(i);
  }
  WeightShard shard(bool destination) const {
    const TensorClass& one = c.refit.classes.at(0);
    return {one, ClassId(0), destination ? one.destination : one.source,
            destination ? Rank(1) : Rank(0)};
  }
  std::vector<std::byte> weights(std::uint64_t version) const {
    const WeightShard shard = this->shard(false);
    TrainedWeights trained({}, ClassId(0), shard);
    trained.step_to(version);
    std::vector<std::byte> bytes(shard.bytes().size());
    trained.write(bytes);
    return bytes;
  }
};

// The trainer's process: what it knows of before is the version that is committed.
class Sender {
 public:
  Sender(const Site& site, std::uint64_t version)
      : site_(site), shard_(site.shard(false)), baseline_(site.weights(version)) {
    std::vector<HeldRegion> held;
    for (const std::size_t chunk : site.chunks) {
      for (const PlacedRegion& placed : site.geometry.regions(chunk))
        held.push_back({placed.delta, shard_.place(placed.region, baseline_)});
    }
    DeltaHeader identity;
    identity.plan_hash = site.geometry.hash();
    identity.segment_elements = kSegment;
    sender_.emplace(identity, std::move(held), version);
  }

  void publish(ObjectStore& store, bool with_manifest = true) {
    const std::uint64_t base = sender_->version();
    const auto weights = site_.weights(base + 1);
    std::ranges::copy(weights, shard_.bytes().begin());
    std::vector<RegionView> views;
    for (const std::size_t chunk : site_.chunks) {
      for (const PlacedRegion& placed : site_.geometry.regions(chunk))
        views.push_back(shard_.view(placed.region));
    }
    const DeltaIndex& index = sender_->prepare(views, base + 1, DeltaMode::rice);
    std::map<std::size_t, std::string> payloads;
    std::size_t first = 0;
    for (const std::size_t chunk : site_.chunks) {
      const std::size_t count = site_.geometry.segments(chunk);
      payloads[chunk] = write_payload(
          {site_.geometry.mark(), base, base + 1, static_cast<std::uint32_t>(chunk), 0}, index,
          first, count, [&](std::size_t i) -> decltype(auto) { return sender_->code(i); });
      first += count;
    }
    Manifest manifest{site_.geometry.hash(), base, base + 1,
                      put_payloads(store, kPrefix, base + 1, 0, site_.chunks, payloads)};
    if (with_manifest) put_manifest(store, kPrefix, manifest);
  }
  SegmentMessage rewrite(const RewriteRequest& request) { return sender_->rewrite(request); }
  void commit() { sender_->commit(sender_->version() + 1); }

 private:
  const Site& site_;
  WeightShard shard_;
  std::vector<std::byte> baseline_;
  std::optional<DeltaSender> sender_;
};

// The engine's process, over weights and a record that outlive it.
class Engine {
 public:
  Engine(const Site& site, std::span<std::byte> weights, VersionStore& versions,
         std::function<void(std::size_t)> before_write = nullptr)
      : site_(site), versions_(versions) {
    const WeightShard shard = site.shard(true);
    std::vector<HeldRegion> held;
    for (const std::size_t chunk : site.chunks) {
      for (const PlacedRegion& placed : site.geometry.regions(chunk))
        held.push_back({placed.delta, shard.place(placed.region, weights)});
    }
    ReceiverOptions options;
    options.before_write = std::move(before_write);
    receiver_.emplace(Hash128{}, site.geometry.hash(), std::move(held), versions, options);
  }

  void fetch(ObjectStore& store) {
    const std::uint64_t base = versions_.read().version;
    const Manifest manifest = get_manifest(store, kPrefix, site_.geometry.hash(), base, base + 1);
    payloads_.clear();
    get_payloads(store, kPrefix, manifest, site_.chunks, payloads_);
  }
  void stage() {
    const std::uint64_t base = versions_.read().version;
    const auto damaged = stage_payloads(site_.geometry, site_.chunks, {0, base, base + 1, 0, 0},
                                        "engine", payloads_, *receiver_);
    if (!damaged.empty()) throw Error(ErrorCode::check_failed, damaged.front().why);
  }
  // With what the sender rewrites for it.
  void apply(Sender& sender) {
    for (int turn = 0; turn < 3; ++turn) {
      const auto wanted = receiver_->apply();
      if (wanted.empty()) return;
      for (const RewriteRequest& request : wanted) receiver_->stage(sender.rewrite(request));
    }
    FAIL("segments stay torn");
  }
  void commit() { receiver_->commit(); }
  DeltaReceiver& receiver() { return *receiver_; }

 private:
  const Site& site_;
  VersionStore& versions_;
  std::map<std::size_t, std::string> payloads_;
  std::optional<DeltaReceiver> receiver_;
};

VersionRecord record_of(const Site& site, std::uint64_t version) {
  // The state is what a delta's own index says of its base.
  Objects objects;
  MemoryStore store(objects);
  Sender(site, version).publish(store);
  const Manifest manifest =
      get_manifest(store, kPrefix, site.geometry.hash(), version, version + 1);
  std::map<std::size_t, std::string> payloads;
  get_payloads(store, kPrefix, manifest, site.chunks, payloads);
  DeltaHeader header;
  header.base_version = version;
  header.target_version = version + 1;
  DeltaIndex index = site.geometry.index_of(site.chunks, header);
  std::vector<SegmentMessage> messages;
  std::size_t first = 0;
  for (const std::size_t chunk : site.chunks) {
    const std::size_t count = site.geometry.segments(chunk);
    read_payload(payloads.at(chunk),
                 {site.geometry.mark(), version, version + 1, static_cast<std::uint32_t>(chunk), 0},
                 "test", first, count, index, messages);
    first += count;
  }
  complete(index);
  VersionRecord record;
  record.version = version;
  record.state = index.header.base_state;
  return record;
}

enum class Trouble {
  sender_dies_before_manifest,
  sender_dies_before_commit,
  engine_dies_in_apply,
  truncated,
  stale,
  bit_flip,
  doubled,
  reordered,
};
constexpr int kTroubles = 8;

class Trial {
 public:
  Trial(const Site& site, std::uint32_t seed) : site_(site), random_(seed) {}

  void run(int versions) {
    for (int v = 0; v < versions; ++v) run_version(static_cast<Trouble>(pick(kTroubles)));
  }
  std::array<int, kTroubles> seen{};
  int refused = 0;  // times that an error said why

 private:
  int pick(std::size_t below) {
    return static_cast<int>(std::uniform_int_distribution<std::size_t>(0, below - 1)(random_));
  }
  std::string& any_object(std::uint64_t version) {
    std::vector<std::string*> objects;
    for (auto& [key, object] : objects_) {
      if (key.starts_with(fmt::format("{}/{}/", kPrefix, version))) objects.push_back(&object);
    }
    REQUIRE(objects.size() == 2);
    return *objects[static_cast<std::size_t>(pick(objects.size()))];
  }

  // What is in the store now is refused, and nothing happens to the weights.
  void require_refused(Engine& engine) {
    bool thrown = false;
    try {
      engine.fetch(store_);
      engine.stage();
    } catch (const Error& error) {
      thrown = true;
      CHECK(std::string(error.what()).size() > 20);
    }
    CHECK(thrown);
    ++refused;
    CHECK(weights_ == site_.weights(versions_.read().version));
  }

  void crash_in_apply() {
    const int at = pick(12);
    int writes = 0;
    Engine engine(site_, weights_, versions_, [&](std::size_t position) {
      if (writes++ < at) return;
      // Torn: a part of the segment is written, as nobody knows what.
      const std::size_t first = (position % 4) * kSegment;
      for (std::size_t i = first; i < first + kSegment / 2; ++i)
        weights_[std::min(i, weights_.size() - 1)] ^= static_cast<std::byte>(pick(256));
      throw Crash{};
    });
    engine.fetch(store_);
    engine.stage();
    try {
      engine.apply(*sender_);
    } catch (const Crash&) {
    }
  }

  void run_version(Trouble trouble) {
    ++seen[static_cast<std::size_t>(trouble)];
    CAPTURE(static_cast<int>(trouble));
    const std::uint64_t base = versions_.read().version;
    Engine engine(site_, weights_, versions_);
    if (trouble == Trouble::sender_dies_before_manifest) {
      sender_->publish(store_, false);
      require_refused(engine);
      sender_.emplace(site_, base);  // restarted
    }
    const Objects before = objects_;
    sender_->publish(store_);
    if (trouble == Trouble::truncated) {
      std::string& object = any_object(base + 1);
      object.resize(static_cast<std::size_t>(pick(object.size())));
      require_refused(engine);
    } else if (trouble == Trouble::bit_flip) {
      std::string& object = any_object(base + 1);
      object[static_cast<std::size_t>(pick(object.size()))] ^= static_cast<char>(1 << pick(8));
      require_refused(engine);
    } else if (trouble == Trouble::stale && base > 0) {
      for (const char* name : {"owner-0", "manifest"})
        objects_[fmt::format("{}/{}/{}", kPrefix, base + 1, name)] =
            before.at(fmt::format("{}/{}/{}", kPrefix, base, name));
      require_refused(engine);
    } else if (trouble == Trouble::engine_dies_in_apply) {
      crash_in_apply();
    }
    sender_->publish(store_);  // the same again: what was spoilt is mended
    Engine restarted(site_, weights_, versions_);
    restarted.fetch(store_);
    restarted.stage();
    if (trouble == Trouble::doubled) restarted.stage();
    if (trouble == Trouble::reordered) stage_reordered(restarted);
    restarted.apply(*sender_);
    restarted.commit();
    if (trouble == Trouble::sender_dies_before_commit) {
      sender_.emplace(site_, base + 1);  // the record says what is committed
    } else {
      sender_->commit();
    }
    REQUIRE(versions_.read().version == base + 1);
    REQUIRE(weights_ == site_.weights(base + 1));
  }

  // Every segment again, in a random order, and some of them with the name of another version.
  void stage_reordered(Engine& engine) {
    std::vector<RewriteRequest> names;
    for (const std::size_t chunk : site_.chunks) {
      for (const PlacedRegion& placed : site_.geometry.regions(chunk))
        names.push_back({{versions_.read().version + 1, placed.delta.id, 0}, DeltaMode::overwrite});
    }
    std::ranges::shuffle(names, random_);
    for (const RewriteRequest& request : names) {
      SegmentMessage message = sender_->rewrite(request);
      if (pick(2) == 0) {
        message.name.target_version += 1;
        CHECK(engine.receiver().stage(message) == Staged::stale);
      } else {
        engine.receiver().stage(message);
      }
    }
  }

  const Site& site_;
  std::mt19937 random_;
  Objects objects_;
  MemoryStore store_{objects_};
  std::optional<Sender> sender_{std::in_place, site_, 0};
  std::vector<std::byte> weights_ = site_.weights(0);
  MemoryVersionStore versions_{record_of(site_, 0)};
};

}  // namespace

TEST_CASE("delta: 120 seeded interruptions leave the new version or the old one", "[executor]") {
  const Site site;
  REQUIRE(site.geometry.chunks() == 4);
  std::array<int, kTroubles> seen{};
  int refused = 0;
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    Trial trial(site, seed);
    trial.run(4);
    for (std::size_t t = 0; t < seen.size(); ++t) seen[t] += trial.seen[t];
    refused += trial.refused;
  }
  // All kinds came, and what was spoilt in storage was noticed.
  for (const int count : seen) CHECK(count >= 5);
  CHECK(refused >= 30);
}

TEST_CASE("delta: an engine that is killed in apply goes on over its mapped weights",
          "[executor]") {
  const Site site;
  Objects objects;
  MemoryStore store(objects);
  Sender sender(site, 0);
  sender.publish(store);
  const auto before = site.weights(0), after = site.weights(1);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("refit-engine-{}", getpid());
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    const std::string file = folder / "weights", record = folder / "version";
    FileVersionStore::create(record, record_of(site, 0));
    const int descriptor = open(file.c_str(), O_RDWR | O_CREAT, 0600);
    REQUIRE(write(descriptor, before.data(), before.size()) == static_cast<ssize_t>(before.size()));
    const auto map = [&] {
      void* at = mmap(nullptr, before.size(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
      REQUIRE(at != MAP_FAILED);
      return std::span(static_cast<std::byte*>(at), before.size());
    };
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const auto weights = map();
      FileVersionStore versions(record);
      std::mt19937 random(seed);
      int left = static_cast<int>(random() % 20);
      Engine engine(site, weights, versions, [&](std::size_t) {
        if (left-- > 0) return;
        weights[random() % weights.size()] ^= std::byte{1};  // torn, wherever that is
        kill(getpid(), SIGKILL);
      });
      engine.fetch(store);
      engine.stage();
      engine.apply(sender);
      _exit(0);  // not reached: more than 20 segments are written
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    const auto weights = map();
    FileVersionStore versions(record);
    CHECK(versions.read().applying);
    Engine restarted(site, weights, versions);
    restarted.fetch(store);
    restarted.stage();
    restarted.apply(sender);
    restarted.commit();
    CHECK(versions.read().version == 1);
    CHECK(std::ranges::equal(weights, after));
    munmap(weights.data(), weights.size());
    close(descriptor);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace refit::test
