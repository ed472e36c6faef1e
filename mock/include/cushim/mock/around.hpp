// SPDX-License-Identifier: Apache-2.0
// Hooks on entry points that are known at run time only, or on all of them: your code before and after a
// call, which is told which call it is and not its arguments. For one entry and its arguments:
// cushim/mock/hook.hpp.
#pragma once

#include <cushim/mock/hook.hpp>

#include <optional>

namespace cushim {
inline namespace v1 {
namespace hook {

// Called by many threads at once, as the driver is. Calls that are made inside a call, by before() and
// after() themselves or by other hooks, pass it by.
class Around {
 public:
  virtual ~Around() = default;
  // Before the call of this slot; answers instead of what lies below if it returns a code.
  virtual std::optional<CUresult> before(int slot) = 0;
  // After a call that was not answered by before(); what it returns is the call's result.
  virtual CUresult after(int slot, CUresult result) = 0;
};

// Puts it around the calls of one row until the Hook ends, which must be before it does. Empty if the CUDA
// headers that cushim was built with cannot type the row. Throws as mock::Frame::over().
[[nodiscard]] Hook around(Driver &driver, int slot, Around &around);

}  // namespace hook
}  // namespace v1
}  // namespace cushim
