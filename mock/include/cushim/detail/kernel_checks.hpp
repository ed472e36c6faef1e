// SPDX-License-Identifier: Apache-2.0
// The interface by which an in-process driver that executes kernels reports their defects to checkers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cushim::mock {

enum class KernelCheck : std::uint8_t { memory, races, init, barriers };
inline constexpr std::size_t kKernelChecks = 4;

// Enables a check in all drivers of the process while it lives.
class EnabledKernelCheck {
 public:
  explicit EnabledKernelCheck(KernelCheck check) noexcept : check_(check) { ++count(check); }
  ~EnabledKernelCheck() { --count(check_); }
  EnabledKernelCheck(const EnabledKernelCheck &) = delete;
  EnabledKernelCheck &operator=(const EnabledKernelCheck &) = delete;

  // Called by drivers.
  static bool is_on(KernelCheck check) noexcept { return count(check) != 0; }
  static bool is_any_on() noexcept;

 private:
  static std::atomic<unsigned> &count(KernelCheck check) noexcept {
    return counts_[static_cast<std::size_t>(check)];
  }
  static std::array<std::atomic<unsigned>, kKernelChecks> counts_;
  KernelCheck check_;
};

// A defect of a kernel.
struct KernelDefect {
  KernelCheck check = KernelCheck::memory;
  std::string rule;
  std::string what;                                       // one sentence, with the kernel, address and memory
  std::vector<std::pair<std::string, std::string>> acts;  // role; line and thread
  std::uint64_t count = 0;                                // occurrences
  std::uint64_t bytes = 0;
  // The allocation that `what` names, which is nearest to the access or contained it: first address, size in
  // bytes; 0: none
  std::uint64_t allocation = 0;
  std::uint64_t allocation_bytes = 0;
};

// The defects that one execution of a kernel has shown. Thread-safe.
class KernelDefects {
 public:
  void add(KernelDefect defect);
  // Marks the kernel as ended.
  void finish();
  bool is_finished() const;
  std::vector<KernelDefect> all() const;

 private:
  mutable std::mutex mutex_;
  bool is_finished_ = false;
  std::vector<KernelDefect> defects_;
};

}  // namespace cushim::mock
