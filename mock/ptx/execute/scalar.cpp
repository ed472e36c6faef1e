// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>

#include "execute/convert.hpp"
#include "execute/lanes_loop.hpp"
#include "execute/machine.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

// Operations that vectorization does not speed up, and operations that need the state of the launch.
namespace cushim::ptx::execute {

// Executes an operation in a directed rounding mode of the host. extra: 1 toward zero, 2 down, 3 up.
const Op *rounded(Warp &w, const Op *op) {
#if defined(__x86_64__)
  static constexpr unsigned modes[] = {0, 0x6000, 0x2000, 0x4000};
  const unsigned before = _mm_getcsr();
  _mm_setcsr((before & ~0x6000u) | modes[op->extra]);
  const Op *const next = op->rounded(w, op);
  _mm_setcsr(before);
#else
  static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  std::fesetround(modes[op->extra]);
  const Op *const next = op->rounded(w, op);
  std::fesetround(FE_TONEAREST);
#endif
  return next;
}

namespace {

template <class F>
void each(std::uint32_t mask, F &&f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(__builtin_ctz(mask)));
}

u64 load_lane(const std::byte *from, unsigned lane, unsigned bytes) {
  u64 value = 0;
  std::memcpy(&value, from + lane * bytes, bytes);
  return value;
}
void store_lane(std::byte *to, unsigned lane, unsigned bytes, u64 value) {
  std::memcpy(to + lane * bytes, &value, bytes);
}

// extra: size in bytes of the source a | size of the destination d << 8; data: Conversion
const Op *convert_lanes(Warp &w, const Op *op) {
  const auto &conversion = *static_cast<const Conversion *>(op->data);
  each(w.mask, [&](unsigned i) {
    store_lane(w.frame + op->d, i, op->extra >> 8,
               convert(conversion, load_lane(w.frame + op->a, i, op->extra & 0xff)));
  });
  return op + 1;
}
const Op *convert_pair(Warp &w, const Op *op) {
  const auto &conversion = *static_cast<const Conversion *>(op->data);
  each(w.mask, [&](unsigned i) {
    const u64 high = convert(conversion, load_lane(w.frame + op->a, i, 4));
    const u64 low = convert(conversion, load_lane(w.frame + op->b, i, 4));
    store_lane(w.frame + op->d, i, op->extra >> 8, high << 16 | low);
  });
  return op + 1;
}

// ---- special registers

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
    case SpecialRegister::total_smem_size:
    case SpecialRegister::aggr_smem_size:
      return launch.shared_bytes;
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

const Op *isspacep(Warp &w, const Op *op) {
  const u64 *const a = reg<u64>(w, op->a);
  u32 bits = 0;
  for (unsigned i = 0; i < lanes; ++i) {
    const u32 space = a[i] < shared_window      ? 0u
                      : a[i] < local_window     ? 1u
                      : a[i] < parameter_window ? 2u
                                                : 3u;
    bits |= (space == op->extra ? 1u : 0u) << i;
  }
  u32 &d = predicate(w, op->d);
  d = (d & ~w.mask) | (bits & w.mask);
  return op + 1;
}

const Op *fence(Warp &w, const Op *op) {
  state(w).waits = true;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return op + 1;
}
const Op *nanosleep(Warp &w, const Op *op) {
  state(w).waits = true;
  w.budget = 0;  // yield at the next branch
  return op + 1;
}

// ---- extended precision: the carry flag of each lane

enum : u32 { carry_in = 1, carry_out = 2, subtracts = 4, high = 8 };

template <class T, u32 Flags>
const Op *add_carry(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const T *const a = reg<T>(w, op->a), *const b = reg<T>(w, op->b);
  T *const d = reg<T>(w, op->d);
  u32 carries = 0;
  each(w.mask, [&](unsigned i) {
    const u32 in = (Flags & carry_in) != 0 ? w.carry >> i & 1 : (Flags & subtracts) != 0 ? 1 : 0;
    const T second = b[i];
    // A subtraction adds the complement; its carry is set if there is no borrow.
    const u128 r = u128(a[i]) + ((Flags & subtracts) != 0 ? T(~second) : second) + in;
    d[i] = T(r);
    carries |= (u32(r >> (8 * sizeof(T))) & 1) << i;
  });
  if ((Flags & carry_out) != 0) w.carry = (w.carry & ~w.mask) | carries;
  return op + 1;
}
template <class T, u32 Flags>
const Op *mad_carry(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  using Unsigned = std::make_unsigned_t<T>;
  using Big = std::conditional_t<std::is_signed_v<T>, s128, u128>;
  const T *const a = reg<T>(w, op->a), *const b = reg<T>(w, op->b), *const c = reg<T>(w, op->c);
  T *const d = reg<T>(w, op->d);
  u32 carries = 0;
  each(w.mask, [&](unsigned i) {
    const u32 in = (Flags & carry_in) != 0 ? w.carry >> i & 1 : 0;
    const Big product = Big(a[i]) * b[i];
    const Unsigned part = Unsigned((Flags & high) != 0 ? product >> (8 * sizeof(T)) : product);
    const u128 r = u128(part) + Unsigned(c[i]) + in;
    d[i] = T(r);
    carries |= (u32(r >> (8 * sizeof(T))) & 1) << i;
  });
  if ((Flags & carry_out) != 0) w.carry = (w.carry & ~w.mask) | carries;
  return op + 1;
}

// ---- approximations: within the PTX manual's error bounds, but not equal to the GPU's results

template <class F>
const Op *approximate(Warp &w, const Op *op) {
  const f32 *const a = reg<f32>(w, op->a);
  f32 *const d = reg<f32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = canonical(F::of(a[i])); });
  return op + 1;
}
struct Sin {
  static f32 of(f32 a) { return f32(std::sin(f64(a))); }
};
struct Cos {
  static f32 of(f32 a) { return f32(std::cos(f64(a))); }
};
struct Lg2 {
  static f32 of(f32 a) { return f32(std::log2(f64(a))); }
};
struct Ex2 {
  static f32 of(f32 a) { return f32(std::exp2(f64(a))); }
};
struct TanhOf {
  static f32 of(f32 a) { return f32(std::tanh(f64(a))); }
};
template <class F>
struct Flushing {
  static f32 of(f32 a) { return flushed(F::of(flushed(a))); }
};
template <class F, bool Brain>
const Op *approximate_half(Warp &w, const Op *op) {
  constexpr Kind kind = Brain ? Kind::bf16 : Kind::f16;
  const u16 *const a = reg<u16>(w, op->a);
  u16 *const d = reg<u16>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = u16(bits_of(kind, F::of(f32(value_of(kind, a[i]))))); });
  return op + 1;
}
template <class F, bool Brain>
const Op *approximate_halves(Warp &w, const Op *op) {
  constexpr Kind kind = Brain ? Kind::bf16 : Kind::f16;
  const u32 *const a = reg<u32>(w, op->a);
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) {
    const u64 low = bits_of(kind, F::of(f32(value_of(kind, a[i] & 0xffff))));
    const u64 up = bits_of(kind, F::of(f32(value_of(kind, a[i] >> 16))));
    d[i] = u32(up << 16 | low);
  });
  return op + 1;
}
// Computes only the upper half of the result.
template <bool Root>
const Op *approximate_f64(Warp &w, const Op *op) {
  const f64 *const a = reg<f64>(w, op->a);
  f64 *const d = reg<f64>(w, op->d);
  each(w.mask, [&](unsigned i) {
    const u64 in = bits_as<u64>(a[i]) & 0xffffffff00000000ull;
    f64 x = bits_as<f64>(in);
    if ((in & 0x7ff0000000000000ull) == 0) x = std::copysign(0.0, x);
    const f64 r = Root ? 1 / std::sqrt(x) : 1 / x;
    u64 out = bits_as<u64>(r) & 0xffffffff00000000ull;
    if ((out & 0x7ff0000000000000ull) == 0) out &= 1ull << 63;
    d[i] = r != r ? bits_as<f64>(0x7fffffff00000000ull) : bits_as<f64>(out);
  });
  return op + 1;
}

