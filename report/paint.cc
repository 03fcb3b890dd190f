#include "report/paint.h"

#include <fmt/color.h>

namespace refit {

std::string painted(std::string_view text, Mark mark, Paint paint) {
  if (paint == Paint::off || mark == Mark::none || text.empty()) return std::string(text);
  // Of the sixteen colours, so that the terminal's own palette decides how they look.
  const fmt::text_style style = mark == Mark::heading
                                    ? fmt::text_style(fmt::emphasis::bold)
                                    : fmt::emphasis::bold | fmt::fg(fmt::terminal_color::red);
  return fmt::format(style, "{}", text);
}

}  // namespace refit
