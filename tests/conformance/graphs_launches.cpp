// SPDX-License-Identifier: Apache-2.0
// Executable graphs: instantiation, launches, parameters of nodes.
#include <cstring>

#include "graphs_launches.hpp"
#include "support/structures.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

TEST_F(GraphLaunches, Run_the_nodes) {
  const CUdeviceptr to = memory();
  int calls = 0;
  const CUgraph g = graph();
  const CUgraphNode a = set(g, to, 1, 16);
  const CUgraphNode b = write(g, to, 5, {a});
  calling(g, &calls, {b});
  const CUgraphExec e = executable(g);
  expect_run(e, to, 5u);
  EXPECT_VALUE(byte_at(to + 4), 1u);
  EXPECT_VALUE(calls, 1);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_VALUE(calls, 2);
}
TEST_F(GraphLaunches, Of_an_empty_graph) { EXPECT_ANSWER(run(executable(graph())), CUDA_SUCCESS); }
TEST_F(GraphLaunches, Of_a_null_graph) {
  EXPECT_ANSWER(driver().cuGraphLaunch(nullptr, stream()), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphLaunches, In_the_null_stream) {
  const CUgraphExec e = executable(graph());
  EXPECT_ANSWER(driver().cuGraphLaunch(e, nullptr), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphLaunch(e, legacy()), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphLaunch(e, per_thread()), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphUpload(e, nullptr), CUDA_SUCCESS);
  NEED(driver().cuCtxSynchronize());
}
TEST_F(GraphLaunches, Without_a_context) {
  const CUgraphExec e = executable(graph());
  const CUstream work = stream();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuGraphLaunch(e, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphLaunch(e, nullptr), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(GraphLaunches, Do_not_change_with_the_graph) {
  const CUdeviceptr to = zeros();
  const CUgraph g = graph();
  const CUgraphNode node = set(g, to, 1);
  const CUgraphExec e = executable(g);
  const CUDA_MEMSET_NODE_PARAMS wanted = set_parameters(to, 2);
  NEED(driver().cuGraphMemsetNodeSetParams(node, &wanted));
  expect_run(e, to, 1u);
}
TEST_F(GraphLaunches, Continue_after_the_graph_is_destroyed) {
  const CUdeviceptr to = memory();
  const CUgraph g = own_graph();
  set(g, to, 3);
  const CUgraphExec e = executable(g);
  NEED(driver().cuGraphDestroy(g));
  expect_run(e, to, 3u);
}
TEST_F(GraphLaunches, Continue_after_the_executable_graph_is_destroyed) {
  const CUdeviceptr to = memory();
  const CUgraph g = graph();
  set(g, to, 4);
  CUgraphExec e = nullptr;
  NEED(driver().cuGraphInstantiate(&e, g, 0));
  const CUstream work = stream();
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuGraphLaunch(e, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphExecDestroy(e), CUDA_SUCCESS);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(byte_at(to), 4u);
}
TEST_F(GraphLaunches, Are_ordered_in_the_stream) {
  const CUdeviceptr to = zeros();
  const CUgraph g = graph();
  set(g, to, 4);
  const CUgraphExec e = executable(g);
  const CUstream work = stream();
  Hold held = hold(work);
  NEED(driver().cuGraphLaunch(e, work));
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  NEED(driver().cuMemsetD8Async(to + 1, 5, 1, work));
  held.release();
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_VALUE(byte_at(to), 4u);
  EXPECT_VALUE(byte_at(to + 1), 5u);
}
TEST_F(GraphLaunches, Of_one_executable_graph_follow_each_other_in_all_streams) {
  const CUgraph g = graph();
  set(g, memory(), 1);
  const CUgraphExec e = executable(g);
  const CUstream first = stream(), second = stream();
  Hold held = hold(first);
  NEED(driver().cuGraphLaunch(e, first));
  EXPECT_ANSWER(driver().cuGraphLaunch(e, second), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(second), CUDA_ERROR_NOT_READY);
  held.release();
  NEED(driver().cuStreamSynchronize(second));
}
TEST_F(GraphLaunches, Copy_to_and_from_the_device) {
  const CUdeviceptr on_device = memory();
  auto *const from = static_cast<unsigned char *>(pinned()), *const to =
                                                                 static_cast<unsigned char *>(pinned());
  std::memset(from, 9, 64);
  std::memset(to, 0, 64);
  const CUgraph g = graph();
  copy_out(g, to, on_device, 64, {copy_in(g, on_device, from, 64)});
  const CUgraphExec e = executable(g);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_VALUE(int{to[63]}, 9);
  std::memset(from, 8, 64);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_VALUE(int{to[63]}, 8);
}
TEST_F(GraphLaunches, Run_child_graphs) {
  const CUdeviceptr to = memory();
  const CUgraph child = graph(), g = graph();
  set(child, to, 1);
  NEED(driver().cuGraphAddChildGraphNode(&node_out, g, nullptr, 0, child));
  set(g, to + 1, 2, 1, {node_out});
  EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
  EXPECT_VALUE(byte_at(to), 1u);
  EXPECT_VALUE(byte_at(to + 1), 2u);
}
TEST_F(GraphLaunches, Record_events) {
  const CUevent mark = event();
  const CUgraph g = graph();
  NEED(driver().cuGraphAddEventRecordNode(&node_out, g, nullptr, 0, mark));
  const CUgraphExec e = executable(g);
  const CUstream work = stream();
  Hold held = hold(work);
  NEED(driver().cuGraphLaunch(e, work));
  expect_complete_after(held, mark, "mark");
  NEED(driver().cuStreamSynchronize(work));
}
TEST_F(GraphLaunches, Wait_for_events) {
  const CUevent mark = event();
  const CUgraph g = graph();
  NEED(driver().cuGraphAddEventWaitNode(&node_out, g, nullptr, 0, mark));
  const CUgraphExec e = executable(g);
  const CUstream first = stream(), second = stream();
  Hold held = hold_and_record(first, mark);
  NEED(driver().cuGraphLaunch(e, second));
  expect_complete_after(held, second, "second");
}
TEST_F(GraphLaunches, Allocate_memory) {
  const CUgraph g = graph();
  CUDA_MEM_ALLOC_NODE_PARAMS parameters = cushim::test::allocation_node(1024);
  NEED(driver().cuGraphAddMemAllocNode(&node_out, g, nullptr, 0, &parameters));
  const CUgraphNode setting = set(g, parameters.dptr, 7, 1024, {node_out});
  auto *const to = static_cast<unsigned char *>(pinned());
  const CUgraphNode copying = copy_out(g, to, parameters.dptr, 1024, {setting});
  CUgraphNode freeing = nullptr;
  NEED(driver().cuGraphAddMemFreeNode(&freeing, g, &copying, 1, parameters.dptr));
  const CUgraphExec e = executable(g);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_VALUE(int{to[1023]}, 7);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
}
TEST_F(GraphLaunches, Of_a_graph_that_does_not_free_its_memory) {
  const CUgraph g = graph();
  CUDA_MEM_ALLOC_NODE_PARAMS parameters = cushim::test::allocation_node(1024);
  NEED(driver().cuGraphAddMemAllocNode(&node_out, g, nullptr, 0, &parameters));
  const CUgraphExec e = executable(g);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphLaunch(e, stream()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuMemFreeAsync(parameters.dptr, nullptr), CUDA_SUCCESS);
  NEED(driver().cuCtxSynchronize());
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemFree(parameters.dptr), CUDA_SUCCESS);
  EXPECT_ANSWER(
      driver().cuGraphInstantiate(&executable_out, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH),
      CUDA_ERROR_NOT_SUPPORTED);
}

// ---- Instantiation ----

TEST_F(GraphLaunches, Instantiation_needs_an_output) {
  EXPECT_ANSWER(driver().cuGraphInstantiate(nullptr, graph(), 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphLaunches, Instantiation_with_unknown_flags) {
  EXPECT_ANSWER(driver().cuGraphInstantiate(&executable_out, graph(), 1ull << 20), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphLaunches, The_flags_of_an_executable_graph) {
  const CUgraphExec e = executable(graph(), CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  cuuint64_t found = 77;
  EXPECT_ANSWER(driver().cuGraphExecGetFlags(e, &found), CUDA_SUCCESS);
  EXPECT_VALUE(found, cuuint64_t{1});
  EXPECT_ANSWER(driver().cuGraphExecGetFlags(e, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphExecGetFlags(nullptr, &found), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphLaunches, Instantiation_with_parameters) {
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  parameters.result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  EXPECT_ANSWER(driver().cuGraphInstantiateWithParams(&executable_out, graph(), &parameters), CUDA_SUCCESS);
  EXPECT_VALUE(int{parameters.result_out}, int{CUDA_GRAPH_INSTANTIATE_SUCCESS});
  EXPECT_ANSWER(driver().cuGraphInstantiateWithParams(&executable_out, graph(), nullptr),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphLaunches, Instantiation_for_a_launch_by_a_device) {
  const CUdeviceptr to = memory();
  const CUgraph g = graph(), empty = graph(), parent = graph();
  const auto instantiate = [&](CUgraph of, cuuint64_t flags) {
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    parameters.flags = flags;
    const CUresult code = driver().cuGraphInstantiateWithParams(&executable_out, of, &parameters);
    return std::pair(code, int{parameters.result_out});
  };
  const cuuint64_t flag = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
  set(g, to, 7);
  EXPECT_ANSWER(instantiate(empty, flag).first, CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(instantiate(g, flag | CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH).first,
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(instantiate(g, flag | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY).first, CUDA_SUCCESS);
  cuuint64_t found = 0;
  EXPECT_ANSWER(driver().cuGraphExecGetFlags(executable_out, &found), CUDA_SUCCESS);
  EXPECT_VALUE(found, flag);
  NEED(driver().cuGraphLaunch(executable_out, stream()));
  NEED(driver().cuCtxSynchronize());
  unsigned value = 0;
  NEED(driver().cuMemcpyDtoH(&value, to, sizeof value));
  EXPECT_VALUE(value & 0xff, 7u);
  CUgraphNode node = nullptr;
  NEED(driver().cuGraphAddChildGraphNode(&node, parent, nullptr, 0, g));
  EXPECT_ANSWER(instantiate(parent, flag).first, CUDA_SUCCESS);
  NEED(driver().cuGraphAddEmptyNode(&node, g, nullptr, 0));
  EXPECT_ANSWER(instantiate(g, flag).first, CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(instantiate(g, flag).second, int{CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED});
}
STATEMENT(GraphLaunches, A_null_executable_graph_is_not_destroyed, driver().cuGraphExecDestroy(nullptr),
          CUDA_ERROR_INVALID_VALUE)

// ---- Parameters of nodes of executable graphs ----

TEST_F(GraphLaunches, A_memset_node_of_an_executable_graph) {
  const CUdeviceptr to = memory();
  const CUgraph g = graph();
  const CUgraphNode node = set(g, to, 1);
  const CUgraphExec e = executable(g);
  CUDA_MEMSET_NODE_PARAMS wanted = set_parameters(to, 2);
  EXPECT_ANSWER(driver().cuGraphExecMemsetNodeSetParams(e, node, &wanted, context), CUDA_SUCCESS);
  expect_run(e, to, 2u);
  wanted.width = 4;
  EXPECT_ANSWER(driver().cuGraphExecMemsetNodeSetParams(e, node, &wanted, context), CUDA_SUCCESS);
  wanted.height = 2;
  wanted.pitch = 512;
  EXPECT_ANSWER(driver().cuGraphExecMemsetNodeSetParams(e, node, &wanted, context), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphExecMemsetNodeSetParams(e, node, nullptr, context), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphExecMemsetNodeSetParams(nullptr, node, &wanted, context),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphLaunches, A_memcpy_node_of_an_executable_graph) {
  const CUdeviceptr to = memory();
  auto *const from = static_cast<unsigned char *>(pinned());
  from[0] = 3;
  from[64] = 4;
  const CUgraph g = graph();
  const CUgraphNode node = copy_in(g, to, from, 64);
  const CUgraphExec e = executable(g);
  const CUDA_MEMCPY3D wanted = copy_parameters(to, from + 64, 64);
  EXPECT_ANSWER(driver().cuGraphExecMemcpyNodeSetParams(e, node, &wanted, context), CUDA_SUCCESS);
  expect_run(e, to, 4u);
}
TEST_F(GraphLaunches, A_host_node_of_an_executable_graph) {
  int first = 0, second = 0;
  const CUgraph g = graph();
  const CUgraphNode node = calling(g, &first);
  const CUgraphExec e = executable(g);
  const CUDA_HOST_NODE_PARAMS wanted = host_parameters(&second);
  EXPECT_ANSWER(driver().cuGraphExecHostNodeSetParams(e, node, &wanted), CUDA_SUCCESS);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_VALUE(first, 0);
  EXPECT_VALUE(second, 1);
}
TEST_F(GraphLaunches, A_kernel_node_of_an_executable_graph) {
  CUdeviceptr to = memory();
  const CUgraph g = graph();
  const CUgraphNode node = write(g, to, 1);
  const CUgraphExec e = executable(g);
  unsigned value = 6;
  void *arguments[] = {&to, &value};
  CUDA_KERNEL_NODE_PARAMS wanted{};
  NEED(driver().cuGraphKernelNodeGetParams(node, &wanted));
  wanted.kernelParams = arguments;
  EXPECT_ANSWER(driver().cuGraphExecKernelNodeSetParams(e, node, &wanted), CUDA_SUCCESS);
  expect_run(e, to, 6u);
}
TEST_F(GraphLaunches, A_node_of_another_graph_is_not_in_the_executable_graph) {
  const CUdeviceptr to = memory();
  const CUgraph g = graph();
  set(g, to, 1);
  const CUgraphNode other = set(graph(), to, 1);
  const CUDA_MEMSET_NODE_PARAMS wanted = set_parameters(to, 2);
  EXPECT_ANSWER(driver().cuGraphExecMemsetNodeSetParams(executable(g), other, &wanted, context),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphLaunches, A_disabled_node_does_nothing) {
  const CUdeviceptr to = zeros();
  const CUgraph g = graph();
  const CUgraphNode node = set(g, to, 1);
  const CUgraphNode nothing = empty(g);
  const CUgraphExec e = executable(g);
  unsigned is_enabled = 77;
  EXPECT_ANSWER(driver().cuGraphNodeGetEnabled(e, node, &is_enabled), CUDA_SUCCESS);
  EXPECT_VALUE(is_enabled, 1u);
  EXPECT_ANSWER(driver().cuGraphNodeSetEnabled(e, node, 0), CUDA_SUCCESS);
  NEED(driver().cuGraphNodeGetEnabled(e, node, &is_enabled));
  EXPECT_VALUE(is_enabled, 0u);
  expect_run(e, to, 0u);
  EXPECT_ANSWER(driver().cuGraphNodeSetEnabled(e, node, 1), CUDA_SUCCESS);
  expect_run(e, to, 1u);
  EXPECT_ANSWER(driver().cuGraphNodeSetEnabled(e, node, 2), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphNodeSetEnabled(e, nothing, 0), CUDA_ERROR_INVALID_VALUE);
}

// ---- User objects ----

TEST_F(GraphLaunches, Keep_user_objects_until_the_executable_graph_is_destroyed) {
  static int destroys;
  destroys = 0;
  CUuserObject object = nullptr;
  NEED(driver().cuUserObjectCreate(
      &object, &destroys, [](void *data) { ++*static_cast<int *>(data); }, 1,
      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  const CUgraph g = own_graph();
  NEED(driver().cuGraphRetainUserObject(g, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  CUgraphExec e = nullptr;
  NEED(driver().cuGraphInstantiate(&e, g, 0));
  NEED(driver().cuGraphDestroy(g));
  EXPECT_VALUE(destroys, 0);
  NEED(driver().cuGraphExecDestroy(e));
}

}  // namespace
}  // namespace conformance

#endif
