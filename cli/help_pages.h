#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/paint.h"

namespace refit {

// A row of a table of a page: what it is about, and what it says of that.
struct HelpEntry {
  std::string word;
  std::string meaning;
};

// Names of the pages that come with the program, as people type them: "exit codes".
std::vector<std::string> help_pages();

// A page for a terminal of 80 columns: tables as entries, links as their words.
std::string help_page(const std::string& name, Paint paint);

// Rows of all tables of a page, without markup.
std::vector<HelpEntry> help_entries(const std::string& name);

std::string entry_text(const HelpEntry& entry, Paint paint);

}  // namespace refit
