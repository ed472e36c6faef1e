// SPDX-License-Identifier: Apache-2.0
// Tests graphs: the exact driver calls, the dependencies and the parameters that reach the driver.
#include <gmock/gmock.h>

#include <cstring>
#include <memory>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const DeviceSpan<float> kDevice(DevicePtr<float>(0x1000), 4);
float host[4];
const PinnedSpan<float> kPinned{std::span(host)};

GraphNode node(std::uintptr_t handle) {
  return GraphNode::from_handle(reinterpret_cast<CUgraphNode>(handle), Recording::driver());
}

TEST(Graph, Creating_is_one_call_and_destroying_is_one) {
  Recording recording;
  { const Graph graph = Graph::create(); }
  EXPECT_THAT(recording.calls(), ElementsAre("cuGraphCreate(&, 0)", "cuGraphDestroy(0x1000)"));
}

TEST(Graph, A_clone_is_a_graph_of_its_own) {
  Recording recording;
  {
    const Graph clone = kGraph.clone();
    const CopyNode copy = clone.find(CopyNode::from_handle(node(0xa0).handle(), Recording::driver()));
    EXPECT_EQ(copy, node(0xa0));
  }
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuGraphClone(&, 0x90)", "cuGraphNodeFindInClone(&, 0xa0, 0x1000)",
                          "cuGraphDestroy(0x1000)"));
}

TEST(Graph, Each_node_is_one_call) {
  Recording recording;
  const Event event = Event::create();
  recording.calls();
  kGraph.add_empty();
  kGraph.add_record(event);
  kGraph.add_wait(event);
  kGraph.add_child(GraphRef::from_handle(reinterpret_cast<CUgraph>(0x91)));
  kGraph.add_kernel(kFunction, {.grid = 4, .block = 32}, 1);
  kGraph.add_free(kDevice);
  EXPECT_THAT(recording.calls(), ElementsAre("cuGraphAddEmptyNode(&, 0x90, null, 0)",
                                             "cuGraphAddEventRecordNode(&, 0x90, null, 0, 0x1000)",
                                             "cuGraphAddEventWaitNode(&, 0x90, null, 0, 0x1000)",
                                             "cuGraphAddChildGraphNode(&, 0x90, null, 0, 0x91)",
                                             "cuGraphAddKernelNode_v2(&, 0x90, null, 0, &)",
                                             "cuGraphAddMemFreeNode(&, 0x90, null, 0, 0x1000)"));
}

