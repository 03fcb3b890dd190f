#include "models/tensor_spec.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "base/shown.h"

namespace refit {
namespace {

constexpr std::pair<Role, std::string_view> kRoles[] = {
    {Role::embedding, "embedding"},
    {Role::lm_head, "lm_head"},
    {Role::attention, "attention"},
    {Role::linear_attention, "linear_attention"},
    {Role::router, "router"},
    {Role::routed_expert, "routed_expert"},
    {Role::shared_expert, "shared_expert"},
    {Role::dense_ffn, "dense_ffn"},
    {Role::latent_projection, "latent_projection"},
    {Role::norm, "norm"},
    {Role::unspecified, "unspecified"},
};

}  // namespace

std::string_view to_string(Role role) {
  for (const auto& [value, name] : kRoles) {
    if (value == role) return name;
  }
  REFIT_CHECK(false && "a role without a name");
  return {};
}

Role parse_role(std::string_view text) {
  std::string known;
  for (const auto& [value, name] : kRoles) {
    if (name == text) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  throw Error(ErrorCode::bad_input,
              fmt::format("'{}' is not a role; use one of {}", shown(text), known));
}

std::int64_t TensorSpec::elements() const {
  std::int64_t product = 1;
  for (const TensorDim& dim : dims) product *= dim.size;
  return product;
}

std::int64_t TensorSpec::bytes() const { return elements() * bytes_per_element(dtype); }

}  // namespace refit
