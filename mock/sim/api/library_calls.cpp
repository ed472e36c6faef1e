// SPDX-License-Identifier: Apache-2.0
// CUlibrary: code without a context. The order of the checks of null arguments and handles was
// measured on an H200, driver 580.
#include <algorithm>

#include "api/service.hpp"
#include "graphs/capturing.hpp"
#include "kernels/jit_options.hpp"

#if CUDA_VERSION >= 12000

namespace cushim::sim {
namespace {

// Returns the library's code; load errors are reported here, at first use. Measured, driver 580.
const Code &code_of(const Library &library) {
  if (library.code == nullptr) fail(library.error.code);
  return *library.code;
}

// Reads the image for the current context's device; without a context, for device 0. Writes the error log at
// once, although the error is returned later.
CUresult load(Call &call, CUlibrary *out, const void *image, std::optional<std::size_t> size,
              const JitOptions &options) {
  const Context *const context = call.current();
  const Device &device = context != nullptr ? *context->device : call.device(0);
  Library &library = call.system.handles.add(std::make_unique<Library>());
  library.code = load_complete_code(call.system, device, image, size, options, library.error);
  options.write_error_log(library.error.log);
  *out = reinterpret_cast<CUlibrary>(library.handle);
  return CUDA_SUCCESS;
}

// Returns whether all options of a library are known. Measured, driver 580.
bool are_known(const CUlibraryOption *options, unsigned count) {
  return count == 0 || (options != nullptr && std::all_of(options, options + count, [](CUlibraryOption one) {
                          return one >= 0 && one <= CU_LIBRARY_BINARY_IS_PRESERVED;
                        }));
}

CUresult load_data(Call &call, CUlibrary *out, const void *image, CUjit_option *names, void **values,
                   unsigned count, CUlibraryOption *of_library, void **, unsigned count_of_library) {
  const JitOptions options{count, names, values};
  require(out != nullptr && image != nullptr && options.are_accepted(JitUse::load) &&
          are_known(of_library, count_of_library));
  return load(call, out, image, {}, options);
}

CUresult load_file(Call &call, CUlibrary *out, const char *path, CUjit_option *names, void **values,
                   unsigned count, CUlibraryOption *of_library, void **, unsigned count_of_library) {
  const JitOptions options{count, names, values};
  require(out != nullptr && path != nullptr && *path != '\0' && options.are_accepted(JitUse::load));
  const auto bytes = read_file(path);
  require(bytes.has_value(), CUDA_ERROR_FILE_NOT_FOUND);
  require(are_known(of_library, count_of_library));
  return load(call, out, bytes->data(), bytes->size(), options);
}

CUresult unload(Call &call, CUlibrary handle) {
  Library *library = &call.library(handle);
  require_no_strict_capture(call);
  std::vector<Work> works;
  for (const auto &[context, module] : library->modules)
    for (Work &work : context->works()) works.push_back(std::move(work));
  call.wait(works);
  library = &call.library(handle);  // the wait released the lock
  while (!library->modules.empty()) destroy_module(call.system, *library->modules.begin()->second);
  for (const auto &[name, kernel] : library->kernels) call.system.handles.erase(*kernel);
  call.system.handles.erase(*library);
  return CUDA_SUCCESS;
}

Kernel *kernel_of(Call &call, Library &library, std::string_view name) {
  if (const auto known = library.kernels.find(name); known != library.kernels.end()) return known->second;
  const Code &code = code_of(library);
  const auto found = code.entry_by_name.find(name);
  if (found == code.entry_by_name.end()) return nullptr;
  Kernel &kernel = call.system.handles.add(std::make_unique<Kernel>());
  kernel.library = &library;
  kernel.entry = found->second;
  kernel.name = std::string(name);
  library.kernels.emplace(kernel.name, &kernel);
  return &kernel;
}

CUresult get_kernel(Call &call, CUkernel *out, CUlibrary handle, const char *name) {
  require(out != nullptr && name != nullptr);
  Library &library = call.library(handle);
  const Kernel *const kernel = kernel_of(call, library, name);
  if (kernel == nullptr) fail(error_of_missing(call.system, code_of(library), name));
  *out = reinterpret_cast<CUkernel>(kernel->handle);
  return CUDA_SUCCESS;
}

// A library whose image could not be loaded has no kernels. Measured, driver 580.
std::vector<const ptx::Function *> entries_of(const Library &library) {
  return library.code != nullptr ? library.code->entries : std::vector<const ptx::Function *>();
}

CUresult get_kernel_count(Call &call, unsigned *count, CUlibrary handle) {
  require(count != nullptr);
  const Library &library = call.library(handle);
  *count = static_cast<unsigned>(entries_of(library).size());
  return CUDA_SUCCESS;
}

CUresult enumerate(Call &call, CUkernel *out, unsigned count, CUlibrary handle) {
  require(out != nullptr);
  Library &library = call.library(handle);
  const auto entries = entries_of(library);
  // In the order of a module, reversed. Measured, driver 580.
  for (std::size_t i = 0; i < std::min<std::size_t>(count, entries.size()); ++i)
    out[i] =
        reinterpret_cast<CUkernel>(kernel_of(call, library, entries[entries.size() - 1 - i]->name)->handle);
  return CUDA_SUCCESS;
}

CUresult get_module(Call &call, CUmodule *out, CUlibrary handle) {
  require(out != nullptr);
  require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE);
  Context &context = call.context();
  Library &library = call.library(handle);
  code_of(library);
  *out = reinterpret_cast<CUmodule>(call.module_of(library, context).handle);
  return CUDA_SUCCESS;
}

// Returns the address and the size of a variable of the module that a context has of the library.
CUresult get_variable(Call &call, Library &library, Context &context, CUdeviceptr *address, std::size_t *size,
                      const char *name) {
  const Module &module = call.module_of(library, context);
  const auto global = module.globals.find(name);
  require(global != module.globals.end(), CUDA_ERROR_NOT_FOUND);
  if (address != nullptr) *address = global->second.address;
  if (size != nullptr) *size = global->second.size;
  return CUDA_SUCCESS;
}

bool is_variable_query(const CUdeviceptr *address, const std::size_t *size, const char *name) {
  return name != nullptr && *name != '\0' && (address != nullptr || size != nullptr);
}

CUresult get_global(Call &call, CUdeviceptr *address, std::size_t *size, CUlibrary handle, const char *name) {
  require(is_variable_query(address, size, name));
  require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE);
  Context &context = call.context();
  Library &library = call.library(handle);
  code_of(library);
  return get_variable(call, library, context, address, size, name);
}

