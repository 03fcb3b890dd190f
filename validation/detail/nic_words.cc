#include "validation/detail/nic_words.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "validation/detail/cell.h"
#include "validation/detail/words.h"

namespace refit::detail {
namespace {

constexpr int kMostNics = 1024;  // of a node

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Text between commas, semicolons and brackets, with "3,200" as 3200.
std::vector<std::string> split_phrases(std::string_view text) {
  std::vector<std::string> phrases(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool groups = text[i] == ',' && i > 0 && i + 3 < text.size() && is_digit(text[i - 1]) &&
                        std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                    text.begin() + static_cast<std::ptrdiff_t>(i) + 4, is_digit);
    if (groups) continue;
    if (text[i] == ',' || text[i] == ';' || text[i] == '(' || text[i] == ')') {
      phrases.emplace_back();
    } else {
      phrases.back() += text[i];
    }
  }
  return phrases;
}

struct Rate {
  double bytes_per_s = 0;
  std::size_t begin = 0, end = 0;  // in the phrase
};

// Case matters: b is a bit, B is a byte.
std::optional<double> unit_at(std::string_view text, std::size_t& end) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"Gbit/s", 1e9 / 8}, {"Gbits/s", 1e9 / 8},    {"Gb/s", 1e9 / 8},    {"Gbps", 1e9 / 8},
      {"GbE", 1e9 / 8},    {"Gbit", 1e9 / 8},       {"Tbit/s", 1e12 / 8}, {"Tb/s", 1e12 / 8},
      {"Tbps", 1e12 / 8},  {"GiB/s", 1073741824.0}, {"GB/s", 1e9},        {"GBps", 1e9},
      {"TB/s", 1e12},      {"gbps", 1e9 / 8},       {"Gb", 1e9 / 8},      {"G ", 1e9 / 8},
  };
  std::size_t at = end;
  while (at < text.size() && (text[at] == ' ' || text[at] == '-')) ++at;
  for (const auto& [unit, factor] : kUnits) {
    if (!text.substr(at).starts_with(unit)) continue;
    end = at + unit.size();
    return factor;
  }
  return std::nullopt;
}

std::optional<Rate> find_rate(std::string_view phrase) {
  for (std::size_t i = 0; i < phrase.size(); ++i) {
    if (!is_digit(phrase[i]) || (i > 0 && (is_digit(phrase[i - 1]) || phrase[i - 1] == '.'))) {
      continue;
    }
    double value = 0;
    const auto [last, error] = std::from_chars(phrase.data() + i, phrase.data() + phrase.size(),
                                               value, std::chars_format::fixed);
    if (error != std::errc{}) continue;
    std::size_t end = static_cast<std::size_t>(last - phrase.data());
    const auto factor = unit_at(phrase, end);
    // NICs have 1 Gbit/s to 3.2 Tbit/s, all those of a node ten times as much.
    if (factor && value * *factor >= 1e8 && value * *factor <= 4e12) {
      return Rate{value * *factor, i, end};
    }
  }
  return std::nullopt;
}

// "8 x" before a rate, "one", "single", "dual".
std::optional<int> count_before(std::string_view before) {
  const std::vector<Word> words = split_words(before);
  if (words.empty()) return std::nullopt;
  const Word& last = words.back();
  if (last.text == "x" && words.size() >= 2 && words[words.size() - 2].number) {
    const int count = *words[words.size() - 2].number;
    return count >= 1 && count <= kMostNics ? std::optional(count) : std::nullopt;
  }
  if (last.text == "one" || last.text == "single") return 1;
  if (last.text == "two" || last.text == "dual") return 2;
  if (last.text == "four") return 4;
  return std::nullopt;
}

// "8 RDMA rails", "4 NICs".
std::optional<int> nic_count(std::string_view phrase) {
  const std::vector<Word> words = split_words(phrase);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].number) continue;
    for (std::size_t j = i + 1; j < std::min(i + 3, words.size()) && !words[j].number; ++j) {
      for (const char* noun : {"nic", "nics", "rail", "rails", "hca", "hcas", "adapters"}) {
        if (words[j].text == noun && *words[i].number >= 1 && *words[i].number <= kMostNics)
          return words[i].number;
      }
    }
  }
  return std::nullopt;
}

// The first of two words for one thing counts.
template <class T>
void set(std::optional<T>& fact, std::optional<T> value) {
  if (!fact && value) fact = value;
}

bool per_gpu(const std::string& text) {
  return has_any(text, {"per gpu", "per rank", "/gpu", "each gpu"});
}
bool per_node(const std::string& text) {
  return has_any(text, {"per node", "/node", "per host", "in all", "in total", "aggregate",
                        "each node", "per instance", "per machine"});
}

void read_phrase(const std::string& phrase, bool next_says_per_gpu, NicWords& words) {
  const std::string text = lower(phrase);
  if (has_any(text, {"nvlink", "nvl72", "pcie", "c2c", "seen", "achieved", "sustained", "measured",
                     "effective", "observed"})) {
    return;
  }
  const auto rate = find_rate(phrase);
  if (!rate) {
    set(per_gpu(text) ? words.per_gpu : words.per_node, nic_count(phrase));
    return;
  }
  const auto count = count_before(std::string_view(phrase).substr(0, rate->begin));
  const bool of_nic = has_any(text, {"per nic", "/nic", "per rail", "per port"});
  if (count) {
    set(words.bytes_per_s, std::optional(rate->bytes_per_s));
    // "one 400 Gb/s NIC used per pull" does not say how many there are.
    if (per_gpu(text)) {
      set(words.per_gpu, count);
    } else if (*count > 1 || per_node(text)) {
      set(words.per_node, count);
    }
  } else if (of_nic) {
    set(words.bytes_per_s, std::optional(rate->bytes_per_s));
  } else if (per_gpu(text) || next_says_per_gpu) {
    set(words.gpu_bytes_per_s, std::optional(rate->bytes_per_s));
  } else if (per_node(text)) {
    set(words.node_bytes_per_s, std::optional(rate->bytes_per_s));
  } else if (rate->bytes_per_s > 100e9) {  // no NIC has so much: all of a node's
    set(words.node_bytes_per_s, std::optional(rate->bytes_per_s));
  } else {
    set(words.bytes_per_s, std::optional(rate->bytes_per_s));
  }
}

}  // namespace

NicWords read_nic_words(std::string_view text) {
  NicWords words;
  const std::vector<std::string> phrases = split_phrases(text);
  for (std::size_t i = 0; i < phrases.size(); ++i) {
    const std::string next = i + 1 < phrases.size() ? lower(phrases[i + 1]) : std::string();
    read_phrase(phrases[i] + ' ', per_gpu(next) && !find_rate(next), words);
  }
  if (words.bytes_per_s || words.node_bytes_per_s || words.gpu_bytes_per_s) return words;
  // Generations of InfiniBand and of Slingshot have one rate per port.
  constexpr std::pair<std::string_view, double> kGenerations[] = {
      {"xdr", 100e9}, {"ndr", 50e9}, {"hdr", 25e9}, {"edr", 12.5e9}, {"slingshot", 25e9}};
  const std::vector<std::string> names = split_names(text);
  for (const auto& [name, bytes_per_s] : kGenerations) {
    const std::string_view generation = name;  // NDR, NDR400
    const auto named = [&](const std::string& word) { return word.starts_with(generation); };
    if (std::any_of(names.begin(), names.end(), named)) {
      words.bytes_per_s = bytes_per_s;
      break;
    }
  }
  return words;
}

}  // namespace refit::detail