TEST(Graph, Nodes_after_others_get_them_as_dependencies_in_the_same_call) {
  Recording recording;
  std::vector<CUgraphNode> seen;
  recording.on<Entry::cuGraphAddEmptyNode_v10000>(
      [&seen](CUgraphNode *added, CUgraph, const CUgraphNode *dependencies, std::size_t count) {
        seen.assign(dependencies, dependencies + count);
        *added = reinterpret_cast<CUgraphNode>(0xa9);
        return CUDA_SUCCESS;
      });
  const KernelNode kernel = kGraph.add_kernel(kFunction, {});
  recording.calls();
  EXPECT_EQ(kGraph.after(node(0xa0), kernel).add_empty(), node(0xa9));
  EXPECT_THAT(seen, ElementsAre(node(0xa0).handle(), kernel.handle()));
  kGraph.after({node(0xa1), node(0xa2), node(0xa3)}).add_empty();
  EXPECT_THAT(seen, ElementsAre(node(0xa1).handle(), node(0xa2).handle(), node(0xa3).handle()));
  EXPECT_THAT(recording.calls(), testing::SizeIs(2));
  EXPECT_EQ(error_of([] { kGraph.after(GraphNode()).add_empty(); }).result(), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Graph, A_typed_kernel_gets_its_arguments_converted) {
  Recording recording;
  recording.answer(Entry::cuFuncGetParamInfo, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
  double second = 0;
  recording.on<Entry::cuGraphAddKernelNode_v12000>([&](CUgraphNode *, CUgraph, const CUgraphNode *,
                                                       std::size_t,
                                                       const CUDA_KERNEL_NODE_PARAMS *parameters) {
    EXPECT_EQ(parameters->gridDimY, 5u);
    EXPECT_EQ(parameters->blockDimX, 32u);
    EXPECT_EQ(parameters->sharedMemBytes, 100u);
    std::memcpy(&second, parameters->kernelParams[1], sizeof second);
    return CUDA_SUCCESS;
  });
  const TypedKernel<void(DevicePtr<float>, double)> kernel(kFunction);
  kGraph.add_kernel(kernel, {.grid = {4, 5}, .block = 32, .shared = 100}, kDevice, 2.0f);
  EXPECT_EQ(second, 2.0);
}

TEST(Graph, A_kernel_of_a_library_is_passed_as_a_kernel) {
  Recording recording;
  CUDA_KERNEL_NODE_PARAMS seen{};
  recording.keeps_last_argument<Entry::cuGraphAddKernelNode_v12000>(seen);
  const Kernel kernel = Kernel::from_handle(reinterpret_cast<CUkernel>(0xf8));
  kGraph.add_kernel(TypedKernel<void()>(kernel), {});
  EXPECT_EQ(seen.kern, kernel.handle());
  EXPECT_EQ(seen.func, nullptr);
  kGraph.add_kernel(kFunction, {});
  EXPECT_EQ(seen.kern, nullptr);
  EXPECT_EQ(seen.func, kFunction.handle());
}

TEST(Graph, Attributes_of_a_launch_are_set_after_the_node_is_added) {
  Recording recording;
  kGraph.add_kernel(kFunction, {.grid = 4, .cooperative = true});
  EXPECT_THAT(recording.calls(), ElementsAre("cuGraphAddKernelNode_v2(&, 0x90, null, 0, &)",
                                             "cuGraphKernelNodeSetAttribute(0xa00010, 2, &)"));
  recording.fail(2, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error_of([] { kGraph.add_kernel(kFunction, {.grid = 4, .cooperative = true}); }).what(),
              HasSubstr("cuGraphKernelNodeSetAttribute: CUDA_ERROR_INVALID_VALUE"));
  EXPECT_EQ(recording.calls().back(), "cuGraphDestroyNode(0xa00020)");
}

TEST(Graph, A_copy_runs_in_the_current_context_or_in_a_given_one) {
  Recording recording;
  CUDA_MEMCPY3D copy{};
  recording.on<Entry::cuGraphAddMemcpyNode_v10000>([&copy](CUgraphNode *, CUgraph, const CUgraphNode *,
                                                           std::size_t, const CUDA_MEMCPY3D *parameters,
                                                           CUcontext) {
    copy = *parameters;
    return CUDA_SUCCESS;
  });
  kGraph.add_copy(kDevice, kPinned);
  EXPECT_EQ(copy.dstDevice, 0x1000u);
  EXPECT_EQ(copy.srcHost, host);
  EXPECT_EQ(copy.WidthInBytes, 16u);
  EXPECT_EQ(copy.Height, 1u);
  EXPECT_EQ(copy.Depth, 1u);
  kGraph.add_copy(DeviceSpan2D<int>{DevicePtr<int>(0x1000), 2, 3, 512}, PinnedSpan2D<int>{nullptr, 2, 3},
                  kContext);
  EXPECT_EQ(copy.dstPitch, 512u);
  EXPECT_EQ(copy.srcPitch, 8u);
  EXPECT_EQ(copy.WidthInBytes, 8u);
  EXPECT_EQ(copy.Height, 3u);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuCtxGetCurrent(&)", "cuGraphAddMemcpyNode(&, 0x90, null, 0, &, null)",
                          "cuGraphAddMemcpyNode(&, 0x90, null, 0, &, 0xc1)"));
}

