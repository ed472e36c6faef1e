// SPDX-License-Identifier: Apache-2.0
// The threads of this process, and the signals that they block.
#pragma once

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace cushim::test {

// Returns a folder of /proc for each thread.
inline std::set<std::string> threads() {
  std::set<std::string> threads;
  for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task"))
    threads.insert(entry.path().string());
  return threads;
}

inline bool blocks(const std::string &thread, int signal) {
  std::ifstream status(thread + "/status");
  for (std::string word; status >> word;) {
    unsigned long long mask = 0;
    if (word == "SigBlk:" && status >> std::hex >> mask) return (mask >> (signal - 1) & 1) != 0;
  }
  return false;
}

// The threads that were started after `before` was read, the signals of the program that they take, and the
// signals of faults that they block.
struct NewThreads {
  int number = 0, signals_taken = 0, faults_blocked = 0;
};
inline NewThreads threads_since(const std::set<std::string> &before) {
  NewThreads started;
  for (const std::string &thread : threads()) {
    if (before.contains(thread)) continue;
    ++started.number;
    // The C library blocks all signals until the thread's function begins.
    for (int tries = 0; blocks(thread, SIGSEGV) && tries < 10'000; ++tries) std::this_thread::yield();
    for (const int signal : {SIGTERM, SIGINT, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF})
      started.signals_taken += static_cast<int>(!blocks(thread, signal));
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE})
      started.faults_blocked += static_cast<int>(blocks(thread, fault));
  }
  return started;
}

}  // namespace cushim::test
