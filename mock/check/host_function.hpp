// SPDX-License-Identifier: Apache-2.0
// Knowing when the program's host functions run: those of cuLaunchHostFunc and cuStreamAddCallback.
#pragma once

#include <cushim/mock/hook.hpp>

#include <functional>
#include <vector>

namespace cushim::check {

// Told of one function that is put into a stream.
struct HostFunction {
  std::function<void()> begin{};            // on the driver's thread, before it runs
  std::function<void(bool has_run)> end{};  // when it has returned; or false: the driver refused it
};

// Asks for each that is put into a stream, before the call. Adds the hooks.
void wrap_host_functions(Driver &driver, std::vector<hook::Hook> &hooks,
                         const std::function<HostFunction(int slot, CUstream stream)> &made);

}  // namespace cushim::check
