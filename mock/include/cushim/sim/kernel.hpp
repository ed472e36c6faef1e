// SPDX-License-Identifier: Apache-2.0
// Kernels written in C++ for the simulated driver. A launch of a kernel with a registered name calls the
// function instead of executing PTX:
//
//   machine.kernel("saxpy", [](const sim::Launch &launch, int n, float a, const float *x, float *y) {
//     for (int i = 0; i < n; ++i) y[i] += a * x[i];
//   });
//
// The first parameter decides how often a launch calls the function: once (const Launch &), once a block
// (KernelBlock &) or once a thread (const KernelThread &). The others are the kernel's parameters, by value:
// trivially copyable types, and pointers, which arrive as pointers that the host can access. Blocks run one
// after the other, in order of their index, x fastest; so do threads. Launches of several streams may run at
// once.
#pragma once

#include <cuda.h>
#include <cushim/mock/parameter_use.hpp>
#include <cushim/ptx/execute.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace cushim::sim {

using mock::ParameterUse;
using ptx::Dim3;

// Thrown in a registered kernel, ends the launch as a fault of a kernel does: the context is lost, and its
// calls return `code`. Other exceptions are CUDA_ERROR_LAUNCH_FAILED (719). The machine reports the text.
struct KernelFault : std::runtime_error {
  KernelFault(CUresult code, const std::string &what) : std::runtime_error(what), code(code) {}
  CUresult code;
};

// A launch while its kernel runs. Makes no driver calls.
class Launch {
 public:
  Launch(std::string name, const ptx::LaunchShape &shape)
      : name(std::move(name)),
        grid(shape.grid),
        block(shape.block),
        dynamic_shared(shape.dynamic_shared_bytes) {}
  virtual ~Launch() = default;
  Launch(const Launch &) = delete;
  Launch &operator=(const Launch &) = delete;

  const std::string name;  // of the kernel
  const Dim3 grid, block;
  const unsigned dynamic_shared;  // bytes in each block

  // Returns the memory from a device address to the end of its allocation, for the host. It stays valid
  // during the launch. Throws KernelFault with CUDA_ERROR_ILLEGAL_ADDRESS (700) if the kernel may not access
  // the address. The end of an allocation is an empty range.
  virtual std::span<std::byte> memory(CUdeviceptr address) const = 0;

  // Sets the value of a conditional handle (CUgraphConditionalHandle), as cudaGraphSetConditional() does in
  // device code. Throws KernelFault with CUDA_ERROR_ILLEGAL_ADDRESS (700) if the kernel's context has no such
  // handle.
  virtual void set_conditional(cuuint64_t handle, unsigned value) const = 0;

  // Returns `count` objects at a device address, for kernels whose parameters contain addresses as numbers.
  // Throws KernelFault as memory(), also if the allocation ends before the last object.
  template <class T>
  std::span<T> objects(CUdeviceptr address, std::size_t count) const {
    const std::span<std::byte> bytes = memory(address);
    if (bytes.size() / sizeof(T) < count)
      throw KernelFault(CUDA_ERROR_ILLEGAL_ADDRESS, "the allocation is too small for the objects");
    return {reinterpret_cast<T *>(bytes.data()), count};
  }
};

// A block while it runs. Static shared memory is a local variable of the function.
class KernelBlock {
 public:
  KernelBlock(const Launch &launch, Dim3 index, std::span<std::byte> shared)
      : launch(launch), index(index), shared_(shared) {}

  const Launch &launch;
  const Dim3 index;  // blockIdx

  // Returns the block's dynamic shared memory. Its content is undefined at the start of the block.
  template <class T = std::byte>
  std::span<T> shared() const {
    return {reinterpret_cast<T *>(shared_.data()), shared_.size() / sizeof(T)};
  }

  // Calls `body` with the index of each thread (threadIdx). The end of the loop is a barrier (__syncthreads):
  // a second loop sees what all threads of the first have written.
  template <class Body>
  void for_each_thread(Body &&body) const {
    Dim3 thread;
    for (thread.z = 0; thread.z < launch.block.z; ++thread.z)
      for (thread.y = 0; thread.y < launch.block.y; ++thread.y)
        for (thread.x = 0; thread.x < launch.block.x; ++thread.x) body(std::as_const(thread));
  }

 private:
  std::span<std::byte> shared_;
};

// A thread while it runs; for kernels without shared memory and barriers.
struct KernelThread {
  const Launch &launch;
  Dim3 block;   // blockIdx
  Dim3 thread;  // threadIdx

