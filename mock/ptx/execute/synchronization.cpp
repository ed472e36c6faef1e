// SPDX-License-Identifier: Apache-2.0
// Waits of lanes and warps: barriers of blocks and clusters, and instructions of several paths of a
// warp.
#include "check/kernel_checker.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {
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
    if (KernelChecker *const checker = block.warps.front()->checker)
      checker->completes_barrier(block, id, counted);
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
  if (w.checker != nullptr) w.checker->arrives_at_barrier(w, id);
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
  if ((w.cluster_arrived & w.mask) == 0) {
    if (w.checker != nullptr) w.checker->passes_cluster_barrier(w, w.mask);
    return op + 1;
  }
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
  KernelChecker *const checker = cluster.blocks.front()->warps.front()->checker;
  if (checker != nullptr) checker->completes_cluster_barrier(cluster);
  for (const auto &block : cluster.blocks)
    for (const auto &w : block->warps) {
      w->cluster_arrived = 0;
      for (Path &path : w->paths) {
        if (path.state != PathState::cluster_barrier) continue;
        if (checker != nullptr) checker->passes_cluster_barrier(*w, path.mask);
        path.state = PathState::ready;
        ++path.pc;
      }
    }
  return true;
}

// Combines the operands of the lanes that name the same members, for each such group. ptxas 13.0 lets one
// group after the other execute the instruction (WARPSYNC.EXCLUSIVE). All members are here.
void meet_in_groups(WarpState &w, const Op *op, const std::uint32_t *named) {
  const std::uint32_t mask = w.mask;
  for (std::uint32_t rest = mask; rest != 0; rest &= ~w.mask) {
    const std::uint32_t members = named[__builtin_ctz(rest)];
    w.mask = 0;
    for (std::uint32_t left = rest; left != 0; left &= left - 1)
      if (const auto lane = static_cast<unsigned>(__builtin_ctz(left)); named[lane] == members)
        w.mask |= 1u << lane;
    w.rendezvous_mask = w.mask;
    op->rounded(w, op);
  }
  w.mask = mask;
}

// inner: writes the operand of the active lanes to `exchange`; rounded: combines the operands of all members;
// guard: member mask.
const Op *rendezvous(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const unsigned first = static_cast<unsigned>(__builtin_ctz(w.mask));
  const auto *const named = reinterpret_cast<const std::uint32_t *>(w.frame + op->guard);
  bool is_one_group = true;
  std::uint32_t members = 0;
  for (std::uint32_t rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
    members |= named[lane] & w.live;
    is_one_group &= named[lane] == named[first];
  }
  op->inner(w, op);
  if ((members & ~w.mask) == 0) {
    if (w.checker != nullptr) w.checker->meet(w, op, w.mask);
    w.rendezvous_mask = w.mask;
    if (is_one_group)
      op->rounded(w, op);
    else
      meet_in_groups(w, op, named);
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
    if (w.checker != nullptr) w.checker->meet(w, op, rendezvous_mask);
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
