// SPDX-License-Identifier: Apache-2.0
// Special registers, and addresses of local memory.
#include <chrono>
#include <iterator>

#include "execute/lane_values.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

u64 shared_bytes_of(const Launch &launch) {
  return u64{launch.kernel->info.static_shared_bytes} + launch.shape.dynamic_shared_bytes;
}

u64 special_value(WarpState &w, SpecialRegister which, unsigned component, unsigned lane) {
  const Launch &launch = *w.worker->launch;
  const auto pick = [component](const Dim3 &d) {
    return component == 0 ? d.x : component == 1 ? d.y : component == 2 ? d.z : 0;
  };
  const auto divided = [](const Dim3 &a, const Dim3 &b) { return Dim3{a.x / b.x, a.y / b.y, a.z / b.z}; };
  const Dim3 &cluster = launch.shape.cluster;
  const Dim3 &id = w.block->id;
  switch (which) {
    case SpecialRegister::tid:
      return component > 2 ? 0 : w.special.tid[component][lane];
    case SpecialRegister::ntid:
      return pick(launch.shape.block);
    case SpecialRegister::laneid:
      return lane;
    case SpecialRegister::warpid:
      return w.index;
    case SpecialRegister::nwarpid:
      return 64;
    case SpecialRegister::ctaid:
      return pick(id);
    case SpecialRegister::nctaid:
      return pick(launch.shape.grid);
    case SpecialRegister::smid:
      return w.block->index % 132;
    case SpecialRegister::nsmid:
      return 132;
    case SpecialRegister::gridid:
      return 1;
    case SpecialRegister::envreg1:
      return launch.shape.grid_workspace >> 32;
    case SpecialRegister::envreg2:
      return launch.shape.grid_workspace & 0xffffffff;
    case SpecialRegister::is_explicit_cluster:
      return cluster.count() != 1;
    case SpecialRegister::clusterid:
      return pick(divided(id, cluster));
    case SpecialRegister::nclusterid:
      return pick(divided(launch.shape.grid, cluster));
    case SpecialRegister::cluster_ctaid:
      return pick({id.x % cluster.x, id.y % cluster.y, id.z % cluster.z});
    case SpecialRegister::cluster_nctaid:
      return pick(cluster);
    case SpecialRegister::cluster_ctarank:
      return id.x % cluster.x + cluster.x * (id.y % cluster.y + u64{cluster.y} * (id.z % cluster.z));
    case SpecialRegister::cluster_nctarank:
      return cluster.count();
    case SpecialRegister::lanemask_eq:
      return 1u << lane;
    case SpecialRegister::lanemask_lt:
      return (1u << lane) - 1;
    case SpecialRegister::lanemask_le:
      return (2ull << lane) - 1;
    case SpecialRegister::lanemask_gt:
      return ~((2ull << lane) - 1) & 0xffffffff;
    case SpecialRegister::lanemask_ge:
      return ~((1u << lane) - 1);
    case SpecialRegister::clock:
    case SpecialRegister::clock64:
      return (w.worker->instructions + w.instructions + static_cast<u64>(slice - w.budget)) * 4;
    case SpecialRegister::clock_hi:
      return 0;
    case SpecialRegister::globaltimer:
    case SpecialRegister::globaltimer_lo:
    case SpecialRegister::globaltimer_hi: {
      const u64 now = static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                           std::chrono::system_clock::now().time_since_epoch())
                                           .count());
      return which == SpecialRegister::globaltimer_hi ? now >> 32 : now;
    }
    case SpecialRegister::dynamic_smem_size:
      return launch.shape.dynamic_shared_bytes;
    case SpecialRegister::reserved_smem_offset_end:
      return 288;
    case SpecialRegister::reserved_smem_offset_cap:
      return reserved_shared_bytes;
    case SpecialRegister::total_smem_size:
      return rounded_shared_bytes(shared_bytes_of(launch));
    case SpecialRegister::aggr_smem_size:
      return u64{reserved_shared_bytes} + shared_bytes_of(launch);
    default:
      return 0;
  }
}

