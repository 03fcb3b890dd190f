#include "topology/import/smi_matrix.h"

#include <catch2/catch.hpp>

using namespace refit;

namespace {

void require_pair(const SmiMatrix& matrix) {
  REQUIRE(matrix.node.gpus.size() == 2);
  REQUIRE(matrix.node.nics.size() == 2);
  REQUIRE(matrix.node.paths[0][0].distance == Distance::pxb);
  REQUIRE(matrix.node.paths[0][1].distance == Distance::node);
  REQUIRE(matrix.node.paths[1][0].distance == Distance::sys);
  REQUIRE(matrix.node.paths[1][1].distance == Distance::pix);
  REQUIRE(matrix.node.gpus[0].nvlinks == 18);
  REQUIRE(matrix.node.nvlink_domain == std::vector<int>{0, 0});
  REQUIRE_FALSE(matrix.is_pcie_view);
}

}  // namespace

TEST_CASE("smi matrix: every way it arrives is read alike", "[import]") {
  const std::string text = GENERATE(
      // as printed
      "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
      "GPU0\t X \tNV18\tPXB\tNODE\t0-55\t0\t\tN/A\n"
      "GPU1\tNV18\t X \tSYS\tPIX\t0-55\t0\t\tN/A\n"
      "NIC0\tPXB\tSYS\t X \tPIX\nNIC1\tNODE\tPIX\tPIX\t X \n"
      "\nLegend:\n\n  X    = Self\n  SYS  = far\nNIC Legend:\n\n  NIC0: mlx5_0\n",
      // colour codes, carriage returns
      "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\x1b[0m\r\n"
      "GPU0\t X \tNV18\tPXB\tNODE\t0-55\r\nGPU1\tNV18\t X \tSYS\tPIX\t0-55\r\n",
      // glued
      "GPU0GPU1NIC0NIC1CPU Affinity\nGPU0 XNV18PXBNODE 0-55\nGPU1 NV18X SYSPIX\n",
      // wrapped by a terminal
      "  GPU0 GPU1\nNIC0 NIC1 CPU\nAffinity\nGPU0 X NV18\nPXB NODE\n0-55\nGPU1 NV18 X SYS\nPIX "
      "0-55\n",
      // rows in another order, text around it, device names instead of NICn
      "Note: GPU0 detected at startup\n   GPU0 GPU1 mlx5_0 mlx5_1  CPU Affinity\n"
      "GPU1 NV18 X SYS PIX 0-55\nGPU0 X NV18 PXB NODE 0-55\nsome more text\n");
  CAPTURE(text);
  require_pair(read_smi_matrix(text, "topo.txt"));
}

TEST_CASE("smi matrix: without NV# nothing is said about NVLink", "[import]") {
  const SmiMatrix matrix =
      read_smi_matrix("  GPU0 GPU1 NIC0\nGPU0 X NODE PIX\nGPU1 NODE X SYS\n", "mp.txt");
  REQUIRE(matrix.is_pcie_view);
  REQUIRE(matrix.node.nvlink_domain.empty());
}

TEST_CASE("smi matrix: a GPU without NVLink beside others with it is alone", "[import]") {
  const SmiMatrix matrix =
      read_smi_matrix(" GPU0 GPU1 GPU2\nGPU0 X SYS NV4\nGPU1 SYS X SYS\nGPU2 NV4 SYS X\n", "m.txt");
  REQUIRE(matrix.node.nvlink_domain == std::vector<int>{0, 1, 0});
}

TEST_CASE("smi matrix: no NIC columns is a matrix, too", "[import]") {
  const SmiMatrix matrix = read_smi_matrix(
      "\n\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0\nGPU1\tNV18\t X \t0\n", "m");
  REQUIRE(matrix.node.nics.empty());
}

TEST_CASE("smi matrix: a second matrix below the first is not mixed in", "[import]") {
  const std::string one = " GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n";
  const SmiMatrix matrix = read_smi_matrix(one + one, "two.txt");
  REQUIRE(matrix.node.gpus.size() == 2);
  REQUIRE(matrix.notes == ImportNotes{"a second matrix follows, which was not read"});
}

TEST_CASE("smi matrix: what is wrong is said", "[import]") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"no GPU columns here\njust noise\n",
       "m: no line of columns GPU0 GPU1 ... is in it; expected the output of nvidia-smi topo -m"},
      {"",
       "m: no line of columns GPU0 GPU1 ... is in it; expected the output of nvidia-smi topo -m"},
      {" GPU0 GPU1\nGPU0 X NV4\n", "m: row GPU1 is missing"},
      {" GPU0 GPU1\nGPU0 X NV4\nGPU0 X NV4\n", "m: row GPU0 stands twice"},
      {" GPU0 GPU1 NIC0\nGPU0 X NV4 PIX\nGPU1 NV4 X\n",
       "m: row GPU1 has 2 cells for 3 columns; a part of it is missing"},
      {" GPU0 GPU1\nGPU0 NV4 X\nGPU1 X NV4\n",
       "m: row GPU0, column GPU0: X stands where a device meets itself"},
      {" GPU0 GPU2\nGPU0 X NV4\nGPU2 NV4 X\n", "m: expected column GPU1, got GPU2"},
      {" GPU0 NIC0\nGPU0 X NV4\n", "m: row GPU0, column NIC0: a NIC has no NVLink"},
  }));
  CAPTURE(text);
  REQUIRE_THROWS_WITH(read_smi_matrix(text, "m"), message);
}