// ---- atomics

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
template <class T>
T float_atomic(std::byte *at, u32 operation, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
  if (operation == 8) return bits_as<T>(integer_atomic<Bits>(at, 8, bits_as<Bits>(b), Bits(0)));
  return bits_as<T>(update<Bits>(at, [&](Bits bits) {
    const T old = bits_as<T>(bits);
    const T r = operation == 0 ? old + b : operation == 4 ? std::fmin(old, b) : std::fmax(old, b);
    return bits_as<Bits>(canonical(r));
  }));
}
u16 half_sum(Kind kind, u32 operation, u16 a, u16 b) {
  const f64 x = value_of(kind, a), y = value_of(kind, b);
  return u16(bits_of(kind, operation == 4 ? std::fmin(x, y) : operation == 5 ? std::fmax(x, y) : x + y));
}

// a: 64-bit address; extra: operation | type << 8 | shared << 16
const Op *atomic(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  w.waits = true;
  const u32 operation = op->extra & 0xff, type = op->extra >> 8 & 0xff;
  static constexpr unsigned sizes[] = {4, 4, 8, 8, 4, 8, 2, 2, 4, 4, 4, 8, 2};
  const unsigned bytes = sizes[type];
  const u64 *const address = reg<u64>(w, op->a);
  const bool in_shared = (op->extra >> 16 & 1) != 0;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned i = static_cast<unsigned>(__builtin_ctz(rest));
    const u64 at = address[i] + static_cast<u64>(op->immediate);
    if ((at & (bytes - 1)) != 0) return fault(w, op, FaultKind::misaligned_address, i, at);
    std::byte *host = nullptr;
    if (!in_shared)
      host = resolve_generic(w, op, i, at, bytes, true);
    else if (at < w.shared_bytes && bytes <= w.shared_bytes - at)
      host = w.shared + at;
    else
      return fault(w, op, FaultKind::illegal_address, i, at);
    if (host == nullptr) return nullptr;
    const u64 b = load_lane(w.frame + op->b, i, bytes);
    const u64 c = operation == 9 ? load_lane(w.frame + op->c, i, bytes) : 0;
    u64 old = 0;
    switch (type) {
      case 0:
        old = integer_atomic<u32>(host, operation, u32(b), u32(c));
        break;
      case 1:
        old = u32(integer_atomic<s32>(host, operation, s32(b), s32(c)));
        break;
      case 2:
        old = integer_atomic<u64>(host, operation, b, c);
        break;
      case 3:
        old = u64(integer_atomic<s64>(host, operation, s64(b), s64(c)));
        break;
      case 4:
        old = bits_as<u32>(float_atomic<f32>(host, operation, bits_as<f32>(u32(b))));
        break;
      case 5:
        old = bits_as<u64>(float_atomic<f64>(host, operation, bits_as<f64>(b)));
        break;
      case 6:
      case 7:
        old = update<u16>(host, [&](u16 was) {
          return half_sum(type == 6 ? Kind::f16 : Kind::bf16, operation, was, u16(b));
        });
        break;
      case 8:
      case 9:
        old = update<u32>(host, [&](u32 was) {
          const Kind kind = type == 8 ? Kind::f16 : Kind::bf16;
          return u32(half_sum(kind, operation, u16(was), u16(b))) |
                 u32(half_sum(kind, operation, u16(was >> 16), u16(b >> 16))) << 16;
        });
        break;
      default:
        old = integer_atomic<u16>(host, operation, u16(b), u16(c));
        break;
    }
    store_lane(w.frame + op->d, i, bytes, old);
  }
  return op + 1;
}

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
    if (destination >= w.shared_bytes || op->extra > w.shared_bytes - destination)
      return fault(w, op, FaultKind::illegal_address, i, destination);
    const u32 size = wanted[i] < op->extra ? wanted[i] : op->extra;
    std::memset(w.shared + destination, 0, op->extra);
    if (size == 0) continue;
    const std::byte *const host = resolve_generic(w, op, i, source, size, false);
    if (host == nullptr) return nullptr;
    std::memcpy(w.shared + destination, host, size);
  }
  return op + 1;
}

