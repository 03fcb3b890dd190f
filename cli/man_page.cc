#include "cli/man_page.h"

#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion.h"
#include "cli/help_pages.h"

namespace refit {
namespace {

// As troff shows it unchanged: no escapes, no requests, and hyphens that can be copied.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      if (result.empty() && (c == '.' || c == '\'')) result += "\\&";
      result += c;
    }
  }
  return result;
}

std::string value_words(const CLI::Option& option) {
  const std::vector<std::string> values = values_of(option);
  if (!values.empty()) return fmt::format("{}", fmt::join(values, "|"));
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string option_entry(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  std::string head;
  for (const std::string& name : names)
    head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", escaped(name));
  if (option.get_positional()) {
    head = fmt::format("\\fI{}\\fR", escaped(option.get_name(true)));
  } else if (option.get_items_expected_max() > 0) {
    head += fmt::format(" \\fI{}\\fR", escaped(value_words(option)));
  }
  return fmt::format(".TP\n{}\n{}\n", head, escaped(one_line(option.get_description())));
}

std::string synopsis(const CLI::App& app, const std::string& name) {
  std::string text = fmt::format("\\fB{}\\fR", escaped(name));
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string place = escaped(option->get_name(true));
    text += option->get_required() ? fmt::format(" \\fI{}\\fR", place)
                                   : fmt::format(" [\\fI{}\\fR]", place);
  }
  return text + " [\\fIOPTIONS\\fR]";
}

std::string verb_section(const CLI::App& verb, const std::string& name) {
  std::string text =
      fmt::format(".SS {}\n{}.\n", escaped(name), escaped(one_line(verb.get_description())));
  const std::vector<const CLI::App*> parts =
      verb.get_subcommands([](const CLI::App*) { return true; });
  if (parts.empty()) {
    text += fmt::format(".PP\n{}\n", synopsis(verb, name));
    for (const CLI::Option* option : verb.get_options())
      if (!option->check_lname("help") && !option->check_lname("color"))
        text += option_entry(*option);
  }
  for (const CLI::App* part : parts) text += verb_section(*part, name + " " + part->get_name());
  return text;
}

std::string page_section(const char* title, const std::string& page) {
  std::string text = fmt::format(".SH {}\n", title);
  for (const HelpEntry& entry : help_entries(page))
    text += fmt::format(".TP\n.B {}\n{}\n", escaped(entry.word), escaped(entry.meaning));
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& version) {
  std::string text = fmt::format(".TH REFIT 1 \"\" \"refit {}\" \"User Commands\"\n", version);
  text += fmt::format(".SH NAME\nrefit \\- {}\n",
                      escaped("plans, proves and predicts refits of RL post-training"));
  text +=
      ".SH SYNOPSIS\n\\fBrefit\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.br\n"
      "\\fBrefit help\\fR [\\fITOPIC\\fR]\n";
  text += fmt::format(".SH DESCRIPTION\n{}\n", escaped(one_line(app.get_description())));
  text += ".SH OPTIONS\nOf every command:\n";
  for (const CLI::Option* option : app.get_options()) text += option_entry(*option);
  text += ".SH COMMANDS\n";
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    text += verb_section(*verb, "refit " + verb->get_name());
  text += page_section("STRATEGIES", "strategies");
  text += page_section("EXIT STATUS", "exit codes");
  text += page_section("ENVIRONMENT", "environment");
  return text;
}

}  // namespace refit
