// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies, mbarrier objects and addresses in a cluster. Copies complete when they are issued.
#include <algorithm>
#include <iterator>

#include "check/kernel_checker.hpp"
#include "execute/asynchronous.hpp"
#include "execute/atomics.hpp"
#include "execute/count.hpp"
#include "execute/lane_values.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

// d, c: shared memory address and offset; a: global address; b: bytes to copy, zero-filled up to `extra`
const Op *copy_async(Warp &w, const Op *op) {
  const u64 *const to = reg<u64>(w, op->d), *const offset = reg<u64>(w, op->c),
                   *const from = reg<u64>(w, op->a);
  const u32 *const wanted = reg<u32>(w, op->b);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned i = static_cast<unsigned>(__builtin_ctz(rest));
    const u64 destination = to[i] + offset[i], source = from[i] + static_cast<u64>(op->immediate);
    if (((destination | source) & (op->extra - 1)) != 0)
      return fault(w, op, FaultKind::misaligned_address, i, source);
    std::byte *const shared = resolve_shared(w, op, i, destination, op->extra, Access::write);
    if (shared == nullptr) return nullptr;
    const u32 size = wanted[i] < op->extra ? wanted[i] : op->extra;
    std::memset(shared, 0, op->extra);
    if (size == 0) continue;
    const std::byte *const host = resolve_generic(w, op, i, source, size, Access::read);
    if (host == nullptr) return nullptr;
    std::memcpy(shared, host, size);
  }
  return op + 1;
}

// ---- mbarrier objects

// The PTX manual leaves the layout of the 64-bit object undefined. Here, from the lowest bit: pending
// arrivals (20 bits), arrivals that the next phase expects (20 bits), pending bytes (21 bits, signed), and in
// the top bit the parity of the phase. The state that an arrival returns is the object before the arrival.
struct Mbarrier {
  u32 pending, expected;
  s32 bytes;
  u32 parity;
};
constexpr u32 most_arrivals = 0xfffff;

Mbarrier unpacked(u64 bits) {
  return {u32(bits) & most_arrivals, u32(bits >> 20) & most_arrivals, s32(s64(bits << 3) >> 43),
          u32(bits >> 63)};
}
u64 packed(const Mbarrier &one) {
  return u64{one.pending} | u64{one.expected} << 20 | (u64(u32(one.bytes)) & 0x1fffff) << 40 |
         u64{one.parity} << 63;
}

void complete_phase(Mbarrier &one) {
  if (one.pending != 0 || one.bytes != 0) return;
  one.parity ^= 1;
  one.pending = one.expected;
}
void complete_bytes(Mbarrier &one, u32 bytes) {
  one.bytes -= s32(bytes);
  complete_phase(one);
}

// The memory order of an operation on an object: a thread that waits and sees the phase completed comes after
// the threads that arrived.
enum class MbarrierUse { initializes, counts, arrives, waits };

// Applies `change` to the object at an address; a use that waits returns whether the phase has completed.
// Returns false after a fault.
template <class F>
bool change_mbarrier(Warp &w, const Op *op, unsigned lane, u64 address, MbarrierUse use, F &&change) {
  if ((address & 7) != 0) {
    fault(w, op, FaultKind::misaligned_address, lane, address);
    return false;
  }
  const bool initializes = use == MbarrierUse::initializes;
  std::byte *const at = resolve_shared(w, op, lane, address, 8, initializes ? Access::write : Access::atomic);
  if (at == nullptr) return false;
  if (w.checker != nullptr && use == MbarrierUse::arrives) w.checker->arrives_at_mbarrier(w, lane, at);
  Mbarrier one = unpacked(load_lane(at, 0, 8));
  const bool passes = change(one);
  store_lane(at, 0, 8, packed(one));
  if (w.checker != nullptr && use == MbarrierUse::waits && passes) w.checker->passes_mbarrier(w, lane, at);
  return true;
}
template <class F>
const Op *for_mbarriers(Warp &w, const Op *op, MbarrierUse use, F &&change) {
  const u64 *const address = reg<u64>(w, op->a);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned i = static_cast<unsigned>(__builtin_ctz(rest));
    if (!change_mbarrier(w, op, i, address[i], use, [&](Mbarrier &one) { return change(i, one); }))
      return nullptr;
  }
  return op + 1;
}

