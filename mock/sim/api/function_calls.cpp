// SPDX-License-Identifier: Apache-2.0
// CUfunction: attributes, parameters and occupancy of kernels.
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
  const Context &context = *function.module->context;
  require(context.fault == CUDA_SUCCESS, context.fault);
  require(attribute_of(*function.entry, *function.module->code, *context.device, function.set, attribute,
                       *value));
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

// ---- Occupancy ----

CUresult max_blocks(Call &call, int *blocks, CUfunction handle, int threads, std::size_t dynamic_shared) {
  call.context();
  require(blocks != nullptr);  // before the function: measured on an H200, driver 580
  const Function &function = call.function_or_kernel(handle);
  require(threads > 0);
  *blocks = resident_blocks(function, threads, dynamic_shared);
  return CUDA_SUCCESS;
}

CUresult max_blocks_with_flags(Call &call, int *blocks, CUfunction handle, int threads,
                               std::size_t dynamic_shared, unsigned flags) {
  call.context();
  require((flags & ~unsigned{CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE}) == 0);
  return max_blocks(call, blocks, handle, threads, dynamic_shared);
}

CUresult potential_block_size(Call &call, int *grid, int *block, CUfunction handle,
                              CUoccupancyB2DSize shared_of, std::size_t dynamic_shared, int limit) {
  call.context();
  require(grid != nullptr && block != nullptr);  // before the function: measured on an H200, driver 580
  const Function &function = call.function_or_kernel(handle);
  require(limit >= 0);
  const Device &device = *function.module->context->device;
  int most = static_cast<int>(max_threads(*function.entry));
  if (limit > 0) most = std::min(most, limit);
  int best_threads = 0, best_block = 0, best_blocks = 0;
  // Finds the largest of the block sizes with the most resident threads.
  for (int threads = most; threads > 0; threads -= threads % 32 != 0 ? threads % 32 : 32) {
    const std::size_t shared = shared_of != nullptr ? shared_of(threads) : dynamic_shared;
    const int blocks = resident_blocks(function, threads, shared, Carveout::only_none);
    if (blocks * threads <= best_threads) continue;
    best_threads = blocks * threads;
    best_block = threads;
    best_blocks = blocks;
  }
  *block = best_block;
  *grid = best_blocks * device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  return CUDA_SUCCESS;
}

CUresult potential_block_size_with_flags(Call &call, int *grid, int *block, CUfunction handle,
                                         CUoccupancyB2DSize shared_of, std::size_t dynamic_shared, int limit,
                                         unsigned flags) {
  call.context();
  require((flags & ~unsigned{CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE}) == 0);
  return potential_block_size(call, grid, block, handle, shared_of, dynamic_shared, limit);
}

// Returns the dynamic shared memory per block with `blocks` blocks on a multiprocessor. Measured on an H200,
// driver 580.
CUresult available_shared(Call &call, std::size_t *size, CUfunction handle, int blocks, int threads) {
  call.context();
  require(size != nullptr && blocks > 0);
  const Function &function = call.function_or_kernel(handle);
  require(threads > 0);
  const int most = resident_blocks(function, threads, 0);
  require(blocks <= most);
  const auto limit = static_cast<std::size_t>(max_dynamic_shared(function));
  if (blocks == 1) return *size = limit, CUDA_SUCCESS;
  constexpr std::size_t kUnit = 128;  // a block has a multiple of this
  const std::size_t share = shared_capacity(function, 0) / static_cast<std::size_t>(blocks) / kUnit * kUnit;
  const std::size_t fixed = static_shared(*function.entry);
  *size = std::min(limit, share > fixed ? share - fixed : 0);
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
  service.serve<"cuOccupancyMaxActiveBlocksPerMultiprocessor", max_blocks>();
  service.serve<"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", max_blocks_with_flags>();
  service.serve<"cuOccupancyMaxPotentialBlockSize", potential_block_size>();
  service.serve<"cuOccupancyMaxPotentialBlockSizeWithFlags", potential_block_size_with_flags>();
  service.serve<"cuOccupancyAvailableDynamicSMemPerBlock", available_shared>();
}

}  // namespace cushim::sim