TEST(Graph, Copies_of_different_sizes_are_refused_without_a_call) {
  Recording recording;
  EXPECT_EQ(error_of([] { kGraph.add_copy(kDevice.first(3), kPinned); }).result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Graph, A_memset_has_the_elements_and_rows_of_its_range) {
  Recording recording;
  CUDA_MEMSET_NODE_PARAMS set{};
  recording.on<Entry::cuGraphAddMemsetNode_v10000>(
      [&set](CUgraphNode *, CUgraph, const CUgraphNode *, std::size_t,
             const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext) {
        set = *parameters;
        return CUDA_SUCCESS;
      });
  const auto shape = [&set] { return std::vector<std::size_t>{set.elementSize, set.width, set.height}; };
  kGraph.add_memset(kDevice, 1.0f);
  EXPECT_EQ(set.value, 0x3f800000u);
  EXPECT_THAT(shape(), ElementsAre(4, 4, 1));
  kGraph.add_memset(DeviceSpan2D<char>{DevicePtr<char>(0x1000), 2, 3, 512}, 'a', kContext);
  EXPECT_EQ(set.pitch, 512u);
  EXPECT_THAT(shape(), ElementsAre(1, 2, 3));
  kGraph.add_memset(DeviceSpan<double>(DevicePtr<double>(0x1000), 4), 0.0, kContext);
  EXPECT_THAT(shape(), ElementsAre(4, 8, 1));
  recording.calls();
  kGraph.add_memset(kPinned, 0.0f, kContext);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemHostGetDevicePointer_v2(&, " +
                              detail::hexadecimal(reinterpret_cast<std::uintptr_t>(host)) + ", 0)",
                          "cuGraphAddMemsetNode(&, 0x90, null, 0, &, 0xc1)"));
}

TEST(Graph, A_memset_of_8_bytes_needs_equal_halves) {
  Recording recording;
  const DeviceSpan<double> doubles(DevicePtr<double>(0x1000), 4);
  const Error error = error_of([&] { kGraph.add_memset(doubles, 1.0); });
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error.what(), HasSubstr("the halves of this value of 8 bytes differ"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Graph, An_allocation_has_an_address_at_once) {
  Recording recording;
  const auto allocation = kGraph.add_allocation<float>(Device::from_handle(3), 100);
  kGraph.after(allocation.node).add_free(allocation.memory);
  EXPECT_EQ(allocation.memory, DeviceSpan<float>(DevicePtr<float>(0x700000), 100));
  EXPECT_THAT(recording.calls(), ElementsAre("cuGraphAddMemAllocNode(&, 0x90, null, 0, &)",
                                             "cuGraphAddMemFreeNode(&, 0x90, &, 1, 0x700000)"));
}

TEST(Graph, Owns_the_callables_of_its_host_nodes) {
  Recording recording;
  const auto counter = std::make_shared<int>();
  CUDA_HOST_NODE_PARAMS host_node{};
  recording.keeps_last_argument<Entry::cuGraphAddHostNode_v10000>(host_node);
  {
    const Graph graph = Graph::create();
    graph.add_host([counter] { ++*counter; });
    EXPECT_THAT(recording.calls(),
                ElementsAre("cuGraphCreate(&, 0)", testing::StartsWith("cuUserObjectCreate"),
                            "cuGraphRetainUserObject(0x1000, 0x2000, 1, 1)",
                            "cuGraphAddHostNode(&, 0x1000, null, 0, &)"));
    EXPECT_EQ(counter.use_count(), 2);
    host_node.fn(host_node.userData);
    host_node.fn(host_node.userData);
    EXPECT_EQ(*counter, 2);
  }
  EXPECT_EQ(counter.use_count(), 1);
}

TEST(Graph, A_callable_that_was_not_accepted_is_deleted) {
  for (int failing = 1; failing <= 3; ++failing) {
    Recording recording;
    const auto counter = std::make_shared<int>();
    recording.fail(failing, CUDA_ERROR_INVALID_VALUE);
    error_of([&] { kGraph.add_host([counter] {}); });
    EXPECT_EQ(counter.use_count(), 1) << failing;
    EXPECT_THAT(recording.live(), IsEmpty());
  }
}

TEST(Graph, Keeps_an_object_until_it_is_destroyed) {
  Recording recording;
  auto number = std::make_shared<int>(4);
  const std::weak_ptr<int> watch = number;
  {
    const Graph graph = Graph::create();
    std::shared_ptr<int> &kept = graph.keep(std::move(number));
    EXPECT_EQ(*kept, 4);
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Graph, Lists_its_nodes_and_edges) {
  Recording recording;
  const auto nodes = [](CUgraph, CUgraphNode *all, std::size_t *count) {
    *count = 2;
    if (all != nullptr) all[0] = node(0xa0).handle(), all[1] = node(0xa1).handle();
    return CUDA_SUCCESS;
  };
  recording.on<Entry::cuGraphGetNodes_v10000>(nodes);
  recording.on<Entry::cuGraphGetRootNodes_v10000>(nodes);
  recording.on<Entry::cuGraphGetEdges_v10000>(
      [](CUgraph, CUgraphNode *from, CUgraphNode *to, std::size_t *count) {
        *count = 1;
        if (from != nullptr) from[0] = node(0xa0).handle(), to[0] = node(0xa1).handle();
        return CUDA_SUCCESS;
      });
  EXPECT_THAT(kGraph.nodes(), ElementsAre(node(0xa0), node(0xa1)));
  EXPECT_THAT(kGraph.root_nodes(), ElementsAre(node(0xa0), node(0xa1)));
  EXPECT_THAT(kGraph.edges(), ElementsAre(GraphEdge{node(0xa0), node(0xa1)}));
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuGraphGetNodes(0x90, null, &)", "cuGraphGetNodes(0x90, &, &)",
                          "cuGraphGetRootNodes(0x90, null, &)", "cuGraphGetRootNodes(0x90, &, &)",
                          "cuGraphGetEdges(0x90, null, null, &)", "cuGraphGetEdges(0x90, &, &, &)"));
}

