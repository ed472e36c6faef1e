// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace cushim::sim {

namespace {

struct Found {
  char state = 'X';
  std::uint64_t start = 0;
};

// From /proc; the state of one that is not there is X, for dead.
Found find(std::int64_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/stat");
  std::string line;
  std::getline(file, line);
  // The second field is the program's name in parentheses, which may hold anything.
  const auto name_end = line.rfind(") ");
  if (name_end == std::string::npos) return {};
  std::istringstream rest(line.substr(name_end + 2));
  Found found;
  rest >> found.state;
  constexpr int before_start = 18;  // fields 4 to 21
  std::string skipped;
  for (int i = 0; i < before_start; ++i) rest >> skipped;
  rest >> found.start;
  return rest ? found : Found{};
}

}  // namespace

Process Process::self() { return {getpid(), find(getpid()).start}; }

bool Process::is_alive() const {
  const Found found = find(id);
  return found.state != 'X' && found.state != 'Z' && found.start == start;
}

std::uint64_t process_namespace() {
  struct stat status = {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace cushim::sim
