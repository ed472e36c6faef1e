// SPDX-License-Identifier: Apache-2.0
// CUfunction and CUkernel: attributes and parameters of kernels. The order of the checks of null arguments
// and handles was measured on an H200, driver 580.
#include <cstring>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

const ptx::Function &entry_of(Call &call, CUfunction handle) { return *call.function(handle).entry; }
const std::string &name_of(Call &call, CUfunction handle) { return call.function_or_kernel(handle).name; }
#if CUDA_VERSION >= 12000
const ptx::Function &entry_of(Call &call, CUkernel handle) { return *call.kernel(handle).entry; }
const std::string &name_of(Call &call, CUkernel handle) { return call.kernel(handle).name; }
#endif

template <class Handle>
CUresult get_name(Call &call, const char **out, Handle handle) {
  require(handle != nullptr);
  return store(out, [&] { return name_of(call, handle).c_str(); });
}

template <class Handle>
CUresult get_parameter_count(Call &call, Handle handle, std::size_t *count) {
  const ptx::Function &entry = entry_of(call, handle);
  return store(count, [&] { return entry.parameters.size(); });
}

CUresult parameter_info(const ptx::Function &entry, std::size_t index, std::size_t *offset,
                        std::size_t *size) {
  require(offset != nullptr);
  require(index < entry.parameters.size());
  *offset = entry.parameters[index].offset;
  if (size != nullptr) *size = entry.parameters[index].size;
  return CUDA_SUCCESS;
}

// ---- CUfunction: a kernel in a context ----

CUresult get_module(Call &call, CUmodule *out, CUfunction handle) {
  require(handle != nullptr);
  return store(out, [&] { return reinterpret_cast<CUmodule>(call.function(handle).module->handle); });
}

CUresult get_parameter(Call &call, CUfunction handle, std::size_t index, std::size_t *offset,
                       std::size_t *size) {
  require(handle != nullptr);
  return parameter_info(entry_of(call, handle), index, offset, size);
}

#if CUDA_VERSION >= 12040
CUresult is_loaded(Call &call, CUfunctionLoadingState *state, CUfunction handle) {
  require(state != nullptr);
  call.function(handle);
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}
#endif

CUresult load(Call &call, CUfunction handle) {
  call.function(handle);
  return CUDA_SUCCESS;
}

CUresult get_attribute(Call &call, int *value, CUfunction_attribute attribute, CUfunction handle) {
  require(value != nullptr);
  const Function &function = call.function(handle);
  const Device &device = *function.module->context->device;
  require(attribute_of(*function.entry, *function.module->code, device, function.set, attribute, *value));
  // A kernel returns the number that was set. Measured on an H200, driver 580.
  if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) *value = *value != 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult set_attribute(Call &call, CUfunction handle, CUfunction_attribute attribute, int value) {
  Function &function = call.function(handle);
  require(check_attribute(*function.entry, *function.module->context->device, attribute, value) ==
          CUDA_SUCCESS);
  function.set[attribute] = value;
  function.own.insert(attribute);
  return CUDA_SUCCESS;
}

// The preference shows in the occupancy of the function.
CUresult set_cache_config(Call &call, CUfunction handle, CUfunc_cache config) {
  Function &function = call.function(handle);
  check_cache_config(config);
  function.cache = config;
  function.has_own_cache = true;
  return CUDA_SUCCESS;
}

CUresult set_shared_config(Call &call, CUfunction handle, CUsharedconfig config) {
  call.function(handle);
  check_shared_config(config);
  return CUDA_SUCCESS;
}

// ---- CUkernel: a kernel without a context ----

#if CUDA_VERSION >= 12000

CUresult get_function(Call &call, CUfunction *out, CUkernel handle) {
  require(out != nullptr);
  Kernel &kernel = call.kernel(handle);
  *out = reinterpret_cast<CUfunction>(call.function_of_kernel(kernel, call.context()).handle);
  return CUDA_SUCCESS;
}