TEST(Graph, Edges_and_nodes_can_be_removed) {
  Recording recording;
  kGraph.add_edge(node(0xa0), node(0xa1));
  kGraph.remove_edge(node(0xa0), node(0xa1));
  kGraph.remove(node(0xa0));
  kGraph.write_dot("graph.dot", DotFlags::handles | DotFlags::kernel_parameters);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuGraphAddDependencies(0x90, &, &, 1)", "cuGraphRemoveDependencies(0x90, &, &, 1)",
                          "cuGraphDestroyNode(0xa0)", "cuGraphDebugDotPrint(0x90, \"graph.dot\", 1028)"));
}

TEST(Graph, A_node_returns_its_type_and_converts_to_no_other) {
  Recording recording;
  recording.on<Entry::cuGraphNodeGetType_v10000>([](CUgraphNode, CUgraphNodeType *type) {
    *type = CU_GRAPH_NODE_TYPE_MEMCPY;
    return CUDA_SUCCESS;
  });
  EXPECT_EQ(node(0xa0).type(), GraphNodeType::copy);
  EXPECT_EQ(node(0xa0).as<CopyNode>(), node(0xa0));
  const Error error = error_of([] { node(0xa0).as<KernelNode>(); });
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error.what(), HasSubstr("graph node 0xa0, type 1, wanted type 0"));
}

TEST(Graph, A_node_returns_its_dependencies_and_dependents) {
  Recording recording;
  node(0xa0).dependencies();
  node(0xa0).dependent_nodes();
  EXPECT_EQ(graph_of(ChildNode::from_handle(node(0xa0).handle())).handle(), reinterpret_cast<CUgraph>(0x9f));
  EXPECT_THAT(recording.calls(), ElementsAre("cuGraphNodeGetDependencies(0xa0, null, &)",
                                             "cuGraphNodeGetDependentNodes(0xa0, null, &)",
                                             "cuGraphChildGraphNodeGetGraph(0xa0, &)"));
}

TEST(Graph, An_empty_one_adds_nothing) {
  Recording recording;
  const Graph empty;
  const Event event = Event::create();
  recording.calls();
  for (const std::function<void()> &add : {std::function<void()>([&] { empty.add_empty(); }),
                                           {[&] { empty.add_copy(kDevice, kPinned); }},
                                           {[&] { empty.add_memset(kDevice, 0.0f); }},
                                           {[&] { empty.add_host([] {}); }},
                                           {[&] { empty.add_kernel(kFunction, {}); }},
                                           {[&] { empty.add_record(event); }},
                                           {[&] { empty.nodes(); }}})
    EXPECT_THAT(error_of(add).what(),
                HasSubstr("CUDA_ERROR_INVALID_HANDLE (400, invalid handle): an empty graph"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

}  // namespace
}  // namespace cushim::test
