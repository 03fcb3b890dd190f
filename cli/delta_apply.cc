#include "cli/delta_apply.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "delta/diff.h"
#include "delta/in_parallel.h"

namespace refit {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::error_code& error) {
  throw Error(ErrorCode::environment,
              fmt::format("{}: cannot be written: {}", path, error.message()));
}

// Nobody knows what a crash leaves of a file that was not told to go to the disk.
void flush_path(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool flushed = file >= 0 && ::fsync(file) == 0;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (!flushed) fail(path, std::error_code(error, std::generic_category()));
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

[[noreturn]] void refuse_base(const DeltaFile& delta, const SafetensorsCheckpoint& base,
                              std::size_t position, const std::string& called) {
  throw Error(
      ErrorCode::bad_input,
      fmt::format("{}: is not the checkpoint {} was made for: {} differ; nothing was changed",
                  called, delta.where(), place_in(base, delta.index(), position)));
}

// Says how far it is, in bytes of weights.
class SegmentProgress {
 public:
  SegmentProgress(std::string doing, const DeltaIndex& index)
      : doing_(std::move(doing)), index_(index), progress_(doing_) {}

  void done(std::size_t position) {
    const DeltaSegment& segment = index_.segments[position];
    const std::uint64_t bytes = bytes_ +=
        segment.elements * static_cast<std::uint64_t>(index_.regions[segment.region].element_bytes);
    progress_.say(fmt::format("{} {}", doing_, format_bytes(static_cast<double>(bytes))));
  }

 private:
  std::string doing_;
  const DeltaIndex& index_;
  std::atomic<std::uint64_t> bytes_ = 0;
  Progress progress_;
};

// Brings every segment to its target. `rewritten` has new elements for torn ones; `called` is what
// people know the weights as.
ApplyCount apply_segments(const DeltaFile& delta, SafetensorsCheckpoint& weights,
                          const std::string& called, const DeltaFile* rewritten, int threads) {
  const DeltaIndex& index = delta.index();
  SegmentProgress progress("applying " + delta.where(), index);
  std::atomic<std::uint64_t> applied = 0;
  std::atomic<std::uint64_t> there_already = 0;
  std::atomic<std::uint64_t> mended = 0;
  in_parallel(index.segments.size(), threads, [&](std::size_t i) {
    const auto held = writable_elements_of(weights, index, i);
    const SegmentState state = state_of(index, i, held);
    if (state == SegmentState::target) {
      ++there_already;
    } else {
      const bool torn = state == SegmentState::torn;
      if (torn && rewritten == nullptr) refuse_base(delta, weights, i, called);
      std::vector<std::byte> elements(held.begin(), held.end());
      if (!reach_target(index, i, (torn ? *rewritten : delta).segment(i), elements)) {
        throw Error(torn ? ErrorCode::check_failed : ErrorCode::bad_input,
                    fmt::format("{}: does not lead to its target hash; {}", delta.place(i),
                                torn ? "the weights are damaged, load them anew"
                                     : "the file was made wrongly, make it anew"));
      }
      std::memcpy(held.data(), elements.data(), elements.size());
      ++(torn ? mended : applied);
    }
    progress.done(i);
  });
  return {applied, there_already, mended};
}

void copy(const std::string& from, const std::string& to, const std::string& shown) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) fail(shown, error);
}

// A folder of a new name, renamed in the end or removed.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& target) : target_(target) {
    std::string name = target + ".XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      fail(target, std::error_code(errno, std::generic_category()));
    }
    path_ = name;
    fs::permissions(path_, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                               fs::perms::others_read | fs::perms::others_exec);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  void keep() {
    std::error_code error;
    fs::rename(path_, target_, error);
    if (error) fail(target_, error);
    path_.clear();
  }

 private:
  std::string target_;
  fs::path path_;
};

// The delta again as new elements, which need no known old ones. Writing it proves base and delta:
// every segment is applied to a copy and hashed.
void write_recovery(const DeltaFile& delta, const SafetensorsCheckpoint& base,
                    const std::string& path, int threads) {
  const DeltaIndex& index = delta.index();
  SegmentProgress progress("checking " + base.path() + " against " + delta.where(), index);
  write_whole_file(path, [&](const std::string& temporary) {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    DeltaWriter writer(out, regions_of(base, index.header));
    write_segments(writer, index.segments.size(), threads, [&](std::size_t i) {
      const auto held = elements_of(base, index, i);
      if (hash64(held) != index.segments[i].base_hash) refuse_base(delta, base, i, base.path());
      std::vector<std::byte> elements(held.begin(), held.end());
      if (!reach_target(index, i, delta.segment(i), elements)) {
        throw Error(ErrorCode::bad_input,
                    fmt::format("{}: does not lead to its target hash; the file was made wrongly",
                                delta.place(i)));
      }
      progress.done(i);
      return encode_change(index, i, held, elements, DeltaMode::overwrite);
    });
    writer.finish();
    out.close();
    if (!out) fail(path, std::error_code(errno, std::generic_category()));
    flush_path(temporary);
  });
  flush_path(folder_of(path));
}

