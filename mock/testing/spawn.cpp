// SPDX-License-Identifier: Apache-2.0
#include "spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "options.hpp"
#include "record.hpp"

extern char **environ;  // NOLINT: the name that POSIX gives it

namespace cushim::testing {

std::vector<char *> environment_of_child() {
  std::vector<char *> environment;
  for (char **variable = environ; *variable != nullptr; ++variable)
    if (!std::string_view(*variable).starts_with("GTEST_")) environment.push_back(*variable);
  return environment;
}

pid_t spawn(const std::vector<std::string> &arguments, int file, int output) {
  constexpr int inherited = 3;
  std::vector<std::string> arguments_of_child = {
      "/proc/self/exe", "--driver=" + options().driver, "--cushim-file=" + std::to_string(inherited),
      "--cushim-parent=" + std::to_string(getpid()),
      // Less than this process's own limit, so that the child reports a timeout first.
      "--limit=" + std::to_string(options().limit_seconds * 3 / 4)};
  if (!options().write_calls.empty()) {
    arguments_of_child.push_back("--write-calls=" + options().write_calls);
    arguments_of_child.push_back("--cushim-test=" + running_test());
  }
  arguments_of_child.insert(arguments_of_child.end(), arguments.begin(), arguments.end());
  std::vector<char *> argv;
  for (std::string &argument : arguments_of_child) argv.push_back(argument.data());
  argv.push_back(nullptr);

  std::vector<char *> environment = environment_of_child();
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Duplicates the descriptor, since one that is already 3 would be closed on exec.
  const int moved = fcntl(file, F_DUPFD_CLOEXEC, inherited + 1);
  posix_spawn_file_actions_adddup2(&actions, moved, inherited);
  if (output >= 0) {
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  }
  pid_t process = -1;
  const int error =
      posix_spawn(&process, "/proc/self/exe", &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(moved);
  if (error != 0)
    throw std::runtime_error("cannot start this program again: " + std::generic_category().message(error));
  return process;
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return -SIGKILL;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void end_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != options().parent) _exit(1);  // the parent ended before prctl()
}

}  // namespace cushim::testing
