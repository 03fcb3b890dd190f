#include "report/export/msccl.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/check.h"
#include "base/error.h"
#include "base/units.h"
#include "report/op_times.h"

namespace refit {
namespace {

// Of MSCCL's interpreter (msccl.h and its parser).
constexpr std::size_t kMostSteps = 256;   // of a thread block
constexpr std::size_t kMostBlocks = 216;  // of a rank
constexpr std::size_t kMostPeers = 32;    // sending or receiving blocks of a rank and channel
constexpr std::size_t kMostChannels = 32;
// Of its parser: elements in one another, and those that a rank reads: all <gpu>, and what is in
// its own. One less than its table holds, since it looks for room before it reads a closing tag.
constexpr std::size_t kMostInside = 1024;
constexpr std::size_t kMostElements = 4095;
constexpr std::int64_t kMostCount = 71;        // chunks of a step
constexpr std::int64_t kMostChunks = 1 << 20;  // of a buffer, so that offsets stay plain integers

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::bad_input, "MSCCL: " + why);
}

struct Step {
  char type = 's';  // s, r, c (copy), n (nothing: only waits)
  char from = 'i', to = 'o';
  std::int64_t from_offset = 0, to_offset = 0, count = 0;
  int wait_block = -1, wait_step = -1;
  bool waited_for = false;
};

struct Block {
  int send = -1, receive = -1;
  std::size_t channel = 0;
  std::vector<Step> steps;
};

// Where a parcel lies on a rank.
struct Home {
  char buffer = 'i';
  std::int64_t offset = 0;
};

struct RankBuffers {
  std::map<std::int32_t, std::int64_t> input, output, scratch;  // by parcel: its first chunk
  std::int64_t input_chunks = 0, output_chunks = 0, scratch_chunks = 0;
};

struct RankCode {
  RankBuffers buffers;
  std::vector<Block> blocks;
  std::map<std::pair<int, bool>, std::size_t> block_of;  // peer, whether sending
  std::array<std::size_t, kMostChannels> sends{}, receives{};
};

class Compiler {
 public:
  Compiler(const Schedule& schedule, const Refit& refit, const Cluster& cluster)
      : schedule_(schedule),
        refit_(refit),
        cluster_(cluster),
        ranks_(static_cast<std::size_t>(schedule.ranks)),
        received_(schedule.ops.size(), {-1, -1}) {}

  void compile() {
    require_fit();
    choose_unit();
    place_parcels();
    for (std::size_t id = 0; id < schedule_.ops.size(); ++id)
      if (schedule_.ops[id].kind == OpKind::transfer) transfer(id);
    copy_own();
    require_limits();
  }

  std::string xml(const std::string& name) const;

 private:
  [[noreturn]] void refuse_op(std::size_t id, const std::string& why) const {
    refuse(fmt::format("op {} ({}): {}", id, op_words(schedule_.ops[id], schedule_), why));
  }

  void require_fit() const {
    if (schedule_.coding) refuse("a plan that sends changes only does not fit: it codes bytes");
    for (std::size_t id = 0; id < schedule_.ops.size(); ++id) {
      const Op& op = schedule_.ops[id];
      if (is_collective(op))
        refuse_op(id, "a plan may have transfers only; use a strategy such as reshard or direct");
      if (op.kind == OpKind::transfer && (cluster_.store(op.src) || cluster_.store(op.dst)))
        refuse_op(id, "an object store runs no thread blocks");
    }
  }

  void choose_unit() {
    for (const Parcel& parcel : schedule_.parcels)
      for (int c = 0; c < parcel.chunks; ++c)
        unit_ = std::gcd(unit_, chunk_bytes(refit_, parcel, c));
    if (unit_ == 0) refuse("the plan moves no bytes");
  }