// ---- operations that exchange values between lanes

const Op *deposit_none(Warp &, const Op *op) { return op + 1; }
template <class T>
const Op *deposit(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const T *const from = reg<T>(w, op->b);
  each(w.mask, [&](unsigned i) { w.exchange[i] = from[i]; });
  return op + 1;
}
const Op *deposit_predicate(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const u32 p = predicate(w, op->b);
  each(w.mask, [&](unsigned i) { w.exchange[i] = p >> i & 1; });
  return op + 1;
}

using Finish = void(WarpState &, const Op *, u32, const u64 *);

void finish_none(WarpState &, const Op *, u32, const u64 *) {}

enum class Shuffle { up, down, butterfly, index };
template <Shuffle Mode>
void finish_shfl(WarpState &w, const Op *op, u32, const u64 *values) {
  const u32 *const b = reg<u32>(w, op->a), *const c = reg<u32>(w, op->c);
  u32 *const d = reg<u32>(w, op->d);
  u32 in_range = 0, result[lanes];
  for (unsigned i = 0; i < lanes; ++i) {
    const u32 clamp = c[i] & 31, segment = c[i] >> 8 & 31, shift = b[i] & 31;
    const u32 last = (i & segment) | (clamp & ~segment), least = i & segment;
    u32 j = 0;
    bool good = false;
    switch (Mode) {
      case Shuffle::up:
        j = i - shift;
        good = s32(j) >= s32(last);
        break;
      case Shuffle::down:
        j = i + shift;
        good = j <= last;
        break;
      case Shuffle::butterfly:
        j = i ^ shift;
        good = j <= last;
        break;
      case Shuffle::index:
        j = least | (shift & ~segment);
        good = j <= last;
        break;
    }
    if (!good) j = i;
    in_range |= (good ? 1u : 0u) << i;
    result[i] = u32(values[j & 31]);
  }
  each(w.mask, [&](unsigned i) { d[i] = result[i]; });
  if (op->immediate >= 0) {
    u32 &p = predicate(w, u32(op->immediate));
    p = (p & ~w.mask) | (in_range & w.mask);
  }
}

