#include <fmt/format.h>

#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

Format read_format(const YamlNode& node) {
  return node.one_of<Format>({{"bf16", Format::bf16},
                              {"fp16", Format::f16},
                              {"fp32", Format::f32},
                              {"fp8_blockwise", Format::fp8_blockwise},
                              {"mxfp8", Format::mxfp8},
                              {"mxfp4", Format::mxfp4}});
}

std::vector<Role> read_roles(const YamlNode& node) {
  std::vector<Role> roles;
  for (const YamlNode& item : node.items()) {
    roles.push_back(item.one_of<Role>({{"attention", Role::attention},
                                       {"linear_attention", Role::linear_attention},
                                       {"routed_expert", Role::routed_expert},
                                       {"shared_expert", Role::shared_expert},
                                       {"dense_ffn", Role::dense_ffn},
                                       {"latent_projection", Role::latent_projection}}));
  }
  if (roles.empty()) node.fail("no role is listed; list some, or leave this out");
  return roles;
}

// precision: fp8_blockwise, or {format: fp8_blockwise, roles: [routed_expert]}.
Precision read_precision(const YamlNode& node, const ModelSpec& model) {
  if (node.is_map()) node.allow_only({"format", "roles"});
  const YamlNode format = node.is_map() ? node.at("format") : node;
  Precision precision{read_format(format), {}};
  const auto roles = node.is_map() ? node.find("roles") : std::nullopt;
  if (!is_quantised(precision.format)) {
    if (roles) roles->fail("only a format with scales is for some roles; leave this out");
    return precision;
  }
  if (roles) precision.roles = read_roles(*roles);
  const Dtype main = main_dtype(model);
  if (bytes_per_element(main) < 2) {
    format.fail(fmt::format("the model is in {} already, without scales; leave model.dtype out",
                            to_string(main)));
  }
  return precision;
}

}  // namespace

StoredForm read_stored_form(const YamlNode& side, const ModelSpec& model) {
  StoredForm form{side.at("engine").text(), {}};
  // It can pack the parameters of the checkpoint, as PyTorch's FSDP has them.
  if (const auto parameters = side.find("parameters")) {
    if (form.engine == "megatron_fsdp" && parameters->text() == "checkpoint") form.engine = "fsdp";
  }
  if (const auto precision = side.find("precision")) {
    form.precision = read_precision(*precision, model);
  }
  return form;
}

std::optional<EdgeSide> read_convert(const YamlNode& scenario) {
  const auto node = scenario.find("convert");
  if (!node) return std::nullopt;
  return node->one_of<EdgeSide>(
      {{"source", EdgeSide::source}, {"destination", EdgeSide::destination}});
}

}  // namespace refit::detail
