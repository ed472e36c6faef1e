// SPDX-License-Identifier: Apache-2.0
// Identity and end of processes that share memory and events with this one.
#pragma once

#include <cstdint>

namespace cushim::sim {

// A process, identified by id and start time, so that a reused id is detected.
struct Process {
  std::int64_t id = 0;
  std::uint64_t start = 0;  // in clock ticks since boot; 0 if unknown

  static Process self();

  // Returns whether the process has ended. A zombie has ended, unless only its main thread has ended and
  // other threads run. If /proc cannot be read (no file descriptor is free, or it is hidden), the process has
  // ended if kill() returns ESRCH.
  bool is_gone() const;

  bool operator==(const Process &) const = default;
};

// Detects the end of a process, with a pidfd if the kernel supports them and a file descriptor is free.
class ProcessWatch {
 public:
  explicit ProcessWatch(const Process &process);
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch &) = delete;
  ProcessWatch &operator=(const ProcessWatch &) = delete;

  const Process &process() const noexcept { return process_; }
  // Polls the pidfd; without one, returns Process::is_gone().
  bool is_gone() const;

 private:
  const Process process_;
  int pidfd_ = -1;
};

// Returns the inode number of this process's PID namespace; 0 if /proc is not accessible.
std::uint64_t process_namespace();

}  // namespace cushim::sim
