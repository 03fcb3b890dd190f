#include "report/export/simgrid.h"

#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pugixml.hpp>

#include "base/error.h"
#include "report/op_times.h"

namespace refit {
namespace {

struct Ends {
  std::string src, dst;
};

[[noreturn]] void refuse(const Schedule& schedule, std::size_t op, const std::string& why) {
  throw Error(ErrorCode::bad_input,
              fmt::format("op {} ({}): {}", op, op_words(schedule.ops[op], schedule), why));
}

// The hosts between which each way in use goes. Transfers go between their ranks; a chain whose
// links all carry the whole goes between two hosts of its own.
std::vector<std::optional<Ends>> ends_of_paths(const Schedule& schedule, const FlowList& flows) {
  std::vector<std::optional<Ends>> ends(flows.paths.size());
  std::map<std::pair<Rank, Rank>, PathId> taken;
  for (std::size_t id = 0; id < flows.ops; ++id) {
    if (!flows.moves_bytes(id) || ends[flows.path[id]]) continue;
    const Op& op = schedule.ops[id];
    for (const PathLink& crossed : flows.paths.of(flows.path[id])) {
      if (crossed.weight == 1) continue;
      refuse(schedule, id,
             fmt::format("a link carries {:.4g} of its bytes, and a route of SimGrid has a link "
                         "whole; export a plan of transfers, such as --strategy direct",
                         crossed.weight));
    }
    if (op.kind != OpKind::transfer) {
      ends[flows.path[id]] = {fmt::format("chain-{}-begin", flows.path[id]),
                              fmt::format("chain-{}-end", flows.path[id])};
      continue;
    }
    const auto [found, fresh] = taken.try_emplace({op.src, op.dst}, flows.path[id]);
    if (!fresh)
      refuse(schedule, id,
             "takes another way than an earlier op between these two, as objects of few parts do; "
             "SimGrid has one route for two hosts");
    ends[flows.path[id]] = {fmt::format("rank-{}", op.src.value),
                            fmt::format("rank-{}", op.dst.value)};
  }
  return ends;
}

std::string link_name(const Cluster& cluster, LinkId link) {
  return link.index() < cluster.links().size() ? cluster.link(link).name
                                               : fmt::format("limit {}", link.value);
}

// The settings without SimGrid's corrections for TCP, and precise enough to compare.
void add_settings(pugi::xml_node platform) {
  pugi::xml_node config = platform.append_child("config");
  constexpr std::pair<const char*, const char*> kSettings[] = {
      {"network/model", "CM02"}, {"network/crosstraffic", "0"}, {"network/TCP-gamma", "0"},
      {"network/optim", "Full"}, {"surf/precision", "1e-12"},   {"maxmin/precision", "1e-12"}};
  for (const auto& [id, value] : kSettings) {
    pugi::xml_node prop = config.append_child("prop");
    prop.append_attribute("id") = id;
    prop.append_attribute("value") = value;
  }
}

std::string platform_xml(const Schedule& schedule, const Cluster& cluster, const FlowList& flows,
                         const std::vector<std::optional<Ends>>& ends) {
  pugi::xml_document document;
  document.append_child(pugi::node_doctype)
      .set_value("platform SYSTEM \"https://simgrid.org/simgrid.dtd\"");
  pugi::xml_node platform = document.append_child("platform");
  platform.append_attribute("version") = "4.1";
  add_settings(platform);
  pugi::xml_node zone = platform.append_child("zone");
  zone.append_attribute("id") = "refit";
  zone.append_attribute("routing") = "Full";
  const auto add_host = [&](const std::string& name) {
    pugi::xml_node host = zone.append_child("host");
    host.append_attribute("id") = name.c_str();
    host.append_attribute("speed") = "1Gf";
  };
  for (int rank = 0; rank < schedule.ranks; ++rank) add_host(fmt::format("rank-{}", rank));
  for (const auto& way : ends) {
    if (!way || way->src.starts_with("rank-")) continue;
    add_host(way->src);
    add_host(way->dst);
  }
  std::vector<bool> used(flows.paths.capacity_bytes_per_s.size(), false);
  for (PathId path = 0; path < ends.size(); ++path)
    if (ends[path])
      for (const PathLink& crossed : flows.paths.of(path)) used[crossed.link.index()] = true;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (!used[l]) continue;
    pugi::xml_node link = zone.append_child("link");
    link.append_attribute("id") = link_name(cluster, LinkId(static_cast<std::int64_t>(l))).c_str();
    link.append_attribute("bandwidth") =
        fmt::format("{:.17g}Bps", flows.paths.capacity_bytes_per_s[l]).c_str();
    link.append_attribute("latency") = "0s";
  }
  for (PathId path = 0; path < ends.size(); ++path) {
    if (!ends[path]) continue;
    pugi::xml_node route = zone.append_child("route");
    route.append_attribute("src") = ends[path]->src.c_str();
    route.append_attribute("dst") = ends[path]->dst.c_str();
    route.append_attribute("symmetrical") = "NO";
    for (const PathLink& crossed : flows.paths.of(path))
      route.append_child("link_ctn").append_attribute("id") =
          link_name(cluster, crossed.link).c_str();
  }
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace

SimgridFiles simgrid_files(const Schedule& schedule, const Cluster& cluster,
                           const FlowList& flows) {
  const std::vector<std::optional<Ends>> ends = ends_of_paths(schedule, flows);
  SimgridFiles files{platform_xml(schedule, cluster, flows, ends), "comm,op,src,dst,bytes,after\n"};
  for (std::size_t task = 0; task < flows.tasks(); ++task) {
    const bool moves = flows.moves_bytes(task);
    fmt::format_to(std::back_inserter(files.comms), "{},{},{},{},{:.0f},{}\n", task,
                   task < flows.ops ? std::to_string(task) : "",
                   moves ? ends[flows.path[task]]->src : "",
                   moves ? ends[flows.path[task]]->dst : "", moves ? flows.bytes[task] : 0.0,
                   fmt::join(flows.after_of(task), " "));
  }
  return files;
}

}  // namespace refit
