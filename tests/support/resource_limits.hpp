// SPDX-License-Identifier: Apache-2.0
// For death tests: takes the process's threads or memory away, and ends it at the first unexpected result.
#pragma once

#include <grp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <thread>

namespace cushim::test {

// The exit status of a process in which threads cannot be forbidden.
inline constexpr int kNotForbidden = 77;

inline void expect(bool condition, const char *what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  _exit(1);
}
#define EXPECT_THAT_EXITS(condition) ::cushim::test::expect(condition, #condition)

// Forbids new threads. Permanently switches to a user without privileges if necessary. Ends the process with
// kNotForbidden if it can still start threads.
inline void forbid_threads() {
  constexpr uid_t kNobody = 65534;
  const rlimit limit = {0, 0};
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) _exit(kNotForbidden);
  if (getuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0))
    _exit(kNotForbidden);
  try {
    std::thread([] {}).join();
  } catch (const std::system_error &) {
    return;
  }
  _exit(kNotForbidden);
}

// For EXPECT_EXIT: the process ended with 0, or threads could not be forbidden.
inline bool has_passed_without_threads(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotForbidden)
    std::fprintf(stderr, "threads cannot be forbidden here\n");
  return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kNotForbidden);
}

// Limits the address space of the process to `more` bytes above its current size.
inline void limit_address_space(std::size_t more) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t size = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit = {size, size};
  EXPECT_THAT_EXITS(setrlimit(RLIMIT_AS, &limit) == 0);
}

}  // namespace cushim::test
