// SPDX-License-Identifier: Apache-2.0
// The part of KernelChecker that follows synchronization.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "check/kernel_checker.hpp"

namespace cushim::ptx::execute {
namespace {

template <class Visit>
void each_lane(std::uint32_t lanes_mask, Visit &&visit) {
  for (; lanes_mask != 0; lanes_mask &= lanes_mask - 1)
    visit(static_cast<unsigned>(__builtin_ctz(lanes_mask)));
}

std::string hex(std::uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", unsigned{mask});
  return text;
}

}  // namespace

void KernelChecker::block_starts(Block &block) {
  BlockState &own = blocks_[&block];
  own.threads.assign(block.warps.size() * lanes, {});
  std::fill(std::begin(own.barriers), std::end(own.barriers), Knowledge{});
  const auto shared = reinterpret_cast<std::uintptr_t>(block.shared);
  if (checks_[Check::races]) {
    check_second_writes();
    races_.reset(shared, launch_.shared_bytes);
  }
  if (checks_[Check::init])
    for (std::uint64_t at = shared + reserved_shared_bytes; at < shared + launch_.shared_bytes; ++at)
      unwritten_shared_.at(at).set(at % 64);
  if (block.rank == 0) clusters_[block.cluster] = {};
}

void KernelChecker::fence(Warp &w, const Op *op) {
  if (!checks_[Check::races]) return;
  if (!traits_at(where_of(state(w).paths[state(w).current], op)).is_fence) return;
  each_lane(w.mask, [&](unsigned lane) { races_.fence(thread_of(w, lane), knowledge_of(w, lane)); });
}

// ---- warps

void KernelChecker::meet(WarpState &w, const Op *op, std::uint32_t lanes_mask) {
  // The mask that each lane names. Lanes of other paths wait at operations of their own.
  std::uint32_t masks[lanes] = {};
  for (std::size_t i = 0; i < w.paths.size(); ++i) {
    const Path &path = w.paths[i];
    const bool is_running = i == w.current && path.state == PathState::ready;
    if (!is_running && (path.state != PathState::rendezvous || path.pc->rounded != op->rounded ||
                        path.pc->extra != op->extra))
      continue;
    const Op *const own = is_running ? op : path.pc;
    const auto *const members = reinterpret_cast<const std::uint32_t *>(path.frame->registers + own->guard);
    each_lane(path.mask & lanes_mask, [&](unsigned lane) { masks[lane] = members[lane]; });
  }
  if (checks_[Check::barriers]) check_masks(w, op, lanes_mask, masks);
  if (!checks_[Check::races] || !traits_at(where_of(w.paths[w.current], op)).is_warp_barrier) return;
  for (std::uint32_t rest = lanes_mask; rest != 0;) {
    const std::uint32_t mask = masks[__builtin_ctz(rest)];
    std::uint32_t group = 0;
    each_lane(rest, [&](unsigned lane) { group |= masks[lane] == mask ? 1u << lane : 0; });
    Knowledge met;
    arrive(w, group, met);
    each_lane(group, [&](unsigned lane) { knowledge_of(w, lane).join(met); });
    rest &= ~group;
  }
}

void KernelChecker::check_masks(WarpState &w, const Op *op, std::uint32_t lanes_mask,
                                const std::uint32_t *masks) {
  each_lane(lanes_mask, [&](unsigned lane) {
    const Place place = place_of(w, op, lane);
    if ((masks[lane] >> lane & 1) == 0) {
      if (!is_known(Check::barriers, "not-in-mask", place.where, 0))
        add_barrier("not-in-mask",
                    "lane " + std::to_string(lane) + " of a warp passes the member mask " + hex(masks[lane]) +
                        ", which does not name it",
                    {{"executed by", position_of(place)}});
      return;
    }
    each_lane(masks[lane] & lanes_mask, [&](unsigned other) {
      if (masks[other] == masks[lane] || is_known(Check::barriers, "different-masks", place.where, 0)) return;
      add_barrier("different-masks",
                  "lanes " + std::to_string(lane) + " and " + std::to_string(other) +
                      " of a warp meet with different member masks, " + hex(masks[lane]) + " and " +
                      hex(masks[other]),
                  {{"executed by", position_of(place)}, {"and by", position_of(place_of(w, op, other))}});
    });
  });
}

void KernelChecker::add_barrier(std::string_view rule, std::string what,
                                std::vector<KernelFinding::Act> acts) {
  KernelFinding &finding = findings_.emplace_back();
  finding.check = Check::barriers;
  finding.rule = rule;
  finding.what = std::move(what);
  finding.acts = std::move(acts);
}

// ---- blocks

void KernelChecker::arrives_at_barrier(WarpState &w, std::uint32_t id) {
  if (checks_[Check::races]) arrive(w, w.mask, blocks_[w.block].barriers[id]);
}

void KernelChecker::completes_barrier(Block &block, std::uint32_t id, bool is_counted) {
  if (checks_[Check::barriers] && !is_counted) {
    check_exits(block, id);
    check_instructions(block, id);
  }
  if (!checks_[Check::races]) return;
  BlockState &own = blocks_[&block];
  Knowledge met = std::exchange(own.barriers[id], {});
  if (!is_counted) races_.meet_in_block(block.index, met);
  for (const auto &w : block.warps)
    for (const Path &path : w->paths)
      if (path.state == PathState::barrier && path.barrier == id)
        each_lane(path.mask, [&](unsigned lane) {
          Knowledge &knowledge = knowledge_of(*w, lane);
          if (is_counted) return knowledge.join(met);
          knowledge.now = met.now;  // includes the clock of the thread
          knowledge.fenced = met.fenced;
        });
}

// No thread may have exited before a barrier of all threads.
void KernelChecker::check_exits(Block &block, std::uint32_t id) {
  const WarpState *gone = nullptr;
  std::uint64_t exited = 0;
  for (const auto &w : block.warps) {
    const std::uint32_t missing = w->lanes_mask & ~w->live;
    exited += static_cast<unsigned>(__builtin_popcount(missing));
    if (missing != 0 && gone == nullptr) gone = w.get();
  }
  if (gone == nullptr) return;
  for (const auto &w : block.warps)
    for (const Path &path : w->paths) {
      if (path.state != PathState::barrier || path.barrier != id) continue;
      const auto lane = static_cast<unsigned>(__builtin_ctz(path.mask));
      const Place place{thread_of(*w, lane), where_of(path, path.pc)};
      const auto first_gone = static_cast<unsigned>(__builtin_ctz(gone->lanes_mask & ~gone->live));
      ThreadPosition position = position_of({thread_of(*gone, first_gone), place.where});
      position.line = position.source_line = 0;
      if (!is_known(Check::barriers, "exited-threads", place.where, 0))
        add_barrier("exited-threads",
                    "barrier " + std::to_string(id) + " is for all threads of the block, but " +
                        std::to_string(exited) + " of " + std::to_string(launch_.threads) +
                        " have exited before it",
                    {{"reached by", position_of(place)}, {"not by", std::move(position)}});
      return;
    }
}

// The threads of a warp must execute the same aligned barrier.
void KernelChecker::check_instructions(Block &block, std::uint32_t id) {
  for (const auto &w : block.warps) {
    const Path *first = nullptr;
    for (const Path &path : w->paths) {
      if (path.state != PathState::barrier || path.barrier != id) continue;
      if (first == nullptr) first = &path;
      const std::uint32_t one = where_of(*first, first->pc), other = where_of(path, path.pc);
      if (one == other || !traits_at(one).is_aligned) continue;
      const auto at = [&](const Path &that, std::uint32_t where) {
        return position_of({thread_of(*w, static_cast<unsigned>(__builtin_ctz(that.mask))), where});
      };
      if (!is_known(Check::barriers, "different-instructions", one, other))
        add_barrier("different-instructions",
                    "threads of one warp reach barrier " + std::to_string(id) + " at different instructions",
                    {{"reached by", at(*first, one)}, {"and by", at(path, other)}});
    }
  }
}

void KernelChecker::blocked(const Block &block) {
  if (!checks_[Check::barriers]) return;
  constexpr std::size_t most_acts = 4;
  std::vector<KernelFinding::Act> acts;
  std::vector<std::uint32_t> seen;
  std::uint64_t waiting = 0, exited = 0;
  for (const auto &w : block.warps) {
    exited += static_cast<unsigned>(__builtin_popcount(w->lanes_mask & ~w->live));
    for (const Path &path : w->paths) {
      waiting += static_cast<unsigned>(__builtin_popcount(path.mask));
      const std::uint32_t where = where_of(path, path.pc);
      if (std::ranges::find(seen, where) != seen.end() || seen.size() == most_acts) continue;
      seen.push_back(where);
      const auto lane = static_cast<unsigned>(__builtin_ctz(path.mask));
      std::string role = "waited at by";
      if (path.state == PathState::barrier)
        role = "barrier " + std::to_string(path.barrier) + ", waited at by";
      if (path.state == PathState::cluster_barrier) role = "barrier of the cluster, waited at by";
      if (path.state == PathState::rendezvous) {
        const auto *const members =
            reinterpret_cast<const std::uint32_t *>(path.frame->registers + path.pc->guard);
        role = "member mask " + hex(members[lane]) + ", waited at by";
      }
      acts.push_back({std::move(role), position_of({thread_of(*w, lane), where})});
    }
  }
  add_barrier("never-completes",
              std::to_string(waiting) + " threads of a block wait for each other at " +
                  (seen.size() == 1 ? "a barrier" : "different barriers") + "; " + std::to_string(exited) +
                  " have exited",
              std::move(acts));
}

// ---- clusters and mbarrier objects

void KernelChecker::arrives_at_cluster_barrier(Warp &w) {
  if (checks_[Check::races]) arrive(w, w.mask, clusters_[w.block->cluster].arrived);
}

void KernelChecker::completes_cluster_barrier(Cluster &cluster) {
  ClusterState &own = clusters_[&cluster];
  own.completed = std::exchange(own.arrived, {});
}

void KernelChecker::passes_cluster_barrier(Warp &w, std::uint32_t lanes_mask) {
  if (!checks_[Check::races]) return;
  const Knowledge &met = clusters_[w.block->cluster].completed;
  each_lane(lanes_mask, [&](unsigned lane) { knowledge_of(w, lane).join(met); });
}

void KernelChecker::arrives_at_mbarrier(Warp &w, unsigned lane, const std::byte *host) {
  if (checks_[Check::races])
    races_.release(thread_of(w, lane), knowledge_of(w, lane), reinterpret_cast<std::uintptr_t>(host), false);
}

void KernelChecker::passes_mbarrier(Warp &w, unsigned lane, const std::byte *host) {
  if (checks_[Check::races]) races_.acquire(knowledge_of(w, lane), reinterpret_cast<std::uintptr_t>(host));
}

}  // namespace cushim::ptx::execute
