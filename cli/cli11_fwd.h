#pragma once

// CLI11's names, for headers: it is all headers itself, and seconds of each file that includes it.
namespace CLI {
class App;
class Option;
}  // namespace CLI
