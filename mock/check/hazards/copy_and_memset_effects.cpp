// SPDX-License-Identifier: Apache-2.0
#include "hazards/copy_and_memset_effects.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "hazards/copy_extents.hpp"

namespace cushim::check {
namespace {

using Kind = Access::Kind;
using Use = HazardModel::Use;
using Host = HazardModel::Host;
using mock::EntryTraits;
using mock::MemoryUse;

std::size_t index_of(signed char argument) { return static_cast<unsigned char>(argument); }

// (address, pitch, value, width, height)
Extent rows_of(const CallView &call, const MemoryUse &memory) {
  const auto first = index_of(memory.argument);
  const std::uint64_t width = call.argument(first + 3) * memory.element, pitch = call.argument(first + 1);
  return {.begin = call.argument(first),
          .width = width,
          .rows = call.argument(first + 4),
          .pitch = pitch != 0 ? pitch : width};
}

Use access_of(const CallView &call, const MemoryUse &memory, Kind kind) {
  const auto address = index_of(memory.argument);
  if (memory.space == MemoryUse::Space::rows) return {.extent = rows_of(call, memory), .kind = kind};
  const std::uint64_t size = call.argument(index_of(memory.size)) * memory.element;
  if (memory.space == MemoryUse::Space::array)
    return use_of_array(call.handle<CUarray>(address), call.argument(address + 1), size, kind);
  return {.extent = Extent::of(call.argument(address), size),
          .kind = kind,
          .is_host = memory.space != MemoryUse::Space::device};
}

// The accesses of a call, the reads first.
struct Uses {
  std::array<Use, 2> all{};
  std::size_t count = 0;

  operator std::span<const Use>() const { return std::span(all).first(count); }
};

template <class Copy>
Uses both_ends(const CallView &call, const MemoryUse &memory) {
  const auto *const copy = call.pointed<Copy>(index_of(memory.argument));
  if (copy == nullptr) return {};  // the driver rejects it
  return {{use_of(*copy, false), use_of(*copy, true)}, 2};
}

Uses uses_of(const CallView &call, const EntryTraits &traits) {
  const MemoryUse &written = traits.memory[0], &read = traits.memory[1];
  switch (written.space) {
    case MemoryUse::Space::described_2d:
      return both_ends<CUDA_MEMCPY2D>(call, written);
    case MemoryUse::Space::described_3d:
      return both_ends<CUDA_MEMCPY3D>(call, written);
    case MemoryUse::Space::described_3d_peer:
      return both_ends<CUDA_MEMCPY3D_PEER>(call, written);
    default:
      break;
  }
  if (read.access != MemoryUse::Access::reads) return {{access_of(call, written, Kind::write)}, 1};
  return {{access_of(call, read, Kind::read), access_of(call, written, Kind::write)}, 2};
}

// For calls without a stream: the host does not wait for copies within and between devices, nor for memsets
// there.
Host host_for(const CallView &call, std::span<const Use> uses) {
  const bool is_on_device = std::ranges::all_of(
      uses, [&](const Use &use) { return use.array != nullptr || call.model.is_device(use.extent.begin); });
  return is_on_device ? Host::goes_on : Host::waits;
}

void copy_after_all_work(CallView &call, ContextKey one, ContextKey other, std::span<const Use> uses) {
  const StreamRef stream = call.null_stream();
  for (const ContextKey context : {one, other, stream.current})
    call.model.wait(stream, call.model.work_of(context));
  call.work(stream, uses, Host::waits);
}

}  // namespace

bool has_accesses(const EntryTraits &traits) noexcept {
  return traits.memory[0].has_extent() &&
         (traits.queue == EntryTraits::Queue::stream || traits.queue == EntryTraits::Queue::null_stream);
}

void access_memory(CallView &call) {
  const EntryTraits &traits = call.traits();
  const Uses uses = uses_of(call, traits);
  if (uses.count == 0) return;
  if (traits.queue == EntryTraits::Queue::stream)
    call.work(call.stream(mock::position(traits.stream, call.count())), uses, Host::goes_on);
  else
    call.work(call.null_stream(), uses, host_for(call, uses));
}

void copy_between_contexts(CallView &call) {
  copy_after_all_work(call, call.handle<ContextKey>(1), call.handle<ContextKey>(3),
                      uses_of(call, call.traits()));
}

void copy_3d_between_contexts(CallView &call) {
  const CUDA_MEMCPY3D_PEER &copy = *call.pointed<CUDA_MEMCPY3D_PEER>(0);
  copy_after_all_work(call, copy.srcContext, copy.dstContext, uses_of(call, call.traits()));
}

}  // namespace cushim::check
