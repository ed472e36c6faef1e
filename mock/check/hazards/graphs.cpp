// SPDX-License-Identifier: Apache-2.0
#include "hazards/graphs.hpp"

#include <cushim/exact.hpp>

#include <algorithm>
#include <set>
#include <tuple>

#include "hazards/entry_point_effects.hpp"

namespace cushim::check {
namespace {

using AccessKind = Access::Kind;
using Use = HazardModel::Use;

bool is_within(const std::vector<ByteRange> &ranges, std::uint64_t address) {
  return std::ranges::any_of(
      ranges, [&](const ByteRange &range) { return range.begin <= address && address < range.end; });
}

auto key_of(const Use &use) {
  const Extent &extent = use.extent;
  return std::tuple(extent.begin, extent.width, extent.rows, extent.pitch, extent.layers, extent.layer_pitch,
                    use.kind, use.array);
}

}  // namespace

void Graphs::instantiated(CallView &call, CUgraphExec executable, CUgraph graph) {
  executables_.erase(executable);
  if (!call.model.reports()) return;
  Executable made{.work = read_graph(graph, call.kernels, sites)};
  if (made.work == nullptr) return;
  add_memory(call, made);
  executables_[executable] = std::move(made);
}

// Makes the memory of allocation nodes known, and sets the extents of free nodes.
void Graphs::add_memory(CallView &call, Executable &executable) {
  std::map<std::uint64_t, std::uint64_t> allocated;
  for (const GraphWork::Node &node : executable.work->nodes)
    for (const Use &use : node.uses)
      if (use.kind == AccessKind::allocation) {
        allocated[use.extent.begin] = use.extent.end();
        if (!call.model.is_known(use.extent.begin))
          call.model.memory_made(use.extent.begin, use.extent.width, MemoryKind::device, nullptr);
      }
  for (GraphWork::Node &node : executable.work->nodes)
    for (Use &use : node.uses)
      if (use.kind == AccessKind::free) {
        use.extent.width = call.model.known_size(use.extent.begin);
        if (allocated.contains(use.extent.begin))
          executable.own_memory.push_back({use.extent.begin, use.extent.end()});
      }
}

GraphWork::Node *Graphs::change(CUgraphExec executable, CUgraphNode node) {
  const auto found = executables_.find(executable);
  if (found == executables_.end()) return nullptr;
  found->second.conflicts.reset();
  found->second.uses.clear();
  return found->second.work->find(node);
}

// Gives the kernel nodes what the driver tells of their kernels. A launch enqueues each of them once.
Graphs::Works Graphs::works_of(GraphWork &graph, std::span<const mock::EnqueuedKernel> enqueued) {
  std::unordered_map<CUfunction, std::vector<const mock::EnqueuedKernel *>> by_function;
  for (const mock::EnqueuedKernel &kernel : enqueued) by_function[kernel.function].push_back(&kernel);
  Works works;
  for (GraphWork::Node &node : graph.nodes) {
    works.push_back(node.work);
    if (!node.kernel || !node.is_enabled) continue;
    auto &candidates = by_function[node.kernel->function];
    auto found = std::ranges::find_if(candidates, [&](const auto *kernel) {
      return node.kernel->values.empty() || kernel->values == node.kernel->values;
    });
    if (found == candidates.end()) continue;
    node.kernel = **found;
    candidates.erase(found);
    if (node.kernel->record == nullptr) continue;
    auto work = std::make_shared<NamedWork>(*node.work);
    work->record = node.kernel->record;
    works.back() = std::move(work);
  }
  return works;
}

void Graphs::check(CallView &call, Executable &executable, const Works &works, const Access &launch) {
  const GraphWork &graph = *executable.work;
  if (!graph.is_checked) return;
  HazardModel &model = call.model;
  if (executable.conflicts) {
    for (const Conflict &conflict : *executable.conflicts) model.report_in_graph(conflict, launch);
    return;
  }
  const bool is_recorded =
      std::ranges::any_of(works, [](const auto &work) { return work != nullptr && work->record != nullptr; });
  if (is_recorded) {
    auto unconfirmed =
        check_nodes(graph, works, model, call.kernels,
                    [&model, launch](const Conflict &conflict) { model.report_in_graph(conflict, launch); });
    if (unconfirmed != nullptr) unconfirmed_.push_back(std::move(unconfirmed));
    return;
  }
  std::vector<Conflict> found;
  check_nodes(graph, works, model, call.kernels,
              [&found](const Conflict &conflict) { found.push_back(conflict); });
  for (const Conflict &conflict : found) model.report_in_graph(conflict, launch);
  executable.conflicts = std::move(found);
}

void Graphs::add_uses(CallView &call, Executable &executable, const Works &works, const Access &launch) {
  const std::vector<GraphWork::Node> &nodes = executable.work->nodes;
  if (executable.uses.empty()) {
    std::set<decltype(key_of({}))> known;
    for (std::uint32_t i = 0; i < nodes.size(); ++i)
      for (const Use &use : nodes[i].uses)
        if (nodes[i].is_enabled && !is_within(executable.own_memory, use.extent.begin) &&
            known.insert(key_of(use)).second)
          executable.uses.emplace_back(i, use);
  }
  Access access = launch;
  for (const auto &[node, use] : executable.uses) {
    access.work = works[node];
    if (use.kind == AccessKind::allocation)
      call.model.memory_made(use.extent.begin, use.extent.width, MemoryKind::device, nullptr);
    call.model.add_uses(access, std::span(&use, 1));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].kernel || !nodes[i].is_enabled) continue;
    access.work = works[i];
    auto pointers = call.kernels.pointers_of(*nodes[i].kernel, call.model);
    std::erase_if(pointers,
                  [&](const auto &pointer) { return is_within(executable.own_memory, pointer.address); });
    call.model.add_uses(access, pointers);
  }
}

void Graphs::launched(CallView &call, CUgraphExec executable, const StreamRef &stream) {
  const auto found = executables_.find(executable);
  HazardModel &model = call.model;
  if (found == executables_.end() || !model.reports() || model.is_capturing())
    return model.unknown_work(stream);
  GraphWork &graph = *found->second.work;
  const Works works = works_of(graph, call.enqueued);
  for (const GraphWork::Node &node : graph.nodes)
    if (node.awaited != nullptr) model.wait(stream, node.awaited);
  const Access launch = model.submit_launch(stream, call.access());
  check(call, found->second, works, launch);
  add_uses(call, found->second, works, launch);
  for (const GraphWork::Node &node : graph.nodes) {
    if (node.recorded != nullptr) model.record(node.recorded, stream);
    if (node.is_host_function) model.host_may_learn_all_of(stream);
  }
}

void Graphs::captured(Driver &driver, const NodeSites::Site &site, CUstream stream) {
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode *nodes = nullptr;
  std::size_t count = 0;
  const CUresult result =
      exact::cuStreamGetCaptureInfo_v11030(driver)(stream, &status, &id, &graph, &nodes, &count);
  if (result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1)
    sites.add(graph, nodes[0], site);
}

void Graphs::review() {
  std::erase_if(unconfirmed_, [](const auto &model) {
    model->review_unconfirmed();
    return !model->has_unconfirmed();
  });
}

}  // namespace cushim::check
