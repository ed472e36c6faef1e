// SPDX-License-Identifier: Apache-2.0
// Calls about graphs that the tests expect to succeed.
#pragma once

#include <cushim/exact.hpp>

#include "support/kernels.hpp"
#include "support/machine_fixture.hpp"
#include "support/structures.hpp"

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

// Adds a node that launches one thread of a module's kernel.
inline CUgraphNode add_kernel_node(CUgraph graph, CUmodule module, const char *kernel, void **arguments,
                                   const std::vector<CUgraphNode> &after = {}) {
  const CUDA_KERNEL_NODE_PARAMS parameters =
      test::node_of_one_thread(test::kernel_of(module, kernel), arguments);
  CUgraphNode made = nullptr;
  need(driver().cuGraphAddKernelNode(&made, graph, after.data(), after.size(), &parameters));
  return made;
}

}  // namespace cushim::sim
