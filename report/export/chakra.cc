#include "report/export/chakra.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "report/op_times.h"

namespace refit {
namespace {

// Field numbers and values of et_def.proto of MLCommons Chakra.
enum class NodeType : std::int32_t { work = 4, send = 5, receive = 6 };
constexpr protozero::pbf_tag_type kVersion = 1;  // GlobalMetadata
constexpr protozero::pbf_tag_type kId = 1, kName = 2, kType = 3, kDataDeps = 5, kDuration = 7,
                                  kAttribute = 10;  // Node
constexpr protozero::pbf_tag_type kAttributeName = 1, kInt32 = 7, kInt64 = 9,
                                  kBool = 27;  // AttributeProto

void add_message(const std::string& message, std::string& out) {
  protozero::write_varint(std::back_inserter(out), message.size());
  out += message;
}

template <class Value>
void add_attribute(protozero::pbf_writer& node, std::string_view name, const Value& value) {
  protozero::pbf_writer attribute(node, kAttribute);
  attribute.add_string(kAttributeName, name.data(), name.size());
  value(attribute);
}

NodeType type_of(EventKind kind) {
  if (kind == EventKind::send) return NodeType::send;
  return kind == EventKind::receive ? NodeType::receive : NodeType::work;
}

std::string node_text(const Schedule& schedule, const RankEvents& events, std::size_t number,
                      Rank rank) {
  const RankEvent& event = events.events[number];
  const bool is_message = event.kind == EventKind::send || event.kind == EventKind::receive;
  std::string text;
  protozero::pbf_writer node(text);
  node.add_uint64(kId, number);
  node.add_string(kName, event.kind == EventKind::join
                             ? fmt::format("before op {}", event.op.value)
                             : fmt::format("op {}: {}", event.op.value,
                                           op_words(schedule.ops[event.op.index()], schedule)));
  node.add_enum(kType, static_cast<std::int32_t>(type_of(event.kind)));
  const auto after = events.after_of(event);
  const std::vector<std::uint64_t> before(after.begin(), after.end());
  node.add_packed_uint64(kDataDeps, before.begin(), before.end());
  if (event.kind == EventKind::work)
    node.add_uint64(kDuration, static_cast<std::uint64_t>(std::llround(event.seconds * 1e6)));
  add_attribute(node, "is_cpu_op", [](auto& a) { a.add_bool(kBool, false); });
  if (!is_message) return text;
  const bool sends = event.kind == EventKind::send;
  const std::int32_t src = sends ? rank.value : event.peer.value;
  const std::int32_t dst = sends ? event.peer.value : rank.value;
  const std::int64_t bytes = std::max<std::int64_t>(1, event.bytes);
  add_attribute(node, "comm_src", [&](auto& a) { a.add_int32(kInt32, src); });
  add_attribute(node, "comm_dst", [&](auto& a) { a.add_int32(kInt32, dst); });
  add_attribute(node, "comm_size", [&](auto& a) { a.add_int64(kInt64, bytes); });
  add_attribute(node, "comm_tag",
                [&](auto& a) { a.add_int32(kInt32, static_cast<std::int32_t>(event.tag)); });
  return text;
}

}  // namespace

std::string chakra_trace(const Schedule& schedule, const RankEvents& events, Rank rank) {
  std::string out, metadata;
  protozero::pbf_writer(metadata).add_string(kVersion, "0.0.4");
  add_message(metadata, out);
  for (std::size_t i = 0; i < events.events.size(); ++i)
    add_message(node_text(schedule, events, i, rank), out);
  return out;
}

}  // namespace refit
