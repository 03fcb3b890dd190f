#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "base/workers.h"
#include "cli/delta_apply.h"
#include "cli/delta_regions.h"
#include "cli/delta_text.h"
#include "cli/number_options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "delta/diff.h"
#include "delta/fingerprint.h"
#include "delta/in_parallel.h"
#include "delta/merge.h"

namespace refit {
namespace {

constexpr std::uint64_t kMostVersion = 1'000'000'000'000;

struct DeltaOptions {
  std::vector<std::string> inputs;
  std::string output;
  std::string profile = "auto";
  std::uint64_t base_version = 0;
  std::optional<std::uint64_t> target_version;
  std::string base;
  bool in_place = false;
  bool json = false;
  int threads = all_cores();
};

const std::map<std::string, DeltaMode> kProfiles = {{"auto", DeltaMode::empty},
                                                    {"rice", DeltaMode::rice},
                                                    {"conditioned", DeltaMode::conditioned},
                                                    {"overwrite", DeltaMode::overwrite},
                                                    {"dense", DeltaMode::dense},
                                                    {"anchor", DeltaMode::anchor}};

std::string count(std::uint64_t number) { return format_count(static_cast<std::int64_t>(number)); }
std::string bytes_text(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

// A delta is written at its end and then at its beginning, so it needs a file, not a pipe.
void require_file_output(const DeltaOptions& options, const std::vector<std::string>& inputs) {
  if (options.output == "-") {
    throw Error(ErrorCode::bad_input, "-o -: a delta can't be written to a pipe; name a file");
  }
  for (const std::string& input : inputs) require_other_file(input, options.output);
}

std::vector<std::string> paths_of(const SafetensorsCheckpoint& checkpoint) {
  std::vector<std::string> paths;
  for (const MappedFile& file : checkpoint.files()) paths.push_back(file.path());
  if (!checkpoint.index_path().empty()) paths.push_back(checkpoint.index_path());
  return paths;
}

void require_finished(const SafetensorsCheckpoint& checkpoint) {
  if (std::filesystem::exists(recovery_path(checkpoint))) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: an apply --in-place was interrupted there ({}); finish that first",
                            checkpoint.path(), recovery_path(checkpoint)));
  }
}

int diff(const DeltaOptions& options) {
  const SafetensorsCheckpoint base(options.inputs[0]);
  const SafetensorsCheckpoint target(options.inputs[1]);
  require_same_tensors(base, target);
  require_finished(base);
  require_finished(target);
  std::vector<std::string> inputs = paths_of(base);
  for (const std::string& path : paths_of(target)) inputs.push_back(path);
  require_file_output(options, inputs);

  DeltaHeader header;
  const DeltaMode mode = kProfiles.at(options.profile);
  header.anchor = mode == DeltaMode::anchor;
  header.base_version = header.anchor ? 0 : options.base_version;
  header.target_version = options.target_version.value_or(options.base_version + 1);
  if (header.target_version <= header.base_version) {
    throw Error(ErrorCode::bad_input,
                fmt::format("--target-version {}: does not come after --base-version {}",
                            header.target_version, header.base_version));
  }
  DeltaIndex index = regions_of(base, header);
  {
    Progress progress("comparing");
    std::atomic<std::uint64_t> compared = 0;
    write_output(options.output, [&](std::ostream& out) {
      DeltaWriter writer(out, index);
      write_segments(writer, index.segments.size(), options.threads, [&](std::size_t i) {
        const auto new_elements = elements_of(target, index, i);
        const SegmentChange change =
            encode_change(index, i, elements_of(base, index, i), new_elements, mode);
        progress.say(fmt::format("comparing, {} of {}", bytes_text(compared += new_elements.size()),
                                 bytes_text(base.bytes())));
        return change;
      });
      index = writer.finish();
    });
  }
  print(delta_text(index, delta_file_bytes(index)));
  return 0;
}

int apply(const DeltaOptions& options) {
  const OpenDelta file(options.inputs[1]);
  if (options.in_place == !options.output.empty()) {
    throw Error(ErrorCode::bad_input, "apply needs one of -o NEW and --in-place");
  }
  if (options.output == "-") {
    throw Error(ErrorCode::bad_input, "-o -: a checkpoint can't be written to a pipe; name a file");
  }
  const ApplyCount done =
      options.in_place
          ? apply_in_place(file.delta(), options.inputs[0], options.threads)
          : apply_to_copy(file.delta(), options.inputs[0], options.output, options.threads);
  print(fmt::format("{} is version {} (state {})\n",
                    options.in_place ? options.inputs[0] : options.output,
                    file.delta().index().header.target_version,
                    to_hex(file.delta().index().header.target_state)));
  print(fmt::format(
      "{} segments written, {} were there already{}; all hashes are the target's\n",
      count(done.applied + done.mended), count(done.there_already),
      done.mended == 0 ? "" : fmt::format(", {} mended after an interruption", done.mended)));
  return 0;
}

