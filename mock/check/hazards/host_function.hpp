// SPDX-License-Identifier: Apache-2.0
// Observes when the program's host functions run: those of cuLaunchHostFunc and cuStreamAddCallback.
#pragma once

#include <cushim/mock/hook.hpp>

#include <functional>
#include <vector>

namespace cushim::check {

// Callbacks for one host function.
struct HostFunction {
  std::function<void()> begin{};            // on the driver's thread, before the function runs
  std::function<void(bool has_run)> end{};  // after it has returned; false if the driver rejected the call
};

// Installs hooks that call `made` for each host function, before the driver call.
void wrap_host_functions(Driver &driver, std::vector<hook::Hook> &hooks,
                         const std::function<HostFunction(int slot, CUstream stream)> &made);

}  // namespace cushim::check
