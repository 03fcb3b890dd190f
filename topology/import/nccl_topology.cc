#include "topology/import/nccl_topology.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "topology/import/detail/disjoint_sets.h"
#include "topology/import/detail/nccl_xml.h"

namespace refit {
namespace {

using detail::XmlNode;

// One direction of one link. NVLink: the GPU's data sheet (2020: 25 GB/s, 2024: 50 GB/s). xGMI:
// AMD's data sheets of MI250X (100 GB/s both directions) and MI300X (128 GB/s).
constexpr std::pair<int, double> kNvlinkOfSm[] = {
    {70, 25e9}, {80, 25e9}, {90, 25e9}, {100, 50e9}, {103, 50e9}};
constexpr std::pair<std::string_view, double> kXgmiOfGcn[] = {
    {"910", 50e9}, {"gfx90a", 50e9}, {"gfx942", 64e9}};

// Of a file that is wrong everywhere the first ones are enough.
constexpr std::size_t kMostNotes = 32;
constexpr long kMostLinks = 1024;  // between two devices
constexpr std::size_t kMostHosts = 4096;
constexpr std::size_t kMostDevices = 1024;  // of a host, each of GPUs and NICs

constexpr double kAsleepTransfersPerS = 2.5e9;

struct Gpu {
  XmlNode pci;
  std::optional<XmlNode> gpu;
  long order = 0;
};

struct Nic {
  XmlNode node;  // where it hangs in the tree
  SeenNic seen;
  long order = 0;
};

struct Host {
  std::string hash;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  std::vector<Nic> silent_nics;        // of the PCI tree, without <net>
  std::map<std::string, int> unknown;  // devices without a class, by the bus id above them
};

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0) || value > 1e12)
    return std::nullopt;
  return value;
}

long whole(std::string_view text, long otherwise) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

class Reader {
 public:
  Reader(const detail::NcclXml& xml, const std::string& name) : xml_(xml), name_(name) {}

  NcclTopology read() {
    for (const XmlNode& cpu : xml_.root().children()) {
      if (cpu.name() == "cpu") read_below(cpu, host_of(cpu));
    }
    NcclTopology topology;
    const bool has_gpu = any([](const Host& h) {
      return std::any_of(h.gpus.begin(), h.gpus.end(),
                         [](const Gpu& g) { return g.gpu.has_value(); });
    });
    const bool has_net = any([](const Host& h) { return !h.nics.empty(); });
    topology.is_hint = !has_gpu && !has_net;
    for (Host& host : hosts_) {
      if (!has_net)
        host.nics = std::move(host.silent_nics);
      else if (!host.silent_nics.empty())
        note(
            fmt::format("{} network devices of the PCI tree have no <net>: NCCL does not use them, "
                        "and they are left out",
                        host.silent_nics.size()));
      topology.hosts.push_back(shape_of(host));
    }
    topology.joined_hosts = hosts_.size() > 1 && all_switched_;
    topology.notes = std::move(notes_);
    return topology;
  }

 private:
  template <class Test>
  bool any(Test test) const {
    return std::any_of(hosts_.begin(), hosts_.end(), test);
  }