// Whether the fingerprints of the regions are the delta's, on one side or the other.
bool fingerprints_hold(const DeltaIndex& index, const SafetensorsCheckpoint& checkpoint,
                       bool target, int threads) {
  std::vector<std::uint64_t> parts(index.segments.size());
  in_parallel(parts.size(), threads, [&](std::size_t i) {
    const DeltaSegment& segment = index.segments[i];
    const DeltaRegion& region = index.regions[segment.region];
    parts[i] = fingerprint(region.tensor, region.box, segment.first_element,
                           elements_of(checkpoint, index, i), region.element_bytes);
  });
  std::vector<std::uint64_t> sums(index.regions.size());
  for (std::size_t i = 0; i < parts.size(); ++i) sums[index.segments[i].region] += parts[i];
  for (std::size_t r = 0; r < sums.size(); ++r) {
    const DeltaRegion& region = index.regions[r];
    if (sums[r] != (target ? region.target_fingerprint : region.base_fingerprint)) return false;
  }
  return true;
}

int verify(const DeltaOptions& options) {
  const OpenDelta file(options.inputs[0]);
  const DeltaIndex& index = file.delta().index();
  Progress progress("verifying " + options.inputs[0]);
  in_parallel(index.segments.size(), options.threads,
              [&](std::size_t i) { file.delta().segment(i); });
  print(fmt::format("{}: whole, {} segments with {} of payload\n", options.inputs[0],
                    count(index.segments.size()), bytes_text(index.header.payload_bytes)));
  if (options.inputs.size() == 1) return 0;

  const std::string& name = options.inputs[1];
  const SafetensorsCheckpoint checkpoint(name);
  require_fits(file.delta(), checkpoint);
  progress.say("verifying " + name);
  std::atomic<std::size_t> as_base = 0;
  std::atomic<std::size_t> as_target = 0;
  in_parallel(index.segments.size(), options.threads, [&](std::size_t i) {
    const std::uint64_t hash = hash64(elements_of(checkpoint, index, i));
    if (hash == index.segments[i].target_hash) ++as_target;
    if (hash == index.segments[i].base_hash) ++as_base;
  });
  const std::size_t all = index.segments.size();
  const bool target = as_target == all;
  if (target || (!index.header.anchor && as_base == all)) {
    if (!fingerprints_hold(index, checkpoint, target, options.threads)) {
      print(fmt::format(
          "{}: hashes of segments agree, fingerprints of regions do not: the delta was made "
          "wrongly\n",
          name));
      return static_cast<int>(ErrorCode::check_failed);
    }
    print(fmt::format("{}: is {} {}, by all hashes and fingerprints\n", name,
                      target ? "the target, version" : "the base, version",
                      target ? index.header.target_version : index.header.base_version));
    return 0;
  }
  print(fmt::format(
      "{}: is neither base nor target: of {} segments {} are the base's, {} the target's{}\n", name,
      count(all), count(as_base), count(as_target),
      std::filesystem::exists(recovery_path(checkpoint))
          ? "; an apply --in-place was interrupted, repeat it"
          : ""));
  return static_cast<int>(ErrorCode::check_failed);
}

int inspect(const DeltaOptions& options) {
  const OpenDelta file(options.inputs[0]);
  write_output("-", options.json ? delta_json(file.delta().index(), file.bytes())
                                 : delta_text(file.delta().index(), file.bytes()));
  return 0;
}

// Without the base, changes keep the way in which they are written down.
void require_kept_codes(const DeltaFile& first, const std::string& profile, DeltaMode mode) {
  if (mode == DeltaMode::empty) return;
  for (const DeltaSegment& segment : first.index().segments) {
    const bool is_whole = segment.mode == DeltaMode::dense || segment.mode == DeltaMode::anchor;
    if (segment.mode == DeltaMode::empty || segment.mode == mode || is_whole) continue;
    throw Error(
        ErrorCode::bad_input,
        fmt::format("--profile {}: {} is written otherwise, and without --base it stays so; "
                    "give the checkpoint before it, or leave --profile out",
                    profile, first.where()));
  }
}

