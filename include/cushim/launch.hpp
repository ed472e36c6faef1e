// SPDX-License-Identifier: Apache-2.0
// Launches of kernels: of a Function, of a Kernel, or of a TypedKernel whose arguments are checked.
//
//   const TypedKernel<void(int, float, DevicePtr<const float>, DevicePtr<float>)> saxpy(
//       library.kernel("saxpy"));
//   launch(saxpy, {.grid = 4, .block = 256}, stream, 1000, 2.0f, x, y);
//
// A launch allocates no memory, and is one driver call unless its arguments are checked.
#pragma once

#include <cushim/function.hpp>
#include <cushim/library.hpp>
#include <cushim/stream.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace cushim {
inline namespace v1 {

// Sizes of a grid in blocks, of a block in threads, or of a cluster in blocks.
struct Dim3 {
  unsigned x = 1, y = 1, z = 1;

  constexpr Dim3() noexcept = default;
  constexpr Dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) noexcept : x(x_), y(y_), z(z_) {}

  friend constexpr bool operator==(const Dim3 &, const Dim3 &) = default;
};

// The shape and attributes of a launch.
struct LaunchConfig {
  Dim3 grid{};
  Dim3 block{};
  unsigned shared = 0;                                 // bytes of dynamic shared memory of a block
  std::optional<Dim3> cluster = std::nullopt;          // needs compute capability 9.0
  bool cooperative = false;                            // all blocks run at the same time
  std::span<const CUlaunchAttribute> attributes = {};  // others, of launch_attribute; at most 30
  bool checked = false;                                // see launch()
  Where where = Where::current();                      // for errors
};

// Attributes of launches.
namespace launch_attribute {

// The launch may begin before the preceding kernel of the stream ends, if that kernel allows it.
inline CUlaunchAttribute programmatic_stream_serialization(bool allowed) noexcept {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = allowed ? 1 : 0;
  return attribute;
}
// A lower number is a higher priority; see ContextRef::stream_priorities().
inline CUlaunchAttribute priority(int priority) noexcept {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attribute.value.priority = priority;
  return attribute;
}
inline CUlaunchAttribute cluster_scheduling_policy(CUclusterSchedulingPolicy policy) noexcept {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
  attribute.value.clusterSchedulingPolicyPreference = policy;
  return attribute;
}
inline CUlaunchAttribute access_policy_window(const CUaccessPolicyWindow &window) noexcept {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
  attribute.value.accessPolicyWindow = window;
  return attribute;
}

}  // namespace launch_attribute

// Anything that can be launched. Converts from Function, Kernel and TypedKernel. Owns nothing.
class LaunchTarget : public detail::NounBase<LaunchTarget, CUfunction> {
 public:
  // Empty.
  LaunchTarget() = default;
  LaunchTarget(const Function &function) noexcept : LaunchTarget(function.handle(), function) {}
#if CUDA_VERSION >= 12000
  // The driver takes kernels where it takes functions, and uses the kernel's function in the context.
  LaunchTarget(const Kernel &kernel) noexcept
      : LaunchTarget(reinterpret_cast<CUfunction>(kernel.handle()), kernel) {}
#endif

  // Returns this. No driver call.
  const LaunchTarget &ref() const noexcept { return *this; }

  // Returns "kernel 0x7f10" or "an empty kernel".
  friend std::string to_text(const LaunchTarget &target) { return detail::noun_text("kernel", target); }

 private:
  template <class, class>
  friend class detail::NounBase;
  template <class From>
  LaunchTarget(CUfunction handle, const From &from) noexcept {
    if (!from.is_empty()) bound_ = detail::Bound<CUfunction>(handle, from.driver());
  }

  detail::Bound<CUfunction> bound_;
};

