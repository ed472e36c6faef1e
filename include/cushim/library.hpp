// SPDX-License-Identifier: Apache-2.0
// Libraries: code without a context, which the driver loads in each context that uses it. Needs CUDA 12.0,
// headers and driver. <cushim/launch.hpp> launches kernels.
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/function.hpp>
#include <cushim/jit.hpp>

#if CUDA_VERSION >= 12000

namespace cushim {
inline namespace v1 {

// A reference to a kernel of a library (CUkernel), for all contexts. Owns nothing, and must not outlive its
// library.
class Kernel : public detail::Reference<detail::KernelQueries<Kernel, CUkernel>> {
 public:
  // Empty.
  Kernel() = default;

  // Returns an attribute for a device, as the attribute's type. Driver calls: cuKernelGetAttribute.
  template <class T>
  T attribute(FunctionAttribute<T> which, Device device, Where where = Where::current()) const {
    return detail::attribute_of<T>(detail::NamedCall{"cuKernelGetAttribute", &Driver::cuKernelGetAttribute},
                                   which.number, where, *this, device);
  }
  // Sets an attribute for all contexts of a device. Driver calls: cuKernelSetAttribute.
  template <class T>
  void set(SettableFunctionAttribute<T> which, std::type_identity_t<T> value, Device device,
           Where where = Where::current()) const {
    detail::require(device, "cuKernelSetAttribute", where);
    detail::check(driver().cuKernelSetAttribute(static_cast<CUfunction_attribute>(which.number),
                                                static_cast<int>(value), handle(), device.handle()),
                  "cuKernelSetAttribute", where, *this, device, detail::Argument{"attribute", which.number},
                  detail::Argument{"value", static_cast<long long>(value)});
  }
  // Sets the preferred division between L1 cache and shared memory for a device. Driver calls:
  // cuKernelSetCacheConfig.
  void set_cache_preference(CachePreference preference, Device device, Where where = Where::current()) const {
    detail::require(device, "cuKernelSetCacheConfig", where);
    detail::check(
        driver().cuKernelSetCacheConfig(handle(), static_cast<CUfunc_cache>(preference), device.handle()),
        "cuKernelSetCacheConfig", where, *this, device);
  }

  // Returns the function of this kernel in the current context. Driver calls: cuKernelGetFunction.
  Function function(Where where = Where::current()) const {
    CUfunction function = nullptr;
    detail::check(driver().cuKernelGetFunction(&function, handle()), "cuKernelGetFunction", where, *this);
    return Function::from_handle(function, driver());
  }

  // Returns the raw library that the kernel belongs to. Needs CUDA 12.5. Driver calls: cuKernelGetLibrary.
  CUlibrary library(Where where = Where::current()) const {
    return detail::ask(*this, detail::NamedCall{"cuKernelGetLibrary", &Driver::cuKernelGetLibrary}, where);
  }
  static constexpr detail::NamedCall kName{"cuKernelGetName", &Driver::cuKernelGetName};
  static constexpr detail::NamedCall kParameter{"cuKernelGetParamInfo", &Driver::cuKernelGetParamInfo};
  static constexpr detail::NamedCall kParameterCount{"cuKernelGetParamCount", &Driver::cuKernelGetParamCount};

  // Returns "kernel 0x7f10" or "an empty kernel".
  friend std::string to_text(const Kernel &kernel) { return detail::noun_text("kernel", kernel); }
};

// The calls that LibraryRef and Library have in common.
template <class Self>
class LibraryCalls : public detail::NounBase<Self, CUlibrary> {
 public:
  // Returns a kernel by its name, which is mangled for C++. Throws NOT_FOUND, and the error of the code if it
  // could not be read. Driver calls: cuLibraryGetKernel.
  Kernel kernel(const std::string &name, Where where = Where::current()) const {
    return detail::find_kernel<Kernel>(
        this->self(), name, detail::NamedCall{"cuLibraryGetKernel", &Driver::cuLibraryGetKernel}, where);
  }
  // Returns all kernels. Needs CUDA 12.4. Driver calls: cuLibraryGetKernelCount, cuLibraryEnumerateKernels.
  std::vector<Kernel> kernels(Where where = Where::current()) const {
    return detail::all_kernels<Kernel>(
        this->self(), {"cuLibraryGetKernelCount", &Driver::cuLibraryGetKernelCount},
        detail::NamedCall{"cuLibraryEnumerateKernels", &Driver::cuLibraryEnumerateKernels}, where);
  }
  // Returns a variable in the current context: global<int[16]>("table"). Throws NOT_FOUND, and INVALID_VALUE
  // if its size is not that of T. Driver calls: cuLibraryGetGlobal.
  template <class T>
  Global<T> global(const std::string &name, Where where = Where::current()) const {
    return detail::find_global<T>(this->self(), name, {"cuLibraryGetGlobal", &Driver::cuLibraryGetGlobal},
                                  where);
  }
  // Returns a variable of managed memory, which has one address in all contexts. Driver calls:
  // cuLibraryGetManaged.
  template <class T>
  Global<T> managed(const std::string &name, Where where = Where::current()) const {
    return detail::find_global<T>(this->self(), name, {"cuLibraryGetManaged", &Driver::cuLibraryGetManaged},
                                  where);
  }
  // Returns the raw module of this library in the current context. It must not be unloaded. Driver calls:
  // cuLibraryGetModule.
  CUmodule module(Where where = Where::current()) const {
    return detail::ask(this->self(), detail::NamedCall{"cuLibraryGetModule", &Driver::cuLibraryGetModule},
                       where);
  }
  // Returns the address of a function that all devices call by the same pointer. Throws NOT_FOUND. Driver
  // calls: cuLibraryGetUnifiedFunction.
  void *unified_function(const std::string &name, Where where = Where::current()) const {
    void *address = nullptr;
    detail::check(this->driver().cuLibraryGetUnifiedFunction(&address, this->handle(), name.c_str()),
                  "cuLibraryGetUnifiedFunction", where, this->self(), detail::Remark{name.c_str()});
    return address;
  }

  static constexpr const char *kNoun = "library";
  static constexpr detail::NamedCall kDestroy{"cuLibraryUnload", &Driver::cuLibraryUnload};
};

// A reference to a library. Owns nothing.
using LibraryRef = detail::HandleRef<LibraryCalls>;

// Owns a library. Its kernels must not be used after it is unloaded.
class Library : public detail::Owner<Library, LibraryRef, LibraryCalls> {
 public:
  // Loads code. Needs no context. The driver may read it at the first use of a kernel only, and return its
  // errors then. So there are no logs; Module::load() has them. Driver calls: cuLibraryLoadData; at the end
  // cuLibraryUnload.
  static Library load(const CodeImage &image, const JitOptions &options = {},
                      Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUlibrary handle = nullptr;
    detail::check(driver.cuLibraryLoadData(&handle, image.address(), names_of(options), values_of(options),
                                           count_of(options), nullptr, nullptr, 0),
                  "cuLibraryLoadData", where, detail::Through{&driver});
    return Library(handle, driver, 0);
  }
  // Loads a file with PTX, a cubin or a fat binary. Driver calls: cuLibraryLoadFromFile; at the end
  // cuLibraryUnload.
  static Library load_file(const std::string &path, const JitOptions &options = {},
                           Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUlibrary handle = nullptr;
    detail::check(driver.cuLibraryLoadFromFile(&handle, path.c_str(), names_of(options), values_of(options),
                                               count_of(options), nullptr, nullptr, 0),
                  "cuLibraryLoadFromFile", where, detail::Through{&driver}, detail::Remark{path.c_str()});
    return Library(handle, driver, 0);
  }

 private:
  using Owner::Owner;

  // The driver's parameters are not const, but it does not write to options that are not logs.
  static CUjit_option *names_of(const JitOptions &options) {
    return const_cast<CUjit_option *>(options.names().data());
  }
  static void **values_of(const JitOptions &options) { return const_cast<void **>(options.values().data()); }
  static unsigned count_of(const JitOptions &options) {
    return static_cast<unsigned>(options.names().size());
  }
};

}  // namespace v1
}  // namespace cushim

#endif