// a: address; b: a count; d: the state
const Op *mbarrier_init(Warp &w, const Op *op) {
  const u32 *const count = reg<u32>(w, op->b);
  return for_mbarriers(w, op, MbarrierUse::initializes, [count](unsigned i, Mbarrier &one) {
    one = {count[i] & most_arrivals, count[i] & most_arrivals, 0, 0};
    return false;
  });
}
const Op *mbarrier_inval(Warp &w, const Op *op) {
  return for_mbarriers(w, op, MbarrierUse::counts, [](unsigned, Mbarrier &one) {
    one = {};
    return false;
  });
}
template <bool Drop>
const Op *mbarrier_arrive(Warp &w, const Op *op) {
  const u32 *const count = reg<u32>(w, op->b);
  u64 *const d = reg<u64>(w, op->d);
  return for_mbarriers(w, op, MbarrierUse::arrives, [=](unsigned i, Mbarrier &one) {
    d[i] = packed(one);
    one.pending -= std::min(one.pending, count[i]);
    if (Drop) one.expected -= std::min(one.expected, count[i]);
    complete_phase(one);
    return false;
  });
}
const Op *mbarrier_expect(Warp &w, const Op *op) {
  const u32 *const bytes = reg<u32>(w, op->b);
  return for_mbarriers(w, op, MbarrierUse::counts, [bytes](unsigned i, Mbarrier &one) {
    one.bytes += s32(bytes[i]);
    return false;
  });
}
const Op *mbarrier_complete(Warp &w, const Op *op) {
  const u32 *const bytes = reg<u32>(w, op->b);
  return for_mbarriers(w, op, MbarrierUse::arrives, [bytes](unsigned i, Mbarrier &one) {
    complete_bytes(one, bytes[i]);
    return false;
  });
}
// b: a state or the parity of a phase; d: predicate: whether that phase has completed. try_wait does not
// suspend the thread, which the manual allows.
template <class T>
const Op *mbarrier_test(Warp &w, const Op *op) {
  const T *const phase = reg<T>(w, op->b);
  u32 completed = 0;
  const Op *const next = for_mbarriers(w, op, MbarrierUse::waits, [&](unsigned i, Mbarrier &one) {
    const u32 parity = sizeof(T) == 8 ? u32(u64(phase[i]) >> 63) : u32(phase[i] & 1);
    completed |= (parity != one.parity ? 1u : 0u) << i;
    return parity != one.parity;
  });
  u32 &d = predicate(w, op->d);
  d = (d & ~w.mask) | (completed & w.mask);
  state(w).waits = true;
  if ((w.mask & ~completed) != 0) w.budget = 0;  // yield at the next branch
  return next;
}
const Op *mbarrier_pending_count(Warp &w, const Op *op) {
  const u64 *const a = reg<u64>(w, op->a);
  return for_lanes<u32>(w, op, [=](u32 i) { return u32(a[i]) & most_arrivals; });
}

// ---- bulk copies

// Adds, or combines otherwise, `bytes` bytes of elements to those at `to`.
void reduce(std::byte *to, const std::byte *from, u32 bytes, const BulkCopy &copy) {
  const unsigned size = atomic_bytes(copy.type);
  for (u32 at = 0; at < bytes; at += size)
    update_atomically(to + at, copy.operation, copy.type, load_lane(from + at, 0, size), 0, !copy.to_shared);
}

// Copies byte i of each 16 bytes if bit i of the mask is set.
void copy_masked(std::byte *to, const std::byte *from, u32 bytes, u16 mask) {
  for (u32 i = 0; i < bytes; ++i)
    if ((mask >> (i % 16) & 1) != 0) to[i] = from[i];
}

