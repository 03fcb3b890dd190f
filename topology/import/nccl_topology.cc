#include "topology/import/nccl_topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "topology/import/detail/nccl_links.h"
#include "topology/import/detail/nccl_pcie.h"
#include "topology/import/detail/nccl_xml.h"
#include "topology/import/detail/note_list.h"
#include "topology/import/detail/text_lines.h"

namespace refit {
namespace {

using detail::NcclGpu;
using detail::XmlNode;

constexpr std::size_t kMostHosts = 4096;
constexpr std::size_t kMostDevices = 1024;     // of a host, each of GPUs and NICs
constexpr std::size_t kMostPaths = 1'000'000;  // between a GPU and a NIC, of all hosts

struct Nic {
  XmlNode node;  // where it hangs in the tree
  SeenNic seen;
  long order = 0;
};

struct Host {
  std::size_t system = 0;  // which of the file's, where several dumps were joined
  std::string hash;
  std::vector<NcclGpu> gpus;
  std::vector<Nic> nics;
  std::vector<Nic> silent_nics;        // of the PCI tree, without <net>
  std::map<std::string, int> unknown;  // devices without a class, by the bus id above them
  std::set<std::string, std::less<>> bus_ids, gpu_numbers, nic_numbers;
};

class Reader {
 public:
  Reader(const detail::NcclXml& xml, const std::string& name) : xml_(xml), name_(name) {}

  NcclTopology read() {
    const std::vector<XmlNode> systems = xml_.roots();
    for (std::size_t s = 0; s < systems.size(); ++s) {
      if (systems[s].name() != "system")
        fail(systems[s], fmt::format("<{}> stands beside <system>; keep one kind in a file",
                                     shown(systems[s].name(), 40)));
      for (const XmlNode& cpu : systems[s].children()) {
        if (cpu.name() == "cpu") read_below(cpu, host_of(cpu, s));
      }
    }
    NcclTopology topology;
    const bool has_gpu = any([](const Host& h) {
      return std::any_of(h.gpus.begin(), h.gpus.end(),
                         [](const NcclGpu& g) { return g.gpu.has_value(); });
    });
    const bool has_net = any([](const Host& h) { return !h.nics.empty(); });
    topology.is_hint = !has_gpu && !has_net;
    bool all_switched = true;
    for (Host& host : hosts_) {
      if (!has_net)
        host.nics = std::move(host.silent_nics);
      else if (!host.silent_nics.empty())
        notes_.add(
            fmt::format("{} network devices of the PCI tree have no <net>: NCCL does not use them, "
                        "and they are left out",
                        host.silent_nics.size()));
      topology.hosts.push_back(shape_of(host, all_switched));
    }
    // One dump has the hosts that NVLink joins; several dumps say nothing about each other.
    topology.joined_hosts = hosts_.size() > 1 && all_switched && systems.size() == 1;
    if (systems.size() > 1)
      notes_.add(fmt::format("{} dumps stand in the file; the hosts of each are nodes of their own",
                             systems.size()));
    topology.notes = notes_.take();
    topology.assumed = {domain_notes_.take(), nic_notes_.take()};
    return topology;
  }

 private:
  template <class Test>
  bool any(Test test) const {
    return std::any_of(hosts_.begin(), hosts_.end(), test);
  }

  Host& host_of(const XmlNode& cpu, std::size_t system) {
    const std::string hash(cpu.attribute("host_hash"));
    for (Host& host : hosts_) {
      if (host.hash != hash) continue;
      if (host.system == system) return host;
      if (!hash.empty())
        fail(cpu, "this host is in two of the file's dumps; keep one dump of each host");
    }
    if (hosts_.size() == kMostHosts) fail(cpu, fmt::format("more than {} hosts", kMostHosts));
    hosts_.push_back({});
    hosts_.back().system = system;
    hosts_.back().hash = hash;
    return hosts_.back();
  }

  void read_below(const XmlNode& node, Host& host) {
    for (const XmlNode& child : node.children()) {
      if (child.name() == "pci") {
        read_pci(child, host);
      } else if (child.name() == "nic") {
        read_nets(child, node, host);
      }
    }
  }

