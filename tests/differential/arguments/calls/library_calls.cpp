// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_library_calls(Calls &calls) {
  CALL(cuLibraryLoadData, o.made<CUlibrary>(), List<const char>{kPtx}, nullptr, nullptr, Count{0}, nullptr,
       nullptr, Count{0});
  // The real driver crashes if there are no options although there is their number.
  CALL_AS("option", cuLibraryLoadData, o.made<CUlibrary>(), List<const char>{kPtx}, nullptr, nullptr,
          Count{0}, o.list({CU_LIBRARY_BINARY_IS_PRESERVED}), o.list({(void *)1}), Count{1})
      .without({"libraryOptions=null"});
  CALL(cuLibraryLoadFromFile, o.made<CUlibrary>(), "/nonexistent", nullptr, nullptr, Count{0}, nullptr,
       nullptr, Count{0});
  CALL(cuLibraryUnload, o.library()).destroys();
  CALL(cuLibraryGetKernel, o.hidden<CUkernel>(), o.library(), "empty");
  CALL(cuLibraryGetKernelCount, o.out<unsigned>(), o.library());
  CALL(cuLibraryEnumerateKernels, List<CUkernel>{o.hidden<CUkernel>().place}, 3U, o.library());
  CALL(cuLibraryGetModule, o.hidden<CUmodule>(), o.library());
  CALL(cuLibraryGetGlobal, o.hidden<CUdeviceptr>(), o.out<std::size_t>(), o.library(), "table");
  CALL(cuLibraryGetManaged, o.hidden<CUdeviceptr>(), o.out<std::size_t>(), o.library(), "table");
  CALL(cuLibraryGetUnifiedFunction, o.hidden<void *>(), o.library(), "empty");
  CALL(cuKernelGetFunction, o.hidden<CUfunction>(), o.kernel());
  CALL(cuKernelGetLibrary, o.hidden<CUlibrary>(), o.kernel());
  CALL(cuKernelGetName, o.hidden<const char *>(), o.kernel());
  CALL(cuKernelGetParamInfo, o.kernel("add"), std::size_t{0}, o.out<std::size_t>(), o.out<std::size_t>());
  CALL(cuKernelGetAttribute, o.out<int>(), CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, o.kernel(), o.device);
  CALL_AS("add", cuKernelGetAttribute, o.out<int>(), CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, o.kernel("add"),
          o.device);
  CALL(cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024, o.kernel(), o.device);
  CALL_AS("carveout", cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50,
          o.kernel(), o.device);
  CALL(cuKernelSetCacheConfig, o.kernel(), CU_FUNC_CACHE_PREFER_L1, o.device);
}

}  // namespace arguments