  // blockIdx.x * blockDim.x + threadIdx.x
  std::uint64_t x() const { return std::uint64_t{block.x} * launch.block.x + thread.x; }
};

// A kernel in C++, with the sizes of its parameters.
struct RegisteredKernel {
  std::vector<std::size_t> sizes;       // of the parameters, in bytes
  std::vector<std::size_t> alignments;  // of the parameters
  std::function<void(const Launch &, const void *const *parameters)> run;
  std::vector<ParameterUse> uses{};  // of the parameters, for check::Hazards; empty: unknown
};

namespace detail {

// Returns `read` for a pointer to const, `write` for another pointer.
template <class T>
constexpr ParameterUse use_of() {
  if constexpr (!std::is_pointer_v<T>) return ParameterUse::unknown;
  return std::is_const_v<std::remove_pointer_t<T>> ? ParameterUse::read : ParameterUse::write;
}

template <class T>
T read_parameter(const Launch &launch, const void *from) {
  static_assert(std::is_trivially_copyable_v<T>, "kernel parameters are copied byte by byte");
  if constexpr (std::is_pointer_v<T>) {
    static_assert(!std::is_function_v<std::remove_pointer_t<T>>,
                  "kernels have no pointers to host functions");
    CUdeviceptr address = 0;
    std::memcpy(&address, from, sizeof address);
    return address != 0 ? reinterpret_cast<T>(launch.memory(address).data()) : nullptr;
  } else {
    std::remove_cv_t<T> value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
}

// Calls the function for all blocks of a launch.
template <class Body>
void for_each_block(const Launch &launch, Body &&body) {
  std::vector<std::byte> shared(launch.dynamic_shared);
  Dim3 index;
  for (index.z = 0; index.z < launch.grid.z; ++index.z)
    for (index.y = 0; index.y < launch.grid.y; ++index.y)
      for (index.x = 0; index.x < launch.grid.x; ++index.x) {
        KernelBlock block(launch, index, shared);
        body(block);
      }
}

template <class Function, class... Parameters>
void run_kernel(Function &function, std::type_identity<const Launch &>, const Launch &launch,
                const std::tuple<Parameters...> &parameters) {
  std::apply([&](const auto &...values) { function(launch, values...); }, parameters);
}

template <class Function, class... Parameters>
void run_kernel(Function &function, std::type_identity<KernelBlock &>, const Launch &launch,
                const std::tuple<Parameters...> &parameters) {
  for_each_block(launch, [&](KernelBlock &block) {
    std::apply([&](const auto &...values) { function(block, values...); }, parameters);
  });
}

template <class Function, class... Parameters>
void run_kernel(Function &function, std::type_identity<const KernelThread &>, const Launch &launch,
                const std::tuple<Parameters...> &parameters) {
  for_each_block(launch, [&](const KernelBlock &block) {
    block.for_each_thread([&](const Dim3 &index) {
      const KernelThread thread{launch, block.index, index};
      std::apply([&](const auto &...values) { function(thread, values...); }, parameters);
    });
  });
}

template <class Function, class First, class... Parameters>
RegisteredKernel registered_kernel(Function function, std::type_identity<void(First, Parameters...)>) {
  return {{sizeof(std::remove_cvref_t<Parameters>)...},
          {alignof(std::remove_cvref_t<Parameters>)...},
          [function = std::move(function)](const Launch &launch, const void *const *parameters) mutable {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
              const std::tuple<std::remove_cvref_t<Parameters>...> values{
                  read_parameter<std::remove_cvref_t<Parameters>>(launch, parameters[I])...};
              run_kernel(function, std::type_identity<First>(), launch, values);
            }
            (std::index_sequence_for<Parameters...>());
          },
          {use_of<std::remove_cvref_t<Parameters>>()...}};
}

template <class Result, class... Parameters>
std::type_identity<void(Parameters...)> signature_of(Result (*)(Parameters...));
template <class Result, class Class, class... Parameters>
std::type_identity<void(Parameters...)> signature_of(Result (Class::*)(Parameters...));
template <class Result, class Class, class... Parameters>
std::type_identity<void(Parameters...)> signature_of(Result (Class::*)(Parameters...) const);

}  // namespace detail

// Makes a kernel of a function or of an object with one operator(). See the start of this file for its
// parameters.
template <class Function>
RegisteredKernel registered_kernel(Function function) {
  if constexpr (std::is_pointer_v<Function>)
    return detail::registered_kernel(function, decltype(detail::signature_of(function))());
  else
    return detail::registered_kernel(std::move(function),
                                     decltype(detail::signature_of(&Function::operator()))());
}

}  // namespace cushim::sim
