// SPDX-License-Identifier: Apache-2.0
// Hooks on entry points that are known only at run time, or on all of them: code that runs before and after
// a call and knows the entry point but not the arguments. For a hook with arguments: cushim/mock/hook.hpp.
#pragma once

#include <cushim/mock/hook.hpp>

#include <optional>

namespace cushim::hook {

// The code around calls. May be called by many threads at once, like the driver. Skipped for calls that are
// made inside another call: by before() and after() themselves, or by other hooks.
class Around {
 public:
  virtual ~Around() = default;
  // Runs before a call of this entry point. If it returns a code, the call returns that code and goes no
  // further.
  virtual std::optional<CUresult> before(int slot) = 0;
  // Runs after a call that before() did not answer. Returns the result of the call.
  virtual CUresult after(int slot, CUresult result) = 0;
};

// Installs `around` on one entry point until the Hook is destroyed, which must happen before `around` is.
// Returns an empty Hook if the CUDA headers that cushim was built with lack the types of the entry point.
// Throws as mock::DriverSlot::over().
[[nodiscard]] Hook around(Driver &driver, int slot, Around &around);

}  // namespace cushim::hook
