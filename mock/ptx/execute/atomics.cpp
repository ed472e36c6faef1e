// SPDX-License-Identifier: Apache-2.0
// Atomic operations.
#include <atomic>
#include <cmath>
#include <cstring>
#include <iterator>
#include <mutex>

#include "execute/atomics.hpp"
#include "execute/convert.hpp"
#include "execute/lane_values.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

enum : u32 { add = 0, maximum = 5, exchange = atomic_exchange };  // some of the operations of atomics.hpp

template <class T, class F>
T update(std::byte *at, F &&next) {
  std::atomic_ref<T> ref(*reinterpret_cast<T *>(at));
  T old = ref.load();
  while (!ref.compare_exchange_weak(old, next(old))) {
  }
  return old;
}

template <class T>
T integer_atomic(std::byte *at, u32 operation, T b, T c) {
  std::atomic_ref<T> ref(*reinterpret_cast<T *>(at));
  switch (operation) {
    case 0:
      return ref.fetch_add(b);
    case 1:
      return ref.fetch_and(b);
    case 2:
      return ref.fetch_or(b);
    case 3:
      return ref.fetch_xor(b);
    case 4:
      return update<T>(at, [b](T old) { return old < b ? old : b; });
    case 5:
      return update<T>(at, [b](T old) { return old > b ? old : b; });
    case 6:
      return update<T>(at, [b](T old) { return old >= b ? T(0) : T(old + 1); });
    case 7:
      return update<T>(at, [b](T old) { return old == 0 || old > b ? b : T(old - 1); });
    case 8:
      return ref.exchange(b);
    default: {
      T expected = b;
      ref.compare_exchange_strong(expected, c);
      return expected;
    }
  }
}
// Returns the smaller or the larger number; a NaN loses, and -0 is smaller than +0.
template <class T>
T extreme(T a, T b, bool larger) {
  if (a == b && a == 0) return std::signbit(a) == larger ? b : a;
  return larger ? std::fmax(a, b) : std::fmin(a, b);
}

// Measured: in global memory f32 flushes subnormal operands and sums, and f64 returns a NaN operand as it is,
// the second one first. In shared memory the old value comes first, made quiet.
f32 sum(f32 old, f32 b, bool in_global) {
  return canonical(in_global ? flushed(flushed(old) + flushed(b)) : old + b);
}
f64 sum(f64 old, f64 b, bool in_global) {
  if (!in_global) return chosen_nan(old + b, b, old);
  return b != b ? b : old != old ? old : canonical(old + b);
}

template <class T>
T float_atomic(std::byte *at, u32 operation, T b, bool in_global) {
  using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
  if (operation == exchange) return bits_as<T>(integer_atomic<Bits>(at, exchange, bits_as<Bits>(b), Bits(0)));
  return bits_as<T>(update<Bits>(at, [&](Bits bits) {
    const T old = bits_as<T>(bits);
    if (operation == add) return bits_as<Bits>(sum(old, b, in_global));
    return bits_as<Bits>(canonical(extreme(old, b, operation == maximum)));
  }));
}
u16 half_sum(Kind kind, u32 operation, u16 a, u16 b) {
  const f64 x = value_of(kind, a), y = value_of(kind, b);
  const f64 r = operation == add ? x + y : extreme(x, y, operation == maximum);
  return r != r ? u16(0x7fff) : u16(bits_of(kind, r));
}

}  // namespace

std::optional<std::uint32_t> atomic_kind(std::string_view type) {
  static constexpr std::string_view kinds[] = {"u32",  "s32",   "u64",    "s64", "f32", "f64", "f16",
                                               "bf16", "f16x2", "bf16x2", "b32", "b64", "b16", "b128"};
  for (std::uint32_t i = 0; i < 13; ++i)
    if (kinds[i] == type) return i == 10 ? 0 : i == 11 ? 2 : i;
  return {};
}

unsigned atomic_bytes(std::uint32_t type) {
  static constexpr unsigned sizes[] = {4, 4, 8, 8, 4, 8, 2, 2, 4, 4, 4, 8, 2};
  return sizes[type];
}

