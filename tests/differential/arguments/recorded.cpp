// SPDX-License-Identifier: Apache-2.0
#include "recorded.hpp"

#include <fmt/format.h>

#include <fstream>
#include <set>
#include <stdexcept>

#include "../lines.hpp"

namespace arguments {
namespace {
constexpr std::string_view kAbout = "# Driver: ";
}  // namespace

bool is_compared(const std::string &answer) {
  return answer != kVaries && answer != "crash" && answer != "hang";
}

void write(const std::string &name, const RecordedAnswers &recorded) {
  std::ofstream file(name);
  file << "# SPDX-License-Identifier: Apache-2.0\n"
       << "# Answers of a CUDA driver to calls with one changed argument: situation, call, change, answer.\n"
       << kAbout << recorded.about << "\n";
  for (const auto &[one, text] : recorded.texts) file << one << ": " << text << "\n";
  file.close();
  if (!file) throw std::runtime_error("cannot write " + name);
}

RecordedAnswers read_answers(const std::string &name) {
  RecordedAnswers recorded;
  for (const auto &[number, line] : differential::lines_of(name)) {
    if (line.starts_with(kAbout)) recorded.about = line.substr(kAbout.size());
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t middle = line.find(": ");
    if (middle == std::string::npos ||
        !recorded.texts.emplace(line.substr(0, middle), line.substr(middle + 2)).second)
      throw std::runtime_error(fmt::format("{}:{}: not a case of its own and an answer", name, number));
  }
  return recorded;
}

std::map<std::string, std::string> read_known_differences(const std::string &name) {
  std::map<std::string, std::string> known;
  std::set<std::string> causes;
  for (const auto &[number, line] : differential::lines_of(name)) {
    if (line.starts_with("# ")) causes.insert(line.substr(2, line.find(':') - 2));
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t last = line.rfind(' ');
    if (last == std::string::npos || !causes.contains(line.substr(last + 1)) ||
        !known.emplace(line.substr(0, last), line.substr(last + 1)).second)
      throw std::runtime_error(fmt::format("{}:{}: not a case of its own and a cause", name, number));
  }
  return known;
}

}  // namespace arguments
