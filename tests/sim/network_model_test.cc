#include <set>
#include <string_view>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "sim/network_model.h"
#include "sim/network_parameters.h"

using namespace refit;

namespace {

NetworkModel read(const std::string& text) {
  return read_network_model(YamlNode::parse_text(text, "model.yaml"));
}

}  // namespace

TEST_CASE("network model: the default is first, complete, and names a source for each number",
          "[sim][network_model]") {
  REQUIRE(catalog_network_models() == std::vector<std::string>{"default", "wire_only", "dcr-aws"});
  const NetworkModel model = catalog_network_model("default");
  REQUIRE(model.name == "default");
  // A fit that ends outside of what physics allows lacks a term.
  // No published time shows these: they are for whoever measures them.
  const std::set<std::string_view> unknown = {"pause",           "resume",   "barrier",
                                              "describe_tensor", "pack_run", "land_run"};
  for (const NetworkParameter& parameter : network_parameters()) {
    CAPTURE(parameter.key);
    if (unknown.contains(parameter.key)) {
      REQUIRE(model.*parameter.value == 0);
      continue;
    }
    REQUIRE(model.*parameter.value >= parameter.low);
    REQUIRE(model.*parameter.value <= parameter.high);
  }
  REQUIRE(model.uncertainty);
  REQUIRE(model.uncertainty->parameters.size() <= 16);
  REQUIRE(model.uncertainty->covariance.size() ==
          model.uncertainty->parameters.size() * model.uncertainty->parameters.size());
  REQUIRE(model.uncertainty->model_error > 0);
  REQUIRE(model.latencies);
  // Memory bandwidth of an H100 SXM, 3.35 TB/s, times 3/4.
  REQUIRE(model.convert_bytes_per_s == Approx(2.5e12));
  REQUIRE(model.sources.size() ==
          network_parameters().size() - unknown.size() + 1);  // and latencies
  for (const NetworkModel::Source& source : model.sources) {
    CAPTURE(source.parameter);
    REQUIRE(source.source.size() > 10);
  }
}

TEST_CASE("network model: wire only is the same from code and from file", "[sim][network_model]") {
  const NetworkModel file = catalog_network_model("wire_only");
  const NetworkModel code = wire_only();
  REQUIRE(file.name == code.name);
  REQUIRE(file.nic_efficiency == code.nic_efficiency);
  REQUIRE(file.nvlink_efficiency == code.nvlink_efficiency);
  REQUIRE(file.fixed_s == code.fixed_s);
  REQUIRE(file.land_bytes_per_s == code.land_bytes_per_s);
  REQUIRE(file.convert_bytes_per_s == 0);
  REQUIRE(file.latencies == code.latencies);
  REQUIRE(is_wire_only(file));
  REQUIRE(is_wire_only(code));
}

TEST_CASE("network model: one with any cost of its own is not wire only", "[sim][network_model]") {
  REQUIRE_FALSE(is_wire_only(catalog_network_model("default")));
  REQUIRE_FALSE(
      is_wire_only(read("name: wire_only\nlatencies: {value: true, source: measured}\n")));
  REQUIRE(is_wire_only(read("name: mine\nlatencies: {value: false, source: measured}\n")));
}

TEST_CASE("network model: what a file leaves out costs nothing", "[sim][network_model]") {
  const NetworkModel model = read("name: mine\npack_rate: {value: 200 GB/s, source: measured}\n");
  REQUIRE(model.pack_bytes_per_s == 200e9);
  REQUIRE(model.load_tensor_s == 0);
  REQUIRE(model.nic_efficiency == 1);
  REQUIRE(model.sources.size() == 1);
  REQUIRE(model.sources[0].value == "200 GB/s");
}

TEST_CASE("network model: slips are refused with their place", "[sim][network_model]") {
  REQUIRE_THROWS_WITH(
      read("name: m\nnic_efficiency: {value: 0.94, source: s}\n"),
      "model.yaml:2:25: nic_efficiency.value: expected a share of the line rate such as "
      "'94 %', above 0 and up to 100, got '0.94'");
  REQUIRE_THROWS_WITH(read("name: m\nnic_efficiency: {value: 120 %, source: s}\n"),
                      Catch::Contains("above 0 and up to 100, got '120 %'"));
  REQUIRE_THROWS_WITH(read("name: m\nfixed: {value: 1 s}\n"), Catch::Contains("source"));
  REQUIRE_THROWS_WITH(read("name: m\nfixed: {value: 1 s, source: ''}\n"),
                      Catch::Contains("expected where the number is from"));
  REQUIRE_THROWS_WITH(read("name: m\nfixd: {value: 1 s, source: s}\n"), Catch::Contains("fixed"));
  REQUIRE_THROWS_AS(read("name: m\nland_rate: {value: 5, source: s}\n"), Error);  // no unit
  REQUIRE_THROWS_WITH(catalog_network_model("fast"),
                      "network model 'fast' is not known; use one of default, wire_only, dcr-aws");
}

TEST_CASE("network model: how sure its constants are is read with it", "[sim][network_model]") {
  const std::string head =
      "name: m\nfixed: {value: 1 s, source: s}\nuncertainty:\n  model_error: 0.1\n";
  const NetworkModel model =
      read(head + "  parameters: [fixed, call]\n  covariance: [[0.04, 0.01], [0.01, 0.09]]\n");
  REQUIRE(model.uncertainty);
  REQUIRE(model.uncertainty->parameters ==
          std::vector<std::size_t>{network_parameter("fixed"), network_parameter("call")});
  REQUIRE(model.uncertainty->covariance == std::vector<double>{0.04, 0.01, 0.01, 0.09});
  REQUIRE_THROWS_WITH(read(head + "  parameters: [fixed, call]\n  covariance: [[0.04, 0.01]]\n"),
                      Catch::Contains("expected 2 rows, one per parameter"));
  REQUIRE_THROWS_WITH(read(head + "  parameters: [fixed]\n  covariance: [[0.04, 0.01]]\n"),
                      Catch::Contains("expected 1 numbers in a row"));
  REQUIRE_THROWS_WITH(read(head + "  parameters: [fxed]\n  covariance: [[0.04]]\n"),
                      Catch::Contains("'fxed' is no constant of a network model"));
}
