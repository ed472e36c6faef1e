// SPDX-License-Identifier: Apache-2.0
#include "kernels/registered.hpp"

#include <cstdio>
#include <exception>

#include "graphs/condition.hpp"
#include "kernels/cubin.hpp"
#include "kernels/kernel_memory.hpp"
#include "machine/system.hpp"

namespace cushim::sim {

namespace {

class SimulatedLaunch final : public Launch {
 public:
  SimulatedLaunch(System &system, Context &context, std::string_view name, const ptx::LaunchShape &shape)
      : Launch(std::string(name), shape), system_(system), context_(context) {}

  std::span<std::byte> memory(CUdeviceptr address) const override {
    const auto found = reachable_memory(system_, context_, address);
    if (found) return *found;
    char text[64];
    std::snprintf(text, sizeof text, "address 0x%llx is in no memory that it may access",
                  static_cast<unsigned long long>(address));
    throw KernelFault(CUDA_ERROR_ILLEGAL_ADDRESS, text);
  }

  void set_conditional(cuuint64_t handle, unsigned value) const override {
    if (!sim::set_conditional(system_, context_, handle, value))
      throw KernelFault(CUDA_ERROR_ILLEGAL_ADDRESS, "no conditional handle of the kernel's context");
  }

 private:
  System &system_;
  Context &context_;
};

// Declares a kernel of a cubin. Its parameters have the layout that the compiler gives them: each at the next
// multiple of its alignment.
ptx::Function declare(std::string_view name, const RegisteredKernel *kernel) {
  ptx::Function entry;
  entry.name = name;
  entry.is_entry = entry.has_body = true;
  if (kernel == nullptr) return entry;
  for (std::size_t i = 0; i < kernel->sizes.size(); ++i) {
    ptx::Variable parameter;
    parameter.space = ptx::StateSpace::param;
    parameter.size = kernel->sizes[i];
    parameter.alignment = static_cast<std::uint32_t>(kernel->alignments[i]);
    parameter.offset =
        (entry.parameter_size + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
    entry.parameter_size = parameter.offset + parameter.size;
    entry.parameters.push_back(parameter);
  }
  return entry;
}

// Returns the difference between the parameters of a kernel and those that the image declares; empty if
// number and sizes are equal.
std::string difference(const RegisteredKernel &kernel, const ptx::Function &entry) {
  char text[160];
  if (kernel.sizes.size() != entry.parameters.size()) {
    std::snprintf(text, sizeof text, "it is registered with %zu parameters, and the image declares %zu",
                  kernel.sizes.size(), entry.parameters.size());
    return text;
  }
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i)
    if (kernel.sizes[i] != entry.parameters[i].size) {
      std::snprintf(text, sizeof text,
                    "its parameter %zu is registered with %zu bytes, and the image declares %llu", i,
                    kernel.sizes[i], static_cast<unsigned long long>(entry.parameters[i].size));
      return text;
    }
  return {};
}

}  // namespace

std::shared_ptr<Code> code_of_cubin(std::string_view cubin, const RegisteredKernels &kernels, bool skips,
                                    const Device &device) {
  auto code = std::make_shared<Code>();
  code->is_machine_code = true;
  code->names = functions_of(cubin);
  code->module.target.sm = static_cast<std::uint32_t>(capability(device));
  for (const std::string &name : code->names) {
    const auto kernel = kernels.find(name);
    if (kernel != kernels.end())
      code->module.functions.push_back(declare(name, kernel->second.get()));
    else if (skips)
      code->module.functions.push_back(declare(name, nullptr));
    else
      code->unregistered.insert(name);
  }
  if (code->module.functions.empty()) return nullptr;
  return code;
}

std::shared_ptr<const RegisteredKernel> registered_for(const System &system, const Function &function) {
  if (system.kernels.empty()) return nullptr;
  const auto found = system.kernels.find(function.name);
  return found != system.kernels.end() ? found->second : nullptr;
}

bool has_parameters_of_image(System &system, const Function &function) {
  const auto kernel = registered_for(system, function);
  const std::string why = kernel != nullptr ? difference(*kernel, *function.entry) : "";
  if (!why.empty()) system.engine.report("the kernel " + function.name + " is not launched: " + why);
  return why.empty();
}

KernelEnd run_registered(System &system, Context &context, const RegisteredKernel &kernel,
                         const ptx::Function &entry, const ptx::LaunchShape &shape,
                         std::span<const std::byte> parameters) {
  std::vector<const void *> pointers;
  for (const ptx::Variable &parameter : entry.parameters)
    pointers.push_back(parameters.data() + parameter.offset);
  const auto report = [&](const char *what) { return "kernel " + std::string(entry.name) + ": " + what; };
  try {
    kernel.run(SimulatedLaunch(system, context, entry.name, shape), pointers.data());
    return {};
  } catch (const KernelFault &fault) {
    return {fault.code, report(fault.what())};
  } catch (const std::exception &error) {
    return {CUDA_ERROR_LAUNCH_FAILED, report(error.what())};
  }
}

}  // namespace cushim::sim
