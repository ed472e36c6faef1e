// SPDX-License-Identifier: Apache-2.0
#include "copy/copy_endpoint.hpp"

#include <cstring>

#include "copy/copy_cost.hpp"

namespace cushim::sim {

namespace {

[[noreturn]] void report_and_refuse(const Call &call, const char *why) {
  call.system.engine.report(std::string(call.name) + ": " + why);
  fail(CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace

void refuse_multicast(const Call &call) {
  report_and_refuse(call, "the documentation does not define this access to a multicast object");
}

namespace {

void check_multicast(Call &call, CUdeviceptr address, std::size_t size, Access access) {
  if (access == Access::read) refuse_multicast(call);
  if (call.system.memory.multicast(address, size).empty())
    report_and_refuse(call, "bytes of a multicast object are not bound to memory of each device");
}

// Returns whether a range is mapped without gaps, and each of its bytes is accessible to the current
// context's device, or to the location of its physical memory (a device or the host), which can take part in
// the copy.
bool is_accessible(Call &call, Allocation &first, CUdeviceptr address, std::size_t size, Access access) {
  const Context *const current = call.current();
  const auto has_access = [&](const Allocation &part) {
    const auto is_granted = [&](const Device *location) {
      return part.mapping->access_of(location) != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    };
    if (part.is_multicast()) check_multicast(call, address, size, access);
    return part.is_usable() &&
           (is_granted(part.device) || (current != nullptr && is_granted(current->device)));
  };
  bool all_have_access = true;
  const bool is_mapped = call.system.memory.for_each_in(first, address, size, [&](const Allocation &part) {
    all_have_access = all_have_access && has_access(part);
  });
  return is_mapped && all_have_access;
}

}  // namespace

CopyEndpoint any_endpoint(Call &call, CUdeviceptr address, std::size_t size, Access access) {
  require(address != 0);
  Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr || !call.system.memory.is_of_device(address));
  if (allocation == nullptr) return {address, allocation, size};
  require(allocation->is_usable());
  require(access == Access::read || !allocation->is_read_only());
  if (allocation->mapping == nullptr)
    require(size <= allocation->end() - address);
  else
    require(is_accessible(call, *allocation, address, size, access));
  return {address, allocation, size};
}

CopyEndpoint device_endpoint(Call &call, CUdeviceptr address, std::size_t size, Access access) {
  const CopyEndpoint place = any_endpoint(call, address, size, access);
  require(place.allocation != nullptr);
  return place;
}

namespace {

template <class Visit>
void for_each_allocation(Memory &memory, const CopyEndpoint &endpoint, Visit visit) {
  if (endpoint.allocation == nullptr) return;
  if (endpoint.allocation->mapping == nullptr)
    visit(*endpoint.allocation);
  else
    memory.for_each_in(*endpoint.allocation, endpoint.address, endpoint.size, visit);
}

}  // namespace

void require_writable(Memory &memory, const CopyEndpoint &endpoint) {
  for_each_allocation(memory, endpoint, [](const Allocation &part) {
    require(part.mapping == nullptr || part.mapping->access_of(part.device) != CU_MEM_ACCESS_FLAGS_PROT_READ);
  });
}

void reserve_users(Memory &memory, const CopyEndpoint &endpoint) {
  for_each_allocation(memory, endpoint, [](Allocation &part) { part.reserve_user(); });
}
void add_users(Memory &memory, const CopyEndpoint &endpoint, const Work &work) noexcept {
  for_each_allocation(memory, endpoint, [&](Allocation &part) { part.add_user(work); });
}

bool reaches(const Context &context, const Allocation &allocation) {
  if (allocation.mapping != nullptr)
    return !allocation.is_multicast() &&
           allocation.mapping->access_of(context.device) != CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (allocation.pool != nullptr) return allocation.pool->is_open_to(context.device);
  if (allocation.kind != MemoryKind::device) return true;
  const bool is_opened = allocation.imported != nullptr;
  if (is_opened ? allocation.context == &context : allocation.device == context.device) return true;
  return context.peers.contains(allocation.context);
}

namespace {

// Returns the action of a copy to all memory that is bound to a multicast object.
Action copy_to_multicast(Memory &memory, CUdeviceptr to, CUdeviceptr from, std::size_t size,
                         SourceRead read) {
  std::vector<std::byte> staged;
  if (read == SourceRead::in_call) {
    const std::byte *const bytes = memory.bytes_to_read(from, size);
    staged.assign(bytes, bytes + size);
  }
  return [&memory, to, from, size, staged = std::move(staged)] {
    const std::byte *const bytes = staged.empty() ? memory.bytes_to_read(from, size) : staged.data();
    for (const Multicast::Copy &copy : memory.multicast(to, size))
      std::memmove(copy.bytes, bytes + copy.at, copy.size);
  };
}

}  // namespace

Operation copy_operation(Call &call, const Context &context, const CopyEndpoint &to, const CopyEndpoint &from,
                         std::size_t size, SourceRead read) {
  for (const CopyEndpoint &place : {to, from})
    if (place.allocation != nullptr && place.allocation->pool != nullptr)
      require(place.allocation->pool->kind == MemoryKind::pinned || reaches(context, *place.allocation));
  Memory &memory = call.system.memory;
  const auto [resource, cost] = route(context, to, from, size);
  Operation operation{.cost = cost, .resource = resource};
  if (to.is_multicast()) {
    operation.run = copy_to_multicast(memory, to.address, from.address, size, read);
  } else if (read == SourceRead::in_call) {
    const std::byte *const bytes = memory.bytes_to_read(from.address, size);
    operation.run = [&memory, to = to.address,
                     staged = std::vector<std::byte>(bytes, bytes + size)](Move &move) {
      move = {memory.bytes(to, staged.size()), staged.data(), staged.size()};
    };
  } else {
    operation.run = [&memory, to = to.address, from = from.address, size](Move &move) {
      move = {memory.bytes(to, size), memory.bytes_to_read(from, size), size};
    };
  }
  return operation;
}

void submit_copy(Call &call, Stream &stream, Operation &&operation, const CopyEndpoint &to,
                 const CopyEndpoint &from, Sync sync) {
  std::vector<Stream *> others;
  for (const CopyEndpoint *place : {&to, &from}) {
    Context *const owner = place->is_device() ? place->allocation->context : nullptr;
    if (!stream.is_legacy || owner == nullptr || owner == stream.context) continue;
    Stream &other = call.legacy(*owner);
    for (const Work &work : call.works_of(other)) operation.come_after(work);
    others.push_back(&other);
  }
  require_writable(call.system.memory, to);
  for (const CopyEndpoint *place : {&to, &from}) reserve_users(call.system.memory, *place);
  const Work work = call.add(stream, std::move(operation));
  for (Stream *other : others) other->tail = work;
  for (const CopyEndpoint *place : {&to, &from}) add_users(call.system.memory, *place, work);
  call.start(work);
  if (sync == Sync::waits || to.is_pageable()) call.wait(work);
}

}  // namespace cushim::sim
