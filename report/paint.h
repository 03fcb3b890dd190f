#pragma once

#include <string>
#include <string_view>

namespace refit {

// Whether text for a terminal may have colours; files and pipes get none.
enum class Paint { off, on };

// What is set apart, and little is: a table's headings, what is over a limit or failed.
enum class Mark { none, heading, alarm };

std::string painted(std::string_view text, Mark mark, Paint paint);

}  // namespace refit