  void note(std::string text) {
    if (notes_.size() >= kMostNotes) return;
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end())
      notes_.push_back(std::move(text));
  }

  Host& host_of(const XmlNode& cpu) {
    const std::string hash(cpu.attribute("host_hash"));
    for (Host& host : hosts_) {
      if (host.hash == hash) return host;
    }
    if (hosts_.size() == kMostHosts) fail(cpu, fmt::format("more than {} hosts", kMostHosts));
    hosts_.push_back({});
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
    std::optional<XmlNode> gpu;
    bool has_device = false;
    for (const XmlNode& child : pci.children()) {
      if (child.name() == "gpu") gpu = child;
      has_device |= child.name() == "gpu" || child.name() == "nic" || child.name() == "pci";
    }
    const std::string_view kind = pci.attribute("class");
    if (gpu || is_gpu_class(kind, pci.attribute("vendor"))) {
      host.gpus.push_back({pci, gpu, gpu ? whole(gpu->attribute("dev"), 0) : 0});
    } else if (!has_device && (kind.starts_with("0x0200") || kind.starts_with("0x0207"))) {
      host.silent_nics.push_back({pci, {}, 0});
    } else if (!has_device && kind.empty()) {
      note("PCI devices have no class, so whether they are GPUs or NICs is not said");
      ++host.unknown[std::string(pci.parent().attribute("busid"))];
    }
    if (std::max(host.gpus.size(), host.silent_nics.size()) > kMostDevices)
      fail(pci, fmt::format("more than {} GPUs or NICs in one host", kMostDevices));
    read_below(pci, host);
  }

  static bool is_gpu_class(std::string_view kind, std::string_view vendor) {
    if (kind.starts_with("0x0302")) return true;
    if (vendor == "0x10de") return kind.starts_with("0x0300");
    return vendor == "0x1002" && (kind.starts_with("0x0380") || kind.starts_with("0x1200"));
  }

  // `above` is the device or the CPU that the <nic> hangs on.
  void read_nets(const XmlNode& nic, const XmlNode& above, Host& host) {
    for (const XmlNode& net : nic.children()) {
      if (net.name() != "net") continue;
      Nic found{above, {std::string(net.attribute("name")), 0, {}}, whole(net.attribute("dev"), 0)};
      if (above.name() != "pci") found.seen.unfit = "no PCI device";
      if (above.attribute("class").starts_with("0x0280"))
        found.seen.unfit = "no Ethernet or InfiniBand";
      const std::string_view speed = net.attribute("speed");  // Mbit/s
      if (const auto mbit = number(speed)) {
        found.seen.bytes_per_s = *mbit * 1e6 / 8;
      } else if (!speed.empty() && notes_.size() < kMostNotes) {
        note(
            fmt::format("line {}: speed=\"{}\" is no number of Mbit/s, so the speed of this NIC is "
                        "not known",
                        net.line(), detail::shown_attribute(speed)));
      }
      host.nics.push_back(std::move(found));
      if (host.nics.size() > kMostDevices)
        fail(net, fmt::format("more than {} NICs in one host", kMostDevices));
    }
  }

  // Bytes per second of a device's PCIe link; 0: not known.
  double link_rate(const XmlNode& pci) {
    const std::string_view speed = pci.attribute("link_speed");
    const long lanes = whole(pci.attribute("link_width"), 0);
    if (pci.attribute("link_width") == "0")
      note("some PCIe links have link_width 0, so their rates are not known");
    if (speed.empty() || lanes <= 0 || lanes > 64) return 0;
    const std::size_t unit = speed.find(" GT/s");
    const std::string_view rest = unit == std::string_view::npos ? "?" : speed.substr(unit + 5);
    const auto gigatransfers =
        rest.empty() || rest == " PCIe" ? number(speed.substr(0, unit)) : std::nullopt;
    if (!gigatransfers) {
      note(
          fmt::format("link_speed=\"{}\" is no PCIe speed like \"16.0 GT/s PCIe\", so these PCIe "
                      "rates are not known",
                      detail::shown_attribute(speed)));
      return 0;
    }
    const double transfers = *gigatransfers * 1e9;
    if (transfers == kAsleepTransfersPerS) {
      note(
          "some PCIe links stand at 2.5 GT/s, as they do when asleep; their rates count as not "
          "known");
      return 0;
    }
    // Up to 5 GT/s ten bits carry eight, above 130 carry 128.
    const double code = transfers <= 5e9 ? 0.8 : 128.0 / 130;
    // To whole MB/s: more digits say nothing.
    return std::round(transfers * static_cast<double>(lanes) * code / 8e6) * 1e6;
  }

  SeenPath path_between(const XmlNode& gpu, const XmlNode& nic) {
    const std::vector<XmlNode> up = gpu.line_up(), other = nic.line_up();
    // Both lines end in <cpu>, <system>; the first common one from below.
    for (std::size_t a = 0; a < up.size(); ++a) {
      const auto meet = std::find(other.begin(), other.end(), up[a]);
      if (meet == other.end()) continue;
      SeenPath path;
      const std::size_t b = static_cast<std::size_t>(meet - other.begin());
      if (up[a].name() == "pci")
        path.distance = a <= 1 && b <= 1 ? Distance::pix : Distance::pxb;
      else
        path.distance = up[a].name() == "cpu" ? Distance::phb : Distance::sys;
      for (std::size_t i = 0; i < a; ++i) {
        if (up[i].name() != "pci") continue;
        const double rate = link_rate(up[i]);
        if (rate == 0) return {path.distance, 0};
        path.bytes_per_s = path.bytes_per_s == 0 ? rate : std::min(path.bytes_per_s, rate);
      }
      return path;
    }
    return {};
  }

  NodeShape shape_of(Host& host) {
    if (std::all_of(host.gpus.begin(), host.gpus.end(), [](const Gpu& g) { return !g.gpu; })) {
      // CUDA counts equal GPUs by their bus.
      std::stable_sort(host.gpus.begin(), host.gpus.end(), [](const Gpu& a, const Gpu& b) {
        return a.pci.attribute("busid") < b.pci.attribute("busid");
      });
    } else {
      if (std::any_of(host.gpus.begin(), host.gpus.end(), [](const Gpu& g) { return !g.gpu; }))
        note("some GPUs of the PCI tree took no part in the job that wrote this; they come last");
      std::stable_sort(host.gpus.begin(), host.gpus.end(), [](const Gpu& a, const Gpu& b) {
        return std::pair(!a.gpu, a.order) < std::pair(!b.gpu, b.order);
      });
    }
    std::stable_sort(host.nics.begin(), host.nics.end(),
                     [](const Nic& a, const Nic& b) { return a.order < b.order; });
    NodeShape shape;
    for (const Nic& nic : host.nics) {
      shape.nics.push_back(nic.seen);
      const double pcie = nic.node.name() == "pci" ? link_rate(nic.node) : 0;
      double& rate = shape.nics.back().bytes_per_s;
      if (rate > 0 && pcie > 0 && pcie < rate) {
        note(fmt::format(
            "a NIC's own PCIe link ({:.1f} GB/s) is slower than its port ({:.1f} GB/s); "
            "it counts with the former",
            pcie / 1e9, rate / 1e9));
        rate = pcie;
      }
    }
    for (const Gpu& gpu : host.gpus) {
      std::vector<SeenPath>& row = shape.paths.emplace_back();
      for (const Nic& nic : host.nics) row.push_back(path_between(gpu.pci, nic.node));
    }
    add_links(host, shape);
    for (const auto& [above, count] : host.unknown) shape.unknown_behind_switch.push_back(count);
    return shape;
  }

  void add_links(const Host& host, NodeShape& shape) {
    bool any_link = false, uneven = false;
    std::map<std::string_view, std::size_t> gpu_at;
    for (std::size_t g = 0; g < host.gpus.size(); ++g)
      gpu_at.emplace(host.gpus[g].pci.attribute("busid"), g);
    detail::DisjointSets sets(host.gpus.size() + 1);  // the last one is the switches
    std::optional<long> count_of_pair;
    for (std::size_t g = 0; g < host.gpus.size(); ++g) {
      SeenGpu& seen = shape.gpus.emplace_back();
      if (!host.gpus[g].gpu) continue;
      const XmlNode& gpu = *host.gpus[g].gpu;
      seen.link_bytes_per_s = rate_of_links(gpu);
      bool switched = false;
      for (const XmlNode& link : gpu.children()) {
        if (link.name() == "c2c")
          note("GPUs reach their CPU by C2C; a rate between GPU and NIC is taken from PCIe alone");
        if (link.name() != "nvlink" && link.name() != "xgmi") continue;
        const long count = whole(link.attribute("count"), 0);
        if (seen.nvlinks > kMostLinks) continue;
        if (count < 1 || count > kMostLinks) {
          if (notes_.size() < kMostNotes)
            note(fmt::format(
                "line {}: count=\"{}\" of <{}> is none of 1 to {}; these links count as "
                "none",
                link.line(), detail::shown_attribute(link.attribute("count")), link.name(),
                kMostLinks));
          continue;
        }
        const std::string_view target = link.attribute("target");
        if (target == host.gpus[g].pci.attribute("busid")) {
          note(
              "NVLink of a GPU leads to itself (some virtual machines say so), so whom it reaches "
              "is not known; it counts as none");
          continue;
        }
        const auto found = gpu_at.find(target);
        const std::size_t peer = found == gpu_at.end() ? host.gpus.size() : found->second;
        if (peer == host.gpus.size() && !link.attribute("tclass").starts_with("0x0680")) continue;
        any_link = true;
        switched |= peer == host.gpus.size();
        if (peer < host.gpus.size()) {
          uneven |= count_of_pair && *count_of_pair != count;
          count_of_pair = count;
          ++pairs_;
        }
        sets.join(g, peer);
        seen.nvlinks += static_cast<int>(count);
      }
      all_switched_ = all_switched_ && switched;
    }
    if (count_of_pair) note_mesh(host.gpus.size(), uneven);
    const bool is_dump = std::any_of(host.gpus.begin(), host.gpus.end(),
                                     [](const Gpu& g) { return g.gpu.has_value(); });
    if (any_link || is_dump) {
      shape.nvlink_domain = sets.numbers();
      shape.nvlink_domain.resize(host.gpus.size());
    }
  }

  void note_mesh(std::size_t gpus, bool uneven) {
    const bool partial = pairs_ < gpus * (gpus - 1);
    note(fmt::format(
        "GPUs are joined by direct links, {}{}; here each GPU has one port with the sum "
        "of its links, so a transfer between two GPUs alone is predicted too fast",
        partial ? "not every two of them" : "every two of them",
        uneven ? " and not by equally many" : ""));
    pairs_ = 0;
  }

  static double rate_of_links(const XmlNode& gpu) {
    const std::string_view gcn = gpu.attribute("gcn");
    if (!gcn.empty()) {
      for (const auto& [name, rate] : kXgmiOfGcn) {
        if (gcn == name) return rate;
      }
      return 0;
    }
    const long sm = whole(gpu.attribute("sm"), 0);
    for (const auto& [known, rate] : kNvlinkOfSm) {
      if (sm == known) return rate;
    }
    return 0;
  }

  [[noreturn]] void fail(const XmlNode& node, const std::string& what) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}:{}: {}", name_, node.line(), what));
  }

  const detail::NcclXml& xml_;
  const std::string& name_;
  std::vector<Host> hosts_;
  ImportNotes notes_;
  std::size_t pairs_ = 0;
  bool all_switched_ = true;
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
                            name, detail::shown_attribute(xml.root().name())));
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
