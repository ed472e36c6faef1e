// SPDX-License-Identifier: Apache-2.0
// CUfunction: attributes and parameters of kernels.
#include <cstring>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

CUresult get_module(Call &call, CUmodule *out, CUfunction handle) {
  require(out != nullptr && handle != nullptr);
  const Function &function = call.function(handle);
  *out = reinterpret_cast<CUmodule>(function.module->handle);
  return CUDA_SUCCESS;
}

CUresult get_name(Call &call, const char **out, CUfunction handle) {
  require(out != nullptr && handle != nullptr);
  *out = call.function_or_kernel(handle).name.c_str();
  return CUDA_SUCCESS;
}

CUresult get_parameter_count(Call &call, CUfunction handle, std::size_t *count) {
  return parameter_count(*call.function(handle).entry, count);
}

CUresult get_parameter(Call &call, CUfunction handle, std::size_t index, std::size_t *offset,
                       std::size_t *size) {
  require(handle != nullptr);
  return parameter_info(*call.function(handle).entry, index, offset, size);
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
  require(config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
          config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
  return CUDA_SUCCESS;
}

}  // namespace

void check_cache_config(CUfunc_cache config) {
  require(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
}

CUresult parameter_count(const ptx::Function &entry, std::size_t *count) {
  require(count != nullptr);
  *count = entry.parameters.size();
  return CUDA_SUCCESS;
}

CUresult parameter_info(const ptx::Function &entry, std::size_t index, std::size_t *offset,
                        std::size_t *size) {
  require(offset != nullptr);
  require(index < entry.parameters.size());
  *offset = entry.parameters[index].offset;
  if (size != nullptr) *size = entry.parameters[index].size;
  return CUDA_SUCCESS;
}

void serve_functions(Service &service) {
  service.serve<"cuFuncGetModule", get_module>();
  service.serve<"cuFuncGetName", get_name>();
  service.serve<"cuFuncGetParamCount", get_parameter_count>();
  service.serve<"cuFuncGetParamInfo", get_parameter>();
#if CUDA_VERSION >= 12040
  service.serve<"cuFuncIsLoaded", is_loaded>();
#endif
  service.serve<"cuFuncLoad", load>();
  service.serve<"cuFuncGetAttribute", get_attribute>();
  service.serve<"cuFuncSetAttribute", set_attribute>();
  service.serve<"cuFuncSetCacheConfig", set_cache_config>();
  service.serve<"cuFuncSetSharedMemConfig", set_shared_config>();
}

}  // namespace cushim::sim
