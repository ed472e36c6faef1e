// SPDX-License-Identifier: Apache-2.0
// Conditional nodes whose kernels are C functions (cushim/sim/kernels.h).
#include "graph_calls.hpp"
#include "support/ptx_header.hpp"
#include "support/structures.hpp"

#if CUDA_VERSION >= 13000

namespace cushim::sim {
namespace {

const char *const kPtx = CUSHIM_PTX_HEADER R"(
.visible .entry count_down(.param .u64 handle, .param .u64 counter) { ret; }
)";

struct Loop {
  Loop() {
    CUcontext context = nullptr;
    need(driver().cuCtxGetCurrent(&context));
    need(driver().cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams parameters = test::conditional_node(handle, CU_GRAPH_COND_TYPE_WHILE, 1, context);
    CUgraphNode node = nullptr;
    need(driver().cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters));
    body = parameters.conditional.phGraph_out[0];
  }
  void add_kernel(CUgraphConditionalHandle condition, CUdeviceptr counter) const {
    CUmodule module = nullptr;
    need(driver().cuModuleLoadData(&module, kPtx));
    void *arguments[] = {&condition, &counter};
    add_kernel_node(body, module, "count_down", arguments);
  }

  const CUgraph graph = make_graph();
  CUgraph body = nullptr;
  CUgraphConditionalHandle handle = 0;
};

TEST(ConditionalKernelsInC, Set_the_condition_of_a_loop) {
  const Running running({.kernels = CONDITION_KERNELS});
  const CUdeviceptr counter = running.memory();
  need(driver().cuMemsetD32(counter, 5, 1));
  const Loop loop;
  loop.add_kernel(loop.handle, counter);
  need(driver().cuGraphLaunch(instantiate(loop.graph), nullptr));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(word_at(counter), 0u);
}

TEST(ConditionalKernelsInC, Fail_with_a_handle_that_does_not_exist) {
  const Running running({.kernels = CONDITION_KERNELS, .report = [](const std::string &) {}});
  const CUdeviceptr counter = running.memory();
  const Loop loop;
  loop.add_kernel(loop.handle + 1, counter);
  need(driver().cuGraphLaunch(instantiate(loop.graph), nullptr));
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
}  // namespace cushim::sim

#endif
