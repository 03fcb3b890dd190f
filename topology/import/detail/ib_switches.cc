#include "topology/import/detail/ib_switches.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "topology/import/detail/text_lines.h"

namespace refit::detail {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;

// Gbit/s of data of one lane, after coding (InfiniBand specification).
constexpr std::pair<std::string_view, double> kLanes[] = {
    {"SDR", 2},  {"DDR", 4},  {"QDR", 8},   {"FDR10", 10}, {"FDR", 13.64},
    {"EDR", 25}, {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};

// The first text between two quotes from `at` on; `at` moves behind it.
std::optional<std::string_view> quoted(std::string_view line, std::size_t& at) {
  const std::size_t begin = line.find('"', at);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = line.find('"', begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  at = end + 1;
  return line.substr(begin + 1, end - begin - 1);
}

// "[15]" at `at`: 15; 0 if there is none.
long port_at(std::string_view line, std::size_t at) {
  if (at >= line.size() || line[at] != '[') return 0;
  return whole_or(line.substr(at + 1, line.find(']', at) - at - 1), 0);
}

// "4xNDR": bytes per second; 0 if it is no such word.
double rate_of(std::string_view word) {
  const std::size_t x = word.find('x');
  if (x == std::string_view::npos) return 0;
  const long lanes = whole_or(word.substr(0, x), 0);
  if (lanes < 1 || lanes > 12) return 0;
  for (const auto& [name, gbit] : kLanes) {
    if (word.substr(x + 1) == name) return static_cast<double>(lanes) * gbit * 1e9 / 8;
  }
  return 0;
}

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  IbNetwork read(std::string_view text) {
    if (text.size() > kMostBytes) fail("larger than 256 MiB");
    bool in_switch = false, any = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      at = end + 1;
      ++line_;
      std::size_t place = 0;
      if (line.starts_with("Switch")) {
        const auto id = quoted(line, place);
        any = in_switch = true;
        id ? add_switch(std::string(*id)) : cut_line();
        in_switch = id.has_value();
      } else if (line.starts_with("Ca") || line.starts_with("Rt")) {
        any = true;
        in_switch = false;
        const auto id = quoted(line, place);
        const auto words = quoted(line, place);
        if (line.starts_with("Ca") && id) {
          ++network_.adapters;
          if (words && is_aggregation(*words)) network_.aggregation.insert(std::string(*id));
        }
      } else if (in_switch && line.starts_with("[")) {
        read_port(line);
      }
    }
    if (!any) fail("no line of Switch or Ca is in it; expected the output of ibnetdiscover");
    note_what_is_missing();
    return std::move(network_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", name_, what));
  }
  [[noreturn]] void fail_here(const std::string& what) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}:{}: {}", name_, line_, what));
  }

  void add_switch(std::string id) {
    if (!number_.emplace(id, network_.switches.size()).second)
      fail_here(fmt::format("switch {} stands twice; keep one capture", shown(id)));
    network_.switches.push_back({std::move(id), {}});
    ports_.clear();
  }

  void cut_line() {
    if (cut_lines_++ == 0) first_cut_line_ = line_;
  }

  void read_port(std::string_view line) {
    std::size_t place = 0;
    const auto peer = quoted(line, place);
    if (!peer) return cut_line();
    IbPort port{port_at(line, 0), std::string(*peer), port_at(line, place), {}, 0};
    const auto words = quoted(line, place);
    if (words) port.peer_name = *words;
    const std::vector<std::string_view> rest = line_words(line.substr(place));
    std::string_view last = rest.empty() ? std::string_view() : rest.back();
    while (!last.empty() && static_cast<unsigned char>(last.back()) <= ' ') last.remove_suffix(1);
    port.bytes_per_s = rate_of(last);
    IbSwitch& one = network_.switches.back();
    if (port.peer == one.id)
      fail_here(fmt::format("port {} is joined to its own switch; no fabric has such a cable",
                            port.number));
    if (port.number > 0 && !ports_.insert(port.number).second)
      fail_here(fmt::format("port {} stands twice in this switch; keep one", port.number));
    one.ports.push_back(std::move(port));
  }

  // The whole output has every cable at both of its ends, and every adapter.
  void note_what_is_missing() {
    std::set<std::string_view> undescribed;
    std::set<std::pair<std::size_t, long>> ends;
    std::size_t one_ended = 0;
    for (std::size_t s = 0; s < network_.switches.size(); ++s) {
      for (const IbPort& port : network_.switches[s].ports) ends.emplace(s, port.number);
    }
    for (const IbSwitch& one : network_.switches) {
      for (const IbPort& port : one.ports) {
        if (!port.peer.starts_with("S-")) continue;
        const auto peer = number_.find(port.peer);
        if (peer == number_.end())
          undescribed.insert(port.peer);
        else if (port.peer_port > 0 && !ends.contains({peer->second, port.peer_port}))
          ++one_ended;
      }
    }
    const auto note = [&](std::string text) { network_.notes.push_back(std::move(text)); };
    if (cut_lines_ > 0)
      note(fmt::format("{} line{} no end, first line {}; the file was cut", cut_lines_,
                       cut_lines_ == 1 ? " has" : "s have", first_cut_line_));
    if (!undescribed.empty())
      note(
          fmt::format("{} switch{} named and not described: the file is cut or a part, so hosts "
                      "and cables may be missing",
                      undescribed.size(), undescribed.size() == 1 ? " is" : "es are"));
    if (one_ended > 0)
      note(
          fmt::format("{} cable{} at one end only: the file is cut or changed by hand, so trunks "
                      "may carry more than is said",
                      one_ended, one_ended == 1 ? " stands" : "s stand"));
    if (network_.adapters == 0 && !network_.switches.empty())
      note("no adapter is described (Ca): the file is cut or a part, so hosts may be missing");
  }

  const std::string& name_;
  IbNetwork network_;
  std::map<std::string, std::size_t, std::less<>> number_;  // of a switch
  std::set<long> ports_;                                    // of the switch that is being read
  std::size_t line_ = 0, cut_lines_ = 0, first_cut_line_ = 0;
};

}  // namespace

bool is_aggregation(std::string_view name) {
  return name.find("Aggregation Node") != std::string_view::npos;
}

IbNetwork read_ib_network(std::string_view text, const std::string& name) {
  return Reader(name).read(text);
}

}  // namespace refit::detail