// What a killed apply left of a recovery file that was not whole yet: `path` and six characters.
// Nobody else writes them, since an apply in place has the checkpoint to itself.
void remove_unfinished_recovery(const std::string& path) {
  const std::string start = fs::path(path).filename().string() + ".";
  std::vector<fs::path> left;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(path), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(start) && name.size() == start.size() + 6 &&
        entry.is_regular_file(ignored))
      left.push_back(entry.path());
  }
  for (const fs::path& file : left) fs::remove(file, ignored);
}

bool at_target(const DeltaFile& delta, const SafetensorsCheckpoint& checkpoint, int threads) {
  std::atomic<bool> all = true;
  in_parallel(delta.index().segments.size(), threads, [&](std::size_t i) {
    if (!all) return;
    const auto held = elements_of(checkpoint, delta.index(), i);
    if (state_of(delta.index(), i, held) != SegmentState::target) all = false;
  });
  return all;
}

}  // namespace

std::string recovery_path(const SafetensorsCheckpoint& checkpoint) {
  const std::string& entry =
      checkpoint.index_path().empty() ? checkpoint.files()[0].path() : checkpoint.index_path();
  return entry + ".rfd-recovery";
}

ApplyCount apply_to_copy(const DeltaFile& delta, const std::string& base, const std::string& output,
                         int threads) {
  std::optional<SafetensorsCheckpoint> from(base);
  require_fits(delta, *from);
  std::vector<std::string> files;
  for (const MappedFile& file : from->files()) files.push_back(file.path());
  const std::string index_path = from->index_path();
  const std::string recovery = recovery_path(*from);
  if (fs::exists(recovery) && !delta.index().header.anchor) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: an apply --in-place was interrupted there ({}); finish that first",
                            base, recovery));
  }
  from.reset();

  if (index_path.empty()) {
    require_other_file(files[0], output);
    ApplyCount count;
    write_whole_file(output, [&](const std::string& temporary) {
      copy(files[0], temporary, output);
      SafetensorsCheckpoint to(temporary, MappedFile::Access::write);
      count = apply_segments(delta, to, base, nullptr, threads);
      to.flush();
    });
    return count;
  }
  if (fs::exists(output)) {
    throw Error(ErrorCode::bad_input,
                fmt::format("-o {}: is there already; {} has several files, name a new folder",
                            output, base));
  }
  TemporaryFolder folder(fs::path(output).has_filename() ? output
                                                         : fs::path(output).parent_path().string());
  for (const std::string& file : files) copy(file, folder / fs::path(file).filename(), output);
  const std::string index_copy = folder / fs::path(index_path).filename();
  copy(index_path, index_copy, output);
  SafetensorsCheckpoint to(index_copy, MappedFile::Access::write);
  const ApplyCount count = apply_segments(delta, to, base, nullptr, threads);
  to.flush();
  folder.keep();
  return count;
}

ApplyCount apply_in_place(const DeltaFile& delta, const std::string& base, int threads) {
  SafetensorsCheckpoint weights(base, MappedFile::Access::write);
  require_fits(delta, weights);
  const std::string path = recovery_path(weights);
  remove_unfinished_recovery(path);
  std::optional<OpenDelta> recovery;
  if (!delta.index().header.anchor) {
    if (!fs::exists(path)) {
      if (at_target(delta, weights, threads)) {
        return {0, delta.index().segments.size(), 0};
      }
      write_recovery(delta, weights, path, threads);
    }
    recovery.emplace(path);
    const DeltaHeader& theirs = recovery->delta().index().header;
    const DeltaHeader& ours = delta.index().header;
    if (theirs.base_state != ours.base_state || theirs.target_state != ours.target_state ||
        geometry_hash(recovery->delta().index()) != geometry_hash(delta.index())) {
      throw Error(
          ErrorCode::bad_input,
          fmt::format(
              "{}: an apply of another delta (version {} to {}) was interrupted there ({}); "
              "finish that first",
              base, theirs.base_version, theirs.target_version, path));
    }
  }
  const ApplyCount count =
      apply_segments(delta, weights, base, recovery ? &recovery->delta() : nullptr, threads);
  weights.flush();
  std::error_code error;
  fs::remove(path, error);
  if (error) fail(path, error);
  flush_path(folder_of(path));
  return count;
}

}  // namespace refit
