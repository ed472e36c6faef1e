// SPDX-License-Identifier: Apache-2.0
#include "child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ostream>
#include <sstream>
#include <stdexcept>

#include "support/c_strings.hpp"

using cushim::test::c_strings;

namespace {

// Returns the start of the command line: the emulator for a cross-compiled program, otherwise empty.
std::vector<std::string> words_before(const std::string &program) {
  std::vector<std::string> words;
  if (!program.starts_with(CUSHIM_TEST_BUILD)) return words;
  std::istringstream emulator(CUSHIM_TEST_EMULATOR);
  for (std::string word; emulator >> word;) words.push_back(word);
  return words;
}

}  // namespace

Outcome lines(const std::vector<std::string> &expected) {
  Outcome outcome{"", 0};
  for (const std::string &line : expected) outcome.out += line + "\n";
  return outcome;
}

void PrintTo(const Outcome &outcome, std::ostream *stream) {
  *stream << "status " << outcome.status << " after:\n" << outcome.out;
}

Outcome run(const std::string &program, const std::vector<std::string> &arguments,
            const Environment &environment) {
  std::vector<std::string> words = words_before(program);
  words.push_back(program);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (const auto &[name, value] : environment) variables.push_back(name + "=" + value);
  for (const char *name : {"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"})
    if (const char *value = std::getenv(name); value != nullptr && !environment.contains(name))
      variables.push_back(name + ("=" + std::string(value)));

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, words.front().c_str(), &actions, nullptr, c_strings(words).data(),
                                c_strings(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) throw std::runtime_error("cannot start " + program);

  Outcome outcome{"", 0};
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    outcome.out.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  waitpid(child, &outcome.status, 0);
  return outcome;
}

Outcome probe(const std::vector<std::string> &commands, const Environment &environment) {
  return run(CUSHIM_TEST_PROBE, commands, environment);
}
