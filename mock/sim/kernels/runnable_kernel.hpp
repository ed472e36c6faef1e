// SPDX-License-Identifier: Apache-2.0
// The execution of a launch.
#pragma once

#include <cushim/detail/kernel_checks.hpp>
#include <cushim/detail/launch_watch.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/registered.hpp"
#include "kernels/textures.hpp"

namespace cushim::sim {

// Virtual nanoseconds of a launch and its kernel, unless the kernel's time is modelled.
inline constexpr std::int64_t launch_time = 2'000;

// A kernel as its launch finds it. Later calls may unload its module or register another function.
struct RunnableKernel {
  std::shared_ptr<const RegisteredKernel> registered;
  std::shared_ptr<const Code> code;
  const ptx::Function *entry;
  ptx::Program program;
  BoundReferences references;
  ptx::Program sampled{};                          // with costs; empty: the time is not modelled
  std::shared_ptr<mock::KernelRecord> record{};    // of the memory that the PTX accesses; null: not wanted
  std::shared_ptr<mock::KernelDefects> defects{};  // of the PTX; null: it is not checked

  // Runs the kernel. The engine has released the machine's lock, so that other threads can make calls
  // meanwhile.
  KernelEnd run(System &system, Context &context, const ptx::LaunchShape &shape, bool is_cooperative,
                const std::vector<std::byte> &parameters) const;

 private:
  KernelEnd run_ptx(System &system, Context &context, ptx::LaunchShape shape, bool is_cooperative,
                    const std::vector<std::byte> &parameters) const;
};

}  // namespace cushim::sim
