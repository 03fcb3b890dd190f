#include "report/export/trace.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/units.h"
#include "report/op_times.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

// Calls `with` for each rank that takes part.
template <class With>
void each_rank(const Op& op, const Schedule& schedule, const With& with) {
  if (op.kind == OpKind::transfer) {
    with(op.src);
    if (op.dst != op.src) with(op.dst);
    return;
  }
  bool has_root = op.kind != OpKind::broadcast;
  for (const Rank rank : schedule.groups[op.group.index()].ranks) {
    has_root = has_root || rank == op.src;
    with(rank);
  }
  if (!has_root) with(op.src);
}

// What a rank does, as one number: equal for ranks that do the same.
class Doings {
 public:
  void add(std::uint64_t value) {
    hash_ ^= value + 0x9e3779b97f4a7c15ULL + (hash_ << 6) + (hash_ >> 2);
    hash_ *= 0xff51afd7ed558ccdULL;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

std::string event_name(const Op& op, Rank rank) {
  if (op.kind == OpKind::compute) return std::string(to_string(op.work));
  if (op.kind != OpKind::transfer) return std::string(to_string(op.kind));
  if (op.src == op.dst) return "copy";
  return op.src == rank ? fmt::format("send to {}", op.dst.value)
                        : fmt::format("receive from {}", op.src.value);
}

Json event_arguments(const Schedule& schedule, std::size_t id) {
  const Op& op = schedule.ops[id];
  Json arguments = {{"op", id}, {"phase", schedule.phases[op.phase].name}, {"round", op.round}};
  if (op.kind != OpKind::barrier) arguments["bytes"] = op.bytes;
  if (op.kind == OpKind::transfer) {
    arguments["src"] = op.src.value;
    arguments["dst"] = op.dst.value;
  } else {
    arguments["ranks"] = schedule.groups[op.group.index()].ranks.size();
    if (op.kind == OpKind::broadcast) arguments["root"] = op.src.value;
  }
  return arguments;
}

class Writer {
 public:
  Writer(std::ostream& out, const Schedule& schedule) : out_(out), schedule_(schedule) {}

  void begin(const std::string& title, const TracedRanks& ranks) {
    Json about = {{"title", title},
                  {"ranks", schedule_.ranks},
                  {"ranks_shown", ranks.ranks.size()},
                  {"ranks_left_out", ranks.left_out}};
    fmt::print(out_, "{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\n\"traceEvents\":[",
               about.dump());
  }
  void end() { out_ << "\n]}\n"; }

  void name(const char* what, Rank rank, int thread, const std::string& text) {
    item({{"ph", "M"},
          {"name", what},
          {"pid", rank.value},
          {"tid", thread},
          {"args", {{"name", text}}}});
  }
  void sort(const char* what, Rank rank, int thread, int place) {
    item({{"ph", "M"},
          {"name", what},
          {"pid", rank.value},
          {"tid", thread},
          {"args", {{"sort_index", place}}}});
  }
  void op(std::size_t id, const Span& span, Rank rank, int thread) {
    const Op& op = schedule_.ops[id];
    item({{"ph", "X"},
          {"name", event_name(op, rank)},
          {"cat", std::string(to_string(op.kind))},
          {"ts", span.start_s * 1e6},
          {"dur", (span.end_s - span.start_s) * 1e6},
          {"pid", rank.value},
          {"tid", thread},
          {"args", event_arguments(schedule_, id)}});
  }

 private:
  void item(const Json& json) {
    out_ << (first_ ? "\n" : ",\n") << json.dump();
    first_ = false;
  }

  std::ostream& out_;
  const Schedule& schedule_;
  bool first_ = true;
};

// Ops of one rank and lane by start, each with the first thread that is free then: events of one
// thread may not overlap.
std::vector<int> threads_of(const std::vector<std::size_t>& ops, const Timeline& timeline,
                            int& threads) {
  std::set<std::pair<double, int>> busy;  // until when, which
  std::set<int> free;
  std::vector<int> result;
  for (const std::size_t id : ops) {
    while (!busy.empty() && busy.begin()->first <= timeline[id].start_s) {
      free.insert(busy.begin()->second);
      busy.erase(busy.begin());
    }
    if (free.empty()) free.insert(threads++);
    const int thread = *free.begin();
    free.erase(free.begin());
    busy.insert({timeline[id].end_s, thread});
    result.push_back(thread);
  }
  return result;
}

int rank_number(const std::string& text, const std::string& word, int ranks) {
  int value = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0 || value >= ranks)
    throw Error(ErrorCode::bad_input,
                fmt::format("--ranks {}: '{}' is no rank; the plan has 0 to {}, as in 0-7,32", text,
                            word, ranks - 1));
  return value;
}

}  // namespace

