// SPDX-License-Identifier: Apache-2.0
// The fixture of statements about conditional nodes of graphs. The statements follow the documentation:
// CUDA_CONDITIONAL_NODE_PARAMS, CU_GRAPH_NODE_TYPE_CONDITIONAL and cuGraphConditionalHandleCreate in cuda.h,
// and "Conditional Graph Nodes" in the CUDA C++ Programming Guide; where an H200 answers otherwise, the H200.
#pragma once

#include "graphs.hpp"
#include "support/ptx_header.hpp"
#include "support/structures.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {

// set: sets the value of a handle. count_down: decrements a word and sets the handle to it. add: adds to a
// word.
inline constexpr const char *kConditionalCode = CUSHIM_PTX_HEADER R"(
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
.visible .entry set(.param .u64 handle, .param .u32 value) {
  .reg .u64 h; .reg .u32 v;
  ld.param.u64 h, [handle]; ld.param.u32 v, [value];
  { .param .b64 p0; .param .b32 p1;
    st.param.b64 [p0], h; st.param.b32 [p1], v; call.uni cudaGraphSetConditional, (p0, p1); }
  ret;
}
.visible .entry count_down(.param .u64 handle, .param .u64 counter) {
  .reg .u64 h, c; .reg .u32 v;
  ld.param.u64 h, [handle]; ld.param.u64 c, [counter];
  ld.global.u32 v, [c]; sub.u32 v, v, 1; st.global.u32 [c], v;
  { .param .b64 p0; .param .b32 p1;
    st.param.b64 [p0], h; st.param.b32 [p1], v; call.uni cudaGraphSetConditional, (p0, p1); }
  ret;
}
.visible .entry add(.param .u64 to, .param .u32 value) {
  .reg .u64 t; .reg .u32 v, w;
  ld.param.u64 t, [to]; ld.param.u32 v, [value];
  ld.global.u32 w, [t]; add.u32 w, w, v; st.global.u32 [t], w;
  ret;
}
)";

class GraphConditions : public OnGraph {
 protected:
  void SetUp() override {
    OnGraph::SetUp();
    if (IsSkipped()) return;
    NEED(driver().cuModuleLoadData(&conditional_module, kConditionalCode));
    to = memory();
    NEED(driver().cuMemsetD8(to, 0, 4096));
    NEED(driver().cuCtxSynchronize());
  }
  void TearDown() override {
    OnGraph::TearDown();
    if (conditional_module != nullptr) driver().cuModuleUnload(conditional_module);
  }

 public:
  CUgraphConditionalHandle handle(CUgraph graph) {
    CUgraphConditionalHandle made = 0;
    NEED(driver().cuGraphConditionalHandleCreate(&made, graph, context, 0, 0));
    return made;
  }
  // Makes a handle that has this value at the start of each launch.
  CUgraphConditionalHandle handle(CUgraph graph, unsigned value) {
    CUgraphConditionalHandle made = 0;
    NEED(driver().cuGraphConditionalHandleCreate(&made, graph, context, value, CU_GRAPH_COND_ASSIGN_DEFAULT));
    return made;
  }

  CUgraphNodeParams parameters_of(CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                                  unsigned size) const {
    return cushim::test::conditional_node(handle, type, size, context);
  }
  struct Node {
    CUgraphNode node = nullptr;
    std::vector<CUgraph> bodies{};
  };
  Node conditional(CUgraph graph, CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                   unsigned size = 1, const Nodes &after = {}) {
    CUgraphNodeParams parameters = parameters_of(handle, type, size);
    Node made;
    NEED(driver().cuGraphAddNode(&made.node, graph, after.data(), nullptr, after.size(), &parameters));
    CUgraph *const bodies = parameters.conditional.phGraph_out;
    made.bodies.assign(bodies, bodies + size);
    return made;
  }
  CUresult add(CUgraph graph, CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
               unsigned size) {
    CUgraphNodeParams parameters = parameters_of(handle, type, size);
    return driver().cuGraphAddNode(&node_out, graph, nullptr, nullptr, 0, &parameters);
  }

  CUgraphNode kernel_node(CUgraph graph, const char *name, std::vector<void *> arguments,
                          const Nodes &after = {}) {
    CUgraphNode made = nullptr;
    const CUDA_KERNEL_NODE_PARAMS parameters = launch_of(name, arguments);
    NEED(driver().cuGraphAddKernelNode(&made, graph, after.data(), after.size(), &parameters));
    return made;
  }
  CUDA_KERNEL_NODE_PARAMS launch_of(const char *name, std::vector<void *> &arguments) {
    return cushim::test::node_of_one_thread(function(name), arguments.data());
  }
  CUfunction function(const char *name) {
    CUfunction found = nullptr;
    NEED(driver().cuModuleGetFunction(&found, conditional_module, name));
    return found;
  }
  CUgraphNode set_handle(CUgraph graph, CUgraphConditionalHandle handle, unsigned value,
                         const Nodes &after = {}) {
    return kernel_node(graph, "set", {&handle, &value}, after);
  }
  CUgraphNode count_down(CUgraph graph, CUgraphConditionalHandle handle, CUdeviceptr counter,
                         const Nodes &after = {}) {
    return kernel_node(graph, "count_down", {&handle, &counter}, after);
  }
  CUgraphNode add_to(CUgraph graph, CUdeviceptr address, unsigned value, const Nodes &after = {}) {
    return kernel_node(graph, "add", {&address, &value}, after);
  }
  // Adds a loop whose rounds count the word `to` down, and add 1 to the next word.
  void add_loop(CUgraph graph, unsigned rounds) {
    const auto h = handle(graph, 1);
    const CUgraphNode count = set(graph, to, rounds);
    const Node node = conditional(graph, h, CU_GRAPH_COND_TYPE_WHILE, 1, {count});
    const CUgraphNode added = add_to(node.bodies[0], to + 4, 1);
    count_down(node.bodies[0], h, to, {added});
  }
  CUgraphInstantiateResult instantiate(CUgraph graph) {
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    code = driver().cuGraphInstantiateWithParams(&executable_out, graph, &parameters);
    node_in_error = parameters.hErrNode_out;
    return parameters.result_out;
  }

  CUmodule conditional_module = nullptr;
  CUdeviceptr to = 0;  // 4096 bytes of zeros
  CUgraphConditionalHandle handle_out = 0;
  CUresult code = CUDA_SUCCESS;
  CUgraphNode node_in_error = nullptr;
};

}  // namespace conformance

#endif
