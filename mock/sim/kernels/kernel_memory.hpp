// SPDX-License-Identifier: Apache-2.0
// The memory of a machine that a kernel can access.
#pragma once

#include <cushim/detail/launch_watch.hpp>
#include <cushim/ptx/execute.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "kernels/textures.hpp"
#include "machine/system.hpp"

namespace cushim::sim {

// The memory that kernels of a context can access: its device's memory, peer memory with access, and pinned,
// registered and managed host memory. Takes the machine's lock, which the thread that runs the kernel must
// not hold. `references` must live as long as the object. Notes accesses in `record` if that is not null.
class KernelMemory final : public ptx::Memory {
 public:
  KernelMemory(System &system, Context &context, const BoundReferences &references,
               mock::KernelRecord *record = nullptr)
      : system_(system), context_(context), references_(references), record_(record) {}

  ptx::Resolved resolve(std::uint64_t address, std::uint64_t bytes, ptx::Access access) override;
  std::vector<std::byte *> multicast(std::uint64_t address, std::uint64_t bytes, ptx::Access access) override;
  std::uint64_t allocate(std::uint64_t bytes) override;
  void release(std::uint64_t address) override;
  const ptx::Texture *texture(std::uint64_t handle) override;
  const ptx::Surface *surface(std::uint64_t handle) override;
  bool set_conditional(std::uint64_t handle, std::uint32_t value) override;
  bool is_unwritten(std::uint64_t address, std::uint64_t bytes) override;
  void note_written(std::uint64_t address, std::uint64_t bytes) override;

 private:
  const TextureSource *texture_source(std::uint64_t handle) const;
  const CUDA_RESOURCE_DESC *surface_source(std::uint64_t handle) const;

  System &system_;
  Context &context_;
  const BoundReferences &references_;
  mock::KernelRecord *const record_;
  // Memory bound to multicast objects, which stays mapped until the end of the launch.
  std::set<std::shared_ptr<BoundMemory>> multicast_;
  // Those that the launch has asked for.
  std::map<std::uint64_t, std::optional<ptx::Texture>> textures_;
  std::map<std::uint64_t, std::optional<ptx::Surface>> surfaces_;
};

// Returns the memory from an address to the end of its allocation, for a registered kernel of a context; an
// empty range at the end of an allocation. Returns nothing if kernels of the context cannot access it.
// Untouched bytes of the whole allocation are poisoned. Takes the machine's lock.
std::optional<std::span<std::byte>> reachable_memory(System &system, Context &context, CUdeviceptr address);

}  // namespace cushim::sim
