// SPDX-License-Identifier: Apache-2.0
// The nodes of graphs by type, except kernel nodes.
#include "graphs.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

TEST_F(Graphs, An_empty_node) { EXPECT_VALUE(type_of(empty(graph())), int{CU_GRAPH_NODE_TYPE_EMPTY}); }

TEST_F(Graphs, A_host_node) {
  int calls = 0;
  const CUgraphNode node = calling(graph(), &calls);
  EXPECT_VALUE(type_of(node), int{CU_GRAPH_NODE_TYPE_HOST});
  CUDA_HOST_NODE_PARAMS found{};
  EXPECT_ANSWER(driver().cuGraphHostNodeGetParams(node, &found), CUDA_SUCCESS);
  EXPECT_VALUE(found.userData == &calls, true);
  EXPECT_ANSWER(driver().cuGraphHostNodeGetParams(node, nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, A_host_node_without_a_function) {
  CUDA_HOST_NODE_PARAMS parameters{};
  EXPECT_ANSWER(driver().cuGraphAddHostNode(&node_out, graph(), nullptr, 0, &parameters),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, A_host_node_without_parameters) {
  EXPECT_ANSWER(driver().cuGraphAddHostNode(&node_out, graph(), nullptr, 0, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, A_host_node_gets_other_parameters) {
  int calls = 0, others = 0;
  const CUgraphNode node = calling(graph(), &calls);
  const CUDA_HOST_NODE_PARAMS wanted = host_parameters(&others);
  EXPECT_ANSWER(driver().cuGraphHostNodeSetParams(node, &wanted), CUDA_SUCCESS);
  CUDA_HOST_NODE_PARAMS found{};
  NEED(driver().cuGraphHostNodeGetParams(node, &found));
  EXPECT_VALUE(found.userData == &others, true);
}

TEST_F(Graphs, A_memset_node) {
  const CUdeviceptr to = memory();
  const CUgraphNode node = set(graph(), to, 5, 100);
  EXPECT_VALUE(type_of(node), int{CU_GRAPH_NODE_TYPE_MEMSET});
  CUDA_MEMSET_NODE_PARAMS found{};
  EXPECT_ANSWER(driver().cuGraphMemsetNodeGetParams(node, &found), CUDA_SUCCESS);
  EXPECT_VALUE(found.dst == to, true);
  EXPECT_VALUE(found.value, 5u);
  EXPECT_VALUE(found.elementSize, 1u);
  EXPECT_VALUE(found.width, std::size_t{100});
  EXPECT_VALUE(found.height, std::size_t{1});
  EXPECT_VALUE(found.pitch, std::size_t{0});
}

struct SetCase {
  const char *name;
  void (*change)(CUDA_MEMSET_NODE_PARAMS &parameters);
  CUresult code;
};
const SetCase set_cases[] = {
    {"of_a_wrong_element_size", [](CUDA_MEMSET_NODE_PARAMS &p) { p.elementSize = 3; },
     CUDA_ERROR_INVALID_VALUE},
    {"of_eight_byte_elements", [](CUDA_MEMSET_NODE_PARAMS &p) { p.elementSize = 8; },
     CUDA_ERROR_INVALID_VALUE},
    {"of_no_elements", [](CUDA_MEMSET_NODE_PARAMS &p) { p.width = 0; }, CUDA_ERROR_INVALID_VALUE},
    {"of_no_rows", [](CUDA_MEMSET_NODE_PARAMS &p) { p.height = 0; }, CUDA_ERROR_INVALID_VALUE},
    {"of_two_rows_without_a_pitch", [](CUDA_MEMSET_NODE_PARAMS &p) { p.height = 2; },
     CUDA_ERROR_INVALID_VALUE},
    {"of_two_rows", [](CUDA_MEMSET_NODE_PARAMS &p) { p.height = 2, p.pitch = 512; }, CUDA_SUCCESS},
    {"beyond_the_allocation", [](CUDA_MEMSET_NODE_PARAMS &p) { p.width = 1 << 30; },
     CUDA_ERROR_INVALID_VALUE},
    {"at_null", [](CUDA_MEMSET_NODE_PARAMS &p) { p.dst = 0; }, CUDA_ERROR_INVALID_VALUE},
    {"at_an_unknown_address", [](CUDA_MEMSET_NODE_PARAMS &p) { p.dst = 4096; }, CUDA_ERROR_INVALID_VALUE},
    {"of_misaligned_words", [](CUDA_MEMSET_NODE_PARAMS &p) { p.elementSize = 4, ++p.dst; },
     CUDA_ERROR_INVALID_VALUE},
    {"of_a_value_that_exceeds_a_byte", [](CUDA_MEMSET_NODE_PARAMS &p) { p.value = 256; }, CUDA_SUCCESS},
};
// Adds a test of each case: a node whose parameters the case changes.
template <class Cases, class Make, class Add>
void add_node_cases(const std::string &prefix, const Cases &cases, Make make, Add add) {
  for (const auto &each : cases)
    ADD_TEST(Graphs, prefix + each.name, [=](OnGraph &t) {
      auto parameters = make(t);
      each.change(parameters);
      add(t, t.graph(), parameters, each.code);
    });
}
[[maybe_unused]] const bool set_cases_added = [] {
  add_node_cases(
      "A_memset_node_", set_cases, [](OnGraph &t) { return OnGraph::set_parameters(t.memory(), 5, 100); },
      [](OnGraph &t, CUgraph g, const CUDA_MEMSET_NODE_PARAMS &parameters, CUresult wanted) {
        EXPECT_ANSWER(driver().cuGraphAddMemsetNode(&t.node_out, g, nullptr, 0, &parameters, t.context),
                      wanted);
      });
  return true;
}();
TEST_F(Graphs, A_memset_node_without_a_context_argument) {
  const CUDA_MEMSET_NODE_PARAMS parameters = set_parameters(memory(), 5);
  EXPECT_ANSWER(driver().cuGraphAddMemsetNode(&node_out, graph(), nullptr, 0, &parameters, nullptr),
                CUDA_SUCCESS);
}
TEST_F(Graphs, A_memset_node_gets_other_parameters) {
  const CUdeviceptr to = memory();
  const CUgraphNode node = set(graph(), to, 5);
  const CUDA_MEMSET_NODE_PARAMS wanted = set_parameters(to, 6, 10);
  EXPECT_ANSWER(driver().cuGraphMemsetNodeSetParams(node, &wanted), CUDA_SUCCESS);
  CUDA_MEMSET_NODE_PARAMS found{};
  NEED(driver().cuGraphMemsetNodeGetParams(node, &found));
  EXPECT_VALUE(found.value, 6u);
  EXPECT_ANSWER(driver().cuGraphMemsetNodeSetParams(node, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, A_memcpy_node) {
  const CUdeviceptr to = memory();
  void *const from = pinned();
  const CUgraphNode node = copy_in(graph(), to, from, 64);
  EXPECT_VALUE(type_of(node), int{CU_GRAPH_NODE_TYPE_MEMCPY});
  CUDA_MEMCPY3D found{};
  EXPECT_ANSWER(driver().cuGraphMemcpyNodeGetParams(node, &found), CUDA_SUCCESS);
  EXPECT_VALUE(found.WidthInBytes, std::size_t{64});
  EXPECT_VALUE(found.Height, std::size_t{1});
  EXPECT_VALUE(found.Depth, std::size_t{1});
  EXPECT_VALUE(int{found.srcMemoryType}, int{CU_MEMORYTYPE_HOST});
  EXPECT_VALUE(int{found.dstMemoryType}, int{CU_MEMORYTYPE_DEVICE});
  EXPECT_VALUE(found.srcHost == from, true);
  EXPECT_VALUE(found.dstDevice == to, true);
}

struct CopyCase {
  const char *name;
  void (*change)(CUDA_MEMCPY3D &parameters);
  CUresult code;
};
const CopyCase copy_cases[] = {
    {"of_no_bytes", [](CUDA_MEMCPY3D &p) { p.WidthInBytes = 0; }, CUDA_ERROR_INVALID_VALUE},
    {"of_no_rows", [](CUDA_MEMCPY3D &p) { p.Height = 0; }, CUDA_ERROR_INVALID_VALUE},
    {"beyond_the_allocation", [](CUDA_MEMCPY3D &p) { p.WidthInBytes = 1 << 30; }, CUDA_ERROR_INVALID_VALUE},
    {"to_null", [](CUDA_MEMCPY3D &p) { p.dstDevice = 0; }, CUDA_ERROR_INVALID_VALUE},
    {"to_an_unknown_address", [](CUDA_MEMCPY3D &p) { p.dstDevice = 4096; }, CUDA_ERROR_INVALID_VALUE},
    {"of_a_wrong_memory_type", [](CUDA_MEMCPY3D &p) { p.dstMemoryType = static_cast<CUmemorytype>(9); },
     CUDA_ERROR_INVALID_VALUE},
    {"of_a_unified_destination", [](CUDA_MEMCPY3D &p) { p.dstMemoryType = CU_MEMORYTYPE_UNIFIED; },
     CUDA_SUCCESS},
};
[[maybe_unused]] const bool copy_cases_added = [] {
  add_node_cases(
      "A_memcpy_node_", copy_cases,
      [](OnGraph &t) { return OnGraph::copy_parameters(t.memory(), t.pinned(), 64); },
      [](OnGraph &t, CUgraph g, const CUDA_MEMCPY3D &parameters, CUresult wanted) {
        EXPECT_ANSWER(driver().cuGraphAddMemcpyNode(&t.node_out, g, nullptr, 0, &parameters, t.context),
                      wanted);
      });
  return true;
}();
TEST_F(Graphs, A_memcpy_node_from_pageable_memory) {
  static char bytes[64];
  const CUDA_MEMCPY3D parameters = copy_parameters(memory(), bytes, sizeof bytes);
  EXPECT_ANSWER(driver().cuGraphAddMemcpyNode(&node_out, graph(), nullptr, 0, &parameters, context),
                CUDA_SUCCESS);
}
TEST_F(Graphs, A_memcpy_node_without_a_context_argument) {
  const CUDA_MEMCPY3D parameters = copy_parameters(memory(), pinned(), 64);
  EXPECT_ANSWER(driver().cuGraphAddMemcpyNode(&node_out, graph(), nullptr, 0, &parameters, nullptr),
                CUDA_SUCCESS);
}
TEST_F(Graphs, A_memcpy_node_gets_other_parameters) {
  const CUdeviceptr to = memory();
  void *const from = pinned();
  const CUgraphNode node = copy_in(graph(), to, from, 64);
  const CUDA_MEMCPY3D wanted = copy_parameters(to, from, 32);
  EXPECT_ANSWER(driver().cuGraphMemcpyNodeSetParams(node, &wanted), CUDA_SUCCESS);
  CUDA_MEMCPY3D found{};
  NEED(driver().cuGraphMemcpyNodeGetParams(node, &found));
  EXPECT_VALUE(found.WidthInBytes, std::size_t{32});
}

TEST_F(Graphs, A_child_graph_node_contains_a_clone) {
  const CUgraph child = graph();
  empty(child);
  const CUgraph g = graph();
  EXPECT_ANSWER(driver().cuGraphAddChildGraphNode(&node_out, g, nullptr, 0, child), CUDA_SUCCESS);
  EXPECT_VALUE(type_of(node_out), int{CU_GRAPH_NODE_TYPE_GRAPH});
  empty(child);
  CUgraph found = nullptr;
  EXPECT_ANSWER(driver().cuGraphChildGraphNodeGetGraph(node_out, &found), CUDA_SUCCESS);
  EXPECT_VALUE(found != child, true);
  EXPECT_VALUE(node_count(found), std::size_t{1});
  EXPECT_ANSWER(driver().cuGraphDestroy(found), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, A_child_graph_node_of_a_null_graph) {
  EXPECT_ANSWER(driver().cuGraphAddChildGraphNode(&node_out, graph(), nullptr, 0, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, An_event_record_node) {
  const CUevent mark = event(), other = event();
  EXPECT_ANSWER(driver().cuGraphAddEventRecordNode(&node_out, graph(), nullptr, 0, mark), CUDA_SUCCESS);
  EXPECT_VALUE(type_of(node_out), int{CU_GRAPH_NODE_TYPE_EVENT_RECORD});
  CUevent found = nullptr;
  EXPECT_ANSWER(driver().cuGraphEventRecordNodeGetEvent(node_out, &found), CUDA_SUCCESS);
  EXPECT_VALUE(found == mark, true);
  EXPECT_ANSWER(driver().cuGraphEventRecordNodeSetEvent(node_out, other), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphEventRecordNodeSetEvent(node_out, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphEventWaitNodeGetEvent(node_out, &found), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, An_event_wait_node) {
  const CUevent mark = event();
  EXPECT_ANSWER(driver().cuGraphAddEventWaitNode(&node_out, graph(), nullptr, 0, mark), CUDA_SUCCESS);
  EXPECT_VALUE(type_of(node_out), int{CU_GRAPH_NODE_TYPE_WAIT_EVENT});
  CUevent found = nullptr;
  EXPECT_ANSWER(driver().cuGraphEventWaitNodeGetEvent(node_out, &found), CUDA_SUCCESS);
  EXPECT_VALUE(found == mark, true);
}
TEST_F(Graphs, An_event_record_node_of_a_null_event) {
  EXPECT_ANSWER(driver().cuGraphAddEventRecordNode(&node_out, graph(), nullptr, 0, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, An_event_wait_node_of_a_null_event) {
  EXPECT_ANSWER(driver().cuGraphAddEventWaitNode(&node_out, graph(), nullptr, 0, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, A_batch_mem_op_node) {
  const CUdeviceptr to = memory();
  CUstreamBatchMemOpParams operations[1] = {};
  operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.address = to;
  operations[0].writeValue.value = 9;
  CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{};
  parameters.ctx = context;
  parameters.count = 1;
  parameters.paramArray = operations;
  EXPECT_ANSWER(driver().cuGraphAddBatchMemOpNode(&node_out, graph(), nullptr, 0, &parameters), CUDA_SUCCESS);
  EXPECT_VALUE(type_of(node_out), int{CU_GRAPH_NODE_TYPE_BATCH_MEM_OP});
  CUDA_BATCH_MEM_OP_NODE_PARAMS found{};
  EXPECT_ANSWER(driver().cuGraphBatchMemOpNodeGetParams(node_out, &found), CUDA_SUCCESS);
  EXPECT_VALUE(found.count, 1u);
  parameters.count = 0;
  EXPECT_ANSWER(driver().cuGraphAddBatchMemOpNode(&node_out, graph(), nullptr, 0, &parameters), CUDA_SUCCESS);
  parameters.count = 1;
  parameters.ctx = nullptr;
  EXPECT_ANSWER(driver().cuGraphAddBatchMemOpNode(&node_out, graph(), nullptr, 0, &parameters),
                CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, The_parameters_of_a_node_of_another_type) {
  const CUgraphNode node = empty(graph());
  CUDA_HOST_NODE_PARAMS host_found{};
  CUDA_MEMSET_NODE_PARAMS set_found{};
  CUDA_MEMCPY3D copy_found{};
  CUDA_KERNEL_NODE_PARAMS kernel_found{};
  EXPECT_ANSWER(driver().cuGraphHostNodeGetParams(node, &host_found), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphMemsetNodeGetParams(node, &set_found), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphMemcpyNodeGetParams(node, &copy_found), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphKernelNodeGetParams(node, &kernel_found), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphChildGraphNodeGetGraph(node, &graph_out), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, A_node_by_the_generic_call) {
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_MEMSET;
  parameters.memset.dst = memory();
  parameters.memset.elementSize = 1;
  parameters.memset.width = parameters.memset.height = 1;
  const CUgraph g = graph();
  EXPECT_ANSWER(driver().cuGraphAddNode(&node_out, g, nullptr, nullptr, 0, &parameters), CUDA_SUCCESS);
  EXPECT_VALUE(type_of(node_out), int{CU_GRAPH_NODE_TYPE_MEMSET});
  parameters.memset.value = 3;
  EXPECT_ANSWER(driver().cuGraphNodeSetParams(node_out, &parameters), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphAddNode(&node_out, g, nullptr, nullptr, 0, nullptr),
                CUDA_ERROR_INVALID_VALUE);
  parameters.type = static_cast<CUgraphNodeType>(99);
  EXPECT_ANSWER(driver().cuGraphAddNode(&node_out, g, nullptr, nullptr, 0, &parameters),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, A_node_by_the_generic_call_with_reserved_bytes_set) {
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_EMPTY;
  parameters.reserved0[0] = 1;
  EXPECT_ANSWER(driver().cuGraphAddNode(&node_out, graph(), nullptr, nullptr, 0, &parameters),
                CUDA_ERROR_INVALID_VALUE);
}

// ---- Memory nodes ----

TEST_F(Graphs, A_memory_allocation_node) {
  const CUgraph g = graph();
  CUDA_MEM_ALLOC_NODE_PARAMS parameters = cushim::test::allocation_node(1000);
  EXPECT_ANSWER(driver().cuGraphAddMemAllocNode(&node_out, g, nullptr, 0, &parameters), CUDA_SUCCESS);
  EXPECT_VALUE(parameters.dptr != 0, true);
  EXPECT_VALUE(type_of(node_out), int{CU_GRAPH_NODE_TYPE_MEM_ALLOC});
  CUDA_MEM_ALLOC_NODE_PARAMS found{};
  EXPECT_ANSWER(driver().cuGraphMemAllocNodeGetParams(node_out, &found), CUDA_SUCCESS);
  EXPECT_VALUE(found.dptr == parameters.dptr, true);
  EXPECT_VALUE(found.bytesize, std::size_t{1000});
  CUgraphNode freeing = nullptr;
  EXPECT_ANSWER(driver().cuGraphAddMemFreeNode(&freeing, g, &node_out, 1, parameters.dptr), CUDA_SUCCESS);
  EXPECT_VALUE(type_of(freeing), int{CU_GRAPH_NODE_TYPE_MEM_FREE});
  EXPECT_ANSWER(driver().cuGraphMemFreeNodeGetParams(freeing, &pointer), CUDA_SUCCESS);
  EXPECT_VALUE(pointer == parameters.dptr, true);
  pointer = 0;
  EXPECT_ANSWER(driver().cuGraphAddMemFreeNode(&freeing, g, &node_out, 1, parameters.dptr),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphDestroyNode(node_out), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_ANSWER(driver().cuGraphClone(&graph_out, g), CUDA_ERROR_NOT_SUPPORTED);
}
TEST_F(Graphs, A_memory_allocation_node_of_no_bytes) {
  CUDA_MEM_ALLOC_NODE_PARAMS parameters = cushim::test::allocation_node(0);
  EXPECT_ANSWER(driver().cuGraphAddMemAllocNode(&node_out, graph(), nullptr, 0, &parameters),
                CUDA_ERROR_INVALID_VALUE);
}
// Such memory is that of the device: the host cannot access it.
TEST_F(Graphs, A_memory_allocation_node_of_managed_memory) {
  CUDA_MEM_ALLOC_NODE_PARAMS parameters = cushim::test::allocation_node(1000), found{};
  parameters.poolProps.allocType = static_cast<CUmemAllocationType>(2);  // CU_MEM_ALLOCATION_TYPE_MANAGED
  const CUgraph g = graph();
  EXPECT_ANSWER(driver().cuGraphAddMemAllocNode(&node_out, g, nullptr, 0, &parameters), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphMemAllocNodeGetParams(node_out, &found), CUDA_SUCCESS);
  EXPECT_VALUE(int{found.poolProps.allocType}, 2);
  EXPECT_VALUE(int{found.poolProps.location.type}, int{CU_MEM_LOCATION_TYPE_DEVICE});
  CUgraphExec e = nullptr;
  NEED(driver().cuGraphInstantiate(&e, g, 0));
  NEED(driver().cuGraphLaunch(e, nullptr));
  NEED(driver().cuCtxSynchronize());
  unsigned value = 7;
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_IS_MANAGED, parameters.dptr),
                CUDA_SUCCESS);
  EXPECT_VALUE(value, 0u);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, parameters.dptr),
                CUDA_SUCCESS);
  EXPECT_VALUE(value, unsigned{CU_MEMORYTYPE_DEVICE});
  NEED(driver().cuMemFree(parameters.dptr));
  NEED(driver().cuGraphExecDestroy(e));
  parameters.poolProps.location.type = static_cast<CUmemLocationType>(2);  // CU_MEM_LOCATION_TYPE_HOST
  EXPECT_ANSWER(driver().cuGraphAddMemAllocNode(&node_out, g, nullptr, 0, &parameters),
                CUDA_ERROR_NOT_SUPPORTED);
  parameters.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  EXPECT_ANSWER(driver().cuGraphAddMemAllocNode(&node_out, g, nullptr, 0, &parameters),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, A_memory_allocation_node_of_another_place) {
  const auto add = [&](int place, int handles) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = cushim::test::allocation_node(1000);
    parameters.poolProps.location.type = static_cast<CUmemLocationType>(place);
    parameters.poolProps.handleTypes = static_cast<CUmemAllocationHandleType>(handles);
    return driver().cuGraphAddMemAllocNode(&node_out, graph(), nullptr, 0, &parameters);
  };
  EXPECT_ANSWER(add(CU_MEM_LOCATION_TYPE_INVALID, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(add(CU_MEM_LOCATION_TYPE_DEVICE, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_ANSWER(add(2, 0), CUDA_ERROR_NOT_SUPPORTED);  // CU_MEM_LOCATION_TYPE_HOST
  EXPECT_ANSWER(add(2, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(add(3, 0), CUDA_ERROR_NOT_SUPPORTED);  // CU_MEM_LOCATION_TYPE_HOST_NUMA
  EXPECT_ANSWER(add(3, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_ANSWER(add(4, 0), CUDA_ERROR_INVALID_VALUE);  // CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
}
TEST_F(Graphs, A_memory_free_node_of_other_memory) {
  const CUdeviceptr other = memory();
  EXPECT_ANSWER(driver().cuGraphAddMemFreeNode(&node_out, graph(), nullptr, 0, other),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphAddMemFreeNode(&node_out, graph(), nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, Memory_attributes_of_a_device) {
  cuuint64_t value = 1;
  EXPECT_ANSWER(driver().cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value),
                CUDA_SUCCESS);
  EXPECT_VALUE(value, cuuint64_t{0});
  EXPECT_ANSWER(driver().cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value),
                CUDA_SUCCESS);
  value = 1;
  EXPECT_ANSWER(driver().cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, nullptr),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuDeviceGetGraphMemAttribute(99, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value),
                CUDA_ERROR_INVALID_DEVICE);
}

}  // namespace
}  // namespace conformance

#endif