u32 ballot(u32 rendezvous_mask, const u64 *values) {
  u32 bits = 0;
  each(rendezvous_mask, [&](unsigned i) { bits |= u32(values[i]) << i; });
  return bits;
}
enum class Vote { all, any, uni, ballot };
template <Vote Mode>
void finish_vote(WarpState &w, const Op *op, u32 rendezvous_mask, const u64 *values) {
  const u32 bits = ballot(rendezvous_mask, values);
  if (Mode == Vote::ballot) {
    u32 *const d = reg<u32>(w, op->d);
    each(w.mask, [&](unsigned i) { d[i] = bits; });
    return;
  }
  const bool result = Mode == Vote::all   ? bits == rendezvous_mask
                      : Mode == Vote::any ? bits != 0
                                          : bits == rendezvous_mask || bits == 0;
  u32 &d = predicate(w, op->d);
  d = result ? d | w.mask : d & ~w.mask;
}
void finish_match_any(WarpState &w, const Op *op, u32 rendezvous_mask, const u64 *values) {
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) {
    u32 same = 0;
    each(rendezvous_mask, [&](unsigned j) { same |= (values[i] == values[j] ? 1u : 0u) << j; });
    d[i] = same;
  });
}
void finish_match_all(WarpState &w, const Op *op, u32 rendezvous_mask, const u64 *values) {
  const u64 first = values[__builtin_ctz(rendezvous_mask)];
  bool all = true;
  each(rendezvous_mask, [&](unsigned i) { all = all && values[i] == first; });
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = all ? rendezvous_mask : 0; });
  if (op->immediate >= 0) {
    u32 &p = predicate(w, u32(op->immediate));
    p = all ? p | w.mask : p & ~w.mask;
  }
}
template <class F>
void finish_redux(WarpState &w, const Op *op, u32 rendezvous_mask, const u64 *values) {
  u32 result = u32(values[__builtin_ctz(rendezvous_mask)]);
  each(rendezvous_mask & (rendezvous_mask - 1), [&](unsigned i) { result = F::of(result, u32(values[i])); });
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = result; });
}
#define CUSHIM_PTX_REDUCTION(name, ...)                      \
  struct name {                                              \
    static u32 of(u32 a, u32 b) { return u32(__VA_ARGS__); } \
  };
