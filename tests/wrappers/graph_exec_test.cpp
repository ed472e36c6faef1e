// SPDX-License-Identifier: Apache-2.0
// Tests executable graphs: the exact driver calls, and the results of updates.
#include <gmock/gmock.h>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const GraphExecRef kExec =
    GraphExecRef::from_handle(reinterpret_cast<CUgraphExec>(0x80), Recording::driver());
const DeviceSpan<float> kDevice(DevicePtr<float>(0x1000), 4);
const StreamRef kStream = StreamRef::from_handle(stream_handle(0x50), Recording::driver());

template <class Node>
Node node(std::uintptr_t handle) {
  return Node::from_handle(reinterpret_cast<CUgraphNode>(handle), Recording::driver());
}

TEST(GraphExec, Instantiating_is_one_call_and_destroying_is_one) {
  Recording recording;
  { const GraphExec exec = GraphExec::instantiate(kGraph); }
  {
    GraphExec::instantiate(kGraph,
                           InstantiateFlags::auto_free_on_launch | InstantiateFlags::use_node_priority);
  }
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuGraphInstantiateWithFlags(&, 0x90, 0x0)", "cuGraphExecDestroy(0x1000)",
                          "cuGraphInstantiateWithFlags(&, 0x90, 0x9)", "cuGraphExecDestroy(0x2000)"));
}

TEST(GraphExec, A_launch_is_one_call) {
  Recording recording;
  kExec.upload(kStream);
  kExec.launch(kStream);
  EXPECT_THAT(recording.calls(), ElementsAre("cuGraphUpload(0x80, 0x50)", "cuGraphLaunch(0x80, 0x50)"));
  EXPECT_THAT(error_of([] { GraphExec().launch(kStream); }).what(), HasSubstr("an empty executable graph"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(GraphExec, Each_change_of_a_node_is_one_call) {
  Recording recording;
  const Event event = Event::create();
  recording.calls();
  kExec.set_kernel(node<KernelNode>(0xa0), kFunction, {.grid = 4, .block = 32}, 1);
  kExec.set_copy(node<CopyNode>(0xa1), kDevice, kDevice, kContext);
  kExec.set_memset(node<MemsetNode>(0xa2), kDevice, 1.0f, kContext);
  kExec.set_host(
      node<HostNode>(0xa3), [](void *) {}, nullptr);
  kExec.set_child(node<ChildNode>(0xa4), kGraph);
  kExec.set_event(node<EventRecordNode>(0xa5), event);
  kExec.set_event(node<EventWaitNode>(0xa6), event);
  kExec.set_enabled(node<KernelNode>(0xa0), false);
  EXPECT_FALSE(kExec.is_enabled(node<CopyNode>(0xa1)));
  kExec.flags();
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuGraphExecKernelNodeSetParams_v2(0x80, 0xa0, &)",
                          "cuGraphExecMemcpyNodeSetParams(0x80, 0xa1, &, 0xc1)",
                          "cuGraphExecMemsetNodeSetParams(0x80, 0xa2, &, 0xc1)",
                          "cuGraphExecHostNodeSetParams(0x80, 0xa3, &)",
                          "cuGraphExecChildGraphNodeSetParams(0x80, 0xa4, 0x90)",
                          "cuGraphExecEventRecordNodeSetEvent(0x80, 0xa5, 0x1000)",
                          "cuGraphExecEventWaitNodeSetEvent(0x80, 0xa6, 0x1000)",
                          "cuGraphNodeSetEnabled(0x80, 0xa0, 0)", "cuGraphNodeGetEnabled(0x80, 0xa1, &)",
                          "cuGraphExecGetFlags(0x80, &)"));
}

TEST(GraphExec, Changes_without_a_context_ask_for_the_current_one) {
  Recording recording;
  kExec.set_copy(node<CopyNode>(0xa1), kDevice, kDevice);
  kExec.set_memset(node<MemsetNode>(0xa2), kDevice, 1.0f);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuCtxGetCurrent(&)", "cuGraphExecMemcpyNodeSetParams(0x80, 0xa1, &, null)",
                          "cuCtxGetCurrent(&)", "cuGraphExecMemsetNodeSetParams(0x80, 0xa2, &, null)"));
}

TEST(GraphExec, An_update_that_works_is_true) {
  Recording recording;
  const GraphUpdate update = kExec.update(kGraph);
  EXPECT_TRUE(update);
  EXPECT_TRUE(update.node.is_empty());
  EXPECT_THAT(recording.calls(), ElementsAre("cuGraphExecUpdate_v2(0x80, 0x90, &)"));
}

TEST(GraphExec, An_update_of_another_shape_is_an_answer) {
  Recording recording;
  recording.on<Entry::cuGraphExecUpdate_v12000>([](CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *info) {
    info->result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    info->errorNode = reinterpret_cast<CUgraphNode>(0xa3);
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  });
  const GraphUpdate update = kExec.update(kGraph);
  EXPECT_FALSE(update);
  EXPECT_EQ(update.result, GraphUpdateResult::node_type_changed);
  EXPECT_EQ(update.node, node<GraphNode>(0xa3));
}

TEST(GraphExec, An_update_that_fails_otherwise_throws) {
  Recording recording;
  recording.fail(1, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(
      error_of([] { static_cast<void>(kExec.update(kGraph)); }).what(),
      HasSubstr("cuGraphExecUpdate: CUDA_ERROR_INVALID_VALUE (1, invalid value): executable graph 0x80, "
                "graph 0x90"));
}

TEST(GraphExec, An_empty_node_is_refused_without_a_call) {
  Recording recording;
  EXPECT_THAT(error_of([] { kExec.set_enabled(KernelNode(), true); }).what(),
              HasSubstr("an empty graph node"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

}  // namespace
}  // namespace cushim::test
