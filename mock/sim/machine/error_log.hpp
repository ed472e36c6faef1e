// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace cushim::sim {

// The newest error messages of a machine, and the functions that are called for each. Has its own lock: a
// failed call adds its message after it has released the machine's lock.
class ErrorLog {
 public:
  static constexpr std::size_t kKept = 100;  // messages; measured, driver 580

  // Called with a message and its length. Must not throw.
  using Function = std::function<void(char *message, std::size_t length)>;

  // Adds the message of a failed call. `symbol` lives as long as the process. Drops the message if there is
  // no memory for it.
  void add(const char *symbol, CUresult code) noexcept;

  // Returns the number of the registration; never 0.
  unsigned long call_on_error(Function function);
  // Returns false if there is no such registration.
  bool forget(unsigned long registration);

  // The number of messages so far.
  unsigned long position() const;
  // Messages as the driver writes them, one in each line.
  struct Dump {
    std::string notice;  // empty, or a line: messages after the wanted position are lost
    std::string lines;
    unsigned long position = 0;  // after the last of them
  };
  Dump messages_since(unsigned long position) const;

 private:
  struct Message {
    std::int64_t milliseconds = 0;  // since the epoch
    std::uintptr_t thread = 0;
    const char *symbol = nullptr;
    CUresult code = CUDA_SUCCESS;
  };
  static std::string text_of(const Message &message);

  mutable std::mutex mutex_;
  std::array<Message, kKept> messages_{};  // by number modulo kKept
  unsigned long count_ = 0;
  std::map<unsigned long, Function> functions_;
  unsigned long last_registration_ = 0;
};

}  // namespace cushim::sim
