// SPDX-License-Identifier: Apache-2.0
#include "support/run_command.hpp"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string_view>

#include "support/c_strings.hpp"

namespace cushim::command {
namespace {

bool is_clean(std::string_view variable) {
  for (const std::string_view prefix :
       {"CUSHIM_", "CUDA_", "NVIDIA_", "FAKE_GPU", "LD_PRELOAD=", "LD_AUDIT="})
    if (variable.starts_with(prefix)) return false;
  return true;
}

// An unnamed file that captures output of any length.
class Capture {
 public:
  Capture() : file_(std::tmpfile()) {
    if (file_ == nullptr) throw std::runtime_error("no temporary file");
  }
  ~Capture() { std::fclose(file_); }
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;

  int descriptor() const { return fileno(file_); }

  std::string text() {
    std::fseek(file_, 0, SEEK_SET);
    std::string text;
    for (int letter = std::fgetc(file_); letter != EOF; letter = std::fgetc(file_))
      text += static_cast<char>(letter);
    return text;
  }

 private:
  std::FILE *file_;
};

}  // namespace

nlohmann::json Finished::json() const {
  nlohmann::json parsed = nlohmann::json::parse(out, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << "no JSON: " << out << error;
  return parsed;
}

Finished run(std::vector<std::string> arguments, std::vector<std::string> environment) {
  arguments.insert(arguments.begin(), CUSHIM_COMMAND);
  for (char **variable = environ; *variable != nullptr; ++variable)
    if (is_clean(*variable)) environment.push_back(*variable);

  Capture out;
  Capture error;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, error.descriptor(), STDERR_FILENO);
  pid_t child = 0;
  const int failure = posix_spawn(&child, CUSHIM_COMMAND, &actions, nullptr,
                                  test::c_strings(arguments).data(), test::c_strings(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::runtime_error("the command does not start");
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("cannot wait for the command");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), out.text(), error.text()};
}

std::string output_of(std::vector<std::string> arguments) {
  const Finished finished = run(std::move(arguments));
  EXPECT_EQ(finished.exit, 0) << finished.error;
  return finished.out;
}

}  // namespace cushim::command
