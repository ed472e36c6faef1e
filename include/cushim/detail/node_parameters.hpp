// SPDX-License-Identifier: Apache-2.0
// The driver's descriptions of kernels, copies and memsets in graphs.
#pragma once

#include <cushim/copy.hpp>
#include <cushim/launch.hpp>

#include <bit>
#include <optional>

namespace cushim {
inline namespace v1 {
namespace detail {

// ---- Kernels -----------------------------------------------------------------------------------

// A kernel of a node. The driver takes functions and kernels of libraries in two fields.
struct NodeKernel {
  NodeKernel(const Function &function) noexcept : target(function) {}
#if CUDA_VERSION >= 12000
  NodeKernel(const Kernel &kernel) noexcept : target(kernel), is_of_library(true) {}
#endif
  template <class Signature>
  NodeKernel(const TypedKernel<Signature> &kernel) noexcept
      : target(kernel), is_of_library(kernel.is_of_library()) {}

  LaunchTarget target;
  bool is_of_library = false;
};

// A kernel whose parameters the compiler does not know. A LaunchTarget does not tell its kind.
template <class T>
concept UntypedNodeKernel = UntypedKernel<T> && !std::is_same_v<T, LaunchTarget>;

// Describes a launch of a kernel. arguments has the address of each argument.
inline CUDA_KERNEL_NODE_PARAMS kernel_parameters(const NodeKernel &kernel, Dim3 grid, Dim3 block,
                                                 unsigned shared, void **arguments) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
#if CUDA_VERSION >= 12000
  if (kernel.is_of_library)
    parameters.kern = reinterpret_cast<CUkernel>(kernel.target.handle());
  else
#endif
    parameters.func = kernel.target.handle();
  parameters.gridDimX = grid.x;
  parameters.gridDimY = grid.y;
  parameters.gridDimZ = grid.z;
  parameters.blockDimX = block.x;
  parameters.blockDimY = block.y;
  parameters.blockDimZ = block.z;
  parameters.sharedMemBytes = shared;
  parameters.kernelParams = arguments;
  return parameters;
}

// ---- Copies ------------------------------------------------------------------------------------

// Fails to compile with one message if From cannot be copied to To by a node; else returns true.
template <class To, class From>
constexpr bool check_copy_node() {
  if constexpr (check_copyable<To, From>()) {
    constexpr bool page_locked = !is_pageable<To> && !is_pageable<From>;
    static_assert(page_locked,
                  "cushim: a copy node takes page-locked memory: PinnedBuffer, RegisteredBuffer, PinnedSpan");
    return page_locked;
  }
  return false;
}

// Returns a range as one row.
template <class T>
DeviceSpan2D<T> as_rows(DeviceSpan<T> span) {
  return {span.data(), span.size(), 1, span.size_bytes()};
}
template <class T>
PinnedSpan2D<T> as_rows(PinnedSpan<T> span) {
  return {span.data(), span.size(), 1, span.size_bytes()};
}

// Describes a copy between views that check_copy_node() accepts.
template <class To, class From>
CUDA_MEMCPY3D copy_parameters(const To &to, const From &from, const char *routine, Where where) {
  if constexpr (Described<To>::dimensions == 1) {
    return copy_parameters(as_rows(to), as_rows(from), routine, where);
  } else if constexpr (Described<To>::dimensions == 2) {
    auto parameters = describe<CUDA_MEMCPY3D>(to, from, routine, where);
    parameters.Depth = 1;
    return parameters;
  } else {
    return describe_slices(to, from, routine, where);
  }
}

// ---- Memsets -----------------------------------------------------------------------------------

// Fails to compile with one message if a node cannot set To; else returns true.
template <class To>
constexpr bool check_memset_node() {
  if constexpr (check_fillable<To>()) {
    constexpr bool plain = Describe<To>::dimensions <= 2;
    static_assert(plain, "cushim: a memset node sets a range or rows, not slices");
    return plain;
  }
  return false;
}

// Describes a memset of a view that check_memset_node() accepts. A node sets elements of at most 4 bytes:
// throws INVALID_VALUE for an element of 8 bytes with different halves. Driver calls: for page-locked memory
// cuMemHostGetDevicePointer.
template <class To, class T>
CUDA_MEMSET_NODE_PARAMS memset_parameters(const To &to, const T &value, Driver &driver, const char *routine,
                                          Where where) {
  if constexpr (!is_on_device<To>) {
    return memset_parameters(pinned_device_span(to, driver, where), value, driver, routine, where);
  } else if constexpr (Described<To>::dimensions == 1) {
    return memset_parameters(as_rows(to), value, driver, routine, where);
  } else {
    CUDA_MEMSET_NODE_PARAMS parameters{};
    parameters.dst = to.data.address();
    parameters.pitch = to.pitch;
    parameters.height = to.height;
    if constexpr (sizeof(T) == 8) {
      const auto halves = std::bit_cast<std::array<unsigned, 2>>(value);
      if (halves[0] != halves[1])
        fail(CUDA_ERROR_INVALID_VALUE, routine, where, Through{&driver},
             Remark{"a node sets elements of 4 bytes, and the halves of this value of 8 bytes differ"});
      parameters.value = halves[0];
      parameters.elementSize = 4;
      parameters.width = 2 * to.width;
    } else {
      parameters.value = bits_of(value);
      parameters.elementSize = sizeof(T);
      parameters.width = to.width;
    }
    return parameters;
  }
}

// ---- Contexts ----------------------------------------------------------------------------------

// Returns the context that a node runs in: the given one, or the current one. Throws INVALID_HANDLE for an
// empty reference. Driver calls: none for a given context, else cuCtxGetCurrent.
inline CUcontext context_of_node(const std::optional<ContextRef> &context, Driver &driver,
                                 const char *routine, Where where) {
  if (!context) return ContextRef::current(driver, where).handle();
  require(*context, routine, where);
  return context->handle();
}

}  // namespace detail
}  // namespace v1
}  // namespace cushim
