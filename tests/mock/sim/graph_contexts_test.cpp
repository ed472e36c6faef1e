// SPDX-License-Identifier: Apache-2.0
// The contexts of graph nodes: rules that an H200 (driver 580) showed in updates and instantiations.
#include "graph_calls.hpp"
#include "support/empty_kernel.hpp"
#include "support/structures.hpp"

#if CUDA_VERSION >= 12000

namespace cushim::sim {
namespace {

struct GraphContexts : ::testing::Test {
  GraphContexts() : memory(running.memory()) {
    need(driver().cuCtxGetCurrent(&contexts[0]));
    need(exact::cuCtxCreate_v3020(driver())(&contexts[1], 0, 0));
    for (int i = 0; i < 2; ++i) {
      need(driver().cuCtxSetCurrent(contexts[i]));
      kernels[i] = test::empty_kernel();
    }
    operation = test::write_of_word(memory, 0);
  }
  CUDA_KERNEL_NODE_PARAMS launch_in(int context) const {
    return test::node_of_one_thread(kernels[context], nullptr);
  }
  CUDA_BATCH_MEM_OP_NODE_PARAMS write_in(int context) { return {contexts[context], 1, &operation, 0}; }
  CUgraphNode add_kernel(CUgraph graph, int context) const {
    const CUDA_KERNEL_NODE_PARAMS parameters = launch_in(context);
    CUgraphNode made = nullptr;
    need(driver().cuGraphAddKernelNode(&made, graph, nullptr, 0, &parameters));
    return made;
  }
  CUgraphNode add_write(CUgraph graph, int context) {
    const CUDA_BATCH_MEM_OP_NODE_PARAMS parameters = write_in(context);
    CUgraphNode made = nullptr;
    need(driver().cuGraphAddBatchMemOpNode(&made, graph, nullptr, 0, &parameters));
    return made;
  }
  void add_set(CUgraph graph, int context) const {
    const CUDA_MEMSET_NODE_PARAMS parameters = test::memset_node(memory, 0, 1, 4);
    CUgraphNode made = nullptr;
    need(driver().cuGraphAddMemsetNode(&made, graph, nullptr, 0, &parameters, contexts[context]));
  }
  static CUgraphExecUpdateResult update(CUgraphExec executable, CUgraph graph) {
    CUgraphExecUpdateResultInfo info{};
    driver().cuGraphExecUpdate(executable, graph, &info);
    return info.result;
  }
  // Instantiates a graph for launches by devices.
  static CUgraphInstantiateResult instantiate_for_devices(CUgraph graph) {
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    parameters.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    CUgraphExec made = nullptr;
    driver().cuGraphInstantiateWithParams(&made, graph, &parameters);
    return parameters.result_out;
  }

  Running running;
  CUdeviceptr memory;
  CUcontext contexts[2] = {};
  // Expects that neither an update nor set_parameters() changes the context of a node of an executable graph.
  // add() adds a node whose parameters parameters_in() returns for a context.
  template <class Add, class ParametersIn, class SetParameters>
  void expect_one_context(Add add, ParametersIn parameters_in, SetParameters set_parameters,
                          CUgraphExecUpdateResult of_update) {
    const CUgraph graph = make_graph(), other = make_graph();
    const CUgraphNode node = (this->*add)(graph, 0);
    (this->*add)(other, 1);
    const CUgraphExec executable = instantiate(graph);
    EXPECT_EQ(update(executable, other), of_update);
    const auto first = (this->*parameters_in)(0), second = (this->*parameters_in)(1);
    EXPECT_EQ(set_parameters(executable, node, &second), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set_parameters(executable, node, &first), CUDA_SUCCESS);
  }

  CUfunction kernels[2] = {};
  CUstreamBatchMemOpParams operation;
};

TEST_F(GraphContexts, Of_launches_by_devices_need_a_node_that_is_not_a_child_graph) {
  const CUgraph graph = make_graph(), child = make_graph();
  CUgraphNode node = nullptr;
  need(driver().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  EXPECT_EQ(instantiate_for_devices(graph), CUDA_GRAPH_INSTANTIATE_ERROR);
  add_kernel(child, 0);
  need(driver().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  EXPECT_EQ(instantiate_for_devices(graph), CUDA_GRAPH_INSTANTIATE_SUCCESS);
}

TEST_F(GraphContexts, Of_kernels_stay_the_same) {
  expect_one_context(&GraphContexts::add_kernel, &GraphContexts::launch_in,
                     driver().cuGraphExecKernelNodeSetParams,
                     CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE);
}

TEST_F(GraphContexts, Of_operations_on_memory_stay_the_same) {
  expect_one_context(&GraphContexts::add_write, &GraphContexts::write_in,
                     driver().cuGraphExecBatchMemOpNodeSetParams,
                     CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
}

TEST_F(GraphContexts, Are_one_in_a_graph_that_devices_launch) {
  const CUgraph graph = make_graph();
  add_set(graph, 1);  // counts as a node of the context of its memory
  EXPECT_EQ(instantiate_for_devices(graph), CUDA_GRAPH_INSTANTIATE_SUCCESS);
  add_kernel(graph, 0);
  EXPECT_EQ(instantiate_for_devices(graph), CUDA_GRAPH_INSTANTIATE_SUCCESS);
  add_kernel(graph, 1);
  EXPECT_EQ(instantiate_for_devices(graph), CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED);
}

TEST_F(GraphContexts, Are_checked_after_the_function_of_a_kernel) {
  CUDA_KERNEL_NODE_PARAMS parameters = launch_in(0);
  CUgraphNode made = nullptr;
  EXPECT_EQ(driver().cuGraphAddKernelNode(&made, nullptr, nullptr, 0, &parameters), CUDA_ERROR_INVALID_VALUE);
  parameters.func = nullptr;
  EXPECT_EQ(driver().cuGraphAddKernelNode(&made, nullptr, nullptr, 0, &parameters),
            CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace cushim::sim

#endif
