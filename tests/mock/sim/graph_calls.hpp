// SPDX-License-Identifier: Apache-2.0
// Calls about graphs that the tests expect to succeed.
#pragma once

#include <cushim/exact.hpp>

#include "support/machine_fixture.hpp"

namespace cushim::sim {

inline CUgraph make_graph() {
  CUgraph made = nullptr;
  need(driver().cuGraphCreate(&made, 0));
  return made;
}

inline CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
  CUgraphExec made = nullptr;
  need(cushim::exact::cuGraphInstantiateWithFlags_v11040(driver())(&made, graph, flags));
  return made;
}

}  // namespace cushim::sim