CUSHIM_PTX_REDUCTION(Sum, a + b)
CUSHIM_PTX_REDUCTION(Both, a &b)
CUSHIM_PTX_REDUCTION(Either, a | b)
CUSHIM_PTX_REDUCTION(Differ, a ^ b)
CUSHIM_PTX_REDUCTION(MinU, a < b ? a : b)
CUSHIM_PTX_REDUCTION(MaxU, a > b ? a : b)
CUSHIM_PTX_REDUCTION(MinS, s32(a) < s32(b) ? a : b)
CUSHIM_PTX_REDUCTION(MaxS, s32(a) > s32(b) ? a : b)

void finish_elect(WarpState &w, const Op *op, u32 rendezvous_mask, const u64 *) {
  const u32 leader = u32(__builtin_ctz(rendezvous_mask));
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = leader; });
  u32 &p = predicate(w, u32(op->immediate));
  p = (p & ~w.mask) | (1u << leader & w.mask);
}

template <Finish *F>
const Op *finish(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  F(w, op, w.rendezvous_mask, w.exchange);
  return op + 1;
}

const Op *activemask(Warp &w, const Op *op) {
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = w.mask; });
  return op + 1;
}

#define CARRY(name, T, bits, flags, s) \
  {name ".u" bits, add_carry<T, flags>, s}, {name ".s" bits, add_carry<T, flags>, s},
#define MAD(name, flags)                                                                      \
  {name ".u32", mad_carry<u32, flags>, "4444"}, {name ".s32", mad_carry<s32, flags>, "4444"}, \
      {name ".u64", mad_carry<u64, flags>, "8888"}, {name ".s64", mad_carry<s64, flags>, "8888"},
#define APPROXIMATE(name, F) \
  {name ".f32", approximate<F>, "44"}, {name ".ftz.f32", approximate<Flushing<F>>, "44"},

