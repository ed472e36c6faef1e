// SPDX-License-Identifier: Apache-2.0
#include <cushim/detail/kernel_checks.hpp>

#include <algorithm>

namespace cushim::mock {

constinit std::array<std::atomic<unsigned>, kKernelChecks> EnabledKernelCheck::counts_{};

bool EnabledKernelCheck::is_any_on() noexcept {
  return std::ranges::any_of(counts_, [](const std::atomic<unsigned> &one) { return one != 0; });
}

void KernelDefects::add(KernelDefect defect) {
  const std::lock_guard lock(mutex_);
  defects_.push_back(std::move(defect));
}

void KernelDefects::finish() {
  const std::lock_guard lock(mutex_);
  is_finished_ = true;
}

bool KernelDefects::is_finished() const {
  const std::lock_guard lock(mutex_);
  return is_finished_;
}

std::vector<KernelDefect> KernelDefects::all() const {
  const std::lock_guard lock(mutex_);
  return defects_;
}

}  // namespace cushim::mock