template <class T>
const Op *special(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const auto which = static_cast<SpecialRegister>(op->extra);
  // A loop that reads a clock waits.
  if (which >= SpecialRegister::clock && which <= SpecialRegister::globaltimer_hi) {
    w.waits = true;
    w.budget -= 1;
  }
  T *const d = reg<T>(w, op->d);
  const auto component = static_cast<unsigned>(op->immediate);
  if (which == SpecialRegister::tid && component < 3) {
    const u32 *const tid = w.special.tid[component];
    return for_lanes<T>(w, op, [=](u32 i) { return static_cast<T>(tid[i]); });
  }
  const bool differs = which == SpecialRegister::laneid ||
                       (which >= SpecialRegister::lanemask_eq && which <= SpecialRegister::lanemask_gt);
  if (!differs) {
    const T value = static_cast<T>(special_value(w, which, component, 0));
    return for_lanes<T>(w, op, [=](u32) { return value; });
  }
  each(w.mask, [&](unsigned i) { d[i] = static_cast<T>(special_value(w, which, component, i)); });
  return op + 1;
}
const Op *special_predicate(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  u32 &d = predicate(w, op->d);
  const bool set = special_value(w, static_cast<SpecialRegister>(op->extra), 0, 0) != 0;
  d = set ? d | w.mask : d & ~w.mask;
  return op + 1;
}

template <class T>
const Op *local_address(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const u64 at = w.paths[w.current].frame->local_base + static_cast<u64>(op->immediate);
  T *const d = reg<T>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = static_cast<T>(at); });
  return op + 1;
}

// ---- the stack of a thread

Frame &frame_of(WarpState &w) { return *w.paths[w.current].frame; }

// Allocates the largest size that a lane asks for. a: size; immediate: alignment
template <class T>
const Op *allocate_on_stack(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  Frame &frame = frame_of(w);
  const T *const size = reg<T>(w, op->a);
  const u64 alignment = op->immediate > 16 ? static_cast<u64>(op->immediate) : 16;
  const u64 at = (frame.local_top + alignment - 1) / alignment * alignment;
  u64 largest = 0;
  each(w.mask, [&](unsigned i) { largest = size[i] > largest ? size[i] : largest; });
  if (largest > w.local_bytes || at + largest > w.local_bytes)
    return fault(w, op, FaultKind::stack_overflow, static_cast<unsigned>(__builtin_ctz(w.mask)));
  frame.local_top = at + largest;
  return for_lanes<T>(w, op, [at](u32) { return static_cast<T>(at); });
}
template <class T>
const Op *save_stack(Warp &warp, const Op *op) {
  const u64 top = frame_of(state(warp)).local_top;
  return for_lanes<T>(warp, op, [top](u32) { return static_cast<T>(top); });
}
// Lanes of a divergent path keep the stack pointer: the other lanes of the frame may use what is above it.
template <class T>
const Op *restore_stack(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  Frame &frame = frame_of(w);
  if (w.mask == frame.users) frame.local_top = reg<T>(w, op->a)[__builtin_ctz(w.mask)];
  return op + 1;
}

}  // namespace

constinit const LaneTable special_register_operations = {
    {"special.1", special_predicate, ""},
    {"special.4", special<u32>, ""},
    {"special.8", special<u64>, ""},
    {"alloca.4", allocate_on_stack<u32>, ""},
    {"alloca.8", allocate_on_stack<u64>, ""},
    {"stacksave.4", save_stack<u32>, ""},
    {"stacksave.8", save_stack<u64>, ""},
    {"stackrestore.4", restore_stack<u32>, ""},
    {"stackrestore.8", restore_stack<u64>, ""},
    {"local_address.4", local_address<u32>, ""},
    {"local_address.8", local_address<u64>, ""},
};

}  // namespace cushim::ptx::execute
