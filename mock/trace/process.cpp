// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cushim::trace {

std::atomic<bool> is_forked_child{false};

void watch_for_fork() {
  static const int at_fork = pthread_atfork(nullptr, nullptr, [] { is_forked_child = true; });
  static_cast<void>(at_fork);
}

std::uint64_t number_of_this_thread() {
  static std::atomic<std::uint64_t> threads{0};
  thread_local const std::uint64_t number = ++threads;
  return number;
}

std::size_t copy_if_there(void *to, std::uint64_t address, std::size_t size) {
  iovec here{to, size}, there{reinterpret_cast<void *>(address), size};
  const ssize_t copied = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
  return copied > 0 ? static_cast<std::size_t>(copied) : 0;
}

std::string this_program() {
  char path[1024] = {};
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  return std::string(path, length > 0 ? static_cast<std::size_t>(length) : 0);
}

}  // namespace cushim::trace