CUresult get_library(Call &call, CUlibrary *out, CUkernel handle) {
  return store(out, [&] { return reinterpret_cast<CUlibrary>(call.kernel(handle).library->handle); });
}

CUresult get_parameter_of_kernel(Call &call, CUkernel handle, std::size_t index, std::size_t *offset,
                                 std::size_t *size) {
  require(handle != nullptr && offset != nullptr);
  Context &context = call.context();
  // Loads the kernel. Measured, driver 580.
  return parameter_info(*call.function_of_kernel(call.kernel(handle), context).entry, index, offset, size);
}

CUresult get_attribute_of_kernel(Call &call, int *value, CUfunction_attribute attribute, CUkernel handle,
                                 CUdevice number) {
  Kernel &kernel = call.kernel(handle);
  require(value != nullptr);
  const Device &device = call.device(number);
  require(attribute_of(*kernel.entry, *kernel.library->code, device, kernel.set[device.index], attribute,
                       *value));
  return CUDA_SUCCESS;
}

// Visits the functions of a kernel that the program has looked up in contexts of a device.
template <class Visit>
void for_each_function(const Kernel &kernel, const Device &device, Visit visit) {
  for (const auto &[context, module] : kernel.library->modules)
    if (const auto function = module->functions.find(kernel.name);
        context->device == &device && function != module->functions.end())
      visit(*function->second);
}

CUresult set_attribute_of_kernel(Call &call, CUfunction_attribute attribute, int value, CUkernel handle,
                                 CUdevice number) {
  Kernel &kernel = call.kernel(handle);
  const Device &device = call.device(number);
  require(check_attribute(*kernel.entry, device, attribute, value) == CUDA_SUCCESS);
  kernel.set[device.index][attribute] = value;
  for_each_function(kernel, device, [&](Function &function) {
    if (!function.own.contains(attribute)) function.set[attribute] = value;
  });
  return CUDA_SUCCESS;
}

CUresult set_cache_config_of_kernel(Call &call, CUkernel handle, CUfunc_cache config, CUdevice number) {
  Kernel &kernel = call.kernel(handle);
  const Device &device = call.device(number);
  check_cache_config(config);
  kernel.cache[device.index] = config;
  for_each_function(kernel, device, [&](Function &function) {
    if (!function.has_own_cache) function.cache = config;
  });
  return CUDA_SUCCESS;
}
#endif

}  // namespace

void check_cache_config(CUfunc_cache config) {
  require(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
}

void check_shared_config(CUsharedconfig config) {
  require(config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
          config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
}

constinit const Entries entries_of_functions = {
    entry<"cuFuncGetModule", get_module>,
    entry<"cuFuncGetName", get_name<CUfunction>>,
    entry<"cuFuncGetParamCount", get_parameter_count<CUfunction>>,
    entry<"cuFuncGetParamInfo", get_parameter>,
#if CUDA_VERSION >= 12040
    entry<"cuFuncIsLoaded", is_loaded>,
#endif
    entry<"cuFuncLoad", load>,
    entry<"cuFuncGetAttribute", get_attribute>,
    entry<"cuFuncSetAttribute", set_attribute>,
    entry<"cuFuncSetCacheConfig", set_cache_config>,
    entry<"cuFuncSetSharedMemConfig", set_shared_config>,
};

#if CUDA_VERSION >= 12000
constinit const Entries entries_of_kernels = {
    entry<"cuKernelGetFunction", get_function>,
    entry<"cuKernelGetLibrary", get_library>,
    entry<"cuKernelGetName", get_name<CUkernel>>,
    entry<"cuKernelGetParamCount", get_parameter_count<CUkernel>>,
    entry<"cuKernelGetParamInfo", get_parameter_of_kernel>,
    entry<"cuKernelGetAttribute", get_attribute_of_kernel>,
    entry<"cuKernelSetAttribute", set_attribute_of_kernel>,
    entry<"cuKernelSetCacheConfig", set_cache_config_of_kernel>,
};
#endif

}  // namespace cushim::sim
