// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"
#include "support/structures.hpp"

namespace arguments {

namespace {
CUgraphNodeParams memset_node(Objects &o) {
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_MEMSET;
  const CUDA_MEMSET_NODE_PARAMS parameters = memset_parameters(o);
  node.memset.dst = parameters.dst;
  node.memset.pitch = parameters.pitch;
  node.memset.value = parameters.value;
  node.memset.elementSize = parameters.elementSize;
  node.memset.width = parameters.width;
  node.memset.height = parameters.height;
  node.memset.ctx = o.context();
  return node;
}

CUgraphNodeParams kernel_node(Objects &o) {
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  node.kernel.func = o.function();
  node.kernel.gridDimX = node.kernel.gridDimY = node.kernel.gridDimZ = 1;
  node.kernel.blockDimX = node.kernel.blockDimY = node.kernel.blockDimZ = 1;
  node.kernel.ctx = o.context();
  return node;
}

CUgraphNodeParams copy_node(Objects &o) {
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  node.memcpy.copyParams = copy_3d(o);
  node.memcpy.copyCtx = o.context();
  return node;
}

CUgraphNodeParams conditional_node(Objects &o) {
  return cushim::test::conditional_node(o.conditional(), CU_GRAPH_COND_TYPE_IF, 1, o.context());
}
}  // namespace

void add_node_parameter_calls(Calls &calls) {
  for (int type = -1; type <= 16; ++type) {
    CUgraphNodeParams node{};
    node.type = static_cast<CUgraphNodeType>(type);
    CALL_AS("type=" + std::to_string(type), cuGraphAddNode, fixed(o.hidden<CUgraphNode>().place),
            fixed(o.graph()), nullptr, nullptr, Count{0}, fixed(o.list({node}).first));
  }
  CALL_AS("memset", cuGraphAddNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), nullptr,
          Count{1}, o.in_part(memset_node(o), &CUgraphNodeParams::memset));
  CALL_AS("kernel", cuGraphAddNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), nullptr,
          Count{1}, o.in_part(kernel_node(o), &CUgraphNodeParams::kernel));
  CALL_AS("memcpy", cuGraphAddNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), nullptr,
          Count{1}, o.in_part(copy_node(o), &CUgraphNodeParams::memcpy));
  CALL_AS("if", cuGraphAddNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), nullptr,
          Count{1}, o.in_part(conditional_node(o), &CUgraphNodeParams::conditional));
  CALL_AS("reserved", cuGraphAddNode, o.hidden<CUgraphNode>(), o.graph(), nullptr, nullptr, Count{0},
          o.in(memset_node(o)))
      .without({"nodeParams.type*"});  // the parameters are those of a memset
  CALL_AS("memset", cuGraphNodeSetParams, o.memset_node(),
          o.in_part(memset_node(o), &CUgraphNodeParams::memset));
  CALL_AS("kernel", cuGraphNodeSetParams, o.kernel_node(),
          o.in_part(kernel_node(o), &CUgraphNodeParams::kernel));
  CALL_AS("memcpy", cuGraphNodeSetParams, o.copy_node(), o.in_part(copy_node(o), &CUgraphNodeParams::memcpy));
  CALL_AS("memset", cuGraphExecNodeSetParams, o.executable(o.memset_node()), o.memset_node(),
          o.in_part(memset_node(o), &CUgraphNodeParams::memset));
  CALL_AS("kernel", cuGraphExecNodeSetParams, o.executable(o.kernel_node()), o.kernel_node(),
          o.in_part(kernel_node(o), &CUgraphNodeParams::kernel));
  CALL_AS("memcpy", cuGraphExecNodeSetParams, o.executable(o.copy_node()), o.copy_node(),
          o.in_part(copy_node(o), &CUgraphNodeParams::memcpy));
}

}  // namespace arguments