  // In chunks: of a parcel's chunks [begin, end).
  std::int64_t chunks_of(const Parcel& parcel, int begin, int end) const {
    std::int64_t bytes = 0;
    for (int c = begin; c < end; ++c) bytes += chunk_bytes(refit_, parcel, c);
    return bytes / unit_;
  }

  void place_parcels() {
    for (std::size_t p = 0; p < schedule_.parcels.size(); ++p) {
      const Parcel& parcel = schedule_.parcels[p];
      const auto number = static_cast<std::int32_t>(p);
      const std::int64_t chunks = chunks_of(parcel, 0, parcel.chunks);
      for (const Rank rank : parcel.owners) {
        RankBuffers& buffers = ranks_[rank.index()].buffers;
        buffers.input[number] = buffers.input_chunks;
        buffers.input_chunks += chunks;
      }
      for (const Rank rank : parcel.demanders) {
        RankBuffers& buffers = ranks_[rank.index()].buffers;
        buffers.output[number] = buffers.output_chunks;
        buffers.output_chunks += chunks;
      }
    }
  }

  Home home(std::size_t rank, std::int32_t parcel, bool of_sender) {
    RankBuffers& buffers = ranks_[rank].buffers;
    if (of_sender)
      if (const auto at = buffers.input.find(parcel); at != buffers.input.end())
        return {'i', at->second};
    if (const auto at = buffers.output.find(parcel); at != buffers.output.end())
      return {'o', at->second};
    const auto [at, fresh] = buffers.scratch.try_emplace(parcel, buffers.scratch_chunks);
    if (fresh) {
      const Parcel& passed_on = schedule_.parcels[static_cast<std::size_t>(parcel)];
      buffers.scratch_chunks += chunks_of(passed_on, 0, passed_on.chunks);
    }
    return {'s', at->second};
  }

  // A thread block for each end of what one rank sends another, on a channel with room for both.
  void connect(std::size_t id, const Op& op) {
    RankCode& src = ranks_[op.src.index()];
    RankCode& dst = ranks_[op.dst.index()];
    if (src.block_of.contains({op.dst.value, true})) return;
    std::size_t channel = 0;
    while (channel < kMostChannels &&
           (src.sends[channel] == kMostPeers || dst.receives[channel] == kMostPeers))
      ++channel;
    if (channel == kMostChannels)
      refuse_op(id, fmt::format("a rank has more than {} peers", kMostPeers * kMostChannels));
    ++src.sends[channel];
    ++dst.receives[channel];
    channels_ = std::max(channels_, channel + 1);
    src.block_of[{op.dst.value, true}] = src.blocks.size();
    src.blocks.push_back({op.dst.value, -1, channel, {}});
    dst.block_of[{op.src.value, false}] = dst.blocks.size();
    dst.blocks.push_back({-1, op.src.value, channel, {}});
  }

