// SPDX-License-Identifier: Apache-2.0
// How objects are made. For the files that define members of Objects.
#pragma once

#include <algorithm>

#include "objects.hpp"
#include "structures.hpp"
#include "support/handle_number.hpp"

namespace arguments {

using cushim::test::handle_of;
using cushim::test::number_of;

// The handle or address of each object while cases are only listed, without a driver. A multiple of 2 MiB, so
// that an offset can be added.
inline constexpr std::uint64_t kPlaceholder = 0x5a5a'0020'0000;

// Reserves addresses of which the first `size` bytes are accessible.
void *map_with_gap(std::size_t size);

template <class Handle, class Make, class Destroy>
Handle Objects::once(std::string_view name, Make make, Destroy destroy) {
  if (driver_ == nullptr) return handle_of<Handle>(kPlaceholder);
  const auto found = std::ranges::find(named_, name, &Named::name);
  if (found != named_.end()) return handle_of<Handle>(found->handle);
  Handle handle{};
  check(make(&handle), name);
  named_.push_back({std::string(name), number_of(handle), [destroy, handle] { destroy(handle); }});
  return handle;
}

template <class Add>
CUgraphNode Objects::node(std::string_view name, Add add) {
  return once<CUgraphNode>(name, add, [](CUgraphNode) {});  // destroyed with the graph
}

template <class Parameters, class Add>
CUgraphNode Objects::node_with(std::string_view name, Parameters (*parameters)(Objects &),
                               Add CushimDriver::*add) {
  return node(name, [=, this](CUgraphNode *made) {
    const Parameters with = parameters(*this);
    return (driver_->*add)(made, graph(), nullptr, 0, &with);
  });
}

}  // namespace arguments
