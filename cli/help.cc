#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/yaml.h"
#include "cli/help_pages.h"
#include "cli/man_page.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "planner/systems.h"

namespace refit {
namespace {

// What is explained, by name; a word may be a verb and an entry of the glossary.
struct Topic {
  std::string name;
  std::string text;
};

// An entry "owner, demander" explains both.
void add_entries(std::vector<Topic>& topics, const std::string& page, Paint paint) {
  for (const HelpEntry& entry : help_entries(page)) {
    for (std::string name : CLI::detail::split(entry.word, ','))
      topics.push_back({CLI::detail::trim(name), entry_text(entry, paint)});
  }
}

void add_verbs(std::vector<Topic>& topics, const CLI::App& app, const std::string& before) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string name = before.empty() ? verb->get_name() : before + " " + verb->get_name();
    topics.push_back({name, verb->help(before.empty() ? "refit" : "refit " + before)});
    add_verbs(topics, *verb, name);
  }
}

std::vector<Topic> all_topics(const CLI::App& app, Paint paint) {
  std::vector<Topic> topics;
  for (const std::string& page : help_pages()) {
    topics.push_back({page, help_page(page, paint)});
    add_entries(topics, page, paint);
  }
  for (const System& system : systems()) {
    topics.push_back({std::string(system.name),
                      entry_text({std::string(system.name), std::string(system.does)}, paint)});
  }
  add_verbs(topics, app, "");
  return topics;
}

std::string overview(const CLI::App& app, Paint paint) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    verbs.push_back(verb->get_name());
  const auto entry = [&](const char* word, const std::string& what) {
    return entry_text({word, what}, paint);
  };
  return "refit help TOPIC, which is one of\n\n" +
         entry("pages", fmt::format("{}", fmt::join(help_pages(), ", "))) +
         entry("commands", fmt::format("{}", fmt::join(verbs, ", "))) +
         entry("words",
               "any of these pages, as in refit help payload bytes; any of refit systems") +
         "\nrefit help --man prints all commands as a man page.\n";
}

std::string explained(const CLI::App& app, const std::string& name, Paint paint) {
  const std::vector<Topic> topics = all_topics(app, paint);
  // Pages are asked for in any spelling, words as they are written.
  std::string page = name;
  std::replace_if(
      page.begin(), page.end(), [](char c) { return c == '_' || c == '-'; }, ' ');
  std::string text;
  std::vector<std::string> known;
  for (const Topic& topic : topics) {
    known.push_back(topic.name);
    if (topic.name == name || topic.name == page) text += (text.empty() ? "" : "\n") + topic.text;
  }
  if (!text.empty()) return text;
  const auto near = nearest_word(name, known);
  throw Error(ErrorCode::bad_input,
              fmt::format("'{}' is not a topic{} refit help lists them", name,
                          near ? fmt::format("; did you mean '{}'?", *near) : ";"));
}

struct HelpOptions {
  std::vector<std::string> topic;
  bool man = false;
};

}  // namespace

void add_help(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("help", "Explain a word, a command, a strategy, exit codes");
  auto options = std::make_shared<HelpOptions>();
  CLI::Option* topic =
      verb->add_option("TOPIC", options->topic, "One or several words; none: what there is");
  verb->add_flag("--man", options->man, "Print all commands as a man page, refit(1)")
      ->excludes(topic);
  verb->callback([&app, &action, options] {
    action = [&app, options] {
      if (options->man) {
        print(man_page(app, REFIT_VERSION));
      } else if (options->topic.empty()) {
        print(overview(app, paint_of()));
      } else {
        print(explained(app, fmt::format("{}", fmt::join(options->topic, " ")), paint_of()));
      }
      return 0;
    };
  });
}

}  // namespace refit
