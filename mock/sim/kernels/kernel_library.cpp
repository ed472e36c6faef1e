// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_library.hpp"

#include <cushim/sim/kernels.h>
#include <dlfcn.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace cushim::sim {

namespace {

// The C interface passes these to the library's functions as CushimKernels and CushimLaunch.
struct Registry : CushimKernels {
  RegisteredKernels kernels;
};

struct CLaunch : CushimLaunch {
  const Launch *launch;
};

void *memory(const CushimLaunch *launch, unsigned long long address, std::size_t *available) try {
  const auto bytes = static_cast<const CLaunch *>(launch)->launch->memory(address);
  if (available != nullptr) *available = bytes.size();
  return bytes.data();
} catch (const KernelFault &) {
  return nullptr;
}

int set_conditional(const CushimLaunch *launch, unsigned long long handle, unsigned value) try {
  static_cast<const CLaunch *>(launch)->launch->set_conditional(handle, value);
  return 0;
} catch (const KernelFault &fault) {
  return fault.code;
}

void run(CushimKernelFunction function, const Launch &launch, const void *const *parameters) {
  CLaunch made;
  made.size = sizeof(CushimLaunch);
  made.kernel = launch.name.c_str();
  const auto set = [](unsigned *to, const Dim3 &from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
  };
  set(made.grid, launch.grid);
  set(made.block, launch.block);
  made.dynamic_shared = launch.dynamic_shared;
  made.parameters = parameters;
  made.memory = memory;
  made.set_conditional = set_conditional;
  made.launch = &launch;
  if (const int code = function(&made); code != 0)
    throw KernelFault(static_cast<CUresult>(code), "its function returned " + std::to_string(code));
}

void add(const CushimKernels *kernels, const char *name, CushimKernelFunction function, std::size_t count,
         const std::size_t *sizes) {
  RegisteredKernel kernel;
  kernel.sizes.assign(sizes, sizes + count);
  // The alignment is not known: that of the largest number that fits a whole number of times, at most 16.
  for (const std::size_t size : kernel.sizes)
    kernel.alignments.push_back(size != 0 ? std::min<std::size_t>(size & (~size + 1), 16) : 1);
  kernel.run = [function](const Launch &launch, const void *const *parameters) {
    run(function, launch, parameters);
  };
  auto &registry = const_cast<Registry &>(*static_cast<const Registry *>(kernels));
  registry.kernels[name] = std::make_shared<const RegisteredKernel>(std::move(kernel));
}

void open_library(const std::string &path, Registry &registry) {
  void *const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::invalid_argument(dlerror());
  const auto register_kernels =
      reinterpret_cast<decltype(&cushim_register_kernels)>(dlsym(library, "cushim_register_kernels"));
  if (register_kernels == nullptr)
    throw std::invalid_argument(path + " does not define cushim_register_kernels()");
  const std::size_t before = registry.kernels.size();
  register_kernels(&registry);
  if (registry.kernels.size() == before) throw std::invalid_argument(path + " registers no kernels");
}

}  // namespace

RegisteredKernels kernels_of_libraries(const std::string &libraries) {
  Registry registry;
  registry.size = sizeof(CushimKernels);
  registry.add = add;
  std::istringstream list(libraries);
  for (std::string path; std::getline(list, path, ':');)
    if (!path.empty()) open_library(path, registry);
  return std::move(registry.kernels);
}

}  // namespace cushim::sim
