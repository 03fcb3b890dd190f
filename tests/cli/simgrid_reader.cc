// Plain SimGrid, nothing of ours: runs comms.csv on platform.xml, and prints when the last is done.

#include <fstream>
#include <iostream>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg = simgrid::s4u;

namespace {

struct Comm {
  std::string src, dst;
  double bytes = 0;
  std::vector<std::size_t> next;
  std::size_t waits_for = 0;
};

std::vector<Comm> read(const char* path) {
  std::ifstream in(path);
  std::string line, cell;
  std::getline(in, line);
  std::vector<Comm> comms;
  std::vector<std::vector<std::size_t>> after;
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    while (std::getline(row, cell, ',')) cells.push_back(cell);
    cells.resize(6);
    comms.push_back({cells[2], cells[3], std::stod(cells[4]), {}, 0});
    after.emplace_back();
    std::istringstream list(cells[5]);
    for (std::size_t before = 0; list >> before;) after.back().push_back(before);
  }
  for (std::size_t c = 0; c < comms.size(); ++c) {
    comms[c].waits_for = after[c].size();
    for (const std::size_t before : after[c]) comms.at(before).next.push_back(c);
  }
  return comms;
}

void play(const sg::Engine& engine, std::vector<Comm> comms, double& last) {
  std::vector<sg::CommPtr> running;
  std::vector<std::size_t> number, ready;
  std::size_t done = 0;
  const auto finish = [&](std::size_t c) {
    ++done;
    for (const std::size_t next : comms[c].next)
      if (--comms[next].waits_for == 0) ready.push_back(next);
  };
  for (std::size_t c = 0; c < comms.size(); ++c)
    if (comms[c].waits_for == 0) ready.push_back(c);
  while (true) {
    while (!ready.empty()) {
      const std::size_t c = ready.back();
      ready.pop_back();
      if (comms[c].src.empty()) {
        finish(c);
        continue;
      }
      running.push_back(sg::Comm::sendto_async(engine.host_by_name(comms[c].src),
                                               engine.host_by_name(comms[c].dst),
                                               static_cast<std::uint64_t>(comms[c].bytes)));
      number.push_back(c);
    }
    if (running.empty()) break;
    const auto ended = sg::Comm::wait_any(running);
    const auto at = static_cast<std::ptrdiff_t>(ended);
    const std::size_t c = number[static_cast<std::size_t>(ended)];
    running.erase(running.begin() + at);
    number.erase(number.begin() + at);
    finish(c);
  }
  last = done == comms.size() ? sg::Engine::get_clock() : -1;
}

}  // namespace

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  double last = -1;
  sg::Actor::create("player", engine.get_all_hosts().front(),
                    [&] { play(engine, read(argv[2]), last); });
  engine.run();
  std::cout << std::setprecision(17) << last << "\n";
}
