// SPDX-License-Identifier: Apache-2.0
#include "hazards/graph_work.hpp"

#include <cushim/exact.hpp>

#include <utility>

#include <cushim/detail/reference.hpp>

#include "hazards/copy_extents.hpp"

namespace cushim::check {
namespace {

using Use = HazardModel::Use;

constexpr int kConditionalNode = 13;  // CU_GRAPH_NODE_TYPE_CONDITIONAL, which headers before 12.3 lack

const char *noun_of(CUgraphNodeType type) {
  switch (static_cast<int>(type)) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return "kernel node ";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "copy node ";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "memset node ";
    case CU_GRAPH_NODE_TYPE_HOST:
      return "host node ";
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "child graph node ";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return "allocation node ";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "free node ";
    case kConditionalNode:
      return "conditional node ";
    default:
      return "node ";
  }
}

// The nodes of one graph, in the order of their creation, with the indices of those that each depends on.
struct Listed {
  std::vector<CUgraphNode> nodes;
  std::vector<std::vector<std::uint32_t>> dependencies;
};

bool read_edges(Driver &driver, CUgraph graph, std::vector<CUgraphNode> &from, std::vector<CUgraphNode> &to) {
  std::size_t count = 0;
  if (exact::cuGraphGetEdges_v10000(driver)(graph, nullptr, nullptr, &count) != CUDA_SUCCESS) return false;
  from.resize(count);
  to.resize(count);
  if (count == 0) return true;
  const CUresult result = exact::cuGraphGetEdges_v10000(driver)(graph, from.data(), to.data(), &count);
#if CUDA_VERSION >= 12030
  if (result == CUDA_ERROR_LOSSY_QUERY) {
    std::vector<CUgraphEdgeData> data(count);
    return exact::cuGraphGetEdges_v12030(driver)(graph, from.data(), to.data(), data.data(), &count) ==
           CUDA_SUCCESS;
  }
#endif
  return result == CUDA_SUCCESS;
}

std::optional<Listed> list(Driver &driver, CUgraph graph) {
  Listed listed;
  std::size_t count = 0;
  if (driver.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) return std::nullopt;
  listed.nodes.resize(count);
  listed.dependencies.resize(count);
  if (count != 0 && driver.cuGraphGetNodes(graph, listed.nodes.data(), &count) != CUDA_SUCCESS)
    return std::nullopt;
  std::unordered_map<CUgraphNode, std::uint32_t> indices;
  for (std::uint32_t i = 0; i < count; ++i) indices[listed.nodes[i]] = i;
  std::vector<CUgraphNode> from, to;
  if (!read_edges(driver, graph, from, to)) return std::nullopt;
  for (std::size_t i = 0; i < from.size(); ++i)
    listed.dependencies[indices[to[i]]].push_back(indices[from[i]]);
  return listed;
}

std::vector<std::uint32_t> in_topological_order(const Listed &listed) {
  std::vector<std::vector<std::uint32_t>> dependents(listed.nodes.size());
  std::vector<std::size_t> open(listed.nodes.size());
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < listed.nodes.size(); ++i) {
    open[i] = listed.dependencies[i].size();
    if (open[i] == 0) order.push_back(i);
    for (const std::uint32_t earlier : listed.dependencies[i]) dependents[earlier].push_back(i);
  }
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::uint32_t later : dependents[order[i]])
      if (--open[later] == 0) order.push_back(later);
  return order;
}

class Reader {
 public:
  Reader(KernelKnowledge &kernels, const NodeSites &sites) : kernels_(kernels), sites_(sites) {}

  // Nodes without dependencies follow `first`. `where` names the graph.
  bool append(CUgraph graph, std::optional<std::uint32_t> first, const std::string &where) {
    const std::optional<Listed> listed = list(driver_, graph);
    if (!listed) return false;
    const std::vector<std::uint32_t> order = in_topological_order(*listed);
    if (order.size() != listed->nodes.size()) return false;  // a cycle
    std::vector<std::uint32_t> at(order.size());             // indices in `made`, of the ends of child graphs
    for (const std::uint32_t i : order) {
      GraphWork::Node node{.handle = listed->nodes[i]};
      for (const std::uint32_t earlier : listed->dependencies[i]) node.dependencies.push_back(at[earlier]);
      if (node.dependencies.empty() && first) node.dependencies.push_back(*first);
      if (!append(graph, std::move(node), i + 1, where)) return false;
      at[i] = static_cast<std::uint32_t>(made->nodes.size() - 1);
      made->indices[listed->nodes[i]] = at[i];
    }
    return true;
  }

  const std::shared_ptr<GraphWork> made = std::make_shared<GraphWork>();

