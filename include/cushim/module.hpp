// SPDX-License-Identifier: Apache-2.0
// Modules: code that is loaded in one context.
//
//   const Module module = Module::load(ptx, JitOptions().line_info());
//   const auto scale = TypedKernel<void(DevicePtr<float>, float)>(module.function("scale"));
//   launch(scale, {.grid = 4, .block = 256}, stream, buffer, 2.0f);
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/function.hpp>
#include <cushim/jit.hpp>

namespace cushim {
inline namespace v1 {

// The calls that ModuleRef and Module have in common.
template <class Self>
class ModuleCalls : public detail::NounBase<Self, CUmodule> {
 public:
  // Returns a kernel by its name, which is mangled for C++. Throws NOT_FOUND. Driver calls:
  // cuModuleGetFunction.
  Function function(const std::string &name, Where where = Where::current()) const {
    return detail::find_kernel<Function>(
        this->self(), name, detail::NamedCall{"cuModuleGetFunction", &Driver::cuModuleGetFunction}, where);
  }
  // Returns all kernels. Needs CUDA 12.4. Driver calls: cuModuleGetFunctionCount, cuModuleEnumerateFunctions.
  std::vector<Function> functions(Where where = Where::current()) const {
    return detail::all_kernels<Function>(
        this->self(), {"cuModuleGetFunctionCount", &Driver::cuModuleGetFunctionCount},
        detail::NamedCall{"cuModuleEnumerateFunctions", &Driver::cuModuleEnumerateFunctions}, where);
  }
  // Returns a variable: global<float>("scale"), global<int[16]>("table"). Throws NOT_FOUND, and INVALID_VALUE
  // if its size is not that of T. Driver calls: cuModuleGetGlobal.
  template <class T>
  Global<T> global(const std::string &name, Where where = Where::current()) const {
    return detail::find_global<T>(this->self(), name, {"cuModuleGetGlobal", &Driver::cuModuleGetGlobal},
                                  where);
  }

  static constexpr const char *kNoun = "module";
  static constexpr detail::NamedCall kDestroy{"cuModuleUnload", &Driver::cuModuleUnload};
};

// A reference to a module. Owns nothing.
using ModuleRef = detail::HandleRef<ModuleCalls>;

// Owns a module. Unloading it frees its variables; its kernels must not be used afterwards.
class Module : public detail::Owner<Module, ModuleRef, ModuleCalls> {
 public:
  // Loads code in the current context. Throws JitError with the compiler's log. Driver calls:
  // cuModuleLoadDataEx; at the end cuModuleUnload.
  static Module load(const CodeImage &image, const JitOptions &options = {}, JitLog *log = nullptr,
                     Driver &driver = cushim::driver(), Where where = Where::current()) {
    detail::JitCall jit(options);
    CUmodule handle = nullptr;
    jit.check(driver.cuModuleLoadDataEx(&handle, image.address(), jit.count(), jit.names(), jit.values()),
              "cuModuleLoadDataEx", where, detail::Through{&driver});
    Module module(handle, driver, 0);
    if (log != nullptr) *log = jit.log();
    return module;
  }
  // Loads code in a given context. Driver calls: push, as above, pop.
  static Module load(ContextRef context, const CodeImage &image, const JitOptions &options = {},
                     JitLog *log = nullptr, Where where = Where::current()) {
    return detail::Creation::in(context, where,
                                [&] { return load(image, options, log, context.driver(), where); });
  }
  // Loads code in a device's primary context, which the module retains until it is unloaded. Driver calls:
  // cuDevicePrimaryCtxRetain, push, as above, pop; at the end also cuDevicePrimaryCtxRelease.
  static Module load(Device device, const CodeImage &image, const JitOptions &options = {},
                     JitLog *log = nullptr, Where where = Where::current()) {
    return detail::Creation::on(device, where,
                                [&] { return load(image, options, log, device.driver(), where); });
  }
  // Loads a file with PTX, a cubin or a fat binary in the current context. Driver calls: cuModuleLoad; at the
  // end cuModuleUnload.
  static Module load_file(const std::string &path, Driver &driver = cushim::driver(),
                          Where where = Where::current()) {
    CUmodule handle = nullptr;
    detail::check(driver.cuModuleLoad(&handle, path.c_str()), "cuModuleLoad", where, detail::Through{&driver},
                  detail::Remark{path.c_str()});
    return Module(handle, driver, 0);
  }
  // Loads a file in a given context. Driver calls: push, as above, pop.
  static Module load_file(ContextRef context, const std::string &path, Where where = Where::current()) {
    return detail::Creation::in(context, where, [&] { return load_file(path, context.driver(), where); });
  }
  // Loads a file in a device's primary context, which the module retains until it is unloaded. Driver calls:
  // cuDevicePrimaryCtxRetain, push, as above, pop; at the end also cuDevicePrimaryCtxRelease.
  static Module load_file(Device device, const std::string &path, Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return load_file(path, device.driver(), where); });
  }

 private:
  using Owner::Owner;
};

}  // namespace v1
}  // namespace cushim
