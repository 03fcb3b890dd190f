#include "topology/import/detail/host_list.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace refit::detail {
namespace {

constexpr std::size_t kMostNameBytes = 255;  // a host name has no more
constexpr int kMostBrackets = 8;             // of a name; each costs as much as there are names

class Expander {
 public:
  Expander(std::size_t names_before, const std::string& where)
      : names_before_(names_before), where_(where) {}

  std::vector<std::string> expand(std::string_view list) {
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= list.size(); ++i) {
      if (i < list.size() && list[i] == '[' && ++depth > 1) fail("a bracket stands in a bracket");
      if (i < list.size() && list[i] == ']' && --depth < 0) fail("']' without '['");
      if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
      if (depth != 0) fail("'[' without ']'");
      if (i > begin) add(list.substr(begin, i - begin));
      begin = i + 1;
    }
    return std::move(hosts_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: {}; a list of nodes looks like srv[1-3,7]", where_, what));
  }

  // One item: a prefix, then brackets and texts in turn. Each bracket multiplies.
  void add(std::string_view item) {
    std::vector<std::string> names = {""};
    int brackets = 0;
    while (!item.empty()) {
      const std::size_t open = item.find('[');
      const std::string_view plain = item.substr(0, open);
      for (std::string& name : names) {
        if (name.size() + plain.size() > kMostNameBytes) fail("a name is longer than 255 bytes");
        name += plain;
      }
      if (open == std::string_view::npos) break;
      if (++brackets > kMostBrackets)
        fail(fmt::format("more than {} brackets in one name", kMostBrackets));
      const std::size_t close = item.find(']', open);
      const std::vector<std::string> numbers = ranges(item.substr(open + 1, close - open - 1));
      check_count(names.size() * numbers.size());
      std::vector<std::string> longer;
      for (const std::string& name : names) {
        for (const std::string& number : numbers) longer.push_back(name + number);
      }
      names = std::move(longer);
      item.remove_prefix(close + 1);
    }
    check_count(names.size());
    std::move(names.begin(), names.end(), std::back_inserter(hosts_));
  }

  // Before that many names are added to those of the items and lists before.
  void check_count(std::size_t names) const {
    if (names_before_ + hosts_.size() + names > kMostHosts) too_many();
  }

  [[noreturn]] void too_many() const { fail(fmt::format("more than {} nodes", kMostHosts)); }

  std::int64_t number(std::string_view text) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 0 || text.size() > 12)
      fail("a range is no number or two numbers with '-' between");
    return value;
  }

  std::vector<std::string> ranges(std::string_view text) const {
    std::vector<std::string> result;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      const std::string_view part = text.substr(at, end - at);
      const std::size_t dash = part.find('-');
      const std::string_view low = part.substr(0, dash);
      const std::string_view high = dash == std::string_view::npos ? low : part.substr(dash + 1);
      const std::int64_t first = number(low), last = number(high);
      if (last < first) fail(fmt::format("a range runs from {} down to {}", first, last));
      if (static_cast<std::uint64_t>(last - first) + result.size() >= kMostHosts) too_many();
      for (std::int64_t n = first; n <= last; ++n)
        result.push_back(fmt::format("{:0>{}}", n, low.size()));
      at = end + 1;
    }
    return result;
  }

  std::size_t names_before_;
  const std::string& where_;
  std::vector<std::string> hosts_;
};

}  // namespace

std::vector<std::string> HostLists::expand(std::string_view list, const std::string& where) {
  std::vector<std::string> hosts = Expander(names_, where).expand(list);
  names_ += hosts.size();
  return hosts;
}

}  // namespace refit::detail
