// SPDX-License-Identifier: Apache-2.0
#include "check/kernel_checker.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

void free_join(WarpState &w, Join *join) {
  std::erase(w.used_joins, join);
  w.free_joins.push_back(join);
}

void remove_path(WarpState &w, std::size_t index) {
  w.paths[index] = w.paths.back();
  w.paths.pop_back();
}

// Releases a join that all expected lanes have reached: it becomes a path, or ends if every lane has exited.
bool settle(WarpState &w, Join *join) {
  if (join->arrived != join->expected) return false;
  if (join->arrived != 0) {
    Path path;
    path.pc = join->at;
    path.mask = join->arrived;
    path.frame = join->resume_frame;
    path.join = join->parent;
    w.paths.push_back(path);
  }
  free_join(w, join);
  return true;
}

const Op *jump(Warp &warp, const Op *op, const Op *target) {
  count_run(warp, op);
  warp.budget -= op->length;
  if (warp.budget >= 0) [[likely]]
    return target;
  WarpState &w = state(warp);
  w.paths[w.current].pc = target;
  w.stop = Stop::slice;
  return nullptr;
}

// Sends lanes of the running path to `target`: into `join` if it is at `target`, else as a new path.
void split(WarpState &w, std::uint32_t mask, const Op *target, Join *join) {
  if (join != nullptr && join->at == target) {
    join->arrived |= mask;
    return;
  }
  Path path = w.paths[w.current];
  path.mask = mask;
  path.pc = target;
  path.join = join;
  w.paths.push_back(path);
}

}  // namespace

Join *new_join(WarpState &w, const Op *at, const Path &path) {
  Join *join;
  if (w.free_joins.empty()) {
    join = &w.joins.emplace_back();
  } else {
    join = w.free_joins.back();
    w.free_joins.pop_back();
  }
  *join = {at, path.frame, path.mask, 0, path.join, path.frame};
  w.used_joins.push_back(join);
  return join;
}

void resume(WarpState &w, std::size_t index) {
  w.current = index;
  const Path &path = w.paths[index];
  w.frame = path.frame->registers;
  w.mask = path.mask;
  w.partial = path.mask != w.live;
}

const Op *next_path(WarpState &w) {
  for (std::size_t i = w.paths.size(); i-- != 0;) {
    if (w.paths[i].state != PathState::ready) continue;
    resume(w, i);
    return w.paths[i].pc;
  }
  w.stop = w.live == 0 ? Stop::done : Stop::blocked;
  return nullptr;
}

bool leave_join(WarpState &w) {
  for (std::size_t i = w.used_joins.size(); i-- != 0;) {
    Join *const join = w.used_joins[i];
    if (join->arrived == 0) continue;
    Path path;
    path.pc = join->at + 1;
    path.mask = join->arrived;
    path.frame = join->resume_frame;
    path.join = join->parent;
    join->expected &= ~join->arrived;
    join->arrived = 0;
    if (join->expected == 0) free_join(w, join);
    w.paths.insert(w.paths.begin(), path);
    if (w.paths.size() > 1) ++w.current;
    return true;
  }
  return false;
}

const Op *branch(Warp &w, const Op *op) { return jump(w, op, static_cast<const Op *>(op->data)); }

const Op *branch_if(Warp &warp, const Op *op) {
  const std::uint32_t p = *reinterpret_cast<const std::uint32_t *>(warp.frame + op->guard);
  const std::uint32_t taken = (op->guard_negated ? ~p : p) & warp.mask;
  const Op *const target = static_cast<const Op *>(op->data);
  if (taken == 0) return jump(warp, op, op + 1);
  if (taken == warp.mask) return jump(warp, op, target);
  WarpState &w = state(warp);
  const auto *const at = op->immediate == 0 ? nullptr : op + op->immediate;
  Path &path = w.paths[w.current];
  Join *join = path.join;
  if (at != nullptr && (join == nullptr || join->at != at || join->frame != path.frame))
    join = new_join(w, at, path);
  const std::uint32_t others = w.mask & ~taken;
  path.join = join;
  if (join != nullptr && join->at == op + 1 && join->frame == path.frame) {
    join->arrived |= others;
    path.mask = taken;
    w.mask = taken;
    w.partial = taken != w.live;
    return jump(w, op, target);
  }
  const auto current = w.current;
  split(w, taken, target, join);
  Path &rest = w.paths[current];
  rest.mask = others;
  w.mask = others;
  w.partial = 1;
  return jump(w, op, op + 1);
}