// Needs a context only for a variable that exists.
CUresult get_managed(Call &call, CUdeviceptr *address, std::size_t *size, CUlibrary handle,
                     const char *name) {
  require(is_variable_query(address, size, name));
  Library &library = call.library(handle);
  const Code &code = code_of(library);
  const auto variable = code.variable_by_name.find(name);
  require(variable != code.variable_by_name.end() && variable->second->managed, CUDA_ERROR_NOT_FOUND);
  return get_variable(call, library, call.context(), address, size, name);
}

// Functions with one address on host and device need hardware coherence, which the simulated devices lack.
CUresult get_unified_function(Call &call, void **out, CUlibrary handle, const char *name) {
  require(out != nullptr);
  call.library(handle);
  require(name != nullptr);
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

constinit const Entries entries_of_libraries = {
    entry<"cuLibraryLoadData", load_data>,
    entry<"cuLibraryLoadFromFile", load_file>,
    entry<"cuLibraryUnload", unload>,
    entry<"cuLibraryGetKernel", get_kernel>,
    entry<"cuLibraryGetKernelCount", get_kernel_count>,
    entry<"cuLibraryEnumerateKernels", enumerate>,
    entry<"cuLibraryGetModule", get_module>,
    entry<"cuLibraryGetGlobal", get_global>,
    entry<"cuLibraryGetManaged", get_managed>,
    entry<"cuLibraryGetUnifiedFunction", get_unified_function>,
};

}  // namespace cushim::sim

#endif
