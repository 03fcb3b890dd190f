#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "delta/update_model.h"
#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

constexpr std::int64_t kUsualCores = 8;
constexpr double kMostBytesPerChange = 16;

// Rates of change, the more particular before the more general.
struct ChangeRates {
  std::vector<std::pair<std::string, double>> patterns;  // of tensor names, in file order
  std::map<Role, double> roles;
  std::optional<double> rest;
};

// In the steady state of training.
double rate_of_learning(const YamlNode& node) {
  node.allow_only({"learning_rate", "sigma", "beta1"});
  UpdateModel model;
  const auto read = [&](const char* key, double most, double& value) {
    const auto found = node.find(key);
    if (!found) return;
    value = found->number();
    if (!(value > 0 && value < most))
      found->fail(
          fmt::format("expected a number above 0 and below {}, got '{}'", most, found->text()));
  };
  read("learning_rate", 1, model.learning_rate);
  read("sigma", 100, model.sigma);
  read("beta1", 1, model.beta1);
  return steady_change_rate(model);
}

std::optional<Role> role_called(const std::string& text) {
  try {
    return parse_role(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

ChangeRates read_change(const YamlNode& node) {
  ChangeRates rates;
  if (!node.is_map()) {
    rates.rest = node.percent();
    return rates;
  }
  if (node.find("learning_rate")) {
    rates.rest = rate_of_learning(node);
    return rates;
  }
  for (const auto& [key, value] : node.entries()) {
    const double rate = value.percent();
    if (key == "rest") {
      rates.rest = rate;
    } else if (const auto role = role_called(key)) {
      rates.roles[*role] = rate;
    } else if (key.find('*') != std::string::npos) {
      rates.patterns.emplace_back(key, rate);
    } else {
      value.fail(
          "expected a role such as routed_expert, a pattern of tensor names with a *, rest, or "
          "learning_rate");
    }
  }
  return rates;
}

Codec read_codec(const YamlNode& node) {
  return node.one_of<Codec>({{"rice", Codec::rice},
                             {"conditioned", Codec::conditioned},
                             {"nemo_xor", Codec::nemo_xor},
                             {"nemo_overwrite", Codec::nemo_overwrite}});
}

class Rates {
 public:
  Rates(const YamlNode& node, const std::optional<ModelSpec>& model)
      : node_(node), model_(model), rates_(read_change(node)), used_(rates_.patterns.size()) {}

  // On average over the members of the class.
  double of(const TensorClass& c) {
    if (rates_.patterns.empty()) return of(c, c.name);
    double sum = 0;
    for (const std::int64_t member : c.members) sum += of(c, name_of(c, member));
    return sum / static_cast<double>(c.members.size());
  }

  void check_used() const {
    for (std::size_t p = 0; p < used_.size(); ++p) {
      if (used_[p]) continue;
      const std::string& pattern = rates_.patterns[p].first;
      node_.at(pattern).fail(fmt::format("no tensor has a name like '{}'", pattern));
    }
  }

 private:
  const std::string& name_of(const TensorClass& c, std::int64_t member) const {
    return model_ ? model_->tensors[static_cast<std::size_t>(member)].name : c.name;
  }

  double of(const TensorClass& c, const std::string& name) {
    double rate = -1;
    for (std::size_t p = 0; p < used_.size(); ++p) {
      if (fnmatch(rates_.patterns[p].first.c_str(), name.c_str(), 0) != 0) continue;
      used_[p] = true;
      if (rate < 0) rate = rates_.patterns[p].second;
    }
    if (rate >= 0) return rate;
    if (const auto role = rates_.roles.find(c.role); role != rates_.roles.end())
      return role->second;
    if (rates_.rest) return *rates_.rest;
    node_.fail(fmt::format("says nothing of {} (role {}); add rest", name, to_string(c.role)));
  }

  const YamlNode& node_;
  const std::optional<ModelSpec>& model_;
  const ChangeRates rates_;
  std::vector<bool> used_;
};

// Of tensors that one side converts, changes are looked for in what travels, which no receiver has.
// Returns their change rate, if it is another one.
std::optional<double> read_residual(const YamlNode& node, const Refit& refit, Codec& codec) {
  node.allow_only({"change", "codec"});
  if (std::none_of(refit.classes.begin(), refit.classes.end(), is_converted))
    node.fail("no tensor is converted on its way; leave this out");
  if (const auto v = node.find("codec")) {
    codec = read_codec(*v);
    if (codec == Codec::conditioned)
      v->fail("conditioned needs the receiver's old weights as they travel; use rice");
  }
  const auto change = node.find("change");
  return change ? std::optional(change->percent()) : std::nullopt;
}

Coding read_coding(const YamlNode& node) {
  Coding coding;
  if (const auto v = node.find("codec")) coding.codec = read_codec(*v);
  if (const auto v = node.find("place"))
    coding.place = v->one_of<CodingPlace>({{"gpu", CodingPlace::gpu}, {"host", CodingPlace::host}});
  const auto cores = node.find("cores");
  if (coding.place == CodingPlace::host) {
    coding.cores = static_cast<int>(cores ? cores->integer(1, kMostCores) : kUsualCores);
  } else if (cores) {
    cores->fail("cores are for place: host; leave this out");
  }
  if (const auto v = node.find("staged")) coding.staged = v->boolean();
  return coding;
}

}  // namespace

DeltaOptions read_delta(const YamlNode& node, const Refit& refit,
                        const std::optional<ModelSpec>& model) {
  node.allow_only({"change", "codec", "bytes_per_change", "place", "cores", "staged", "residual"});
  DeltaOptions delta;
  delta.coding = read_coding(node);
  std::optional<double> residual;
  if (const auto v = node.find("residual"))
    residual = read_residual(*v, refit, delta.residual_codec);
  const YamlNode change = node.at("change");
  Rates rates(change, model);
  if (const auto v = node.find("bytes_per_change")) {
    delta.bytes_per_change = v->number();
    if (!(*delta.bytes_per_change > 0 && *delta.bytes_per_change <= kMostBytesPerChange)) {
      v->fail(fmt::format("expected a number of bytes above 0 and up to {}, got '{}'",
                          kMostBytesPerChange, v->text()));
    }
  }
  double changed_elements = 0, elements = 0, bytes = 0;
  for (const TensorClass& c : refit.classes) {
    double changed = rates.of(c);
    if (is_converted(c)) changed = residual.value_or(changed);
    delta.shares.push_back(
        coded_share(delta.codec_of(c), changed, c.dtype, delta.bytes_per_change));
    changed_elements += changed * static_cast<double>(c.elements());
    elements += static_cast<double>(c.elements());
    bytes += static_cast<double>(c.bytes());
  }
  delta.coding.changes_per_byte = changed_elements / bytes;
  rates.check_used();
  delta.words = fmt::format("{:.3g} % changed, {}, on the {}", 100 * changed_elements / elements,
                            to_string(delta.coding.codec), to_string(delta.coding.place));
  if (delta.coding.place == CodingPlace::host)
    delta.words += fmt::format(", {} cores per rank", delta.coding.cores);
  return delta;
}

}  // namespace refit::detail
