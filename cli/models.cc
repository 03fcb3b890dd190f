#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/units.h"
#include "cli/catalog.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "models/import/hf_config.h"
#include "report/table.h"

namespace refit {
namespace {

constexpr Role kRoles[] = {Role::embedding,
                           Role::lm_head,
                           Role::attention,
                           Role::linear_attention,
                           Role::router,
                           Role::routed_expert,
                           Role::shared_expert,
                           Role::dense_ffn,
                           Role::latent_projection,
                           Role::norm,
                           Role::unspecified};

std::string bytes_text(std::int64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

Cell share(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "-";
  return percent_cell(static_cast<double>(part) / static_cast<double>(whole), 1);
}

Cell bytes_of(std::int64_t bytes) { return bytes_cell(static_cast<double>(bytes)); }

Table catalog_table() {
  Table table({{"name", Align::left},
               {"architecture", Align::left},
               {"parameters"},
               {"in BF16", Align::right, "bf16_bytes"},
               {"tensors"},
               {"feed-forward", Align::right, "feed_forward"}});
  for (const std::string& name : catalog_models()) {
    const ModelSpec model = catalog_model(name);
    const std::int64_t feed_forward = model.bytes(Role::routed_expert) +
                                      model.bytes(Role::shared_expert) +
                                      model.bytes(Role::dense_ffn);
    table.add_row({model.name, model.architecture, count_cell(model.parameters()),
                   bytes_of(model.bytes()), count_cell(model.checkpoint_tensors()),
                   share(feed_forward, model.bytes())});
  }
  return table;
}

Table roles_table(const ModelSpec& model) {
  Table table({{"role", Align::left},
               {"tensors"},
               {"parameters"},
               {"in BF16", Align::right, "bf16_bytes"},
               {"share"}});
  for (const Role role : kRoles) {
    std::int64_t tensors = 0;
    std::int64_t parameters = 0;
    for (const TensorSpec& tensor : model.tensors) {
      if (tensor.role != role) continue;
      tensors += tensor.checkpoint_tensors();
      parameters += tensor.elements();
    }
    if (tensors == 0) continue;
    const std::int64_t bytes = model.bytes(role);
    table.add_row({std::string(to_string(role)), count_cell(tensors), count_cell(parameters),
                   bytes_of(bytes), share(bytes, model.bytes())});
  }
  return table;
}

std::string details(const ModelSpec& model, Paint paint) {
  std::string text =
      fmt::format("{} ({})\n{}\n\n", model.name, model.architecture, model.provenance);
  text += fmt::format("{} parameters, {} in BF16, {} tensors in the checkpoint\n",
                      format_count(model.parameters()), bytes_text(model.bytes()),
                      format_count(model.checkpoint_tensors()));
  text += fmt::format("{} layers, hidden size {}, vocabulary {}", model.layers,
                      format_count(model.hidden), format_count(model.vocab));
  if (model.experts > 0) text += fmt::format(", {} routed experts a layer", model.experts);
  if (model.tied_embeddings) text += ", head tied to the embedding";
  return text + "\nWithout the weights of multi-token-prediction modules.\n\n" +
         roles_table(model).text(paint);
}

}  // namespace

void add_models(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("models", "List the models of the catalog, or show one");
  add_catalog(*verb, action,
              {"A model of the catalog", "refit.models/1", [] { return catalog_table(); },
               [](const std::string& name) { return roles_table(catalog_model(name)); },
               [] { return catalog_table().text(paint_of()); },
               [](const std::string& name) { return details(catalog_model(name), paint_of()); }});
}

}  // namespace refit