std::uint64_t update_atomically(std::byte *at, std::uint32_t operation, std::uint32_t type, std::uint64_t b,
                                std::uint64_t c, bool in_global) {
  switch (type) {
    case 0:
      return integer_atomic<u32>(at, operation, u32(b), u32(c));
    case 1:
      return u32(integer_atomic<s32>(at, operation, s32(b), s32(c)));
    case 2:
      return integer_atomic<u64>(at, operation, b, c);
    case 3:
      return u64(integer_atomic<s64>(at, operation, s64(b), s64(c)));
    case 4:
      return bits_as<u32>(float_atomic<f32>(at, operation, bits_as<f32>(u32(b)), in_global));
    case 5:
      return bits_as<u64>(float_atomic<f64>(at, operation, bits_as<f64>(b), in_global));
    case 6:
    case 7:
      return update<u16>(
          at, [&](u16 was) { return half_sum(type == 6 ? Kind::f16 : Kind::bf16, operation, was, u16(b)); });
    case 8:
    case 9:
      return update<u32>(at, [&](u32 was) {
        const Kind kind = type == 8 ? Kind::f16 : Kind::bf16;
        return u32(half_sum(kind, operation, u16(was), u16(b))) |
               u32(half_sum(kind, operation, u16(was >> 16), u16(b >> 16))) << 16;
      });
    default:
      return integer_atomic<u16>(at, operation, u16(b), u16(c));
  }
}

namespace {

// a: 64-bit address; extra: operation | type << 8 | shared << 16 | alignment << 24
const Op *atomic(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  w.waits = true;
  const u32 operation = op->extra & 0xff, type = op->extra >> 8 & 0xff, alignment = op->extra >> 24;
  const unsigned bytes = atomic_bytes(type);
  const u64 *const address = reg<u64>(w, op->a);
  const bool in_shared = (op->extra >> 16 & 1) != 0;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned i = static_cast<unsigned>(__builtin_ctz(rest));
    const u64 at = address[i] + static_cast<u64>(op->immediate);
    if ((at & (alignment - 1)) != 0) return fault(w, op, FaultKind::misaligned_address, i, at);
    std::byte *const host = in_shared ? resolve_shared(w, op, i, at, bytes, Access::atomic)
                                      : resolve_generic(w, op, i, at, bytes, Access::atomic);
    if (host == nullptr) return nullptr;
    const u64 b = load_lane(w.frame + op->b, i, bytes);
    const u64 c = operation == 9 ? load_lane(w.frame + op->c, i, bytes) : 0;
    store_lane(w.frame + op->d, i, bytes,
               update_atomically(host, operation, type, b, c, !in_shared && at < shared_window));
  }
  return op + 1;
}

// a: 64-bit address; extra: as in atomic(). Exchanges or compares and exchanges 16 bytes. These operations
// are atomic with respect to each other; a narrower access by another worker may see one half changed.
const Op *atomic_128(Warp &warp, const Op *op) {
  static std::mutex &mutex = *new std::mutex;
  WarpState &w = state(warp);
  w.waits = true;
  const bool compares = (op->extra & 0xff) == 9, in_shared = (op->extra >> 16 & 1) != 0;
  const u64 *const address = reg<u64>(w, op->a);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned i = static_cast<unsigned>(__builtin_ctz(rest));
    const u64 at = address[i] + static_cast<u64>(op->immediate);
    if ((at & 15) != 0) return fault(w, op, FaultKind::misaligned_address, i, at);
    std::byte *const host = in_shared ? resolve_shared(w, op, i, at, 16, Access::atomic)
                                      : resolve_generic(w, op, i, at, 16, Access::atomic);
    if (host == nullptr) return nullptr;
    u64 b[2], c[2] = {};
    std::memcpy(b, w.frame + op->b + std::size_t{i} * 16, 16);
    if (compares) std::memcpy(c, w.frame + op->c + std::size_t{i} * 16, 16);
    const std::lock_guard lock(mutex);
    const std::atomic_ref<u64> low(*reinterpret_cast<u64 *>(host));
    const std::atomic_ref<u64> high(*reinterpret_cast<u64 *>(host + 8));
    const u64 old[2] = {low.load(), high.load()};
    const u64 *const next = compares ? c : b;
    if (!compares || (old[0] == b[0] && old[1] == b[1])) {
      low.store(next[0]);
      high.store(next[1]);
    }
    std::memcpy(w.frame + op->d + std::size_t{i} * 16, old, 16);
  }
  return op + 1;
}

}  // namespace

constinit const LaneTable atomic_operations = {
    {"atomic", atomic, ""},
    {"atomic.128", atomic_128, ""},
};

}  // namespace cushim::ptx::execute
