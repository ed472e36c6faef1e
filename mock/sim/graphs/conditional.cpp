// SPDX-License-Identifier: Apache-2.0
#include "graphs/conditional.hpp"

#include <string>
#include <type_traits>

#include "commands/submit.hpp"
#include "graphs/condition.hpp"

namespace cushim::sim {

namespace {

// The nodes of a body.
struct PreparedBody {
  struct Node {
    Operation operation{};  // called once each round, by another operation
    std::unique_ptr<PreparedConditional> conditional{};
    std::vector<std::uint32_t> dependencies{};  // indices of nodes
    bool has_dependents = false;
  };
  std::vector<Node> nodes{};
};

}  // namespace

struct PreparedConditional {
  ConditionalType type;
  std::shared_ptr<GraphCondition> condition;
  std::vector<PreparedBody> bodies;
};

namespace {

// Prepares the nodes of bodies in the context of the condition.
class Preparation {
 public:
  Preparation(Call &call, std::vector<CopyEndpoint> &uses) : call_(call), uses_(uses) {}

  PreparedConditional conditional(const Conditional &command, std::span<const FlatGraph> bodies) {
    PreparedConditional made{command.type, command.condition, {}};
    for (const FlatGraph &each : bodies) {
      PreparedBody &body = made.bodies.emplace_back();
      for (const FlatGraph::Node &one : each.nodes) body.nodes.push_back(node(each, one));
    }
    return made;
  }

 private:
  PreparedBody::Node node(const FlatGraph &body, const FlatGraph::Node &from) {
    PreparedBody::Node made;
    const auto after = body.dependencies_of(from);
    made.dependencies.assign(after.begin(), after.end());
    made.has_dependents = from.has_dependents;
    if (const auto *const inner = std::get_if<Conditional>(&from.command)) {
      const std::span bodies(body.bodies);
      made.conditional = std::make_unique<PreparedConditional>(
          conditional(*inner, bodies.subspan(from.part, inner->bodies.size())));
    } else if (from.is_enabled) {
      PreparedCommand prepared = command(from);
      uses_.insert(uses_.end(), prepared.uses.begin(), prepared.uses.end());
      made.operation = std::move(prepared.operation);
    }
    return made;
  }

  // Instantiation has refused nodes of other types.
  PreparedCommand command(const FlatGraph::Node &node) {
    if (const auto *const launch = std::get_if<KernelLaunch>(&node.command))
      return prepare(call_, call_.context(node.context), KernelLaunch(*launch));
    if (const auto *const copy = std::get_if<Memcpy>(&node.command))
      return prepare(call_, call_.context(node.context), *copy);
    if (const auto *const set = std::get_if<Memset>(&node.command))
      return prepare(call_, call_.context(node.context), *set);
    return {};
  }

  Call &call_;
  std::vector<CopyEndpoint> &uses_;
};

// A conditional node from its launch to its end. Each round is an operation that evaluates the condition and
// adds the operations of the chosen body and of the next round; `end` waits for the last round.
struct ConditionalRun {
  std::shared_ptr<PreparedConditional> node;
  const char *name;      // of the driver call
  unsigned long stream;  // id
  const void *owner;     // the context
  // The operations of rounds refer to this, and let it go when they are complete.
  Work round{}, end{};
};

// Returns the body that the condition chooses; null: none.
PreparedBody *chosen_body(const ConditionalRun &run) {
  auto &[type, condition, bodies] = *run.node;
  if (!condition->value)
    condition->system.engine.report(
        std::string(run.name) +
        ": a conditional node has an undefined condition, which counts as 0: its handle has no default "
        "value, and no kernel of this launch has set it");
  const unsigned value = condition->value.value_or(0);
  switch (type) {
    case ConditionalType::if_else:
      if (value != 0) return &bodies[0];
      return bodies.size() == 2 ? &bodies[1] : nullptr;
    case ConditionalType::while_loop:
      return value != 0 ? &bodies[0] : nullptr;
    case ConditionalType::switch_case:
      break;
  }
  return value < bodies.size() ? &bodies[value] : nullptr;
}

// Adds the nodes of a body, which follow the round. `next` follows them.
void add_body(const ConditionalRun &run, PreparedBody &body, Operation &next) {
  Engine &engine = run.node->condition->system.engine;
  std::vector<Work> done;
  done.reserve(body.nodes.size());
  for (PreparedBody::Node &node : body.nodes) {
    Operation operation{.name = run.name,
                        .stream = run.stream,
                        .owner = run.owner,
                        .cost = node.operation.cost,
                        .resource = node.operation.resource};
    if (node.dependencies.empty()) operation.come_after(run.round);
    for (const std::uint32_t earlier : node.dependencies) operation.come_after(done[earlier]);
    if (node.conditional != nullptr) {
      const std::shared_ptr<PreparedConditional> inner(run.node, node.conditional.get());
      done.push_back(add(inner, std::move(operation)).last);
    } else {
      if (node.operation.run)
        operation.run = [kept = run.node, &node](Move &move) { node.operation.run(move); };
      operation.on_complete = node.operation.on_complete;
      done.push_back(engine.add(std::move(operation)));
    }
    if (!node.has_dependents) next.come_after(done.back());
  }
  next.come_after(run.round);
}

void run_round(const std::shared_ptr<ConditionalRun> &run) {
  PreparedBody *const body = chosen_body(*run);
  // There is no end if memory ran out while the node was added.
  if (body == nullptr || run->end == nullptr) return;
  Engine &engine = run->node->condition->system.engine;
  Operation next{.name = run->name, .stream = run->stream, .owner = run->owner};
  add_body(*run, *body, next);
  if (run->node->type == ConditionalType::while_loop) next.run = [run] { run_round(run); };
  run->round = engine.add(std::move(next));
  engine.extend(run->end, run->round);
}

}  // namespace

std::shared_ptr<PreparedConditional> prepare(Call &call, const Conditional &command,
                                             std::span<const FlatGraph> bodies,
                                             std::vector<CopyEndpoint> &uses) {
  return std::make_shared<PreparedConditional>(Preparation(call, uses).conditional(command, bodies));
}

ConditionalWorks add(std::shared_ptr<PreparedConditional> node, Operation &&first) {
  Engine &engine = node->condition->system.engine;
  const auto run = std::make_shared<ConditionalRun>(
      ConditionalRun{std::move(node), first.name, first.stream, first.owner});
  first.run = [run] { run_round(run); };
  run->round = engine.add(std::move(first));
  Operation end{.name = run->name, .stream = run->stream, .owner = run->owner};
  end.come_after(run->round);
  run->end = engine.add(std::move(end));
  return {run->round, run->end};
}

}  // namespace cushim::sim