// a: source; b: size in bytes; c: mbarrier; d: destination; data: BulkCopy
const Op *bulk_copy(Warp &w, const Op *op) {
  const auto &copy = *static_cast<const BulkCopy *>(op->data);
  const u64 *const to = reg<u64>(w, op->d), *const from = reg<u64>(w, op->a),
                   *const object = reg<u64>(w, op->c);
  const u32 *const size = reg<u32>(w, op->b);
  const auto at = [&](unsigned lane, u64 address, bool shared, Access access) {
    return shared ? resolve_shared(w, op, lane, address, size[lane], access)
                  : resolve_generic(w, op, lane, address, size[lane], access);
  };
  const auto move = [&](unsigned lane, u64 destination, u64 mbarrier, const std::byte *source) {
    std::byte *const target =
        at(lane, destination, copy.to_shared, copy.reduces ? Access::atomic : Access::write);
    if (target == nullptr) return false;
    count_move(w, op, destination, size[lane], copy.to_shared, true);
    if (copy.reduces)
      reduce(target, source, size[lane], copy);
    else if (copy.masked)
      copy_masked(target, source, size[lane], reg<u16>(w, copy.bytes)[lane]);
    else
      std::memmove(target, source, size[lane]);
    return !copy.signals || complete_bytes_at(w, op, lane, mbarrier, size[lane]);
  };
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned i = static_cast<unsigned>(__builtin_ctz(rest));
    if (((to[i] | from[i] | size[i]) & 15) != 0)
      return fault(w, op, FaultKind::misaligned_address, i, (to[i] & 15) != 0 ? to[i] : from[i]);
    if (size[i] == 0) continue;
    const std::byte *const source = at(i, from[i], copy.from_shared, Access::read);
    if (source == nullptr) return nullptr;
    count_move(w, op, from[i], size[i], copy.from_shared, false);
    if (!copy.multicast) {
      if (!move(i, to[i], object[i], source)) return nullptr;
      continue;
    }
    for (u32 ranks = reg<u16>(w, copy.ranks)[i]; ranks != 0; ranks &= ranks - 1) {
      const u64 block = (u64(__builtin_ctz(ranks)) + 1) * cluster_block_bytes;
      if (!move(i, block + to[i] % cluster_block_bytes, block + object[i] % cluster_block_bytes, source))
        return nullptr;
    }
  }
  return op + 1;
}

// ---- clusters

// Returns the address of the same variable in the block of another rank. a: address; b: rank
template <class T>
const Op *mapa(Warp &w, const Op *op) {
  const T *const a = reg<T>(w, op->a);
  const u32 *const rank = reg<u32>(w, op->b);
  return for_lanes<T>(w, op, [=](u32 i) {
    const u64 address = a[i], window = address >= shared_window ? shared_window : 0;
    return T(window + (u64{rank[i]} + 1) * cluster_block_bytes + address % cluster_block_bytes);
  });
}
template <class T>
const Op *getctarank(Warp &w, const Op *op) {
  const T *const a = reg<T>(w, op->a);
  const u32 own = w.block->rank;
  return for_lanes<u32>(w, op, [=](u32 i) {
    const u64 address = a[i], window = address >= shared_window ? shared_window : 0;
    const u64 block = (address - window) / cluster_block_bytes;
    return block == 0 ? own : u32(block - 1);
  });
}
const Op *cluster_arrive(Warp &w, const Op *op) {
  if (w.checker != nullptr) w.checker->arrives_at_cluster_barrier(w);
  state(w).cluster_arrived |= w.mask;
  return op + 1;
}

}  // namespace

bool complete_bytes_at(Warp &w, const Op *op, unsigned lane, u64 mbarrier, u32 bytes) {
  return change_mbarrier(w, op, lane, mbarrier, MbarrierUse::arrives, [bytes](Mbarrier &one) {
    complete_bytes(one, bytes);
    return false;
  });
}

constinit const LaneTable asynchronous_operations = {
    {"copy_async", copy_async, ""},
    {"mbarrier.init", mbarrier_init, ""},
    {"mbarrier.inval", mbarrier_inval, ""},
    {"mbarrier.arrive", mbarrier_arrive<false>, ""},
    {"mbarrier.arrive_drop", mbarrier_arrive<true>, ""},
    {"mbarrier.expect_tx", mbarrier_expect, ""},
    {"mbarrier.complete_tx", mbarrier_complete, ""},
    {"mbarrier.test.4", mbarrier_test<u32>, ""},
    {"mbarrier.test.8", mbarrier_test<u64>, ""},
    {"mbarrier.pending_count.b64", mbarrier_pending_count, "48"},
    {"bulk_copy", bulk_copy, ""},
    {"mapa.u32", mapa<u32>, "444"},
    {"mapa.u64", mapa<u64>, "884"},
    {"getctarank.u32", getctarank<u32>, "44"},
    {"getctarank.u64", getctarank<u64>, "48"},
    {"cluster_arrive", cluster_arrive, ""},
};

}  // namespace cushim::ptx::execute