namespace detail {

// The driver's form of a LaunchConfig. Refers to itself, so its address must not change.
class RawLaunchConfig {
 public:
  RawLaunchConfig(const LaunchConfig &config, CUstream stream, const char *routine) {
    if (config.attributes.size() > kMost)
      fail(CUDA_ERROR_INVALID_VALUE, routine, config.where,
           Argument{"attributes", static_cast<long long>(config.attributes.size())});
    CUlaunchAttribute *next =
        std::copy(config.attributes.begin(), config.attributes.end(), attributes_.data());
    if (config.cluster) {
      next->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      next->value.clusterDim = {config.cluster->x, config.cluster->y, config.cluster->z};
      ++next;
    }
    if (config.cooperative) {
      next->id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      next->value.cooperative = 1;
      ++next;
    }
    raw.gridDimX = config.grid.x;
    raw.gridDimY = config.grid.y;
    raw.gridDimZ = config.grid.z;
    raw.blockDimX = config.block.x;
    raw.blockDimY = config.block.y;
    raw.blockDimZ = config.block.z;
    raw.sharedMemBytes = config.shared;
    raw.hStream = stream;
    raw.attrs = attributes_.data();
    raw.numAttrs = static_cast<unsigned>(next - attributes_.data());
  }
  RawLaunchConfig(const RawLaunchConfig &) = delete;
  RawLaunchConfig &operator=(const RawLaunchConfig &) = delete;

  CUlaunchConfig raw{};

 private:
  static constexpr std::size_t kMost = 30;
  std::array<CUlaunchAttribute, kMost + 2> attributes_{};
};

// The sizes of a launch in an error's text.
struct LaunchWords {
  const LaunchConfig &config;
};
inline std::string to_text(const LaunchWords &words) {
  const auto dimensions = [](const char *name, const Dim3 &size) {
    char text[64];
    std::snprintf(text, sizeof text, "%s %u x %u x %u", name, size.x, size.y, size.z);
    return std::string(text);
  };
  std::string text = dimensions("grid", words.config.grid);
  text.append(", ").append(dimensions("block", words.config.block));
  if (words.config.cluster) text.append(", ").append(dimensions("cluster", *words.config.cluster));
  text.append(", shared ").append(std::to_string(words.config.shared));
  return text;
}

inline namespace CUSHIM_DEFAULT_STREAM {

inline void launch_with(const LaunchTarget &kernel, const LaunchConfig &config, const StreamRef &stream,
                        void **arguments) {
  Driver &driver = stream.driver();
  if (!config.cluster && !config.cooperative && config.attributes.empty()) {
    require(kernel, "cuLaunchKernel", config.where);
    const Dim3 &grid = config.grid, &block = config.block;
    check(driver.cuLaunchKernel(kernel.handle(), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                config.shared, stream.handle(), arguments, nullptr),
          "cuLaunchKernel", config.where, stream, kernel, LaunchWords{config});
    return;
  }
  require(kernel, "cuLaunchKernelEx", config.where);
  const RawLaunchConfig raw(config, stream.handle(), "cuLaunchKernelEx");
  check(driver.cuLaunchKernelEx(&raw.raw, kernel.handle(), arguments, nullptr), "cuLaunchKernelEx",
        config.where, stream, kernel, LaunchWords{config});
}

}  // namespace CUSHIM_DEFAULT_STREAM

template <class T>
inline constexpr bool is_device_range = false;
template <class T>
inline constexpr bool is_device_range<DeviceSpan<T>> = true;

// A kernel whose parameters the compiler does not know.
template <class T>
concept UntypedKernel = std::is_same_v<T, Function> || std::is_same_v<T, LaunchTarget>
#if CUDA_VERSION >= 12000
    || std::is_same_v<T, Kernel>
#endif
    ;

// Compares number and sizes of a kernel's parameters with these sizes. Throws INVALID_VALUE, with `what` as
// the name of a size, if they differ. Makes no comparison if the driver cannot tell.
template <class Kernel>
void compare_parameters(const Kernel &kernel, const char *routine, std::span<const std::size_t> sizes,
                        const char *what, Where where) {
  try {
    for (std::size_t index = 0; index <= sizes.size(); ++index) {
      const std::optional<KernelParameter> told = kernel.parameter(index, where);
      const std::size_t wanted = index < sizes.size() ? sizes[index] : 0;
      if ((told ? told->size : 0) != wanted)
        fail(CUDA_ERROR_INVALID_VALUE, routine, where, kernel,
             Argument{"parameter", static_cast<long long>(index)},
             Argument{"bytes in the kernel", static_cast<long long>(told ? told->size : 0)},
             Argument{what, static_cast<long long>(wanted)});
    }
  } catch (const Error &error) {
    if (error.result() != CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND) throw;
  }
}

template <class Kernel>
void compare_arguments(const Kernel &kernel, std::span<const std::size_t> sizes, Where where) {
  const auto compare = [&](const auto &of, const char *routine) {
    compare_parameters(of, routine, sizes, "bytes of the argument", where);
  };
  if constexpr (std::is_same_v<Kernel, LaunchTarget>)
    compare(Function::from_handle(kernel.handle(), kernel.driver()), "cuFuncGetParamInfo");
  else
    compare(kernel, std::is_same_v<Kernel, Function> ? "cuFuncGetParamInfo" : "cuKernelGetParamInfo");
}

// Asserts that an object can be copied to a kernel's parameter as it is.
template <class T>
constexpr void require_argument() {
  static_assert(std::is_trivially_copyable_v<T>,
                "cushim: arguments of a kernel must be trivially copyable; pass data() of a buffer");
  static_assert(!std::is_array_v<T>, "cushim: an array is not an argument of a kernel; pass a pointer");
  static_assert(!is_device_range<T>,
                "cushim: a DeviceSpan is not an argument of a kernel; pass data() and size() of it");
}

}  // namespace detail

