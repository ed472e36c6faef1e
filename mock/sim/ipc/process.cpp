// SPDX-License-Identifier: Apache-2.0
#include "ipc/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <sstream>
#include <string>

namespace cushim::sim {

namespace {

#ifdef SYS_pidfd_open
constexpr long kPidfdOpen = SYS_pidfd_open;
#else
constexpr long kPidfdOpen = 434;  // the same number on all architectures
#endif

struct ProcessStatus {
  char state = 'X';
  long threads = 0;
  std::uint64_t start = 0;
};

std::string text_of(const std::string &path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string text;
  char part[1024];
  for (ssize_t got; (got = read(file, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  close(file);
  return text;
}

// Reads /proc/<id>/stat. Returns nothing if that fails.
std::optional<ProcessStatus> status_of(std::int64_t id) {
  const std::string text = text_of("/proc/" + std::to_string(id) + "/stat");
  // The second field is the name in parentheses; the name may contain parentheses, spaces and newlines.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  ProcessStatus status;
  std::string skipped;
  rest >> status.state;                                      // field 3
  for (int field = 4; field < 20; ++field) rest >> skipped;  // fields 4 to 19
  rest >> status.threads >> skipped >> status.start;         // fields 20 to 22
  return rest ? std::optional(status) : std::nullopt;
}

bool has_ended(const ProcessStatus &status) {
  // The main thread is also a zombie if it has ended while other threads of the process run.
  return status.state == 'X' || (status.state == 'Z' && status.threads <= 1);
}

}  // namespace

Process Process::self() {
  // Cached, since reading /proc fails when no file descriptor is free.
  static std::atomic<std::int64_t> known_id{0};
  static std::atomic<std::uint64_t> known_start{0};
  const std::int64_t id = getpid();
  if (known_id.load(std::memory_order_acquire) == id) return {id, known_start};
  const auto status = status_of(id);
  if (!status) return {id, 0};
  known_start = status->start;
  known_id.store(id, std::memory_order_release);
  return {id, status->start};
}

bool Process::is_gone() const {
  if (id <= 0) return true;
  if (const auto status = status_of(id)) return has_ended(*status) || (start != 0 && status->start != start);
  return kill(static_cast<pid_t>(id), 0) != 0 && errno == ESRCH;
}

ProcessWatch::ProcessWatch(const Process &process) : process_(process) {
  if (process.id > 0) pidfd_ = static_cast<int>(syscall(kPidfdOpen, static_cast<pid_t>(process.id), 0));
  // The id may have been reused for another process before pidfd_open.
  if (pidfd_ < 0 || !process.is_gone()) return;
  close(pidfd_);
  pidfd_ = -1;
}

ProcessWatch::~ProcessWatch() {
  if (pidfd_ >= 0) close(pidfd_);
}

bool ProcessWatch::is_gone() const {
  if (pidfd_ < 0) return process_.is_gone();
  pollfd watched{pidfd_, POLLIN, 0};
  return poll(&watched, 1, 0) > 0;
}

std::uint64_t process_namespace() {
  struct stat status = {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace cushim::sim
