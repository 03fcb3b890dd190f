#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace refit {

// Text from somebody else's file as a message shows it: on one line, printable UTF-8, and cut after
// some `most_bytes`. Whatever else stands in it is written as \n or \x1b.
std::string shown(std::string_view text, std::size_t most_bytes = 60);

// A whole message for a terminal, whoever wrote it: line ends and tabs stay, other control
// characters are written out, and of an endless line the middle is left out.
std::string shown_message(std::string_view message);

}  // namespace refit
