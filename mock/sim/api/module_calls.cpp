// SPDX-License-Identifier: Apache-2.0
// CUmodule: code in one context.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "api/service.hpp"
#include "graphs/capturing.hpp"
#include "kernels/jit_options.hpp"

namespace cushim::sim {
namespace {

CUresult load_data(Call &call, CUmodule *out, const void *image, std::optional<std::size_t> size,
                   const JitOptions &options) {
  Context &context = call.context();
  require(out != nullptr && image != nullptr && options.are_accepted(JitUse::load));
  LoadError error;
  const auto code = load_complete_code(call.system, *context.device, image, size, options, error);
  Module *module = nullptr;
  if (code != nullptr) {
    call.wait_to_load(context);
    module = make_module(call.system, context, code, error);
  }
  options.write_error_log(module == nullptr ? error.log : "");
  if (module == nullptr) {
    // The real driver might load these images, so the reason is also reported to the user.
    if (error.code == CUDA_ERROR_NOT_SUPPORTED || error.code == CUDA_ERROR_NO_BINARY_FOR_GPU)
      call.system.engine.report(std::string(call.name) + ": " + error.log);
    return error.code;
  }
  *out = reinterpret_cast<CUmodule>(module->handle);
  return CUDA_SUCCESS;
}

CUresult load_with_options(Call &call, CUmodule *out, const void *image, unsigned count, CUjit_option *names,
                           void **values) {
  return load_data(call, out, image, {}, {count, names, values});
}

CUresult load_image(Call &call, CUmodule *out, const void *image) {
  return load_data(call, out, image, {}, {});
}

CUresult load_file(Call &call, CUmodule *out, const char *path) {
  call.context();
  require(out != nullptr && path != nullptr && *path != '\0');
  const auto bytes = read_file(path);
  require(bytes.has_value(), CUDA_ERROR_FILE_NOT_FOUND);
  return load_data(call, out, bytes->data(), bytes->size(), {});
}

CUresult unload(Call &call, CUmodule handle) {
  Module *module = &call.module(handle);
  require_no_strict_capture(call);
  require(module->library == nullptr, CUDA_ERROR_NOT_PERMITTED);
  call.wait(module->context->works());
  module = &call.module(handle);  // the wait released the lock
  destroy_module(call.system, *module);
  return CUDA_SUCCESS;
}

CUresult get_function(Call &call, CUfunction *out, CUmodule handle, const char *name) {
  Module &module = call.module(handle);
  require(out != nullptr && name != nullptr && *name != '\0');
  const Function *const function = function_of(call.system, module, name);
  if (function == nullptr) fail(error_of_missing(call.system, *module.code, name));
  *out = reinterpret_cast<CUfunction>(function->handle);
  return CUDA_SUCCESS;
}

CUresult get_global(Call &call, CUdeviceptr *address, std::size_t *size, CUmodule handle, const char *name) {
  if (size != nullptr) *size = 0;  // also if the call fails; measured, driver 580
  refuse_in_host_function(call);
  Module &module = call.module(handle);
  require(name != nullptr && *name != '\0');
  require(address != nullptr || size != nullptr);
  require(!module.code->entry_by_name.contains(name));  // not for functions. Measured, driver 580
  const auto global = module.globals.find(name);
  require(global != module.globals.end(), CUDA_ERROR_NOT_FOUND);
  if (address != nullptr) *address = global->second.address;
  if (size != nullptr) *size = global->second.size;
  return CUDA_SUCCESS;
}

CUresult get_global_of_32_bits(Call &call, unsigned *, unsigned *, CUmodule handle, const char *) {
  call.module(handle);
  return kNeeds32BitAddresses;
}

CUresult get_function_count(Call &call, unsigned *count, CUmodule handle) {
  require(count != nullptr);  // before the module: measured on an H200, driver 580
  const Module &module = call.module(handle);
  *count = static_cast<unsigned>(module.code->entries.size());
  return CUDA_SUCCESS;
}

CUresult enumerate(Call &call, CUfunction *out, unsigned count, CUmodule handle) {
  require(out != nullptr);  // before the module: measured on an H200, driver 580
  Module &module = call.module(handle);
  for (std::size_t i = 0; i < std::min<std::size_t>(count, module.code->entries.size()); ++i)
    out[i] =
        reinterpret_cast<CUfunction>(function_of(call.system, module, module.code->entries[i]->name)->handle);
  return CUDA_SUCCESS;
}

CUresult get_loading_mode(Call &, CUmoduleLoadingMode *mode) {
  require(mode != nullptr);
  const char *const wish = std::getenv("CUDA_MODULE_LOADING");
  *mode =
      wish != nullptr && std::string_view(wish) == "EAGER" ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

}  // namespace

std::optional<std::string> read_file(const char *path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

constinit const Entries entries_of_modules = {
    entry<"cuModuleLoad", load_file>,
    entry<"cuModuleLoadData", load_image>,
    entry<"cuModuleLoadDataEx", load_with_options>,
    entry<"cuModuleLoadFatBinary", load_image>,
    entry<"cuModuleUnload", unload>,
    entry<"cuModuleGetFunction", get_function>,
    entry<"cuModuleGetGlobal_v2000", get_global_of_32_bits>,
    entry<"cuModuleGetGlobal", get_global>,
    entry<"cuModuleGetFunctionCount", get_function_count>,
    entry<"cuModuleEnumerateFunctions", enumerate>,
    entry<"cuModuleGetLoadingMode", get_loading_mode>,
};

}  // namespace cushim::sim
