// SPDX-License-Identifier: Apache-2.0
// Functions: kernels of a module in one context, with attributes and parameters; and variables of device
// code. <cushim/launch.hpp> launches functions.
#pragma once

#include <cushim/context.hpp>
#include <cushim/detail/handle.hpp>
#include <cushim/memory.hpp>

#include <optional>
#include <type_traits>
#include <vector>

namespace cushim {
inline namespace v1 {

// An attribute of a kernel with a value of type T.
template <class T>
struct FunctionAttribute {
  int number;  // its CUfunction_attribute
};
// An attribute that the program can set.
template <class T>
struct SettableFunctionAttribute : FunctionAttribute<T> {};

// Sizes are in bytes.
namespace function_attribute {

inline constexpr FunctionAttribute<int> max_threads_per_block{0};
inline constexpr FunctionAttribute<std::size_t> shared_size_bytes{1};  // of a block, statically allocated
inline constexpr FunctionAttribute<std::size_t> const_size_bytes{2};
inline constexpr FunctionAttribute<std::size_t> local_size_bytes{3};  // of a thread
inline constexpr FunctionAttribute<int> num_regs{4};                  // of a thread
inline constexpr FunctionAttribute<int> ptx_version{5};               // 90 is 9.0
inline constexpr FunctionAttribute<int> binary_version{6};            // 90 is 9.0
inline constexpr FunctionAttribute<bool> cache_mode_ca{7};
inline constexpr SettableFunctionAttribute<std::size_t> max_dynamic_shared_size_bytes{{8}};
// In percent of the shared memory of a multiprocessor; -1: the driver's choice.
inline constexpr SettableFunctionAttribute<int> preferred_shared_memory_carveout{{9}};
inline constexpr FunctionAttribute<bool> cluster_size_must_be_set{10};
inline constexpr SettableFunctionAttribute<int> required_cluster_width{{11}};  // in blocks
inline constexpr SettableFunctionAttribute<int> required_cluster_height{{12}};
inline constexpr SettableFunctionAttribute<int> required_cluster_depth{{13}};
inline constexpr SettableFunctionAttribute<bool> non_portable_cluster_size_allowed{{14}};
inline constexpr SettableFunctionAttribute<CUclusterSchedulingPolicy> cluster_scheduling_policy_preference{
    {15}};

}  // namespace function_attribute

// A parameter of a kernel, in the order of its declaration.
struct KernelParameter {
  std::size_t offset;  // bytes, in the kernel's parameter buffer
  std::size_t size;    // bytes

  friend bool operator==(const KernelParameter &, const KernelParameter &) = default;
};

namespace detail {

// The queries that Function and Kernel have in common. Self has kName, kParameter and kParameterCount, the
// driver's calls.
template <class Self, class Handle>
class KernelQueries : public NounBase<Self, Handle> {
 public:
  // Returns the name in the module or library, which is mangled for C++. Needs CUDA 12.3. Driver calls:
  // cuFuncGetName or cuKernelGetName.
  std::string name(Where where = Where::current()) const { return ask(this->self(), Self::kName, where); }
  // Returns a parameter; nullopt if the kernel has fewer. Needs CUDA 12.4; a Kernel also needs a current
  // context. Driver calls: cuFuncGetParamInfo or cuKernelGetParamInfo.
  std::optional<KernelParameter> parameter(std::size_t index, Where where = Where::current()) const {
    KernelParameter parameter{};
    const CUresult result =
        Self::kParameter(this->driver(), this->handle(), index, &parameter.offset, &parameter.size);
    if (result == CUDA_ERROR_INVALID_VALUE) return std::nullopt;
    check(result, Self::kParameter.name, where, this->self());
    return parameter;
  }
  // Returns the number of parameters. Needs a driver of CUDA 13.2. Driver calls: cuFuncGetParamCount or
  // cuKernelGetParamCount.
  std::size_t parameter_count(Where where = Where::current()) const {
    return ask(this->self(), Self::kParameterCount, where);
  }
};

}  // namespace detail

// A reference to a kernel in one context (CUfunction). Owns nothing, and must not outlive its module.
class Function : public detail::Reference<detail::KernelQueries<Function, CUfunction>> {
 public:
  // Empty.
  Function() = default;

  // Returns an attribute, as the attribute's type. Driver calls: cuFuncGetAttribute.
  template <class T>
  T attribute(FunctionAttribute<T> which, Where where = Where::current()) const {
    return detail::attribute_of<T>(detail::NamedCall{"cuFuncGetAttribute", &Driver::cuFuncGetAttribute},
                                   which.number, where, *this);
  }
  // Sets an attribute. Driver calls: cuFuncSetAttribute.
  template <class T>
  void set(SettableFunctionAttribute<T> which, std::type_identity_t<T> value,
           Where where = Where::current()) const {
    detail::check(driver().cuFuncSetAttribute(handle(), static_cast<CUfunction_attribute>(which.number),
                                              static_cast<int>(value)),
                  "cuFuncSetAttribute", where, *this, detail::Argument{"attribute", which.number},
                  detail::Argument{"value", static_cast<long long>(value)});
  }
  // Sets the preferred division between L1 cache and shared memory. Driver calls: cuFuncSetCacheConfig.
  void set_cache_preference(CachePreference preference, Where where = Where::current()) const {
    detail::check(driver().cuFuncSetCacheConfig(handle(), static_cast<CUfunc_cache>(preference)),
                  "cuFuncSetCacheConfig", where, *this);
  }

  // Returns the raw module that the function belongs to. Driver calls: cuFuncGetModule.
  CUmodule module(Where where = Where::current()) const {
    return detail::ask(*this, detail::NamedCall{"cuFuncGetModule", &Driver::cuFuncGetModule}, where);
  }
#if CUDA_VERSION >= 12040
  // Return whether the code is on the device, and load it there, if it is loaded lazily. Need CUDA 12.4.
  // Driver calls: cuFuncIsLoaded, cuFuncLoad.
  bool is_loaded(Where where = Where::current()) const {
    CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_UNLOADED;
    detail::check(driver().cuFuncIsLoaded(&state, handle()), "cuFuncIsLoaded", where, *this);
    return state == CU_FUNCTION_LOADING_STATE_LOADED;
  }
  void load(Where where = Where::current()) const {
    detail::check(driver().cuFuncLoad(handle()), "cuFuncLoad", where, *this);
  }
#endif
  static constexpr detail::NamedCall kName{"cuFuncGetName", &Driver::cuFuncGetName};
  static constexpr detail::NamedCall kParameter{"cuFuncGetParamInfo", &Driver::cuFuncGetParamInfo};
  static constexpr detail::NamedCall kParameterCount{"cuFuncGetParamCount", &Driver::cuFuncGetParamCount};

  // Returns "function 0x7f10" or "an empty function".
  friend std::string to_text(const Function &function) { return detail::noun_text("function", function); }
};

// A reference to a variable of device code: Global<float>, Global<int[16]>, or Global<int[]> if the length is
// not known. A range of elements that converts to a DeviceSpan; must not outlive its module.
template <class T>
class Global : public detail::DeviceRangeCalls<Global<T>, std::remove_extent_t<T>> {
  using Element = std::remove_extent_t<T>;
  static_assert(std::is_trivially_copyable_v<Element>,
                "cushim: elements of device memory must be trivially copyable");

 public:
  // Returns the variable as a range of elements. No driver call.
  DeviceSpan<Element> span() const noexcept { return span_; }

  // Makes a Global of an address and size that the driver returned. Throws INVALID_VALUE if the size is not
  // that of T. For Module and Library.
  Global(CUdeviceptr address, std::size_t bytes, const char *routine, Where where)
      : span_(DevicePtr<Element>(address), bytes / sizeof(Element)) {
    constexpr bool is_any_length = std::is_unbounded_array_v<T>;
    if (is_any_length ? bytes % sizeof(Element) != 0 : bytes != size_of_whole())
      detail::fail(CUDA_ERROR_INVALID_VALUE, routine, where,
                   detail::Argument{"bytes of the variable", static_cast<long long>(bytes)},
                   detail::Argument{"bytes of the type", static_cast<long long>(size_of_whole())});
  }

 private:
  static constexpr std::size_t size_of_whole() {
    if constexpr (std::is_unbounded_array_v<T>)
      return sizeof(Element);
    else
      return sizeof(T);
  }

  DeviceSpan<Element> span_;
};

template <class T>
DeviceSpan(const Global<T> &) -> DeviceSpan<std::remove_extent_t<T>>;

namespace detail {

template <class T>
auto own_view(const Global<T> &variable) {  // for copies and sets
  return variable.span();
}

// Returns a variable of a module or library.
template <class T, class Code>
Global<T> find_global(
    const Code &code, const std::string &name,
    NamedCall<CUresult(CUdeviceptr *, std::size_t *, typename Code::HandleType, const char *)> call,
    Where where) {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  check(call(code.driver(), &address, &bytes, code.handle(), name.c_str()), call.name, where, code,
        Remark{name.c_str()});
  return Global<T>(address, bytes, call.name, where);
}

// Returns a kernel of a module or library. Kernel is Function or Kernel.
template <class Kernel, class Code, class Handle>
Kernel find_kernel(const Code &code, const std::string &name,
                   NamedCall<CUresult(Handle *, typename Code::HandleType, const char *)> call, Where where) {
  Handle handle{};
  check(call(code.driver(), &handle, code.handle(), name.c_str()), call.name, where, code,
        Remark{name.c_str()});
  return Kernel::from_handle(handle, code.driver());
}

// Returns all kernels of a module or library.
template <class Kernel, class Code, class Handle>
std::vector<Kernel> all_kernels(const Code &code,
                                NamedCall<CUresult(unsigned *, typename Code::HandleType)> count,
                                NamedCall<CUresult(Handle *, unsigned, typename Code::HandleType)> list,
                                Where where) {
  std::vector<Handle> handles(ask(code, count, where));
  check(list(code.driver(), handles.data(), static_cast<unsigned>(handles.size()), code.handle()), list.name,
        where, code);
  std::vector<Kernel> kernels;
  for (Handle handle : handles) kernels.push_back(Kernel::from_handle(handle, code.driver()));
  return kernels;
}

}  // namespace detail

}  // namespace v1
}  // namespace cushim
