// SPDX-License-Identifier: Apache-2.0
// Kernels that the test has registered: they run instead of PTX, and make machine code loadable.
#pragma once

#include <cushim/sim/kernel.hpp>

#include <map>
#include <memory>
#include <span>
#include <string>

#include "kernels/module.hpp"

namespace cushim::sim {

// By name, as cuModuleGetFunction gets it.
using RegisteredKernels = std::map<std::string, std::shared_ptr<const RegisteredKernel>, std::less<>>;

// Makes the code of a cubin without PTX. It contains the registered functions; with `skips`, all functions.
// Code::unregistered names the others. Returns null if the code would contain no function.
std::shared_ptr<Code> code_of_cubin(std::string_view cubin, const RegisteredKernels &kernels, bool skips,
                                    const Device &device);

// Returns the registered kernel that launches of the function run instead of its PTX; null if there is none.
std::shared_ptr<const RegisteredKernel> registered_for(const System &system, const Function &function);
// Returns whether the kernel that is registered for the function, if any, has the parameters that the image
// declares. Reports the difference.
bool has_parameters_of_image(System &system, const Function &function);

// How a kernel ended.
struct KernelEnd {
  CUresult code = CUDA_SUCCESS;
  std::string report{};        // the reason for another code
  std::int64_t more_time = 0;  // virtual nanoseconds beyond the cost of every launch
};

// Runs a registered kernel without the machine's lock. `parameters` are packed as `entry` declares them.
KernelEnd run_registered(System &system, Context &context, const RegisteredKernel &kernel,
                         const ptx::Function &entry, const ptx::LaunchShape &shape,
                         std::span<const std::byte> parameters);

}  // namespace cushim::sim
