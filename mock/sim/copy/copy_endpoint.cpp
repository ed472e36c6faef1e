// SPDX-License-Identifier: Apache-2.0
#include "copy/copy_endpoint.hpp"

#include <algorithm>

#include "api/batch.hpp"

namespace cushim::sim {

CopyEndpoint any_endpoint(Call &call, CUdeviceptr address, std::size_t size) {
  require(address != 0);
  Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr || !call.system.memory.is_of_device(address));
  if (allocation != nullptr) require(allocation->is_usable() && size <= allocation->end() - address);
  return {address, allocation};
}

CopyEndpoint device_endpoint(Call &call, CUdeviceptr address, std::size_t size) {
  const CopyEndpoint place = any_endpoint(call, address, size);
  require(place.allocation != nullptr);
  return place;
}

namespace {

// Returns the bandwidth from one device to another, in GB/s.
double between(const Device &source, const Device &target) {
  const double linked = source.peers[static_cast<std::size_t>(target.index)].bandwidth;
  return linked > 0 ? linked
                    : std::min(source.profile.costs.device_to_host, target.profile.costs.host_to_device);
}

}  // namespace

bool reaches(const Context &context, const Allocation &allocation) {
  if (allocation.kind != MemoryKind::device) return true;
  const bool is_opened = allocation.imported != nullptr;
  if (is_opened ? allocation.context == &context : allocation.device == context.device) return true;
  if (allocation.pool != nullptr) return allocation.pool->open_to.contains(context.device);
  return context.peers.contains(allocation.context);
}

Route route(const Context &context, const CopyEndpoint &to, const CopyEndpoint &from, std::size_t size) {
  const Costs &costs = context.device->profile.costs;
  const auto at = [&](double gigabytes_per_second) {
    return costs.copy_start + static_cast<Time>(static_cast<double>(size) / gigabytes_per_second);
  };
  Device *const source = from.device();
  Device *const target = to.device();
  if (source != nullptr && target != nullptr)
    return {&source->processors, at(source == target ? costs.device_to_device : between(*source, *target))};
  if (target != nullptr)
    return {&target->to_device, at(from.is_pageable() ? costs.pageable_to_device : costs.host_to_device)};
  if (source != nullptr)
    return {&source->to_host, at(to.is_pageable() ? costs.device_to_pageable : costs.device_to_host)};
  return {nullptr, at(costs.host_to_device)};
}

Operation copy_operation(Call &call, const Context &context, const CopyEndpoint &to, const CopyEndpoint &from,
                         std::size_t size, SourceRead read) {
  for (const CopyEndpoint &place : {to, from})
    if (place.allocation != nullptr && place.allocation->pool != nullptr)
      require(reaches(context, *place.allocation));
  Memory &memory = call.system.memory;
  const auto [resource, cost] = route(context, to, from, size);
  Operation operation{.cost = cost, .resource = resource};
  if (read == SourceRead::in_call) {
    const std::byte *const bytes = memory.bytes(from.address, size);
    operation.run = [&memory, to = to.address,
                     staged = std::vector<std::byte>(bytes, bytes + size)](Move &move) {
      move = {memory.bytes(to, staged.size()), staged.data(), staged.size()};
    };
  } else {
    operation.run = [&memory, to = to.address, from = from.address, size](Move &move) {
      move = {memory.bytes(to, size), memory.bytes(from, size), size};
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
  const Work work = add(call, stream, std::move(operation), {to.allocation, from.allocation});
  for (Stream *other : others) other->tail = work;
  call.start(work);
  if (sync == Sync::waits || to.is_pageable()) call.wait(work);
}

}  // namespace cushim::sim