  void transfer(std::size_t id) {
    const Op& op = schedule_.ops[id];
    if (op.src == op.dst || op.bytes == 0) return;  // copy_own has it
    connect(id, op);
    RankCode& src = ranks_[op.src.index()];
    Block& sending = src.blocks[src.block_of.at({op.dst.value, true})];
    RankCode& dst = ranks_[op.dst.index()];
    const std::size_t receiver = dst.block_of.at({op.src.value, false});
    Block& receiving = dst.blocks[receiver];
    std::vector<std::pair<int, int>> waits = waits_of(op);
    for (const ParcelId parcel_id : schedule_.cargos[op.cargo.index()].parcels) {
      const Parcel& parcel = schedule_.parcels[parcel_id.index()];
      const std::int64_t skipped = chunks_of(parcel, 0, op.chunk_begin);
      std::int64_t left = chunks_of(parcel, op.chunk_begin, op.chunk_end);
      Home from = home(op.src.index(), parcel_id.value, true);
      Home to = home(op.dst.index(), parcel_id.value, false);
      from.offset += skipped;
      to.offset += skipped;
      while (left > 0) {
        const std::int64_t count = std::min(left, kMostCount);
        Step step{'s', from.buffer, to.buffer, from.offset, to.offset, count, -1, -1, false};
        while (!waits.empty()) {  // all but the last are steps that only wait
          std::tie(step.wait_block, step.wait_step) = waits.back();
          waits.pop_back();
          if (waits.empty()) break;
          sending.steps.push_back({'n', 'i', 'i', 0, 0, 0, step.wait_block, step.wait_step, false});
        }
        sending.steps.push_back(step);
        receiving.steps.push_back(
            {'r', from.buffer, to.buffer, from.offset, to.offset, count, -1, -1, false});
        if (sending.steps.size() > kMostSteps)
          refuse_op(id,
                    fmt::format("is past the {} steps that a thread block may have; all chunks "
                                "have one size, {} here, and a step has {} of them; use fewer "
                                "layers, or tensors of more alike sizes",
                                kMostSteps, format_bytes(static_cast<double>(unit_)), kMostCount));
        from.offset += count;
        to.offset += count;
        left -= count;
      }
    }
    if (receiving.steps.empty()) return;
    received_[id] = {static_cast<int>(receiver), static_cast<int>(receiving.steps.size()) - 1};
  }

  // The receives of the sender that an op waits for: the last of each block.
  std::vector<std::pair<int, int>> waits_of(const Op& op) {
    std::map<int, int> last;
    for (const OpId before : schedule_.after_of(op)) {
      const Op& earlier = schedule_.ops[before.index()];
      const auto [block, step] = received_[before.index()];
      if (earlier.kind != OpKind::transfer || earlier.dst != op.src || block < 0) continue;
      const auto [found, fresh] = last.try_emplace(block, step);
      if (!fresh) found->second = std::max(found->second, step);
    }
    for (const auto& [block, step] : last)
      ranks_[op.src.index()]
          .blocks[static_cast<std::size_t>(block)]
          .steps[static_cast<std::size_t>(step)]
          .waited_for = true;
    return {last.rbegin(), last.rend()};
  }

  // What a rank owns and must end up with is copied from its input to its output.
  void copy_own() {
    for (std::size_t number = 0; number < ranks_.size(); ++number) {
      RankCode& rank = ranks_[number];
      Block copies;
      for (const auto& [parcel, to] : rank.buffers.output) {
        const auto own = rank.buffers.input.find(parcel);
        if (own == rank.buffers.input.end()) continue;
        const Parcel& copied = schedule_.parcels[static_cast<std::size_t>(parcel)];
        const std::int64_t chunks = chunks_of(copied, 0, copied.chunks);
        for (std::int64_t done = 0; done < chunks; done += kMostCount) {
          copies.steps.push_back({'c', 'i', 'o', own->second + done, to + done,
                                  std::min(kMostCount, chunks - done), -1, -1, false});
          if (copies.steps.size() > kMostSteps)
            refuse(
                fmt::format("rank {} keeps more than the {} steps of a thread block can copy to "
                            "its output, in chunks of {}",
                            number, kMostSteps, format_bytes(static_cast<double>(unit_))));
        }
      }
      if (!copies.steps.empty()) rank.blocks.push_back(std::move(copies));
    }
  }