  void read_pci(const XmlNode& pci, Host& host) {
    require_new(pci, "busid", host.bus_ids);
    std::optional<XmlNode> gpu;
    bool has_device = false;
    for (const XmlNode& child : pci.children()) {
      if (child.name() == "gpu") {
        if (gpu) fail(child, "a second <gpu> in one <pci>; each GPU is a PCI device of its own");
        gpu = child;
      }
      has_device |= child.name() == "gpu" || child.name() == "nic" || child.name() == "pci";
    }
    if (gpu) {
      require_new(*gpu, "dev", host.gpu_numbers);
      for (const XmlNode& link : gpu->children()) {
        if (link.name() == "c2c")
          notes_.add(
              "GPUs reach their CPU by C2C; a rate between GPU and NIC is taken from PCIe alone");
      }
    }
    const std::string_view kind = pci.attribute("class");
    if (gpu || is_gpu_class(kind, pci.attribute("vendor"))) {
      host.gpus.push_back({pci, gpu, gpu ? detail::whole_or(gpu->attribute("dev"), 0) : 0});
    } else if (!has_device && (kind.starts_with("0x0200") || kind.starts_with("0x0207"))) {
      host.silent_nics.push_back({pci, {}, 0});
    } else if (!has_device && kind.empty()) {
      notes_.add("PCI devices have no class, so whether they are GPUs or NICs is not said");
      ++host.unknown[std::string(pci.parent().attribute("busid"))];
    }
    if (std::max(host.gpus.size(), host.silent_nics.size()) > kMostDevices)
      fail(pci, fmt::format("more than {} GPUs or NICs in one host", kMostDevices));
    const std::size_t gpus = host.gpus.size(), nics = host.nics.size();
    read_below(pci, host);
    if (host.gpus.size() == gpus) limit_nics(pci, std::span(host.nics).subspan(nics));
  }

  // A device that stands twice would count twice, as joined or edited files have it.
  void require_new(const XmlNode& node, const char* key,
                   std::set<std::string, std::less<>>& seen) const {
    const std::string_view value = node.attribute(key);
    if (value.empty() || seen.emplace(value).second) return;
    fail(node, fmt::format("<{}> with {}=\"{}\" stands twice in one host; keep one", node.name(),
                           key, shown(value, 40)));
  }

  static bool is_gpu_class(std::string_view kind, std::string_view vendor) {
    if (kind.starts_with("0x0302")) return true;
    if (vendor == "0x10de") return kind.starts_with("0x0300");
    return vendor == "0x1002" && (kind.starts_with("0x0380") || kind.starts_with("0x1200"));
  }

  // `above` is the device or the CPU that the <nic> hangs on.
  void read_nets(const XmlNode& nic, const XmlNode& above, Host& host) {
    bool has_net = false;
    for (const XmlNode& net : nic.children()) {
      if (net.name() != "net") continue;
      has_net = true;
      require_new(net, "dev", host.nic_numbers);
      Nic found{above,
                {std::string(net.attribute("name")), 0, {}},
                detail::whole_or(net.attribute("dev"), 0)};
      if (above.name() != "pci") found.seen.unfit = "no PCI device";
      if (above.attribute("class").starts_with("0x0280"))
        found.seen.unfit = "no Ethernet or InfiniBand";
      const std::string_view speed = net.attribute("speed");  // Mbit/s
      if (const auto mbit = detail::natural_number(speed)) {
        found.seen.bytes_per_s = *mbit * 1e6 / 8;
      } else if (!speed.empty() && !nic_notes_.is_full()) {
        nic_notes_.add(
            fmt::format("line {}: speed=\"{}\" is no number of Mbit/s, so the speed of this NIC is "
                        "not known",
                        net.line(), shown(speed, 40)));
      }
      host.nics.push_back(std::move(found));
      if (host.nics.size() > kMostDevices)
        fail(net, fmt::format("more than {} NICs in one host", kMostDevices));
    }
    if (!has_net && !nic_notes_.is_full())
      nic_notes_.add(fmt::format(
          "line {}: a <nic> without a <net> in it, which has its speed, is left out", nic.line()));
  }

