// SPDX-License-Identifier: Apache-2.0
#include "copy/copy_cost.hpp"

#include <algorithm>

namespace cushim::sim {

namespace {

// Returns the bandwidth from one device to another, in GB/s.
double between(const Device &source, const Device &target) {
  const double linked = source.peers[static_cast<std::size_t>(target.index)].bandwidth;
  return linked > 0 ? linked
                    : std::min(source.profile.costs.device_to_host, target.profile.costs.host_to_device);
}

}  // namespace

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

}  // namespace cushim::sim
