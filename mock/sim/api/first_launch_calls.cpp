// SPDX-License-Identifier: Apache-2.0
// Launches of the first releases (cuParamSetv, cuLaunchGrid): parameters and block size are set before the
// launch.
#include <algorithm>

#include "api/launch_calls.hpp"

namespace cushim::sim {
namespace {

constexpr std::size_t kMostParameterBytes = 32'764;  // of kernels since CUDA 12.1

// Returns a function of the current context.
Function &own_function(Call &call, CUfunction handle) {
  const Context &context = call.context();
  Function &function = call.function(handle);
  require(function.module->context == &context, CUDA_ERROR_INVALID_HANDLE);
  return function;
}

CUresult set_block(Call &call, CUfunction handle, int x, int y, int z) {
  Function &function = own_function(call, handle);
  require(x > 0 && y > 0 && z > 0);
  const ptx::Dim3 block{static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
  check_block_of(function, block);
  function.block = block;
  return CUDA_SUCCESS;
}

CUresult set_dynamic_shared(Call &call, CUfunction handle, unsigned bytes) {
  Function &function = own_function(call, handle);
  require(bytes <= static_cast<unsigned>(max_dynamic_shared(function)));
  function.dynamic_shared = bytes;
  return CUDA_SUCCESS;
}

// The size is compared with that of the kernel at the launch. It is rounded up to words in 32 bits, so that
// the largest ones are 0: measured on an H200, driver 580.
CUresult set_parameter_size(Call &call, CUfunction handle, unsigned bytes) {
  Function &function = own_function(call, handle);
  if (bytes > 0xfffffffc) bytes = 0;
  require(bytes <= kMostParameterBytes);
  function.parameters.resize(bytes);
  return CUDA_SUCCESS;
}

CUresult set_parameter(Call &call, CUfunction handle, int offset, void *from, unsigned bytes) {
  Function &function = own_function(call, handle);
  require(offset >= 0 && from != nullptr);
  const std::size_t end = static_cast<std::size_t>(offset) + bytes;
  require(end <= kMostParameterBytes);
  if (function.parameters.size() < end) function.parameters.resize(end);
  std::copy_n(static_cast<const std::byte *>(from), bytes, function.parameters.begin() + offset);
  return CUDA_SUCCESS;
}

CUresult set_integer(Call &call, CUfunction handle, int offset, unsigned value) {
  return set_parameter(call, handle, offset, &value, sizeof value);
}

CUresult set_float(Call &call, CUfunction handle, int offset, float value) {
  return set_parameter(call, handle, offset, &value, sizeof value);
}

CUresult launch_grid_async(Call &call, CUfunction handle, int width, int height, CUstream stream) {
  Function &function = own_function(call, handle);
  require(width > 0 && height > 0);
  std::size_t size = function.parameters.size();
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, function.parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &size, CU_LAUNCH_PARAM_END};
  const ptx::Dim3 grid{static_cast<unsigned>(width), static_cast<unsigned>(height), 1};
  return launch(call, function, stream, {{grid, function.block, {}, function.dynamic_shared}}, nullptr,
                extra);
}

CUresult launch_grid(Call &call, CUfunction handle, int width, int height) {
  return launch_grid_async(call, handle, width, height, nullptr);
}

CUresult launch_one(Call &call, CUfunction handle) { return launch_grid(call, handle, 1, 1); }

}  // namespace

constinit const Entries entries_of_first_launches = {
    entry<"cuFuncSetBlockShape", set_block>,
    entry<"cuFuncSetSharedSize", set_dynamic_shared>,
    entry<"cuParamSetSize", set_parameter_size>,
    entry<"cuParamSeti", set_integer>,
    entry<"cuParamSetf", set_float>,
    entry<"cuParamSetv", set_parameter>,
    entry<"cuLaunch", launch_one>,
    entry<"cuLaunchGrid", launch_grid>,
    entry<"cuLaunchGridAsync", launch_grid_async>,
};

}  // namespace cushim::sim
