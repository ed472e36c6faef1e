// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/need.hpp"
#include "support/sanitizers.hpp"

namespace cushim::sim {

// True if a sanitizer has a thread of its own in the process, which might be the one that ends a wait.
inline constexpr bool kHasThreadOfTool = test::kHasThreadSanitizer;
// True if a sanitizer allocates memory of its own in the process.
inline constexpr bool kIsSanitized = test::kHasThreadSanitizer || test::kHasAddressSanitizer;

using test::need;

// Initializes the current driver, and makes the primary context of its first device current.
inline void use_first_device() {
  need(driver().cuInit(0));
  CUcontext context = nullptr;
  need(driver().cuDevicePrimaryCtxRetain(&context, 0));
  need(driver().cuCtxSetCurrent(context));
}

// A simulated machine that is the current driver, with its first device's primary context.
struct Running {
  explicit Running(const Options &options = {}) : machine(options), scope(machine.driver()) {
    use_first_device();
  }

  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) const {
    CUstream made = nullptr;
    need(driver().cuStreamCreate(&made, flags));
    return made;
  }
  CUevent event(unsigned flags = CU_EVENT_DEFAULT) const {
    CUevent made = nullptr;
    need(driver().cuEventCreate(&made, flags));
    return made;
  }
  CUdeviceptr memory(std::size_t bytes = 4096) const {
    CUdeviceptr made = 0;
    need(driver().cuMemAlloc(&made, bytes));
    return made;
  }
  template <class T = std::uint32_t>
  T *pinned(std::size_t count = 1) const {
    void *made = nullptr;
    need(driver().cuMemAllocHost(&made, count * sizeof(T)));
    return static_cast<T *>(made);
  }

  Machine machine;
  ScopedDriver scope;
};

// A machine whose reports are collected, a line each.
struct Reports {
  const std::shared_ptr<std::string> reports = std::make_shared<std::string>();
};
struct RunningWithReports : Reports, Running {
  explicit RunningWithReports(Options options = {}) : Running(reporting_to(reports, std::move(options))) {}

 private:
  static Options reporting_to(std::shared_ptr<std::string> reports, Options options) {
    options.report = [reports = std::move(reports)](const std::string &text) { *reports += text + "\n"; };
    return options;
  }
};

// Returns the free memory of the current device, in bytes.
inline std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  need(driver().cuMemGetInfo(&free, &total));
  return free;
}

inline std::uint32_t word_at(CUdeviceptr address) {
  std::uint32_t word = 0;
  need(driver().cuMemcpyDtoH(&word, address, sizeof word));
  return word;
}

}  // namespace cushim::sim
