// SPDX-License-Identifier: Apache-2.0
// Finds nodes of a graph that access the same memory without order.
#include <algorithm>

#include "hazards/graph_work.hpp"

namespace cushim::check {
namespace {

// The limit of the numbers in all clocks that are kept. A clock has one number for each stream, and nodes
// that no path orders are in different streams.
constexpr std::size_t kMostNumbers = std::size_t{1} << 25;

// Distributes the nodes over streams: a node continues a stream if it follows the stream's last node.
class Streams {
 public:
  explicit Streams(HazardModel &model) : model_(model) {}

  // Returns the stream of a node that follows the work of this clock.
  StreamRef stream_after(const VectorClock &clock) {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const std::size_t stream = (last_ + i) % ends_.size();
      if (clock.covers(ends_[stream])) return ref(last_ = stream);
    }
    last_ = ends_.size();
    model_.streams().made(handle(last_), nullptr, false);
    ends_.emplace_back();
    return ref(last_);
  }
  // Notes the clock of the node that stream_after() was called for.
  void add(const VectorClock &clock) {
    const StreamIndex index = model_.streams().stream_index(ref(last_));
    ends_[last_] = {index, clock.of(index)};
  }
  std::size_t count() const noexcept { return ends_.size(); }

 private:
  static CUstream handle(std::size_t stream) { return reinterpret_cast<CUstream>((stream + 1) << 8); }
  static StreamRef ref(std::size_t stream) { return {.handle = handle(stream)}; }

  HazardModel &model_;
  std::vector<Epoch> ends_;  // the last node of each stream
  std::size_t last_ = 0;
};

}  // namespace

std::unique_ptr<HazardModel> check_nodes(const GraphWork &graph,
                                         const std::vector<std::shared_ptr<const NamedWork>> &works,
                                         const HazardModel &memory, const KernelKnowledge &kernels,
                                         HazardModel::ConflictReport report) {
  auto model = std::make_unique<HazardModel>(std::move(report));
  Streams streams(*model);
  std::vector<VectorClock> clocks(graph.nodes.size());
  std::vector<std::size_t> dependents(graph.nodes.size());
  for (const GraphWork::Node &node : graph.nodes)
    for (const std::uint32_t earlier : node.dependencies) ++dependents[earlier];
  std::size_t kept = 0;  // clocks
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphWork::Node &node = graph.nodes[i];
    VectorClock clock;
    for (const std::uint32_t earlier : node.dependencies) {
      clock.join(clocks[earlier]);
      if (--dependents[earlier] == 0) clocks[earlier] = {}, --kept;
    }
    const StreamRef stream = streams.stream_after(clock);
    if (++kept * streams.count() > kMostNumbers) return nullptr;
    model->wait(stream, clock);
    Access access{.epoch = {}, .call_stack = node.site.call_stack, .work = works[i]};
    if (!node.is_enabled) {
    } else if (node.kernel) {
      const auto pointers = kernels.pointers_of(*node.kernel, memory);
      for (const auto &pointer : pointers) memory.copy_memory_to(*model, pointer.address);
      model->launch(stream, access, pointers);
    } else if (!node.uses.empty()) {
      for (const HazardModel::Use &use : node.uses)
        if (use.array == nullptr) memory.copy_memory_to(*model, use.extent.begin);
      model->work(stream, access, node.uses, HazardModel::Host::goes_on);
    }
    clocks[i] = model->work_of(stream);
    streams.add(clocks[i]);
    if (dependents[i] == 0) clocks[i] = {}, --kept;
  }
  return model->has_unconfirmed() ? std::move(model) : nullptr;
}

}  // namespace cushim::check
