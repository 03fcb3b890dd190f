#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "delta/hash.h"

namespace refit {

// Which version weights are, and whether they are on the way to another: what must be known after a
// crash before anybody touches or uses them.
struct VersionRecord {
  std::uint64_t version = 0;
  Hash128 state;  // DeltaHeader::target_state of the delta that led here

  // While a delta is being applied the weights are a mixture, of no use until it is finished.
  bool applying = false;
  std::uint64_t next_version = 0;  // 0 unless applying, and so is next_state
  Hash128 next_state;

  friend bool operator==(const VersionRecord&, const VersionRecord&) = default;
};

// "version 4 (state 00ff...)", for messages.
std::string to_string(const VersionRecord& record);

class VersionStore {
 public:
  virtual ~VersionStore() = default;
  virtual VersionRecord read() = 0;
  // Replaces the record by `next` if it is `expected`; false, and nothing done, if it is another.
  virtual bool compare_and_set(const VersionRecord& expected, const VersionRecord& next) = 0;
};

class MemoryVersionStore : public VersionStore {
 public:
  explicit MemoryVersionStore(VersionRecord record) : record_(record) {}
  VersionRecord read() override;
  bool compare_and_set(const VersionRecord& expected, const VersionRecord& next) override;

 private:
  std::mutex mutex_;
  VersionRecord record_;
};

// A small text file, replaced as a whole and flushed to the disk; processes on one machine take
// turns by a lock on PATH.lock.
class FileVersionStore : public VersionStore {
 public:
  explicit FileVersionStore(std::string path);

  // Error(environment) if PATH is there already.
  static void create(const std::string& path, const VersionRecord& record);

  VersionRecord read() override;
  bool compare_and_set(const VersionRecord& expected, const VersionRecord& next) override;

 private:
  std::string path_;
};

}  // namespace refit
