// SPDX-License-Identifier: Apache-2.0
// Prints one line for each call of a driver: cuInit(Flags = 0) = CUDA_SUCCESS (0)
#pragma once

#include <cushim/mock/hook.hpp>
#include <cushim/mock/text.hpp>

#include <array>
#include <mutex>
#include <ostream>

// Logs the calls of all threads during its lifetime: CallLog<Entry::cuInit, Entry::cuDeviceGetCount>.
template <cushim::Entry... entries>
class CallLog {
 public:
  CallLog(cushim::Driver &driver, std::ostream &out)
      : out_(out), hooks_{cushim::hook::after<entries>(driver, [this](CUresult result, auto... arguments) {
          this->log(entries, result, arguments...);
        })...} {}

 private:
  void log(cushim::Entry entry, CUresult result, auto... arguments) {
    const std::array<cushim::mock::Value, sizeof...(arguments)> values{cushim::mock::Value(arguments)...};
    const std::string call = cushim::mock::Call{entry, values}.to_text();
    const std::lock_guard lock(mutex_);
    out_ << call << " = " << cushim::mock::result_text(result) << '\n';
  }

  std::ostream &out_;
  std::mutex mutex_;
  // last member: hooks are removed before the members they use are destroyed
  cushim::hook::Hook hooks_[sizeof...(entries)];
};