inline namespace CUSHIM_DEFAULT_STREAM {

// Launches a kernel. The arguments must have the types of the kernel's parameters exactly. config.checked
// compares their number and sizes with those that the driver tells (since CUDA 12.4), and throws
// INVALID_VALUE if they differ; a TypedKernel compares once, and lets the compiler check the types. Driver
// calls: cuLaunchKernel; with attributes, a cluster or cooperative, cuLaunchKernelEx. Before, if
// config.checked: cuFuncGetParamInfo or cuKernelGetParamInfo, once for each argument and once more.
template <detail::UntypedKernel Kernel, class... Arguments>
void launch(const Kernel &kernel, const LaunchConfig &config, const StreamRef &stream,
            const Arguments &...arguments) {
  (detail::require_argument<Arguments>(), ...);
  if (config.checked) {
    constexpr std::array<std::size_t, sizeof...(Arguments)> sizes{sizeof(Arguments)...};
    detail::require(kernel, "cuLaunchKernel", config.where);
    detail::compare_arguments(kernel, sizes, config.where);
  }
  void *pointers[] = {const_cast<void *>(static_cast<const void *>(&arguments))..., nullptr};
  detail::launch_with(kernel, config, stream, pointers);
}

}  // namespace CUSHIM_DEFAULT_STREAM

namespace detail {

// Converts an argument to the type of a kernel's parameter. Numbers convert only to numbers of the same kind
// that are as wide or wider: an int to an unsigned, a float to a double.
template <class Parameter, class Argument>
Parameter as_parameter(const Argument &argument) {
  if constexpr (std::is_arithmetic_v<Parameter> && !std::is_same_v<Parameter, bool>) {
    constexpr bool is_number = std::is_arithmetic_v<Argument> && !std::is_same_v<Argument, bool> &&
                               std::is_floating_point_v<Argument> == std::is_floating_point_v<Parameter>;
    static_assert(is_number, "cushim: the kernel's parameter is a number of another kind");
    static_assert(!is_number || sizeof(Argument) <= sizeof(Parameter),
                  "cushim: the argument is wider than the kernel's parameter");
    if constexpr (is_number) return static_cast<Parameter>(argument);
  } else if constexpr (std::is_arithmetic_v<Parameter> || std::is_enum_v<Parameter>) {
    static_assert(std::is_same_v<Argument, Parameter>,
                  "cushim: the argument has another type than the kernel's parameter");
    if constexpr (std::is_same_v<Argument, Parameter>) return argument;
  } else if constexpr (std::is_convertible_v<const Argument &, Parameter>) {
    return argument;
  } else if constexpr (requires { typename Parameter::element_type; }) {
    using Element = typename Parameter::element_type;
    constexpr bool is_range = std::is_same_v<Parameter, DevicePtr<Element>> &&
                              std::is_convertible_v<const Argument &, DeviceSpan<Element>>;
    static_assert(is_range, "cushim: the argument does not convert to the kernel's parameter");
    if constexpr (is_range) return static_cast<DeviceSpan<Element>>(argument).data();
  } else {
    static_assert(std::is_convertible_v<const Argument &, Parameter>,
                  "cushim: the argument does not convert to the kernel's parameter");
  }
}

}  // namespace detail