int merge(const DeltaOptions& options) {
  require_file_output(options, options.inputs);
  std::vector<OpenDelta> files;
  files.reserve(options.inputs.size());  // deltas point into their maps
  for (const std::string& path : options.inputs) files.emplace_back(path);
  std::vector<const DeltaFile*> deltas;
  for (const OpenDelta& file : files) deltas.push_back(&file.delta());
  MergeOptions merging;
  merging.mode = kProfiles.at(options.profile);
  merging.threads = options.threads;
  std::optional<SafetensorsCheckpoint> base;
  if (options.base.empty()) {
    require_kept_codes(*deltas[0], options.profile, merging.mode);
  } else {
    base.emplace(options.base);
    require_fits(*deltas[0], *base);
    merging.base = [&](std::size_t i) {
      const auto elements = elements_of(*base, deltas[0]->index(), i);
      return std::vector<std::byte>(elements.begin(), elements.end());
    };
  }
  DeltaIndex index;
  {
    Progress progress("merging");
    merging.progress = [&](std::size_t merged) {
      progress.say(
          fmt::format("merging, {} of {} segments", merged, deltas[0]->index().segments.size()));
    };
    write_output(options.output,
                 [&](std::ostream& out) { index = merge_deltas(deltas, merging, out); });
  }
  print(delta_text(index, delta_file_bytes(index)));
  return 0;
}

void add_threads(CLI::App* verb, DeltaOptions& options) {
  verb->add_option("--threads", options.threads, "Threads; all processors unless said otherwise")
      ->check(number_from(1, 1024));
}

void add_profile(CLI::App* verb, DeltaOptions& options) {
  std::vector<std::string> names;
  for (const auto& [name, mode] : kProfiles) names.push_back(name);
  verb->add_option(
          "--profile", options.profile,
          "How segments are encoded; auto takes the smallest, rice can be merged without base, "
          "anchor holds all weights and needs no base")
      ->check(CLI::IsMember(names));
}

CLI::App* add_verb(CLI::App* delta, const char* name, const char* help, Action& action,
                   const std::shared_ptr<DeltaOptions>& options, int (*run)(const DeltaOptions&)) {
  CLI::App* verb = delta->add_subcommand(name, help);
  verb->callback([&action, options, run] { action = [options, run] { return run(*options); }; });
  return verb;
}

}  // namespace

void add_delta(CLI::App& app, Action& action) {
  CLI::App* delta = app.add_subcommand(
      "delta", "Ship checkpoints as deltas: only what changed, bit by bit (safetensors files)");
  delta->require_subcommand(1);
  auto options = std::make_shared<DeltaOptions>();
  const char* checkpoint =
      "A .safetensors file, a model.safetensors.index.json, or a folder with one";

  CLI::App* verb =
      add_verb(delta, "diff", "Write what changed from checkpoint A to B", action, options, diff);
  verb->add_option("CHECKPOINTS", options->inputs, std::string("A and B: ") + checkpoint)
      ->required()
      ->expected(2);
  verb->add_option("-o,--output", options->output, "The delta, a new .rfd file")->required();
  add_profile(verb, *options);
  verb->add_option("--base-version", options->base_version, "The number of A's version; 0")
      ->check(number_from<std::uint64_t>(0, kMostVersion));
  verb->add_option("--target-version", options->target_version, "That of B; one more than A's")
      ->check(number_from<std::uint64_t>(0, kMostVersion));
  add_threads(verb, *options);

  verb = add_verb(delta, "apply", "Make checkpoint B of A and a delta", action, options, apply);
  verb->add_option("BASE DELTA", options->inputs,
                   std::string("Checkpoint A, and the .rfd file. ") + checkpoint)
      ->required()
      ->expected(2);
  verb->add_option("-o,--output", options->output,
                   "The new file; a new folder if A has several files");
  verb->add_flag("--in-place", options->in_place,
                 "Change A itself; if interrupted, repeat the call");
  add_threads(verb, *options);

  verb =
      add_verb(delta, "verify", "Check a delta's hashes, and whose base or target a checkpoint is",
               action, options, verify);
  verb->add_option("DELTA [CHECKPOINT]", options->inputs,
                   std::string("The .rfd file. ") + checkpoint)
      ->required()
      ->expected(1, 2);
  add_threads(verb, *options);

  verb = add_verb(delta, "inspect", "Say what is in a delta", action, options, inspect);
  verb->add_option("DELTA", options->inputs, "The .rfd file")->required()->expected(1);
  verb->add_flag("--json", options->json, "As JSON, every region");

  verb = add_verb(delta, "merge", "Make one delta of several that follow each other", action,
                  options, merge);
  verb->add_option("DELTAS", options->inputs, "The .rfd files, oldest first")
      ->required()
      ->expected(1, -1);
  verb->add_option("-o,--output", options->output, "The merged delta, a new .rfd file")->required();
  verb->add_option(
      "--base", options->base,
      "The checkpoint before the first delta; needed unless all are rice, or all are overwrite");
  add_profile(verb, *options);
  add_threads(verb, *options);
}

}  // namespace refit
