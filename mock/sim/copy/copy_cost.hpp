// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "copy/copy_endpoint.hpp"

namespace cushim::sim {

// The engine that performs a copy, and the time it takes.
struct Route {
  Resource *resource;
  Time cost;
};
Route route(const Context &context, const CopyEndpoint &to, const CopyEndpoint &from, std::size_t size);

}  // namespace cushim::sim
