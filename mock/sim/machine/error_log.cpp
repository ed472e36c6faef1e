// SPDX-License-Identifier: Apache-2.0
#include "machine/error_log.hpp"

#include <pthread.h>
#include <cushim/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <vector>

namespace cushim::sim {

void ErrorLog::add(const char *symbol, CUresult code) noexcept try {
  using namespace std::chrono;
  const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  const Message message{now, static_cast<std::uintptr_t>(pthread_self()), symbol, code};
  std::vector<Function> functions;
  {
    const std::lock_guard lock(mutex_);
    messages_[count_++ % kKept] = message;
    for (const auto &[registration, function] : functions_) functions.push_back(function);
  }
  if (functions.empty()) return;
  std::string text = text_of(message);
  for (const Function &function : functions) function(text.data(), text.size());
} catch (...) {
}

unsigned long ErrorLog::call_on_error(Function function) {
  const std::lock_guard lock(mutex_);
  functions_.emplace(++last_registration_, std::move(function));
  return last_registration_;
}

bool ErrorLog::forget(unsigned long registration) {
  const std::lock_guard lock(mutex_);
  return functions_.erase(registration) != 0;
}

unsigned long ErrorLog::position() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::string ErrorLog::text_of(const Message &message) {
  return "Returning " + std::to_string(static_cast<int>(message.code)) + " (" +
         std::string(cushim::name_of(message.code)) + ") from " + message.symbol;
}

// The text of the notice and the form of the lines are those of driver 580.
ErrorLog::Dump ErrorLog::messages_since(unsigned long position) const {
  const std::lock_guard lock(mutex_);
  Dump dump;
  dump.position = count_;
  const unsigned long oldest = count_ > kKept ? count_ - kKept : 0;
  if (position < oldest)
    dump.notice = "Log buffer has rolled over since the previous dump. The oldest messages will be missing\n";
  for (unsigned long number = std::max(position, oldest); number < count_; ++number) {
    const Message &message = messages_[number % kKept];
    const auto seconds = static_cast<std::time_t>(message.milliseconds / 1000);
    std::tm local{};
    localtime_r(&seconds, &local);
    char head[80];
    std::snprintf(head, sizeof head, "[%02d:%02d:%02d.%03d][%lu][CUDA][E] ", local.tm_hour, local.tm_min,
                  local.tm_sec, static_cast<int>(message.milliseconds % 1000),
                  static_cast<unsigned long>(message.thread));
    dump.lines += head + text_of(message) + "\n";
  }
  return dump;
}

}  // namespace cushim::sim