  // All bytes of NICs below a device that has no GPU below it pass its link.
  void limit_nics(const XmlNode& pci, std::span<Nic> nics) {
    double ports = 0;
    for (const Nic& nic : nics) ports += nic.seen.bytes_per_s;
    const double link = ports > 0 ? detail::pcie_rate(pci, notes_) : 0;
    if (link == 0 || link >= ports) return;
    if (nics.size() == 1) {
      nic_notes_.add(
          fmt::format("a NIC's own PCIe link ({:.1f} GB/s) is slower than its port ({:.1f} GB/s); "
                      "it counts with the former",
                      link / 1e9, ports / 1e9));
    } else {
      nic_notes_.add(fmt::format(
          "{} ports share a PCIe link of {:.1f} GB/s, slower than their {:.1f} GB/s; each "
          "counts with its part of it",
          nics.size(), link / 1e9, ports / 1e9));
    }
    for (Nic& nic : nics)
      nic.seen.bytes_per_s = nics.size() == 1 ? link : nic.seen.bytes_per_s * (link / ports);
  }

  NodeShape shape_of(Host& host, bool& all_switched) {
    const auto is_silent = [](const NcclGpu& g) { return !g.gpu; };
    if (std::all_of(host.gpus.begin(), host.gpus.end(), is_silent)) {
      // CUDA counts equal GPUs by their bus.
      std::stable_sort(host.gpus.begin(), host.gpus.end(), [](const NcclGpu& a, const NcclGpu& b) {
        return a.pci.attribute("busid") < b.pci.attribute("busid");
      });
    } else {
      if (std::any_of(host.gpus.begin(), host.gpus.end(), is_silent))
        notes_.add(
            "some GPUs of the PCI tree took no part in the job that wrote this; they come last");
      std::stable_sort(host.gpus.begin(), host.gpus.end(), [](const NcclGpu& a, const NcclGpu& b) {
        return std::pair(!a.gpu, a.order) < std::pair(!b.gpu, b.order);
      });
    }
    std::stable_sort(host.nics.begin(), host.nics.end(),
                     [](const Nic& a, const Nic& b) { return a.order < b.order; });
    NodeShape shape;
    for (const Nic& nic : host.nics) shape.nics.push_back(nic.seen);
    paths_ += host.gpus.size() * host.nics.size();
    if (paths_ > kMostPaths)
      throw Error(
          ErrorCode::bad_input,
          fmt::format("{}: more than {} pairs of a GPU and a NIC of one host", name_, kMostPaths));
    for (const NcclGpu& gpu : host.gpus) {
      std::vector<SeenPath>& row = shape.paths.emplace_back();
      for (const Nic& nic : host.nics)
        row.push_back(detail::path_between(gpu.pci, nic.node, notes_));
    }
    all_switched = detail::add_gpu_links(host.gpus, shape, domain_notes_) && all_switched;
    for (const auto& [above, count] : host.unknown) shape.unknown_behind_switch.push_back(count);
    return shape;
  }

  [[noreturn]] void fail(const XmlNode& node, const std::string& what) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}:{}: {}", name_, node.line(), what));
  }

  const detail::NcclXml& xml_;
  const std::string& name_;
  std::vector<Host> hosts_;
  std::size_t paths_ = 0;
  detail::NoteList notes_, domain_notes_, nic_notes_;
};

}  // namespace

NcclTopology read_nccl_topology(const std::string& text, const std::string& name) {
  const detail::NcclXml xml(text, name);
  if (xml.root().name() == "graphs")
    throw Error(ErrorCode::bad_input,
                fmt::format("{}; expected an NCCL topology file (NCCL_TOPO_DUMP_FILE)",
                            nccl_graph_in_words(text, name)));
  if (xml.root().name() != "system") {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: <{}> is no topology; expected <system> of NCCL_TOPO_DUMP_FILE",
                            name, shown(xml.root().name(), 40)));
  }
  NcclTopology topology = Reader(xml, name).read();
  if (topology.hosts.empty())
    throw Error(ErrorCode::bad_input, fmt::format("{}: <system> has no <cpu> in it", name));
  return topology;
}

std::string nccl_graph_in_words(const std::string& text, const std::string& name) {
  const detail::NcclXml xml(text, name);
  std::size_t graphs = 0, most = 0;
  for (const XmlNode& graph : xml.root().children()) {
    if (graph.name() != "graph") continue;
    ++graphs;
    for (const XmlNode& channel : graph.children()) {
      std::size_t gpus = 0;
      for (const XmlNode& node : channel.children()) gpus += node.name() == "gpu" ? 1 : 0;
      most = std::max(most, gpus);
    }
  }
  return fmt::format(
      "{}: this is an NCCL graph file: the {} rings and trees that a job chose over {} GPUs, not "
      "the machine they run on",
      name, graphs, most);
}

}  // namespace refit