const LaneOperation table[] = {
    {"convert", convert_lanes, ""},
    {"convert_pair", convert_pair, ""},
    {"special.1", special_predicate, ""},
    {"special.4", special<u32>, ""},
    {"special.8", special<u64>, ""},
    {"local_address.4", local_address<u32>, ""},
    {"local_address.8", local_address<u64>, ""},
    {"isspacep", isspacep, ""},
    {"fence", fence, ""},
    {"nanosleep.u32", nanosleep, ""},
    CARRY("add.cc", u32, "32", carry_out, "444") CARRY("add.cc", u64, "64", carry_out, "888")
        CARRY("addc", u32, "32", carry_in, "444") CARRY("addc", u64, "64", carry_in, "888")
            CARRY("addc.cc", u32, "32", carry_in | carry_out, "444") CARRY(
                "addc.cc", u64, "64", carry_in | carry_out, "888") CARRY("sub.cc", u32, "32",
                                                                         carry_out | subtracts, "444")
                CARRY("sub.cc", u64, "64", carry_out | subtracts, "888") CARRY(
                    "subc", u32, "32", carry_in | subtracts, "444") CARRY("subc", u64, "64",
                                                                          carry_in | subtracts, "888")
                    CARRY("subc.cc", u32, "32", carry_in | carry_out | subtracts, "444")
                        CARRY("subc.cc", u64, "64", carry_in | carry_out | subtracts, "888")
                            MAD("mad.lo.cc", carry_out) MAD("mad.hi.cc", carry_out | high) MAD(
                                "madc.lo", carry_in) MAD("madc.hi", carry_in | high)
                                MAD("madc.lo.cc", carry_in | carry_out) MAD(
                                    "madc.hi.cc", carry_in | carry_out | high) APPROXIMATE("sin.approx", Sin)
                                    APPROXIMATE("cos.approx", Cos) APPROXIMATE("lg2.approx", Lg2)
                                        APPROXIMATE("ex2.approx", Ex2) APPROXIMATE("tanh.approx", TanhOf){
                                            "tanh.approx.f16", approximate_half<TanhOf, false>, "22"},
    {"tanh.approx.bf16", approximate_half<TanhOf, true>, "22"},
    {"tanh.approx.f16x2", approximate_halves<TanhOf, false>, "44"},
    {"tanh.approx.bf16x2", approximate_halves<TanhOf, true>, "44"},
    {"ex2.approx.f16", approximate_half<Ex2, false>, "22"},
    {"ex2.approx.ftz.bf16", approximate_half<Ex2, true>, "22"},
    {"ex2.approx.f16x2", approximate_halves<Ex2, false>, "44"},
    {"ex2.approx.ftz.bf16x2", approximate_halves<Ex2, true>, "44"},
    {"rcp_approx.ftz.f64", approximate_f64<false>, "88"},
    {"rsqrt.approx.ftz.f64", approximate_f64<true>, "88"},
    {"atomic", atomic, ""},
    {"copy_async", copy_async, ""},
    {"activemask", activemask, ""},
    {"activemask.b32", activemask, "4"},
    {"deposit.none", deposit_none, ""},
    {"deposit.1", deposit_predicate, ""},
    {"deposit.4", deposit<u32>, ""},
    {"deposit.8", deposit<u64>, ""},
    {"finish.none", finish<finish_none>, ""},
    {"finish.shfl.up.b32", finish<finish_shfl<Shuffle::up>>, ""},
    {"finish.shfl.down.b32", finish<finish_shfl<Shuffle::down>>, ""},
    {"finish.shfl.bfly.b32", finish<finish_shfl<Shuffle::butterfly>>, ""},
    {"finish.shfl.idx.b32", finish<finish_shfl<Shuffle::index>>, ""},
    {"finish.vote.all.pred", finish<finish_vote<Vote::all>>, ""},
    {"finish.vote.any.pred", finish<finish_vote<Vote::any>>, ""},
    {"finish.vote.uni.pred", finish<finish_vote<Vote::uni>>, ""},
    {"finish.vote.ballot.b32", finish<finish_vote<Vote::ballot>>, ""},
    {"finish.match.any", finish<finish_match_any>, ""},
    {"finish.match.all", finish<finish_match_all>, ""},
    {"finish.redux.add.u32", finish<finish_redux<Sum>>, ""},
    {"finish.redux.add.s32", finish<finish_redux<Sum>>, ""},
    {"finish.redux.and", finish<finish_redux<Both>>, ""},
    {"finish.redux.or", finish<finish_redux<Either>>, ""},
    {"finish.redux.xor", finish<finish_redux<Differ>>, ""},
    {"finish.redux.min.u32", finish<finish_redux<MinU>>, ""},
    {"finish.redux.max.u32", finish<finish_redux<MaxU>>, ""},
    {"finish.redux.min.s32", finish<finish_redux<MinS>>, ""},
    {"finish.redux.max.s32", finish<finish_redux<MaxS>>, ""},
    {"finish.elect", finish<finish_elect>, ""},
};

}  // namespace

LaneTable scalar_operations() { return {table, table + std::size(table)}; }

}  // namespace cushim::ptx::execute