 private:
  bool append(CUgraph graph, GraphWork::Node &&node, std::size_t number, const std::string &where) {
    CUgraphNodeType type{};
    if (driver_.cuGraphNodeGetType(node.handle, &type) != CUDA_SUCCESS) return false;
    node.site = sites_.find(graph, node.handle);
    const std::string name = noun_of(type) + std::to_string(number) + where;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
      CUgraph child = nullptr;
      if (driver_.cuGraphChildGraphNodeGetGraph(node.handle, &child) != CUDA_SUCCESS) return false;
      return append_parts(std::move(node), std::span(&child, 1), " of " + name);
    }
    if (type == kConditionalNode) {
      const auto bodies = sites_.bodies_of(node.handle);
      return append_parts(std::move(node), bodies, " of " + name);
    }
    if (!describe(node, type)) return false;
    node.work = std::make_shared<NamedWork>(NamedWork{
        .name =
            node.kernel && !node.kernel->name.empty() ? name + " (kernel " + node.kernel->name + ")" : name,
        .is_kernel = node.kernel.has_value(),
        .made_by = node.site.slot >= 0 ? cushim_entry(node.site.slot)->symbol : ""});
    made->nodes.push_back(std::move(node));
    return true;
  }

  // A node of other graphs begins with a node that depends on what it depends on. Each graph follows the one
  // before it, and ends with a node that depends on all of its nodes; the last one is the end of the node.
  bool append_parts(GraphWork::Node &&node, std::span<const CUgraph> graphs, const std::string &where) {
    const CUgraphNode handle = std::exchange(node.handle, nullptr);
    made->nodes.push_back(std::move(node));
    for (const CUgraph graph : graphs) {
      const auto begin = static_cast<std::uint32_t>(made->nodes.size() - 1);
      if (!append(graph, begin, where)) return false;
      std::vector<bool> has_dependents(made->nodes.size() - begin);
      for (std::size_t i = begin + 1; i < made->nodes.size(); ++i)
        for (const std::uint32_t earlier : made->nodes[i].dependencies)
          has_dependents[earlier - begin] = true;
      GraphWork::Node end;
      for (std::uint32_t i = begin; i < made->nodes.size(); ++i)
        if (!has_dependents[i - begin]) end.dependencies.push_back(i);
      made->nodes.push_back(std::move(end));
    }
    made->nodes.back().handle = handle;
    return true;
  }

  template <class Parameters, class Get>
  static std::optional<Parameters> ask(CUgraphNode node, const Get &get) {
    Parameters parameters{};
    if (get(node, &parameters) != CUDA_SUCCESS) return std::nullopt;
    return parameters;
  }

  bool describe(GraphWork::Node &node, CUgraphNodeType type) {
    const CUgraphNode handle = node.handle;
    switch (static_cast<int>(type)) {
      case CU_GRAPH_NODE_TYPE_KERNEL: {
        CUDA_KERNEL_NODE_PARAMS launch{};
        if (driver_.cuGraphKernelNodeGetParams(handle, &launch) != CUDA_SUCCESS) return false;
        node.kernel = kernels_.ask_node(launch);
        return true;
      }
      case CU_GRAPH_NODE_TYPE_MEMCPY: {
        const auto copy = ask<CUDA_MEMCPY3D>(handle, driver_.cuGraphMemcpyNodeGetParams);
        if (copy) node.uses = uses_of(*copy);
        return copy.has_value();
      }
      case CU_GRAPH_NODE_TYPE_MEMSET: {
        const auto memset = ask<CUDA_MEMSET_NODE_PARAMS>(handle, driver_.cuGraphMemsetNodeGetParams);
        if (memset) node.uses = uses_of(*memset);
        return memset.has_value();
      }
      case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
        const auto memory = ask<CUDA_MEM_ALLOC_NODE_PARAMS>(handle, driver_.cuGraphMemAllocNodeGetParams);
        if (memory)
          node.uses = {
              {.extent = Extent::of(memory->dptr, memory->bytesize), .kind = Access::Kind::allocation}};
        return memory.has_value();
      }
      case CU_GRAPH_NODE_TYPE_MEM_FREE: {
        // Its size is that of the allocation, which the model knows.
        const auto address = ask<CUdeviceptr>(handle, driver_.cuGraphMemFreeNodeGetParams);
        if (address) node.uses = {{.extent = Extent::of(*address, 1), .kind = Access::Kind::free}};
        return address.has_value();
      }
      case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return driver_.cuGraphEventRecordNodeGetEvent(handle, &node.recorded) == CUDA_SUCCESS;
      case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return driver_.cuGraphEventWaitNodeGetEvent(handle, &node.awaited) == CUDA_SUCCESS;
      case CU_GRAPH_NODE_TYPE_HOST:
        node.is_host_function = true;
        return true;
      case 12:  // CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, which the headers of CUDA 11.6 lack
        made->is_checked = false;
        return true;
      default:
        return true;
    }
  }

  KernelKnowledge &kernels_;
  Driver &driver_ = kernels_.driver;
  const NodeSites &sites_;
};

}  // namespace

NodeSites::Site NodeSites::find(CUgraph graph, CUgraphNode node) const {
  const auto of_graph = sites_.find(graph);
  if (of_graph == sites_.end()) return {};
  const auto found = of_graph->second.find(node);
  return found != of_graph->second.end() ? found->second : Site{};
}

std::span<const CUgraph> NodeSites::bodies_of(CUgraphNode node) const {
  const auto found = bodies_.find(node);
  return found != bodies_.end() ? std::span<const CUgraph>(found->second) : std::span<const CUgraph>();
}

GraphWork::Node *GraphWork::find(CUgraphNode node) {
  const auto found = indices.find(node);
  return found != indices.end() ? &nodes[found->second] : nullptr;
}

GraphWork::Uses uses_of(const CUDA_MEMCPY3D &copy) { return {use_of(copy, false), use_of(copy, true)}; }

GraphWork::Uses uses_of(const CUDA_MEMSET_NODE_PARAMS &memset) {
  const std::uint64_t width = memset.width * memset.elementSize;
  return {{.extent = {.begin = memset.dst,
                      .width = width,
                      .rows = memset.height,
                      .pitch = memset.height > 1 ? memset.pitch : width},
           .kind = Access::Kind::write}};
}

std::shared_ptr<GraphWork> read_graph(CUgraph graph, KernelKnowledge &kernels, const NodeSites &sites) {
  Reader reader(kernels, sites);
  const std::string name = cushim::detail::hexadecimal(reinterpret_cast<std::uintptr_t>(graph));
  return reader.append(graph, std::nullopt, " of graph " + name) ? reader.made : nullptr;
}

}  // namespace cushim::check
