// SPDX-License-Identifier: Apache-2.0
// Parameters of a node that a walk has chosen.
#pragma once

#include "graph_objects.hpp"

namespace differential {

struct ChosenParameters {
  CUgraphNodeType type{};
  std::string text;
  CUDA_KERNEL_NODE_PARAMS kernel{};
  LaunchArguments arguments;
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS set{};
  CUDA_HOST_NODE_PARAMS host{};
  std::array<CUstreamBatchMemOpParams, 2> operations{};
  CUDA_BATCH_MEM_OP_NODE_PARAMS batch{};
  CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
  CUmemAccessDesc access{};
  CUevent event = nullptr;
  CUgraph graph = nullptr;
};

CUgraphNodeType a_type(Walk &w);
// Chooses parameters. They refer to each other, so they must not move.
void choose_parameters(Walk &w, CUgraphNodeType type, ChosenParameters &p);
// Fills the parameters of cuGraphAddNode and its like.
void fill(Walk &w, const ChosenParameters &p, CUgraphNodeParams &all);
// Adds a graph that is a part of a node to the objects, with its nodes.
void has_part(Walk &w, CUgraph part, CUgraph parent, CUgraphNode node);

}  // namespace differential
