// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "lines.hpp"

namespace differential {

const std::map<std::string, Subject> &subjects() {
  static const std::map<std::string, Subject> all{
      {"work", Subject::work},           {"contexts", Subject::contexts}, {"kinds", Subject::kinds},
      {"processes", Subject::processes}, {"blocks", Subject::blocks},     {"mappings", Subject::mappings},
      {"pools", Subject::pools},         {"arrays", Subject::arrays},     {"managed", Subject::managed},
      {"usage", Subject::usage},         {"mapped", Subject::mapped},     {"kernels", Subject::kernels},
      {"captures", Subject::captures},   {"graphs", Subject::graphs}};
  return all;
}

namespace {
std::string name_of(Subject subject) {
  return std::ranges::find(subjects(), subject, &std::pair<const std::string, Subject>::second)->first;
}
}  // namespace

Recording::Line line_of(const std::vector<Step> &steps) {
  Recording::Line line;
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&hash](char letter) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211U;
  };
  for (const Step &step : steps) {
    if (step.process != 0) add('1');
    std::ranges::for_each(step.call, add);
    line.answers.push_back(step.answer);
  }
  line.fingerprint = fmt::format("{:016x}", hash);
  return line;
}

void write(const std::string &name, const Recording &recording) {
  std::ofstream file(name);
  file << "# SPDX-License-Identifier: Apache-2.0\n"
       << "# Answers of a CUDA driver to walks: seed, fingerprint of the calls, answers.\n"
       << "# " << recording.about << "\n# calls " << recording.kind.calls << ", choices "
       << recording.kind.choices << ", dropped " << recording.dropped << ", about "
       << name_of(recording.kind.subject) << "\n";
  for (const auto &[seed, line] : recording.walks)
    file << seed << ' ' << line.fingerprint << ' ' << fmt::format("{}", fmt::join(line.answers, ";")) << "\n";
  file.close();
  if (!file) throw std::runtime_error("cannot write " + name);
}

Recording read(const std::string &name) {
  Recording recording;
  for (const auto &[number, text] : lines_of(name)) {
    if (number == 3) recording.about = text.substr(std::min<std::size_t>(2, text.size()));
    if (number == 4) {
      char subject[16] = "";
      const int read =
          std::sscanf(text.c_str(), "# calls %u, choices %u, dropped %u, about %15s", &recording.kind.calls,
                      &recording.kind.choices, &recording.dropped, subject);
      if (read != 4 || !subjects().contains(subject))
        throw std::runtime_error(fmt::format(
            "{}:{}: not \"# calls N, choices N, dropped N, about SUBJECT\": {}", name, number, text));
      recording.kind.subject = subjects().at(subject);
    }
    if (text.starts_with('#')) continue;
    std::istringstream line(text);
    std::uint64_t seed = 0;
    Recording::Line walk;
    std::string answer;
    if (!(line >> seed >> walk.fingerprint) || line.get() != ' ')
      throw std::runtime_error(fmt::format("{}:{}: not a seed, a fingerprint and answers", name, number));
    while (std::getline(line, answer, ';')) walk.answers.push_back(answer);
    recording.walks[seed] = walk;
  }
  if (recording.kind.choices == 0)
    throw std::runtime_error(name + " ends before it says how long its walks are");
  return recording;
}

std::map<std::uint64_t, std::string> read_known_differences(const std::string &name, Subject subject) {
  std::map<std::uint64_t, std::string> known;
  std::set<std::string> causes;  // "# CAUSE: explanation"
  std::string about, cause;
  for (const auto &[number, text] : lines_of(name)) {
    if (text.starts_with("# ")) causes.insert(text.substr(2, text.find(':') - 2));
    if (text.starts_with('#')) continue;
    std::istringstream line(text);
    std::uint64_t seed = 0;
    if (!(line >> about >> seed >> cause) || !subjects().contains(about) || !causes.contains(cause))
      throw std::runtime_error(fmt::format("{}:{}: not a subject, a seed and a cause", name, number));
    if (subjects().at(about) == subject) known[seed] = cause;
  }
  return known;
}

bool are_known(const std::map<std::uint64_t, std::string> &known, const std::set<std::uint64_t> &compared,
               const std::set<std::uint64_t> &different) {
  std::map<std::string, unsigned> counts;
  bool are_all = true;
  for (const std::uint64_t seed : compared) {
    const auto found = known.find(seed);
    if ((found != known.end()) != different.contains(seed)) {
      fmt::print("walk {} is {}\n", seed,
                 found == known.end() ? "different, and not listed" : "listed as different, but equal");
      are_all = false;
    } else if (found != known.end()) {
      ++counts[found->second];
    }
  }
  for (const auto &[listed, count] : counts) fmt::print("{} known differences: {}\n", count, listed);
  return are_all;
}

}  // namespace differential