TracedRanks default_traced_ranks(const Schedule& schedule,
                                 const std::vector<const Timeline*>& timelines) {
  TracedRanks result;
  if (schedule.ranks <= kMostTracedRanks) {
    for (int r = 0; r < schedule.ranks; ++r) result.ranks.push_back({Rank(r), 0});
    return result;
  }
  std::vector<Doings> doings(static_cast<std::size_t>(schedule.ranks));
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    Doings same;
    for (const auto number :
         {static_cast<std::uint64_t>(op.kind), static_cast<std::uint64_t>(op.work),
          static_cast<std::uint64_t>(op.lane), static_cast<std::uint64_t>(op.round),
          static_cast<std::uint64_t>(op.bytes)})
      same.add(number);
    for (const Timeline* timeline : timelines) {
      same.add(std::bit_cast<std::uint64_t>((*timeline)[id].start_s));
      same.add(std::bit_cast<std::uint64_t>((*timeline)[id].end_s));
    }
    each_rank(op, schedule, [&](Rank rank) {
      doings[rank.index()].add(same.value() + (op.kind == OpKind::transfer && op.src == rank));
    });
  }
  std::map<std::uint64_t, std::size_t> classes;
  for (int r = 0; r < schedule.ranks; ++r) {
    const std::uint64_t key = doings[static_cast<std::size_t>(r)].value();
    const auto [found, fresh] = classes.try_emplace(key, result.ranks.size());
    if (!fresh) {
      found->second < result.ranks.size() ? ++result.ranks[found->second].alike : ++result.left_out;
    } else if (result.ranks.size() < static_cast<std::size_t>(kMostTracedRanks)) {
      result.ranks.push_back({Rank(r), 0});
    } else {
      found->second = static_cast<std::size_t>(-1);
      ++result.left_out;
    }
  }
  return result;
}

TracedRanks parse_traced_ranks(const std::string& text, int ranks) {
  std::set<int> chosen;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    const std::size_t dash = word.find('-');
    const int first = rank_number(text, word.substr(0, dash), ranks);
    const int last =
        dash == std::string::npos ? first : rank_number(text, word.substr(dash + 1), ranks);
    if (last < first)
      throw Error(ErrorCode::bad_input, fmt::format("--ranks {}: '{}' counts down; write {}-{}",
                                                    text, word, last, first));
    for (int r = first; r <= last; ++r) chosen.insert(r);
    at = end + 1;
  }
  TracedRanks result;
  for (const int r : chosen) result.ranks.push_back({Rank(r), 0});
  result.left_out = ranks - static_cast<int>(chosen.size());
  return result;
}

void write_trace(std::ostream& out, const Schedule& schedule, const Cluster& cluster,
                 const TracedRanks& ranks, const std::vector<TraceTimes>& times,
                 const std::string& title) {
  std::vector<int> place(static_cast<std::size_t>(schedule.ranks), -1);
  for (std::size_t i = 0; i < ranks.ranks.size(); ++i)
    place[ranks.ranks[i].rank.index()] = static_cast<int>(i);
  const auto lanes = static_cast<std::size_t>(std::max(schedule.lanes, 1));
  std::vector<std::vector<std::size_t>> rows(ranks.ranks.size() * lanes);
  std::size_t events = 0;
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    each_rank(op, schedule, [&](Rank rank) {
      const int at = place[rank.index()];
      if (at < 0) return;
      events += times.size();
      rows[static_cast<std::size_t>(at) * lanes + op.lane].push_back(id);
    });
  }
  if (events > kMostTraceEvents)
    throw Error(ErrorCode::bad_input,
                fmt::format("the trace would have {} events, and viewers take {} well; choose "
                            "fewer ranks, as in --ranks 0-7,32",
                            format_count(static_cast<std::int64_t>(events)),
                            format_count(static_cast<std::int64_t>(kMostTraceEvents))));
  Writer writer(out, schedule);
  writer.begin(title, ranks);
  for (std::size_t i = 0; i < ranks.ranks.size(); ++i) {
    const TracedRank& traced = ranks.ranks[i];
    const Rank rank = traced.rank;
    std::string name = fmt::format("rank {}, node {}", rank.value, cluster.node(rank).value);
    if (const StoreSpec* store = cluster.store(rank)) name = "store " + store->name;
    if (traced.alike > 0) name += fmt::format(", and {} alike", traced.alike);
    writer.name("process_name", rank, 0, name);
    writer.sort("process_sort_index", rank, 0, rank.value);
    int thread = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (const TraceTimes& time : times) {
        std::vector<std::size_t> ops = rows[i * lanes + lane];
        std::stable_sort(ops.begin(), ops.end(), [&](std::size_t a, std::size_t b) {
          return (*time.timeline)[a].start_s < (*time.timeline)[b].start_s;
        });
        int threads = 0;
        const std::vector<int> thread_of = threads_of(ops, *time.timeline, threads);
        for (int t = 0; t < threads; ++t) {
          const std::string label = time.label.empty() ? "" : " " + time.label;
          writer.name("thread_name", rank, thread + t,
                      t == 0 ? fmt::format("lane {}{}", lane, label)
                             : fmt::format("lane {}{} ({})", lane, label, t + 1));
          writer.sort("thread_sort_index", rank, thread + t, thread + t);
        }
        for (std::size_t k = 0; k < ops.size(); ++k)
          writer.op(ops[k], (*time.timeline)[ops[k]], rank, thread + thread_of[k]);
        thread += threads;
      }
    }
  }
  writer.end();
}

}  // namespace refit