const Op *branch_indexed(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const auto &table = *static_cast<const BranchTable *>(op->data);
  const auto *const index = reinterpret_cast<const std::uint32_t *>(w.frame + op->a);
  std::uint32_t rest = w.mask;
  std::vector<std::pair<const Op *, std::uint32_t>> groups;
  while (rest != 0) {
    const unsigned first = static_cast<unsigned>(__builtin_ctz(rest));
    if (index[first] >= table.targets.size()) return fault(w, op, FaultKind::illegal_instruction, first);
    const Op *const target = table.targets[index[first]];
    std::uint32_t same = 0;
    for (std::uint32_t left = rest; left != 0; left &= left - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
      if (index[lane] < table.targets.size() && table.targets[index[lane]] == target) same |= 1u << lane;
    }
    groups.emplace_back(target, same);
    rest &= ~same;
  }
  if (groups.size() == 1) return jump(w, op, groups[0].first);
  Path &path = w.paths[w.current];
  Join *join = path.join;
  if (table.join != nullptr && (join == nullptr || join->at != table.join || join->frame != path.frame))
    join = new_join(w, table.join, path);
  path.join = join;
  const auto current = w.current;
  for (std::size_t i = 1; i < groups.size(); ++i) split(w, groups[i].second, groups[i].first, join);
  w.paths[current].mask = groups[0].second;
  w.mask = groups[0].second;
  w.partial = 1;
  return jump(w, op, groups[0].first);
}

const Op *join(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  Path &path = w.paths[w.current];
  Join *const join = path.join;
  if (join == nullptr || join->at != op || join->frame != path.frame) return op + 1;
  join->arrived |= path.mask;
  if (join->arrived == join->expected) {
    path.mask = join->arrived;
    path.join = join->parent;
    free_join(w, join);
    w.mask = path.mask;
    w.partial = path.mask != w.live;
    return op;  // the parent join may be at the same operation
  }
  remove_path(w, w.current);
  return next_path(w);
}

const Op *exit_lanes(WarpState &w, const Op *next, std::uint32_t gone) {
  Path &path = w.paths[w.current];
  w.live &= ~gone;
  for (Frame *frame = path.frame; frame != nullptr; frame = frame->caller) {
    frame->users &= ~gone;
    if (frame->users == 0 && frame != &w.kernel_frame && path.mask == gone)
      w.free_frames[frame->function->index].push_back(frame);
  }
  path.mask &= ~gone;
  Join *parent = path.join;
  const bool dead = path.mask == 0;
  path.pc = next;
  if (dead) remove_path(w, w.current);
  for (Join *join = parent; join != nullptr; join = parent) {
    parent = join->parent;
    join->expected &= ~gone;
    if (dead) settle(w, join);
  }
  complete_rendezvous(w);
  if (w.live == 0) {
    w.stop = Stop::done;
    return nullptr;
  }
  if (dead) return next_path(w);
  resume(w, w.current);
  return next;
}

const Op *exit_(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  w.instructions += op->length;
  w.thread_instructions += std::uint64_t{op->length} * static_cast<unsigned>(__builtin_popcount(w.mask));
  std::uint32_t gone = w.mask;
  if (op->guard != 0) {
    const std::uint32_t p = *reinterpret_cast<const std::uint32_t *>(w.frame + op->guard);
    gone &= op->guard_negated ? ~p : p;
    if (gone == 0) return op + 1;
  }
  return exit_lanes(w, op + 1, gone);
}

const Op *trap(Warp &w, const Op *op) {
  return fault(w, op, static_cast<FaultKind>(op->extra), static_cast<unsigned>(__builtin_ctz(w.mask)));
}

const Op *guarded(Warp &w, const Op *op) {
  const std::uint32_t p = *reinterpret_cast<const std::uint32_t *>(w.frame + op->guard);
  const std::uint32_t mask = w.mask, partial = w.partial;
  const std::uint32_t active = mask & (op->guard_negated ? ~p : p);
  if (active == 0) return op + 1;
  w.mask = active;
  w.partial = partial | (active != mask);
  const Op *const next = op->inner(w, op);
  w.mask = mask;
  w.partial = partial;
  return next;
}

}  // namespace cushim::ptx::execute
