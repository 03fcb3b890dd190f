#include "validation/detail/delta_row.h"

#include <optional>

#include <fmt/format.h>

#include "validation/detail/cell.h"
#include "validation/detail/words.h"

namespace refit::detail {
namespace {

struct Testbed {
  std::string system;
  // What a receiving node takes in, which its published times imply: by the system and by whether
  // whole weights or changes are sent.
  const char* goodput = "";
  // As published of NeMo RL's calculator: 5.858 and 9.765 GB by S3, 5.608 and 9.346 by ZeroMQ, at
  // 3 % and 5 % of 123.6 billion weights.
  double bytes_per_change = 0;
  std::string assumption;
};

std::optional<Testbed> testbed_of(const PublishedRow& row) {
  const std::string system = lower(row.system), method = lower(row.method);
  const bool tree = has_any(method, {"relay", "zeromq", "zmq"});
  const double bytes = tree ? 1.51 : 1.58;
  if (has_any(system, {"nemo rl"})) {
    return Testbed{tree ? "nemo_rl_sparse_zmq" : "nemo_rl_sparse_s3",
                   tree ? "3.09 Gbit/s" : "5.6 Gbit/s", bytes,
                   "A receiving node takes in what both times of this transport imply."};
  }
  if (!has_any(system, {"dcr"})) return std::nullopt;
  if (has_any(method, {"full checkpoint"})) {
    return Testbed{"nemo_dcr_full", "2.84 Gbit/s", bytes,
                   "A receiving node takes in 0.355 GB/s of whole weights."};
  }
  return Testbed{tree ? "nemo_dcr_relay_tree" : "nemo_dcr_object_store", "2.08 Gbit/s", bytes,
                 "A receiving node takes in 0.26 GB/s of changes."};
}

// "5% changed", "3-5% changed", "3 % of elements": in percent, the middle of a range.
std::optional<double> change_rate(const std::string& text) {
  const std::size_t sign = text.find('%');
  if (sign == text.npos) return std::nullopt;
  std::size_t begin = sign;
  while (begin > 0 && std::string_view("0123456789.- ").find(text[begin - 1]) != text.npos) --begin;
  const std::string numbers = trimmed(text.substr(begin, sign - begin));
  const std::size_t dash = numbers.find('-', 1);
  if (dash == numbers.npos) return parse_number(numbers);
  const auto low = parse_number(trimmed(numbers.substr(0, dash)));
  const auto high = parse_number(trimmed(numbers.substr(dash + 1)));
  return low && high ? std::optional((*low + *high) / 2) : std::nullopt;
}

struct Stand {
  const char* model;
  const char* training;
  const char* payload;
  int engine = 8;  // GPUs that hold the model
  const char* assumption;
};

std::optional<Stand> stand_in(const PublishedRow& row) {
  const double gb = row.bytes_gb.value_or(0);
  if (gb > 240 && gb < 255) {
    return Stand{"{name: nemotron-3-super-120b-a12b, mtp: true}",
                 "tensor: 4, expert: 8, expert_tensor: 1", "512 MiB", 8,
                 "Nemotron 3 Super on TP4 EP8 stands in for the 120B model."};
  }
  if (gb > 1950 && gb < 2080) {
    return Stand{"ling-1t", "tensor: 4, expert: 32, expert_tensor: 1", "2 GiB", 32,
                 "Ling-1T, of as many bytes, on TP4 EP32 stands in for the 1T model, a 550B one "
                 "with its layers repeated, in payloads of 2 GiB."};
  }
  return std::nullopt;
}

}  // namespace

bool is_between_clusters(const PublishedRow& row) {
  return testbed_of(row).has_value() &&
         has_any(lower(row.method), {"delta", "object store", "full checkpoint"});
}

std::variant<RowCase, RowSkip> delta_row_case(const PublishedRow& row) {
  const Testbed testbed = testbed_of(row).value();
  const auto stand = stand_in(row);
  if (!stand) return RowSkip{"bytes_gb", "only 120B and 1T models are known of this testbed"};
  RowCase out{testbed.system, {}, {}, true};
  out.assumptions = {stand->assumption,
                     fmt::format("32 GB300 in us-east-2 train, 64 H100 in us-east-1 generate on "
                                 "TP{}.",
                                 stand->engine),
                     testbed.assumption};
  const bool whole = testbed.system == "nemo_dcr_full";
  std::optional<double> percent = change_rate(row.method);
  if (!percent) percent = change_rate(row.breakdown);
  if (!whole && !percent) {
    percent = 4;
    out.assumptions.emplace_back("Its range of times is one of 3 % to 5 % changed; 4 % is taken.");
  }
  if (!whole) {
    if (!(*percent > 0 && *percent <= 100))
      return RowSkip{"method", fmt::format("{} % of all weights can't change", *percent)};
    if (!has_any(lower(row.method), {"object store", "relay"}))
      out.assumptions.emplace_back("Of both transports the object store is taken.");
  }
  std::string text =
      fmt::format("scenario: {}\nassumptions:\n", in_quotes(row.id + ": " + row.model));
  for (const std::string& line : out.assumptions) text += fmt::format("  - {}\n", in_quotes(line));
  text +=
      fmt::format(R"(cluster:
  sites: [{{name: us-east-2}}, {{name: us-east-1}}]
  groups:
    - {{catalog: gb300_nvl72, nodes: 8, site: us-east-2, name: training}}
    - {{catalog: aws_p5, nodes: 8, site: us-east-1, name: generation, nvlink_domain_gpus: 8,
       nics_per_node: 1, nic_bandwidth: {}}}
  wan: [{{between: [us-east-2, us-east-1], bandwidth: 40 Gbit/s, latency: 6 ms, per_flow: 5 Gbit/s}}]
  stores:
    - {{name: s3, site: us-east-2, bandwidth: 100 Gbit/s, per_connection: 88 MB/s, connections: 25,
       request_latency: 30 ms, part: 8 MiB}}
model: {}
training: {{engine: megatron, gpus: 32, {}}}
generation: {{engine: vllm, gpus: 64, tensor: {}}}
plan: {{in_flight: 8, relay: ring, payload: {}}}
network_model: dcr-aws
)",
                  testbed.goodput, stand->model, stand->training, stand->engine, stand->payload);
  if (!whole) {
    text += fmt::format(
        "delta: {{change: {} %, codec: nemo_xor, bytes_per_change: {}, place: host, cores: 8}}\n",
        *percent, testbed.bytes_per_change);
  }
  out.scenario_yaml = std::move(text);
  return out;
}

}  // namespace refit::detail