  void require_limits() const {
    if (ranks_.size() > kMostInside)
      refuse(fmt::format("{} ranks; its parser takes {}", ranks_.size(), kMostInside));
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const RankCode& rank = ranks_[r];
      if (rank.blocks.size() > kMostBlocks)
        refuse(
            fmt::format("rank {} has {} peers, and a rank may have {} thread blocks, one for "
                        "each peer and direction",
                        r, rank.blocks.size(), kMostBlocks));
      std::size_t elements = 1 + ranks_.size() + rank.blocks.size();
      for (const Block& block : rank.blocks) elements += block.steps.size();
      if (elements > kMostElements)
        refuse(
            fmt::format("rank {} has {} thread blocks and steps; its parser takes {} elements in "
                        "all, {} of them for the ranks; use fewer layers or chunks",
                        r, elements - 1 - ranks_.size(), kMostElements, ranks_.size()));
      const RankBuffers& buffers = rank.buffers;
      const std::int64_t most =
          std::max({buffers.input_chunks, buffers.output_chunks, buffers.scratch_chunks});
      if (most > kMostChunks)
        refuse(fmt::format("rank {} holds {} chunks of one size ({}), and {} is the most written",
                           r, format_count(most), format_bytes(static_cast<double>(unit_)),
                           format_count(kMostChunks)));
    }
  }

  const Schedule& schedule_;
  const Refit& refit_;
  const Cluster& cluster_;
  std::int64_t unit_ = 0;
  std::size_t channels_ = 1;
  std::vector<RankCode> ranks_;
  std::vector<std::pair<int, int>> received_;  // by op: block and step of its last receive
};

std::string_view type_word(char type) {
  switch (type) {
    case 'c':
      return "cpy";
    case 'n':
      return "nop";
    case 'r':
      return "r";
    default:
      return "s";
  }
}

template <class Value>
void set(pugi::xml_node node, const char* name, const Value& value) {
  node.append_attribute(name) = fmt::format("{}", value).c_str();
}

std::string Compiler::xml(const std::string& name) const {
  pugi::xml_document document;
  pugi::xml_node algo = document.append_child("algo");
  std::int64_t chunks = 1;
  for (const RankCode& rank : ranks_)
    chunks = std::max({chunks, rank.buffers.input_chunks, rank.buffers.output_chunks});
  set(algo, "name", name);
  set(algo, "proto", "Simple");
  set(algo, "nchannels", channels_);
  set(algo, "nchunksperloop", chunks);
  set(algo, "ngpus", ranks_.size());
  set(algo, "coll", "custom");
  set(algo, "inplace", 0);
  set(algo, "outofplace", 1);
  set(algo, "minBytes", chunks * unit_);
  set(algo, "maxBytes", chunks * unit_);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const RankCode& rank = ranks_[r];
    pugi::xml_node gpu = algo.append_child("gpu");
    set(gpu, "id", r);
    // microsoft/msccl takes a buffer of as many chunks as the whole call has, or none; what a rank
    // does not need of it is never touched.
    set(gpu, "i_chunks", rank.buffers.input_chunks > 0 ? chunks : 0);
    set(gpu, "o_chunks", rank.buffers.output_chunks > 0 ? chunks : 0);
    set(gpu, "s_chunks", rank.buffers.scratch_chunks);
    for (std::size_t b = 0; b < rank.blocks.size(); ++b) {
      const Block& block = rank.blocks[b];
      pugi::xml_node tb = gpu.append_child("tb");
      set(tb, "id", b);
      set(tb, "send", block.send);
      set(tb, "recv", block.receive);
      set(tb, "chan", block.channel);
      for (std::size_t s = 0; s < block.steps.size(); ++s) {
        const Step& step = block.steps[s];
        pugi::xml_node node = tb.append_child("step");
        set(node, "s", s);
        set(node, "type", type_word(step.type));
        set(node, "srcbuf", step.from);
        set(node, "srcoff", step.from_offset);
        set(node, "dstbuf", step.to);
        set(node, "dstoff", step.to_offset);
        set(node, "cnt", step.count);
        set(node, "depid", step.wait_block);
        set(node, "deps", step.wait_step);
        set(node, "hasdep", step.waited_for ? 1 : 0);
      }
    }
  }
  std::ostringstream text;
  document.save(text, "  ", pugi::format_default | pugi::format_no_declaration);
  return text.str();
}

}  // namespace

std::string msccl_algorithm(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                            const std::string& name) {
  Compiler compiler(schedule, refit, cluster);
  compiler.compile();
  return compiler.xml(name);
}

}  // namespace refit
