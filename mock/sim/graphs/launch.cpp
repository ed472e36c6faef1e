// SPDX-License-Identifier: Apache-2.0
// Launches of executable graphs.
#include <span>
#include <type_traits>

#include "commands/submit.hpp"
#include "graphs/condition.hpp"
#include "graphs/conditional.hpp"
#include "graphs/graph_memory.hpp"

namespace cushim::sim {

namespace {

// One launch, while its nodes are added to the engine.
class GraphLaunch {
 public:
  GraphLaunch(Call &call, ExecutableGraph &executable, Stream &stream)
      : call_(call), executable_(executable), stream_(stream) {
    works_.reserve(executable.graph.nodes.size() + 2);
    done_.reserve(executable.graph.nodes.size());
    Operation begin;
    begin.come_after(executable.last);
    if (!executable.conditions.empty())
      begin.run = [conditions = executable.conditions] {
        for (const auto &condition : conditions) condition->value = condition->at_launch;
      };
    works_.push_back(call.add(stream, std::move(begin)));
  }

  void add(const FlatGraph::Node &node) {
    Context &context = node.context != nullptr ? call_.context(node.context) : *stream_.context;
    const auto after = executable_.graph.dependencies_of(node);
    const auto add_one = [&](PreparedCommand &&prepared) { add(std::move(prepared), context, after); };
    if (!node.is_enabled) return add_one({});
    std::visit(
        [&](const auto &command) {
          using OneCommand = std::remove_cvref_t<decltype(command)>;
          if constexpr (std::is_same_v<OneCommand, BatchMemOp> ||
                        std::is_same_v<OneCommand, ExternalSignal> ||
                        std::is_same_v<OneCommand, ExternalWait>)
            add_sequence(prepare(call_, context, command), context, after);
          else if constexpr (std::is_same_v<OneCommand, EventRecord>)
            record(command, context, after);
          else if constexpr (std::is_same_v<OneCommand, KernelLaunch>)
            add_one(prepare(call_, context, KernelLaunch(command)));
          else if constexpr (std::is_same_v<OneCommand, Conditional>)
            add_conditional(command, node, context);
          else if constexpr (std::is_same_v<OneCommand, Empty> || std::is_same_v<OneCommand, ChildGraph> ||
                             std::is_same_v<OneCommand, MemoryAllocation> ||
                             std::is_same_v<OneCommand, MemoryFree>)
            add_one({});
          else
            add_one(prepare(call_, context, command));
        },
        node.command);
  }

  // Ends the launch after all nodes that no other node follows, and starts everything.
  void end() {
    Operation end{.name = call_.name, .stream = stream_.id, .owner = stream_.context};
    end.come_after(works_.front());
    const bool is_cut_short = done_.size() != executable_.graph.nodes.size();
    for (std::size_t i = 0; i < done_.size(); ++i)
      if (is_cut_short || !executable_.graph.nodes[i].has_dependents) end.come_after(done_[i]);
    for (const CopyEndpoint &used : uses_) reserve_users(call_.system.memory, used);
    const Work last = call_.system.engine.add(std::move(end));
    for (const CopyEndpoint &used : uses_) add_users(call_.system.memory, used, last);
    works_.push_back(last);
    stream_.tail = executable_.last = last;
    // A start may release the lock: the executable graph and the stream may be destroyed meanwhile.
    const std::vector<Work> works = std::move(works_);
    for (const Work &work : works) call_.start(work);
  }

 private:
  // Adds the operations of one node, each of which follows the one before it.
  void add_sequence(std::vector<PreparedCommand> &&sequence, Context &context,
                    std::span<const std::uint32_t> after) {
    if (sequence.empty()) return add({}, context, after);
    add(std::move(sequence.front()), context, after);
    for (PreparedCommand &prepared : std::span(sequence).subspan(1)) {
      prepared.operation.come_after(works_.back());
      done_.back() = add_work(std::move(prepared), context);
    }
  }

  void record(const EventRecord &command, Context &context, std::span<const std::uint32_t> after) {
    Event &event = call_.event(command.event);
    add({{.cost = call_.costs(context).event_record}}, context, after);
    event.captured.reset();
    event.record = done_.back();
  }

  void add_conditional(const Conditional &command, const FlatGraph::Node &node, Context &context) {
    const FlatGraph &graph = executable_.graph;
    const std::span bodies = std::span(graph.bodies).subspan(node.part, command.bodies.size());
    auto prepared = prepare(call_, command, bodies, uses_);
    Operation first{.name = call_.name, .stream = stream_.id, .owner = &context};
    follow(first, graph.dependencies_of(node));
    const auto [begin, end] = sim::add(std::move(prepared), std::move(first));
    works_.push_back(begin);
    works_.push_back(end);
    done_.push_back(end);
  }

  void add(PreparedCommand &&prepared, Context &context, std::span<const std::uint32_t> after) {
    follow(prepared.operation, after);
    done_.push_back(add_work(std::move(prepared), context));
  }

  void follow(Operation &operation, std::span<const std::uint32_t> after) const {
    if (after.empty()) operation.come_after(works_.front());
    for (const std::uint32_t earlier : after) operation.come_after(done_[earlier]);
  }

  Work add_work(PreparedCommand &&prepared, Context &context) {
    for (const CopyEndpoint &used : prepared.uses)
      if (used.allocation != nullptr && (uses_.empty() || uses_.back().allocation != used.allocation))
        uses_.push_back(used);
    Operation &operation = prepared.operation;
    operation.name = call_.name;
    operation.stream = stream_.id;
    operation.owner = &context;
    works_.push_back(call_.system.engine.add(std::move(operation)));
    return works_.back();
  }

  Call &call_;
  ExecutableGraph &executable_;
  Stream &stream_;
  std::vector<Work> works_;  // in the order of addition
  std::vector<Work> done_;   // the last work of each node
  std::vector<CopyEndpoint> uses_;
};

}  // namespace

void launch(Call &call, ExecutableGraph &executable, Stream &stream) {
  launch_memory_nodes(call.system, executable);
  GraphLaunch launch(call, executable, stream);
  try {
    for (const FlatGraph::Node &node : executable.graph.nodes) launch.add(node);
  } catch (...) {
    launch.end();
    throw;
  }
  launch.end();
}

}  // namespace cushim::sim
