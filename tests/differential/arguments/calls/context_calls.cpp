// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_context_calls(Calls &calls) {
  CALL(cuDevicePrimaryCtxRetain, o.hidden<CUcontext>(), o.device);
  CALL(cuDevicePrimaryCtxSetFlags, o.device_to_flag(), 0U);
  CALL(cuDevicePrimaryCtxGetState, o.device, o.out<unsigned>(), o.out<int>());
  CALL(cuCtxPushCurrent, o.context());
  CALL(cuCtxPopCurrent, o.hidden<CUcontext>());
  CALL(cuCtxSetCurrent, o.context());
  CALL(cuCtxGetCurrent, o.hidden<CUcontext>());
  CALL_AS("other", cuCtxPushCurrent, o.other_context());
  CALL_AS("other", cuCtxSetCurrent, o.other_context());
  CALL(cuCtxCreate, o.made<CUcontext>(), nullptr, 0U, o.device);
  CALL(cuCtxDestroy, o.other_context()).destroys();
  CALL(cuCtxGetDevice, o.out<int>());
  CALL(cuCtxGetDevice_v2, o.out<int>(), o.context());
  CALL(cuCtxGetFlags, o.out<unsigned>()).in_new_context();
  CALL(cuCtxSetFlags, 8U).in_new_context();
  CALL(cuCtxGetId, o.context(), o.hidden<unsigned long long>());
  CALL(cuCtxSynchronize);
  CALL(cuCtxSynchronize_v2, o.context());
  CALL(cuCtxSetLimit, CU_LIMIT_STACK_SIZE, std::size_t{2048}).in_new_context();
  CALL_AS("printf", cuCtxSetLimit, fixed(CU_LIMIT_PRINTF_FIFO_SIZE), std::size_t{1 << 20}).in_new_context();
  CALL_AS("heap", cuCtxSetLimit, fixed(CU_LIMIT_MALLOC_HEAP_SIZE), std::size_t{8 << 20}).in_new_context();
  CALL_AS("fetch", cuCtxSetLimit, fixed(CU_LIMIT_MAX_L2_FETCH_GRANULARITY), std::size_t{64}).in_new_context();
  CALL_AS("persisting", cuCtxSetLimit, fixed(CU_LIMIT_PERSISTING_L2_CACHE_SIZE), std::size_t{1 << 20})
      .in_new_context();
  CALL_AS("depth", cuCtxSetLimit, fixed(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH), std::size_t{2}).in_new_context();
  CALL_AS("pending", cuCtxSetLimit, fixed(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT), std::size_t{2048})
      .in_new_context();
  CALL(cuCtxGetLimit, o.out<std::size_t>(), CU_LIMIT_STACK_SIZE).in_new_context();
  CALL(cuCtxGetCacheConfig, o.out<CUfunc_cache>()).in_new_context();
  CALL(cuCtxSetCacheConfig, CU_FUNC_CACHE_PREFER_L1).in_new_context();
  CALL(cuCtxGetSharedMemConfig, o.out<CUsharedconfig>()).in_new_context();
  CALL(cuCtxSetSharedMemConfig, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE).in_new_context();
  CALL(cuCtxGetApiVersion, o.context(), o.out<unsigned>());
  CALL(cuCtxGetStreamPriorityRange, o.out<int>(), o.out<int>());
  CALL(cuCtxResetPersistingL2Cache);
  CALL(cuCtxGetExecAffinity, o.hidden<CUexecAffinityParam>(), CU_EXEC_AFFINITY_TYPE_SM_COUNT);
  CALL(cuCtxRecordEvent, o.context(), o.event());
  CALL(cuCtxWaitEvent, o.context(), o.event());
  CALL(cuCtxEnablePeerAccess, o.context(), 0U);
  CALL_AS("other", cuCtxEnablePeerAccess, o.other_context(), 0U);
  CALL(cuCtxDisablePeerAccess, o.context());
}

}  // namespace arguments
