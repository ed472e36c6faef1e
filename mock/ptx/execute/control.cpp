// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

Join *new_join(WarpState &w, const Op *at, Path &path) {
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
  const auto count = op->length;
  warp.instructions += count;
  warp.thread_instructions += std::uint64_t{count} * static_cast<unsigned>(__builtin_popcount(warp.mask));
  warp.budget -= count;
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

// ---- calls

const Op *call(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const auto &site = *static_cast<const CallSite *>(op->data);
  w.instructions += op->length;
  w.thread_instructions += std::uint64_t{op->length} * static_cast<unsigned>(__builtin_popcount(w.mask));
  w.budget -= op->length;
  if (site.builtin != 0) return call_builtin(w, op, site);
  const FunctionCode *callee = site.callee;
  const unsigned first = static_cast<unsigned>(__builtin_ctz(w.mask));
  if (callee == nullptr) {
    const auto *const target = reinterpret_cast<const std::uint64_t *>(w.frame + op->a);
    std::uint32_t same = 0;
    for (std::uint32_t rest = w.mask; rest != 0; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
      if (target[lane] == target[first]) same |= 1u << lane;
    }
    const std::uint64_t index = (target[first] - code_window) / 16;
    const Code &code = *w.worker->launch->code;
    if (target[first] < code_window || index >= code.functions.size() || !code.functions[index].has_body)
      return fault(w, op, FaultKind::illegal_instruction, first, target[first]);
    callee = &code.functions[index];
    if (site.arguments.size() != callee->parameters.size())
      return fault(w, op, FaultKind::illegal_instruction, first, target[first]);
    if (same != w.mask) {
      // The other lanes execute this operation again; all lanes reconverge after it.
      Path &path = w.paths[w.current];
      Join *const join = new_join(w, op + 1, path);
      path.join = join;
      Path others = path;
      others.mask = w.mask & ~same;
      others.pc = op;
      path.mask = same;
      w.paths.push_back(others);
      w.mask = same;
      w.partial = 1;
    }
  }
  Path &path = w.paths[w.current];
  Frame *frame;
  auto &spare = w.free_frames[callee->index];
  if (spare.empty()) {
    frame = &w.frames.emplace_back();
    frame->storage.resize(callee->frame_bytes + 64);
    frame->registers = reinterpret_cast<std::byte *>(
        (reinterpret_cast<std::uintptr_t>(frame->storage.data()) + 63) & ~std::uintptr_t{63});
    frame->function = callee;
    std::memcpy(frame->registers, callee->constants.data(), callee->constants.size());
  } else {
    frame = spare.back();
    spare.pop_back();
  }
  frame->caller = path.frame;
  frame->call = op;
  frame->users = path.mask;
  frame->local_base = (path.frame->local_top + 15) & ~std::uint64_t{15};
  frame->local_top = frame->local_base + (callee->local_bytes < 16 ? 16 : callee->local_bytes);
  const std::size_t last = callee->parameters.size() - 1;
  const bool has_variadic = callee->variadic && site.arguments.size() > last;
  const std::uint64_t variadic = frame->local_base + variadic_offset(callee->local_bytes);
  if (has_variadic) frame->local_top = std::max(frame->local_top, variadic + site.arguments[last].bytes);
  if (frame->local_top > w.local_bytes) return fault(w, op, FaultKind::stack_overflow, first);
  for (std::size_t i = 0; i < site.arguments.size() && i < callee->parameters.size(); ++i) {
    const Slot &from = site.arguments[i], &to = callee->parameters[i];
    for (unsigned lane = 0; lane < lanes; ++lane)
      std::memcpy(frame->registers + to.at + lane * to.bytes, w.frame + from.at + lane * from.bytes,
                  std::min(to.bytes, from.bytes));
  }
  for (std::uint32_t rest = has_variadic ? w.mask : 0; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
    const Slot &from = site.arguments[last];
    std::memcpy(w.local + lane * w.local_bytes + variadic, w.frame + from.at + lane * from.bytes, from.bytes);
  }
  path.frame = frame;
  w.frame = frame->registers;
  return callee->ops.data();
}

const Op *return_(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  w.instructions += op->length;
  w.thread_instructions += std::uint64_t{op->length} * static_cast<unsigned>(__builtin_popcount(w.mask));
  Path &path = w.paths[w.current];
  Frame *const frame = path.frame;
  Frame *const caller = frame->caller;
  const Op *const from = frame->call;
  const auto &site = *static_cast<const CallSite *>(from->data);
  for (std::size_t i = 0; i < site.results.size() && i < frame->function->results.size(); ++i) {
    const Slot &value = frame->function->results[i], &to = site.results[i];
    for (std::uint32_t rest = path.mask; rest != 0; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
      std::memcpy(caller->registers + to.at + lane * to.bytes,
                  frame->registers + value.at + lane * value.bytes, std::min(to.bytes, value.bytes));
    }
  }
  frame->users &= ~path.mask;
  if (frame->users == 0) w.free_frames[frame->function->index].push_back(frame);
  path.frame = caller;
  w.frame = caller->registers;
  return from + 1;
}

// ---- synchronization of warps and lanes

namespace {

std::uint32_t threads_at(const Block &block, std::uint32_t id, bool counted) {
  std::uint32_t threads = 0;
  for (const auto &w : block.warps)
    threads += counted && w->live != 0 && w->arrived[id] == w->live
                   ? lanes
                   : static_cast<unsigned>(__builtin_popcount(w->arrived[id]));
  return threads;
}

void release(Block &block, std::uint32_t id) {
  Barrier &barrier = block.barriers[id];
  const std::uint32_t set = barrier.true_lanes, all = barrier.all_lanes;
  barrier = {};
  for (const auto &w : block.warps) {
    w->arrived[id] = 0;
    for (Path &path : w->paths) {
      if (path.state != PathState::barrier || path.barrier != id) continue;
      path.state = PathState::ready;
      const Op *const op = path.pc++;
      std::byte *const d = path.frame->registers + op->d;
      if (op->extra == 1) {
        for (unsigned i = 0; i < lanes; ++i)
          if ((path.mask >> i & 1) != 0) reinterpret_cast<std::uint32_t *>(d)[i] = set;
      } else if (op->extra == 2 || op->extra == 3) {
        auto &word = *reinterpret_cast<std::uint32_t *>(d);
        word = (op->extra == 2 ? set == all : set != 0) ? word | path.mask : word & ~path.mask;
      }
    }
  }
}

}  // namespace

bool complete_barriers(Block &block) {
  bool any = false;
  std::uint32_t live = 0;
  for (const auto &w : block.warps) live += static_cast<unsigned>(__builtin_popcount(w->live));
  for (std::uint32_t id = 0; id < 16; ++id) {
    Barrier &barrier = block.barriers[id];
    if (!barrier.waiting) continue;
    const bool counted = barrier.expected != 0;
    if (threads_at(block, id, counted) < (counted ? barrier.expected : live)) continue;
    release(block, id);
    any = true;
  }
  return any;
}

// a: barrier number; b: thread count, a constant 0 for all threads; c: predicate of a reduction; extra: 0
// sync, 1 popc, 2 and, 3 or, 4 arrive.
const Op *barrier(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const unsigned first = static_cast<unsigned>(__builtin_ctz(w.mask));
  const std::uint32_t id = reinterpret_cast<const std::uint32_t *>(w.frame + op->a)[first];
  const std::uint32_t count = reinterpret_cast<const std::uint32_t *>(w.frame + op->b)[first];
  if (id > 15) return fault(w, op, FaultKind::illegal_instruction, first);
  Block &block = *w.block;
  Barrier &barrier = block.barriers[id];
  barrier.waiting = true;
  barrier.expected = count;
  const unsigned here = static_cast<unsigned>(__builtin_popcount(w.mask));
  barrier.all_lanes += here;
  if (op->extra >= 1 && op->extra <= 3) {
    std::uint32_t p = *reinterpret_cast<const std::uint32_t *>(w.frame + op->c);
    if (op->immediate != 0) p = ~p;
    barrier.true_lanes += static_cast<unsigned>(__builtin_popcount(p & w.mask));
  }
  w.arrived[id] |= w.mask;
  if (op->extra == 4) return op + 1;
  Path &waiting = w.paths[w.current];
  waiting.pc = op;
  waiting.state = PathState::barrier;
  waiting.barrier = id;
  return next_path(w);
}

// Executes barrier.cluster.wait. The lanes go on at once if all lanes have arrived since they did.
const Op *cluster_wait(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  if ((w.cluster_arrived & w.mask) == 0) return op + 1;
  Path &waiting = w.paths[w.current];
  waiting.pc = op;
  waiting.state = PathState::cluster_barrier;
  return next_path(w);
}

bool complete_cluster_barrier(Cluster &cluster) {
  std::uint32_t any = 0;
  for (const auto &block : cluster.blocks)
    for (const auto &w : block->warps) {
      any |= w->cluster_arrived;
      if ((w->live & ~w->cluster_arrived) != 0) return false;
    }
  if (any == 0) return false;
  for (const auto &block : cluster.blocks)
    for (const auto &w : block->warps) {
      w->cluster_arrived = 0;
      for (Path &path : w->paths) {
        if (path.state != PathState::cluster_barrier) continue;
        path.state = PathState::ready;
        ++path.pc;
      }
    }
  return true;
}

// inner: writes the operand of the active lanes to `exchange`; rounded: combines the operands of all members;
// guard: member mask.
const Op *rendezvous(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const unsigned first = static_cast<unsigned>(__builtin_ctz(w.mask));
  const std::uint32_t members = reinterpret_cast<const std::uint32_t *>(w.frame + op->guard)[first] & w.live;
  op->inner(w, op);
  if ((members & ~w.mask) == 0) {
    w.rendezvous_mask = w.mask;
    op->rounded(w, op);
    return op + 1;
  }
  Path &path = w.paths[w.current];
  path.pc = op;
  path.state = PathState::rendezvous;
  path.members = members;
  complete_rendezvous(w);
  return next_path(w);
}

void complete_rendezvous(WarpState &w) {
  for (const Path &one : w.paths) {
    if (one.state != PathState::rendezvous) continue;
    const Op *const op = one.pc;
    std::uint32_t rendezvous_mask = 0;
    for (const Path &path : w.paths)
      if (path.state == PathState::rendezvous && path.pc->rounded == op->rounded &&
          path.pc->extra == op->extra)
        rendezvous_mask |= path.mask;
    if ((one.members & w.live & ~rendezvous_mask) != 0) continue;
    std::byte *const frame = w.frame;
    const std::uint32_t mask = w.mask;
    for (Path &path : w.paths) {
      if (path.state != PathState::rendezvous || path.pc->rounded != op->rounded ||
          path.pc->extra != op->extra)
        continue;
      w.frame = path.frame->registers;
      w.mask = path.mask;
      w.rendezvous_mask = rendezvous_mask;
      path.pc->rounded(w, path.pc);
      path.state = PathState::ready;
      ++path.pc;
    }
    w.frame = frame;
    w.mask = mask;
    return complete_rendezvous(w);
  }
}

}  // namespace cushim::ptx::execute
