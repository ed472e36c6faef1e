// SPDX-License-Identifier: Apache-2.0
// Basic blocks: where divergent branches reconverge.
#include <algorithm>

#include "execute/count.hpp"
#include "execute/decode.hpp"

namespace cushim::ptx::execute {

namespace {

// Returns the immediate post-dominator of each block; n (the number of blocks) for the end of the function.
template <class Successors>
std::vector<std::size_t> post_dominators(std::size_t n, Successors &&successors) {
  const std::size_t none = ~std::size_t{0};
  std::vector<std::vector<std::size_t>> next(n), previous(n + 1);
  for (std::size_t b = 0; b < n; ++b) {
    successors(b, [&](std::size_t s) { next[b].push_back(s); });
    if (next[b].empty()) next[b].push_back(n);
    for (const std::size_t s : next[b]) previous[s].push_back(b);
  }
  // Postorder of the reverse graph, from the end of the function.
  std::vector<std::size_t> order, number(n + 1, none);
  std::vector<std::pair<std::size_t, std::size_t>> stack{{n, 0}};
  std::vector<bool> seen(n + 1, false);
  seen[n] = true;
  while (!stack.empty()) {
    auto &[b, i] = stack.back();
    if (i < previous[b].size()) {
      const std::size_t p = previous[b][i++];
      if (!seen[p]) {
        seen[p] = true;
        stack.push_back({p, 0});
      }
    } else {
      number[b] = order.size();
      order.push_back(b);
      stack.pop_back();
    }
  }
  std::vector<std::size_t> dominator(n + 1, none);
  dominator[n] = n;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = order.size(); k-- != 0;) {
      const std::size_t b = order[k];
      if (b == n) continue;
      std::size_t common = none;
      for (const std::size_t s : next[b]) {
        if (dominator[s] == none) continue;
        std::size_t x = s;
        if (common != none) {
          std::size_t y = common;
          while (x != y) {
            while (number[x] < number[y]) x = dominator[x];
            while (number[y] < number[x]) y = dominator[y];
          }
        }
        common = x;
      }
      if (common != dominator[b]) {
        dominator[b] = common;
        changed = true;
      }
    }
  }
  dominator.pop_back();
  return dominator;
}

}  // namespace

std::size_t FunctionDecoder::target_op(std::uint32_t target) const {
  return target == epilogue ? out.ops.size() - 1 : first_op[target];
}

void FunctionDecoder::connect() {
  const std::size_t n = out.ops.size();
  std::vector<std::vector<std::size_t>> to(n);
  for (std::size_t i = 0; i < n; ++i)
    if (flow[i] == Flow::next && i + 1 < n) to[i].push_back(i + 1);
  for (std::size_t i = 0; i < n; ++i)
    if (flow[i] == Flow::branch_if) to[i].push_back(i + 1);
  for (const Target &one : targets) to[one.op].push_back(target_op(one.instruction));
  for (const TableTarget &one : table_targets)
    for (const std::uint32_t target : one.instructions) to[one.op].push_back(target_op(target));

  // A basic block extends from a leader to the operation before the next leader.
  std::vector<bool> leader(n, false);
  leader[0] = true;
  for (std::size_t i = 0; i < n; ++i) {
    if (flow[i] == Flow::next) continue;
    if (i + 1 < n) leader[i + 1] = true;
    for (const std::size_t one : to[i]) leader[one] = true;
  }
  std::vector<std::size_t> block_of(n), first, last;
  for (std::size_t i = 0; i < n; ++i) {
    if (leader[i]) {
      first.push_back(i);
      last.push_back(i);
    }
    block_of[i] = first.size() - 1;
    last.back() = i;
  }
  const std::vector<std::size_t> joins = post_dominators(first.size(), [&](std::size_t block, auto &&visit) {
    for (const std::size_t one : to[last[block]]) visit(block_of[one]);
  });

  std::vector<bool> has_join(n, false);
  for (std::size_t b = 0; b < first.size(); ++b)
    if ((flow[last[b]] == Flow::branch_if || flow[last[b]] == Flow::indexed) && joins[b] < first.size())
      has_join[first[joins[b]]] = true;

  std::vector<std::size_t> place(n);  // new index of each operation, or of the join before it
  std::vector<Op> ops;
  ops.reserve(n + first.size());
  for (std::size_t i = 0; i < n; ++i) {
    place[i] = ops.size();
    if (has_join[i]) {
      Op op;
      op.run = execute::join;
      op.source = out.ops[i].source;
      ops.push_back(op);
    }
    ops.push_back(out.ops[i]);
  }
  const auto moved = [&](std::size_t i) { return place[i] + (has_join[i] ? 1 : 0); };
  for (const Target &one : targets) ops[moved(one.op)].data = &ops[place[target_op(one.instruction)]];
  for (std::size_t b = 0; b < first.size(); ++b) {
    Op &op = ops[moved(last[b])];
    const bool joined_here = joins[b] < first.size();
    if (flow[last[b]] == Flow::branch_if && joined_here)
      op.immediate =
          static_cast<std::int64_t>(place[first[joins[b]]]) - static_cast<std::int64_t>(moved(last[b]));
  }
  for (const TableTarget &one : table_targets) {
    BranchTable &table = code.tables.emplace_back();
    for (const std::uint32_t target : one.instructions)
      table.targets.push_back(&ops[place[target_op(target)]]);
    const std::size_t block = block_of[one.op];
    if (joins[block] < first.size()) table.join = &ops[place[first[joins[block]]]];
    ops[moved(one.op)].data = &table;
  }
  count_instructions(ops);
  out.ops = std::move(ops);
}

void FunctionDecoder::count_instructions(std::vector<Op> &ops) const {
  std::uint32_t since = 0, previous = ~0u;
  for (Op &op : ops) {
    if (op.run != execute::join && !is_counter(op.run) && op.source != previous) {
      ++since;
      previous = op.source;
    }
    if (op.run == execute::branch || op.run == execute::branch_if || op.run == execute::branch_indexed ||
        op.run == execute::call || op.run == execute::return_ || op.run == execute::exit_) {
      op.length = static_cast<std::uint16_t>(std::min<std::uint32_t>(since, 0xffff));
      since = 0;
    }
  }
}

}  // namespace cushim::ptx::execute
