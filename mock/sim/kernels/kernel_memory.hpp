// SPDX-License-Identifier: Apache-2.0
// The memory of a machine that a kernel can access.
#pragma once

#include <cushim/ptx/execute.hpp>

#include <mutex>

#include "machine/system.hpp"

namespace cushim::sim {

// The memory that kernels of a context can access: its device's memory, peer memory with access, and pinned,
// registered and managed host memory. Takes the machine's lock, which the thread that runs the kernel must
// not hold.
class KernelMemory final : public ptx::Memory {
 public:
  KernelMemory(System &system, Context &context) : system_(system), context_(context) {}

  ptx::Resolved resolve(std::uint64_t address, std::uint64_t bytes, ptx::Access access) override;
  std::uint64_t allocate(std::uint64_t bytes) override;
  void release(std::uint64_t address) override;

 private:
  System &system_;
  Context &context_;
};

}  // namespace cushim::sim
