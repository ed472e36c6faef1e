// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_ipc_calls(Calls &calls) {
  CALL(cuIpcGetEventHandle, o.hidden<CUipcEventHandle>(), o.ipc_event());
  CALL_AS("plain", cuIpcGetEventHandle, o.hidden<CUipcEventHandle>(), o.event());
  CALL(cuIpcGetMemHandle, o.hidden<CUipcMemHandle>(), o.memory());
  CALL(cuIpcOpenMemHandle, o.hidden<CUdeviceptr>(), CUipcMemHandle{}, 1U);
  CALL(cuIpcOpenEventHandle, o.hidden<CUevent>(), CUipcEventHandle{});
  CALL(cuIpcCloseMemHandle, o.memory());
}

}  // namespace arguments
