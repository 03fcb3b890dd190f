#include "cli/completion.h"

#include <algorithm>
#include <memory>
#include <span>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/embedded.h"
#include "checks/runtimes.h"
#include "cli/output.h"
#include "cli/strategies.h"
#include "cli/verbs.h"
#include "models/import/hf_config.h"
#include "sim/network_model.h"
#include "topology/cluster_yaml.h"

namespace refit {

std::span<const EmbeddedFile> completion_scripts();

namespace {

bool is_option(const std::string& word) { return word.starts_with('-') && word != "-"; }

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }
bool takes_many(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

const CLI::App* verb_of(const CLI::App& app, const std::string& word) {
  const auto found =
      app.get_subcommands([&](const CLI::App* verb) { return verb->check_name(word); });
  return found.empty() ? nullptr : found.front();
}

// The words before the one to complete, as far as they say where it stands.
struct Typed {
  const CLI::App* verb = nullptr;
  const CLI::Option* awaits_value = nullptr;
  std::size_t positionals = 0;
};

Typed read(const CLI::App& app, std::span<const std::string> words) {
  Typed typed{&app};
  for (const std::string& word : words) {
    if (word == "=") continue;  // bash makes a word of it
    const CLI::Option* option = typed.awaits_value;
    if (is_option(word)) {
      const std::size_t equals = word.find('=');
      option = typed.verb->get_option_no_throw(word.substr(0, equals));
      const bool open = option != nullptr && equals == word.npos && takes_value(*option);
      typed.awaits_value = open ? option : nullptr;
    } else if (option != nullptr) {
      if (!takes_many(*option)) typed.awaits_value = nullptr;
    } else if (const CLI::App* verb = verb_of(*typed.verb, word)) {
      typed = {verb};
    } else {
      ++typed.positionals;
    }
  }
  return typed;
}

// Names of catalogs: what an option takes besides files.
std::vector<std::string> names_for(const CLI::App& verb, const CLI::Option& option) {
  const std::vector<std::string>& long_names = option.get_lnames();
  const std::string name = long_names.empty() ? option.get_name(true) : "--" + long_names.front();
  const bool lists = name == "NAME";
  if (name == "--strategy") return known_strategies();
  if (name == "--network-model" || name == "--start") return catalog_network_models();
  if (name == "--model" || (lists && verb.get_name() == "models")) return catalog_models();
  if (name == "--cluster" || name == "--like" || (lists && verb.get_name() == "clusters"))
    return catalog_clusters();
  if (name == "--runtime") return runtime_names();
  return {};
}

// `last`: of a list with commas only what follows the last of them is completed.
std::vector<Completion> values(const CLI::App& verb, const CLI::Option& option,
                               const std::string& last, const std::string& before = {}) {
  std::vector<std::string> known = values_of(option);
  std::string kept = before;
  if (known.empty()) {
    known = names_for(verb, option);
    if (!known.empty() && last.find(',') != last.npos) kept = last.substr(0, last.rfind(',') + 1);
  }
  std::vector<Completion> found;
  for (const std::string& value : known) found.push_back({kept + value, {}});
  return found;
}

std::vector<Completion> options(const CLI::App& verb) {
  std::vector<Completion> found;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames())
      found.push_back({"--" + name, one_line(option->get_description())});
  }
  return found;
}

std::vector<Completion> verbs(const CLI::App& app) {
  std::vector<Completion> found;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    found.push_back({verb->get_name(), one_line(verb->get_description())});
  return found;
}

// The last positional takes what is too much for the others, if any.
std::vector<Completion> positional(const CLI::App& verb, std::size_t number,
                                   const std::string& last) {
  std::vector<const CLI::Option*> places;
  for (const CLI::Option* option : verb.get_options())
    if (option->get_positional()) places.push_back(option);
  if (places.empty()) return {};
  return values(verb, *places[std::min(number, places.size() - 1)], last);
}

std::vector<Completion> all_completions(const Typed& typed, const std::string& last) {
  if (is_option(last)) {
    const std::size_t equals = last.find('=');
    if (equals == last.npos) return options(*typed.verb);
    const CLI::Option* option = typed.verb->get_option_no_throw(last.substr(0, equals));
    if (option == nullptr) return {};
    return values(*typed.verb, *option, last, last.substr(0, equals + 1));
  }
  if (typed.awaits_value != nullptr) {
    // After several values of one option a file may follow that is none.
    return values(*typed.verb, *typed.awaits_value, last);
  }
  std::vector<Completion> found = verbs(*typed.verb);
  return found.empty() ? positional(*typed.verb, typed.positionals, last) : found;
}

struct CompletionOptions {
  std::string shell;
  std::vector<std::string> words;
};

std::string text_of(const CLI::App& app, const CompletionOptions& options) {
  for (const EmbeddedFile& script : completion_scripts())
    if (script.name == options.shell) return std::string(script.text);
  std::string text;
  for (const Completion& found : completions(app, options.words))
    text +=
        found.says.empty() ? found.word + "\n" : fmt::format("{}\t{}\n", found.word, found.says);
  return text;
}

}  // namespace

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// CLI11 says the members of a set in words only: "TEXT:{nic,wan}".
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}', begin);
  if (begin == type.npos || end == type.npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

std::vector<Completion> completions(const CLI::App& app, std::vector<std::string> words) {
  if (words.empty()) words.emplace_back();
  const std::span<const std::string> before(words.data(), words.size() - 1);
  const std::string last = words.back() == "=" ? "" : words.back();
  std::vector<Completion> found = all_completions(read(app, before), last);
  std::erase_if(found, [&](const Completion& one) { return !one.word.starts_with(last); });
  return found;
}

void add_completion(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("completion", "Print a shell's completion script");
  auto options = std::make_shared<CompletionOptions>();
  verb->add_option("SHELL", options->shell,
                   "bash, zsh, fish; or words, which the scripts ask for what may follow WORDS")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "words"}));
  verb->add_option("WORDS", options->words, "Behind --: what is typed so far");
  verb->callback([&app, &action, options] {
    action = [&app, options] {
      print(text_of(app, *options));
      return 0;
    };
  });
}

}  // namespace refit
