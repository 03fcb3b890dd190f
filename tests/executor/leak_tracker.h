#pragma once

#include <algorithm>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/cli/program.h"

namespace refit::test {

namespace fs = std::filesystem;

// Calls `look` with the number and the folder of every process that we may see into.
template <class Look>
void each_process(const Look& look) {
  std::error_code fault;
  for (fs::directory_iterator entry("/proc", fault), end; !fault && entry != end;
       entry.increment(fault)) {
    const std::string name = entry->path().filename();
    if (std::isdigit(static_cast<unsigned char>(name.front())))
      look(std::stoi(name), entry->path());
  }
}

// Calls `look` with what each of a process's links in `folder` points to: "net:[4026531840]".
template <class Look>
void each_link(const fs::path& folder, const Look& look) {
  std::error_code fault;
  for (fs::directory_iterator entry(folder, fault), end; !fault && entry != end;
       entry.increment(fault)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry->path(), gone).string();
    if (!gone) look(target);
  }
}

inline bool names_namespace(const std::string& target) {
  for (const char* kind : {"net:[", "pid:[", "user:[", "mnt:["})
    if (target.starts_with(kind)) return true;
  return false;
}

// Inodes of this network's TCP sockets that listen.
inline std::set<std::string> listening() {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    std::string line;
    std::getline(in, line);  // the head
    while (std::getline(in, line)) {
      std::istringstream words(line);
      std::vector<std::string> word(10);
      for (std::string& w : word) words >> w;
      if (word[3] == "0A") inodes.insert("socket:[" + word[9] + "]");
    }
  }
  return inodes;
}

// Knows the processes of its runs by a variable in their environment, which all of them inherit,
// and what they had: nothing of it may outlast them.
class Tracker {
 public:
  Tracker() : mark_("REFIT_LEAK_TEST=" + std::to_string(getpid())) {
    each_link("/proc/self/ns", [&](const std::string& target) { own_.insert(target); });
  }

  // A failed test, too, leaves nothing.
  ~Tracker() {
    for (const auto& [pid, parent] : processes()) kill(pid, SIGKILL);
  }
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  const std::string& mark() const { return mark_; }

  // Parent of each process of the run that lives.
  std::map<pid_t, pid_t> processes() const {
    std::map<pid_t, pid_t> parents;
    each_process([&](pid_t pid, const fs::path& folder) {
      const std::string environment = '\0' + text_of(folder / "environ");
      if (environment.find('\0' + mark_ + '\0') == std::string::npos) return;
      const std::string stat = text_of(folder / "stat");
      std::istringstream rest(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
      char state = 0;
      pid_t parent = 0;
      if (rest >> state >> parent) parents[pid] = parent;
    });
    return parents;
  }

  // Takes note of what the run's processes have just now.
  void note() {
    for (const auto& [pid, parent] : processes()) {
      const fs::path folder = fs::path("/proc") / std::to_string(pid);
      each_link(folder / "ns", [&](const std::string& target) {
        if (names_namespace(target) && !own_.contains(target)) namespaces_.insert(target);
      });
      each_link(folder / "fd", [&](const std::string& target) {
        if (names_namespace(target) && !own_.contains(target)) namespaces_.insert(target);
        if (target.starts_with("socket:[")) sockets_.insert(target);
      });
    }
  }

  std::size_t namespaces() const { return namespaces_.size(); }
  std::size_t sockets() const { return sockets_.size(); }

  std::vector<std::string> left_behind() const {
    std::vector<std::string> found;
    for (const auto& [pid, parent] : processes()) found.push_back(fmt::format("process {}", pid));
    each_process([&](pid_t pid, const fs::path& folder) {
      const auto look = [&, pid](const std::string& target) {
        if (namespaces_.contains(target))
          found.push_back(fmt::format("{} of process {}", target, pid));
      };
      each_link(folder / "ns", look);
      each_link(folder / "fd", look);
    });
    std::istringstream mounts(text_of("/proc/self/mountinfo"));
    for (std::string line; std::getline(mounts, line);)
      for (const std::string& mine : namespaces_)
        if (line.find(mine) != std::string::npos) found.push_back("mount " + line);
    for (const std::string& socket : listening())
      if (sockets_.contains(socket)) found.push_back("listening " + socket);
    return found;
  }

 private:
  std::string mark_;
  std::set<std::string> own_, namespaces_, sockets_;
};

}  // namespace refit::test