// An argument for a kernel's parameter of type T. Converts from values of T; from numbers of the same kind
// that are not wider; and for a DevicePtr from buffers and ranges of its elements.
template <class T>
class KernelArgument {
  static_assert(std::is_trivially_copyable_v<T>, "cushim: parameters of a kernel are trivially copyable");

 public:
  template <class Argument>
  KernelArgument(const Argument &argument) : value_(detail::as_parameter<T>(argument)) {}

  // Returns the address of the value, for the array of parameters of a launch.
  void *address() noexcept { return &value_; }

 private:
  T value_;
};

template <class Signature>
class TypedKernel;

// A kernel with known parameters: TypedKernel<void(int, DevicePtr<float>)>. Owns nothing, and must not
// outlive its module or library.
template <class... Parameters>
class TypedKernel<void(Parameters...)> {
 public:
  // Empty.
  TypedKernel() = default;

  // Compares number and sizes of the parameters with those that the driver tells. Throws INVALID_VALUE if
  // they differ. Makes no comparison if the driver cannot tell, before CUDA 12.4. Driver calls:
  // cuFuncGetParamInfo, once for each parameter and once more.
  explicit TypedKernel(const Function &function, Where where = Where::current()) : target_(function) {
    compare(function, "cuFuncGetParamInfo", where);
  }
#if CUDA_VERSION >= 12000
  // The same for a kernel of a library. Needs a current context. Driver calls: cuKernelGetParamInfo, once for
  // each parameter and once more.
  explicit TypedKernel(const Kernel &kernel, Where where = Where::current())
      : target_(kernel), is_of_library_(true) {
    compare(kernel, "cuKernelGetParamInfo", where);
  }
#endif

  operator const LaunchTarget &() const noexcept { return target_; }
  CUfunction handle() const noexcept { return target_.handle(); }
  Driver &driver() const noexcept { return target_.driver(); }
  bool is_empty() const noexcept { return target_.is_empty(); }
  // Returns whether this was made of a Kernel: handle() is then a CUkernel. No driver call.
  bool is_of_library() const noexcept { return is_of_library_; }

 private:
  template <class From>
  static void compare(const From &from, const char *routine, Where where) {
    constexpr std::array<std::size_t, sizeof...(Parameters)> sizes{sizeof(Parameters)...};
    detail::compare_parameters(from, routine, sizes, "bytes in the signature", where);
  }

  LaunchTarget target_;
  bool is_of_library_ = false;
};

inline namespace CUSHIM_DEFAULT_STREAM {

// Launches a kernel whose arguments are checked by the compiler. Driver calls: cuLaunchKernel; with
// attributes, a cluster or cooperative, cuLaunchKernelEx.
template <class... Parameters>
void launch(const TypedKernel<void(Parameters...)> &kernel, const LaunchConfig &config,
            const StreamRef &stream, std::type_identity_t<KernelArgument<Parameters>>... arguments) {
  void *pointers[] = {arguments.address()..., nullptr};
  detail::launch_with(kernel, config, stream, pointers);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
