#include "topology/import/nccl_topology.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "topology/import/nic_choice.h"

using namespace refit;

namespace {

std::string in_system(const std::string& inside, const std::string& version = "1") {
  return "<system version=\"" + version + "\">" + inside + "</system>";
}

bool has_note(const ImportNotes& notes, const std::string& part) {
  for (const std::string& note : notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

// A CPU of a host, with a GPU that NVLink joins to a switch chip.
std::string switched_cpu(const std::string& host_hash, int number = 0) {
  const std::string n = std::to_string(number);
  return "<cpu host_hash=\"" + host_hash + "\" numaid=\"" + n + "\"><pci busid=\"" + n +
         "\" class=\"0x030200\"><gpu dev=\"" + n +
         "\" sm=\"100\"><nvlink target=\"f\" count=\"18\" tclass=\"0x068000\"/></gpu></pci></cpu>";
}

// Two switches, each with a GPU and a NIC; NVLink 4 through a switch chip.
const std::string kDump = in_system(R"(
<cpu numaid="0">
 <pci busid="0000:01:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
  <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
   <gpu dev="1" sm="90"><nvlink target="0000:f0:00.0" count="18" tclass="0x068000"/></gpu></pci>
  <pci busid="0000:03:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
   <nic><net name="secret0" dev="0" speed="400000"/></nic></pci>
 </pci>
 <pci busid="0000:11:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
  <pci busid="0000:12:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
   <pci busid="0000:13:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
    <gpu dev="0" sm="90"><nvlink target="0000:f0:00.0" count="18" tclass="0x068000"/></gpu></pci>
  </pci>
  <pci busid="0000:14:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
   <nic><net name="secret1" dev="1" speed="400000"/></nic></pci>
 </pci>
</cpu>)");

}  // namespace

TEST_CASE("nccl topology: files written by hand lose no GPU and no NIC in silence", "[import]") {
  REQUIRE_THROWS_WITH(
      read_nccl_topology(in_system("<cpu><pci busid=\"1\"><gpu dev=\"0\"/>\n<gpu dev=\"1\"/></pci>"
                                   "</cpu>"),
                         "h.xml"),
      "h.xml:2: a second <gpu> in one <pci>; each GPU is a PCI device of its own");
  const NcclTopology topology = read_nccl_topology(
      in_system("<cpu><pci busid=\"1\" class=\"0x030200\"><gpu dev=\"0\"/></pci>\n"
                "<pci busid=\"2\"><nic dev=\"mlx5_0\" speed=\"400000\"/></pci></cpu>"),
      "h.xml");
  REQUIRE(topology.hosts[0].nics.empty());
  REQUIRE(has_note(topology.assumed.nic_rates,
                   "line 2: a <nic> without a <net> in it, which has its speed, is left out"));
}

TEST_CASE("nccl topology: a dump says GPUs by dev, NICs, distances and NVLink", "[import]") {
  const NcclTopology topology = read_nccl_topology(kDump, "node.xml");
  REQUIRE_FALSE(topology.is_hint);
  REQUIRE(topology.hosts.size() == 1);
  const NodeShape& node = topology.hosts[0];
  REQUIRE(node.gpus.size() == 2);
  REQUIRE(node.nics.size() == 2);
  REQUIRE(node.nics[0].bytes_per_s == 50e9);  // 400,000 Mbit/s
  // GPU 0 stands second, two switches below the one it shares with NIC 1.
  REQUIRE(node.paths[0][0].distance == Distance::phb);
  REQUIRE(node.paths[0][1].distance == Distance::pxb);
  REQUIRE(node.paths[1][0].distance == Distance::pix);
  // 16 GT/s x 16 lanes x 128/130 / 8 bits = 31.508 GB/s, slower than the switches at 32 GT/s.
  REQUIRE(node.paths[0][1].bytes_per_s == 31.508e9);
  REQUIRE(node.gpus[0].nvlinks == 18);
  REQUIRE(node.gpus[0].link_bytes_per_s == 25e9);
  REQUIRE(node.nvlink_domain == std::vector<int>{0, 0});
}

TEST_CASE("nccl topology: hints are a PCI tree of classes, and GPUs count by bus", "[import]") {
  const NcclTopology topology = read_nccl_topology(in_system(R"(
    <cpu numaid="0"><pci busid="ffff:ff:01.0" class="0x060400">
      <pci busid="0004:00:00.0" class="0x030200"/> <pci busid="0104:00:00.0" class="0x020700"/>
      <pci busid="0001:00:00.0" class="0x030200"/> <pci busid="0101:00:00.0" class="0x020000"/>
    </pci></cpu>
    <cpu numaid="1"><pci busid="0002:00:00.0" class="0x030200"/></cpu>)"),
                                                   "hint.xml");
  REQUIRE(topology.is_hint);
  const NodeShape& node = topology.hosts[0];
  REQUIRE(node.gpus.size() == 3);
  REQUIRE(node.nics.size() == 2);
  REQUIRE(node.nics[0].bytes_per_s == 0);
  REQUIRE(node.nvlink_domain.empty());  // nothing is said about NVLink
  // By bus 0001, 0002, 0004: the second is under the other CPU.
  REQUIRE(node.paths[0][0].distance == Distance::pix);
  REQUIRE(node.paths[1][0].distance == Distance::sys);
}

TEST_CASE("nccl topology: malformed speeds and missing classes are warned about", "[import]") {
  const NcclTopology topology = read_nccl_topology(in_system(R"(
    <cpu numaid="0"><pci busid="0000:45:00.0">
      <pci busid="0000:4f:00.0" link_speed="32 GT/s PCIe/s" link_width="16"/>
      <pci busid="0000:50:00.0" link_speed="32 GT/s PCIe/s" link_width="16"/></pci></cpu>)"),
                                                   "old.xml");
  REQUIRE(topology.hosts[0].gpus.empty());
  REQUIRE(topology.hosts[0].unknown_behind_switch == std::vector<int>{2});
  REQUIRE(has_note(topology.notes, "have no class"));

  const NcclTopology other = read_nccl_topology(in_system(R"(
    <cpu><pci busid="1" class="0x060400"><pci busid="2" class="0x030200"
      link_speed="32 GT/s PCIe/s" link_width="16"/><pci busid="3" class="0x020700"/></pci></cpu>)"),
                                                "old.xml");
  REQUIRE(other.hosts[0].paths[0][0].bytes_per_s == 0);
  REQUIRE(has_note(other.notes, "link_speed=\"32 GT/s PCIe/s\" is no PCIe speed"));
}

TEST_CASE("nccl topology: link width 0 and links asleep are not known", "[import]") {
  const std::string speed = GENERATE("link_speed=\"16.0 GT/s PCIe\" link_width=\"0\"",
                                     "link_speed=\"2.5 GT/s PCIe\" link_width=\"16\"",
                                     "link_speed=\"\" link_width=\"16\"");
  const NcclTopology topology = read_nccl_topology(
      in_system("<cpu><pci busid=\"1\" class=\"0x060400\"><pci busid=\"2\" class=\"0x030200\" " +
                speed + "/><pci busid=\"3\" class=\"0x020700\"/></pci></cpu>"),
      "n.xml");
  REQUIRE(topology.hosts[0].paths[0][0].bytes_per_s == 0);
}

TEST_CASE("nccl topology: Wi-Fi and NICs without a PCI device carry nothing", "[import]") {
  const NcclTopology topology = read_nccl_topology(in_system(R"(
    <cpu numaid="-1"><pci busid="1" class="0x030200"><gpu dev="0" sm="121"/></pci>
     <pci busid="2" class="0x028000"><nic><net name="w" dev="0" speed="10000"/></nic></pci>
     <nic><net name="v" dev="1" speed="10000"/></nic></cpu>)"),
                                                   "spark.xml");
  const NodeShape& node = topology.hosts[0];
  REQUIRE(node.nics.size() == 2);
  REQUIRE(node.nics[0].unfit == "no Ethernet or InfiniBand");
  REQUIRE(node.nics[1].unfit == "no PCI device");
  REQUIRE(choose_nics(node).unclear == "no NIC of the file can carry weights");
}

TEST_CASE("nccl topology: xGMI of version 2 counts as links, uneven ones are said", "[import]") {
  const auto gpu = [](int dev, const std::string& bus, const std::string& links) {
    return "<pci busid=\"" + bus + "\" class=\"0x120000\"><gpu dev=\"" + std::to_string(dev) +
           "\" gcn=\"gfx942\">" + links + "</gpu></pci>";
  };
  const auto link = [](const std::string& bus, int count) {
    return "<xgmi target=\"" + bus + "\" count=\"" + std::to_string(count) + "\"/>";
  };
  const NcclTopology topology = read_nccl_topology(
      in_system("<cpu>" + gpu(0, "a", link("b", 4)) + gpu(1, "b", link("a", 4) + link("c", 1)) +
                    gpu(2, "c", link("b", 1)) + "</cpu>",
                "2"),
      "amd.xml");
  REQUIRE(topology.hosts[0].gpus[1].nvlinks == 5);
  REQUIRE(topology.hosts[0].gpus[1].link_bytes_per_s == 64e9);
  REQUIRE(topology.hosts[0].nvlink_domain == std::vector<int>{0, 0, 0});
  REQUIRE(has_note(topology.assumed.domains, "not every two of them and not by equally many"));
}

TEST_CASE("nccl topology: a GPU whose NVLink leads to itself has none we know", "[import]") {
  const NcclTopology topology = read_nccl_topology(in_system(R"(
    <cpu><pci busid="1" class="0x030200"><gpu dev="0" sm="80">
      <nvlink target="1" count="12" tclass="0x030200"/></gpu></pci>
     <pci busid="2" class="0x030200"><gpu dev="1" sm="80">
      <nvlink target="2" count="12" tclass="0x030200"/></gpu></pci></cpu>)"),
                                                   "vm.xml");
  REQUIRE(topology.hosts[0].nvlink_domain == std::vector<int>{0, 1});
  REQUIRE(has_note(topology.assumed.domains, "leads to itself"));
}

TEST_CASE("nccl topology: several hosts of one file, joined by NVLink switches", "[import]") {
  const NcclTopology topology = read_nccl_topology(
      in_system(switched_cpu("0x1") + switched_cpu("0x2") + switched_cpu("0x1", 1)), "rack.xml");
  REQUIRE(topology.hosts.size() == 2);
  REQUIRE(topology.hosts[0].gpus.size() == 2);
  REQUIRE(topology.joined_hosts);
}

TEST_CASE("nccl topology: dumps joined in one file are hosts of their own", "[import]") {
  // They were read as one host before, with the devices of the first dump only.
  const NcclTopology topology =
      read_nccl_topology("<?xml version=\"1.0\"?>" + in_system(switched_cpu("0x1")) +
                             "\n<?xml version=\"1.0\"?>" + in_system(switched_cpu("0x2")) +
                             in_system(switched_cpu("")) + in_system(switched_cpu("")),
                         "three.xml");
  REQUIRE(topology.hosts.size() == 4);
  REQUIRE_FALSE(topology.joined_hosts);
  REQUIRE(has_note(topology.notes, "4 dumps stand in the file"));
  REQUIRE_THROWS_WITH(
      read_nccl_topology(in_system(switched_cpu("0x1")) + "\n" + in_system(switched_cpu("0x1")),
                         "twice.xml"),
      "twice.xml:2: this host is in two of the file's dumps; keep one dump of each host");
  REQUIRE_THROWS_WITH(read_nccl_topology(in_system(switched_cpu("")) + "<graphs/>", "mixed.xml"),
                      "mixed.xml:1: <graphs> stands beside <system>; keep one kind in a file");
}

TEST_CASE("nccl topology: a device that stands twice is refused", "[import]") {
  const std::string bus = "<pci busid=\"1\" class=\"0x030200\"/>";
  REQUIRE_THROWS_WITH(read_nccl_topology(in_system("<cpu>" + bus + "\n" + bus + "</cpu>"), "b.xml"),
                      "b.xml:2: <pci> with busid=\"1\" stands twice in one host; keep one");
  const auto gpu = [](const char* at) {
    return std::string("<pci busid=\"") + at + "\"><gpu dev=\"3\"/></pci>";
  };
  REQUIRE_THROWS_WITH(
      read_nccl_topology(in_system("<cpu>" + gpu("1") + "\n" + gpu("2") + "</cpu>"), "g.xml"),
      "g.xml:2: <gpu> with dev=\"3\" stands twice in one host; keep one");
  REQUIRE_THROWS_WITH(
      read_nccl_topology(in_system("<cpu><nic><net dev=\"0\"/>\n<net dev=\"0\"/></nic></cpu>"),
                         "n.xml"),
      "n.xml:2: <net> with dev=\"0\" stands twice in one host; keep one");
}

TEST_CASE("nccl topology: pairs of devices are counted before they are looked at", "[import]") {
  // Each host alone may have 1024 GPUs and as many NICs; a file of 16 MiB holds hundreds of those.
  const auto hosts = [](int count, int gpus, int nics) {
    std::string text;
    for (int h = 0; h < count; ++h) {
      text += fmt::format("<cpu host_hash=\"{}\"><nic>", h);
      for (int n = 0; n < nics; ++n) text += fmt::format("<net dev=\"{}\"/>", n);
      text += "</nic>";
      for (int g = 0; g < gpus; ++g)
        text += fmt::format("<pci busid=\"{}\"><gpu dev=\"{}\"/></pci>", g, g);
      text += "</cpu>";
    }
    return read_nccl_topology(in_system(text), "many.xml");
  };
  REQUIRE(hosts(2, 20, 30).hosts[1].paths[19].size() == 30);
  REQUIRE_THROWS_WITH(hosts(1, 1001, 1000),
                      "many.xml: more than 1000000 pairs of a GPU and a NIC of one host");
}

TEST_CASE("nccl topology: ports behind one narrow PCIe link divide it", "[import]") {
  // Two ports of 200 Gbit/s = 25 GB/s each, behind 16 GT/s x 16 = 31.508 GB/s: 15.754 GB/s each.
  const NcclTopology topology = read_nccl_topology(in_system(R"(
    <cpu><pci busid="1" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16"><nic>
      <net dev="0" speed="200000"/><net dev="1" speed="200000"/></nic></pci></cpu>)"),
                                                   "ports.xml");
  REQUIRE(topology.hosts[0].nics[0].bytes_per_s == Approx(15.754e9));
  REQUIRE(topology.hosts[0].nics[1].bytes_per_s == Approx(15.754e9));
  REQUIRE(has_note(topology.assumed.nic_rates,
                   "2 ports share a PCIe link of 31.5 GB/s, slower than their 50.0 GB/s"));
  // The link of a switch counts too, but not where a GPU stands below it, which does not pass it.
  const auto below_switch = [](const std::string& beside) {
    return read_nccl_topology(
               in_system("<cpu><pci busid=\"s\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" "
                         "link_width=\"16\"><pci busid=\"1\"><nic><net dev=\"0\" "
                         "speed=\"400000\"/></nic></pci>" +
                         beside + "</pci></cpu>"),
               "s.xml")
        .hosts[0]
        .nics[0]
        .bytes_per_s;
  };
  REQUIRE(below_switch("") == Approx(31.508e9));
  REQUIRE(below_switch("<pci busid=\"2\"><gpu dev=\"0\"/></pci>") == 50e9);
}

TEST_CASE("nccl topology: what is something else is named", "[import]") {
  REQUIRE_THROWS_WITH(
      read_nccl_topology("<graphs version=\"1\"><graph id=\"0\"><channel><gpu dev=\"0\"/>"
                         "<gpu dev=\"1\"/></channel></graph></graphs>",
                         "g.xml"),
      "g.xml: this is an NCCL graph file: the 1 rings and trees that a job chose over 2 GPUs, not "
      "the machine they run on; expected an NCCL topology file (NCCL_TOPO_DUMP_FILE)");
  REQUIRE_THROWS_WITH(read_nccl_topology("<html/>", "h.xml"),
                      "h.xml: <html> is no topology; expected <system> of NCCL_TOPO_DUMP_FILE");
  REQUIRE_THROWS_WITH(read_nccl_topology("<system>\n<cpu>", "cut.xml"),
                      Catch::StartsWith("cut.xml:2: this is no whole XML"));
  REQUIRE_THROWS_WITH(read_nccl_topology("<system/>", "e.xml"),
                      "e.xml: <system> has no <cpu> in it");
  std::string deep = "<system>";
  for (int i = 0; i < 100; ++i) deep += "<cpu>";
  for (int i = 0; i < 100; ++i) deep += "</cpu>";
  REQUIRE_THROWS_WITH(read_nccl_topology(deep + "</system>", "d.xml"),
                      "d.xml:1: elements stand more than 64 deep in each other");
}
