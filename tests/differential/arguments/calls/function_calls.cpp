// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_function_calls(Calls &calls) {
  CALL(cuFuncGetAttribute, o.out<int>(), CU_FUNC_ATTRIBUTE_NUM_REGS, o.function());
  CALL_AS("shared", cuFuncGetAttribute, o.out<int>(), CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
          o.function("uses_shared"));
  CALL(cuFuncSetAttribute, o.function(), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1);
  for (const auto attribute :
       {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
        CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE})
    CALL_AS(std::to_string(attribute), cuFuncSetAttribute, o.function(), fixed(attribute), 1);
  CALL(cuFuncSetCacheConfig, o.function(), CU_FUNC_CACHE_PREFER_L1);
  CALL(cuFuncSetSharedMemConfig, o.function(), CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE);
  CALL(cuFuncGetModule, o.hidden<CUmodule>(), o.function());
  CALL(cuFuncGetName, o.hidden<const char *>(), o.function());
  CALL(cuFuncGetParamInfo, o.function("add"), std::size_t{1}, o.out<std::size_t>(), o.out<std::size_t>());
  CALL(cuFuncIsLoaded, o.out<CUfunctionLoadingState>(), o.function());
  CALL(cuFuncLoad, o.function());
  CALL(cuFuncSetBlockShape, o.function(), 1, 1, 1);
  CALL(cuFuncSetSharedSize, o.function(), 64U);
  CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, o.out<int>(), o.function(), 128, std::size_t{0});
  CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, o.out<int>(), o.function("uses_shared"), 128,
       std::size_t{1024}, 0U);
  CALL(cuOccupancyMaxPotentialBlockSize, o.out<int>(), o.out<int>(), o.function(),
       fixed<CUoccupancyB2DSize>([](int) { return std::size_t{0}; }), std::size_t{0}, 0);
  CALL_AS("shared", cuOccupancyMaxPotentialBlockSizeWithFlags, o.out<int>(), o.out<int>(),
          o.function("uses_shared"), nullptr, std::size_t{2048}, 256, 0U);
  CALL(cuOccupancyAvailableDynamicSMemPerBlock, o.out<std::size_t>(), o.function(), 2, 128)
      .without({"dynamicSmemSize=null"});  // the real driver crashes
  CALL(cuOccupancyMaxPotentialClusterSize, o.out<int>(), o.function(), o.in(launch(o)));
  CALL(cuOccupancyMaxActiveClusters, o.out<int>(), o.function(), o.in(launch(o)));
}

}  // namespace arguments
