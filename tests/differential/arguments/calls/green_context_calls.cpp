// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_green_context_calls(Calls &calls) {
  CALL(cuDeviceGetDevResource, o.device, o.hidden<CUdevResource>(), CU_DEV_RESOURCE_TYPE_SM);
  CALL(cuCtxGetDevResource, o.context(), o.hidden<CUdevResource>(), CU_DEV_RESOURCE_TYPE_SM);
  CALL(cuDevSmResourceSplitByCount, List<CUdevResource>{o.hidden<CUdevResource>().place}, o.in_out(1U),
       List<CUdevResource>{o.multiprocessors()}, o.hidden<CUdevResource>(), 0U, 16U);
  CALL(cuDevResourceGenerateDesc, o.hidden<CUdevResourceDesc>(), List<CUdevResource>{o.multiprocessors()},
       Count{1});
  CALL(cuGreenCtxCreate, o.made<CUgreenCtx>(), o.resource_description(), o.device, 1U);
  CALL(cuGreenCtxDestroy, o.green_context()).destroys();
  CALL(cuCtxFromGreenCtx, o.hidden<CUcontext>(), o.green_context());
  CALL(cuGreenCtxGetDevResource, o.green_context(), o.hidden<CUdevResource>(), CU_DEV_RESOURCE_TYPE_SM);
  CALL(cuGreenCtxRecordEvent, o.green_context(), o.event());
  CALL(cuGreenCtxWaitEvent, o.green_context(), o.event());
  CALL(cuGreenCtxStreamCreate, o.made<CUstream>(), o.green_context(), 1U, 0);
  CALL(cuStreamGetGreenCtx, o.stream(), o.hidden<CUgreenCtx>());
}

}  // namespace arguments
