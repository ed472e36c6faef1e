// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "execute/lanes.hpp"

#if defined(__SANITIZE_THREAD__)
#define CUSHIM_PTX_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUSHIM_PTX_THREAD_SANITIZER 1
#endif
#endif

// Loads and stores. a: addresses; d: values (of a store: the source); data: registers of a vector; extra:
// bytes of the whole access.
namespace cushim::ptx::execute {
namespace {

struct Global {};
struct Shared {};
struct Local {};
struct Generic {};

inline bool in_range(const CachedRange &range, u64 begin, u64 bytes) {
  return begin - range.begin < range.bytes && bytes <= range.bytes - (begin - range.begin);
}

// The range of addresses of the active lanes.
struct Span {
  u64 low, high;
  bool contiguous, aligned;
};
template <class A>
inline Span span_of(const A *address, u32 mask, u32 element, u32 alignment) {
  Span span{address[__builtin_ctz(mask)], 0, false, false};
  u64 bits = 0;
  if (mask == ~0u) {
    const A first = address[0];
    A different = 0, all = 0;
    CUSHIM_PTX_LANES
    for (u32 i = 0; i < lanes; ++i) {
      different |= address[i] ^ A(first + i * element);
      all |= address[i];
    }
    bits = all;
    if (different == 0) {
      span.high = span.low + 31 * u64(element);
      span.contiguous = true;
    } else {
      A low = first, high = first;
      CUSHIM_PTX_LANES
      for (u32 i = 0; i < lanes; ++i) {
        low = address[i] < low ? address[i] : low;
        high = address[i] > high ? address[i] : high;
      }
      span.low = low;
      span.high = high;
    }
  } else {
    u64 low = ~0ull, high = 0;
    for (u32 rest = mask; rest != 0; rest &= rest - 1) {
      const u64 one = address[__builtin_ctz(rest)];
      bits |= one;
      low = one < low ? one : low;
      high = one > high ? one : high;
    }
    span.low = low;
    span.high = high;
  }
  span.aligned = (bits & (alignment - 1)) == 0;
  return span;
}

template <class A>
inline const A *with_offset(const A *address, s64 offset, A *buffer) {
  if (offset == 0) return address;
  for (u32 i = 0; i < lanes; ++i) buffer[i] = A(address[i] + A(offset));
  return buffer;
}

template <class T>
inline T load_one(const std::byte *from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
inline void store_one(std::byte *to, T value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// The same for an aligned address in memory that threads share. Threads of a kernel may race: for the thread
// sanitizer, each 8 bytes are an atomic access, so that it does not report a race within the kernel as a race
// of the program. It still reports a race between the kernel and code of the host.
template <class T>
inline T load_relaxed(const std::byte *from) {
#if defined(CUSHIM_PTX_THREAD_SANITIZER)
  if constexpr (sizeof(T) > 8) {
    const u64 halves[] = {load_relaxed<u64>(from), load_relaxed<u64>(from + 8)};
    return __builtin_bit_cast(T, halves);
  } else {
    T value;
    __atomic_load(reinterpret_cast<const T *>(from), &value, __ATOMIC_RELAXED);
    return value;
  }
#else
  return load_one<T>(from);
#endif
}
template <class T>
inline void store_relaxed(std::byte *to, T value) {
#if defined(CUSHIM_PTX_THREAD_SANITIZER)
  if constexpr (sizeof(T) > 8) {
    u64 halves[2];
    __builtin_memcpy(halves, &value, sizeof value);
    store_relaxed(to, halves[0]);
    store_relaxed(to + 8, halves[1]);
  } else {
    __atomic_store(reinterpret_cast<T *>(to), &value, __ATOMIC_RELAXED);
  }
#else
  store_one(to, value);
#endif
}

// The host address of a lane is base + address, modulo 2^64. All lanes may be accessed.
inline std::byte *host_at(u64 address) { return reinterpret_cast<std::byte *>(address); }
template <class T, class R, class A>
inline void gather(R *d, u64 base, const A *address, const Span &span, u32 mask) {
  if (span.contiguous) {
    const std::byte *const from = host_at(base + span.low);
    CUSHIM_PTX_LANES
    for (u32 i = 0; i < lanes; ++i) d[i] = static_cast<R>(load_relaxed<T>(from + i * sizeof(T)));
  } else if (span.low == span.high && mask == ~0u) {
    const R value = static_cast<R>(load_relaxed<T>(host_at(base + span.low)));
    for (u32 i = 0; i < lanes; ++i) d[i] = value;
  } else if (mask == ~0u) {
    for (u32 i = 0; i < lanes; ++i) d[i] = static_cast<R>(load_relaxed<T>(host_at(base + address[i])));
  } else {
    for (u32 rest = mask; rest != 0; rest &= rest - 1) {
      const u32 i = u32(__builtin_ctz(rest));
      d[i] = static_cast<R>(load_relaxed<T>(host_at(base + address[i])));
    }
  }
}

// Calls store(lane) for the lanes of the mask, in an order in which the last one of several lanes that store
// to one address is that whose value an H200 (driver 580.159) keeps: it stores 128 bytes at a time, and keeps
// the value of the lowest lane of the last of these groups. `width`: the bytes that a lane stores.
template <class Store>
inline void for_each_stored(u32 mask, u32 width, Store store) {
  constexpr u32 at_once = 128;
  const u32 group = at_once / width < lanes ? at_once / width : lanes;
  const u32 of_group = ~0u >> (lanes - group);
  for (u32 first = 0; first < lanes; first += group)
    for (u32 rest = mask & of_group << first; rest != 0;) {
      const u32 i = 31 - u32(__builtin_clz(rest));
      rest ^= 1u << i;
      store(i);
    }
}

template <class T, class R, class A>
inline void scatter(const R *d, u64 base, const A *address, const Span &span, u32 mask, u32 width) {
  if (span.contiguous) {
    std::byte *const to = host_at(base + span.low);
    CUSHIM_PTX_LANES
    for (u32 i = 0; i < lanes; ++i) store_relaxed(to + i * sizeof(T), static_cast<T>(d[i]));
  } else {
    for_each_stored(mask, width,
                    [&](u32 i) { store_relaxed(host_at(base + address[i]), static_cast<T>(d[i])); });
  }
}

template <bool Write, class Space>
inline std::byte *resolve(Warp &w, const Op *op, u32 lane, u64 address, u32 bytes) {
  constexpr Access access = Write ? Access::write : Access::read;
  if constexpr (std::is_same_v<Space, Generic>) return resolve_generic(w, op, lane, address, bytes, access);
  if constexpr (std::is_same_v<Space, Shared>) return resolve_shared(w, op, lane, address, bytes, access);
  return resolve_global(w, op, lane, address, bytes, access);
}

// The slow path of transfer(): resolves the address of each lane. Out of line, so that the fast path keeps
// its values in registers.
template <bool Write, class Space, class T, class R, class A>
[[gnu::noinline, gnu::cold]] bool transfer_each(Warp &w, const Op *op, R *d, const A *address, u32 alignment,
                                                u32 width) {
  std::byte *hosts[lanes];
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 i = u32(__builtin_ctz(rest));
    const u64 at = address[i];
    if ((at & (alignment - 1)) != 0) {
      fault_address(w, op, i, at, alignment);
      return false;
    }
    hosts[i] = resolve<Write, Space>(w, op, i, at, sizeof(T));
    if (hosts[i] == nullptr) return false;
    // Checks of races compare what the next lane writes with it.
    if constexpr (Write)
      store_relaxed(hosts[i], static_cast<T>(d[i]));
    else
      d[i] = static_cast<R>(load_relaxed<T>(hosts[i]));
  }
  if constexpr (Write)
    for_each_stored(w.mask, width, [&](u32 i) { store_relaxed(hosts[i], static_cast<T>(d[i])); });
  return true;
}

// Moves one element of each lane between registers and memory. Returns false after a fault. `width`: the
// bytes of all elements of a lane.
template <bool Write, class Space, class T, class R, class A>
inline bool transfer(Warp &w, const Op *op, R *d, const A *address, u32 alignment, u32 width) {
  const u32 mask = w.mask;
  if (mask == 0) return true;
  if constexpr (std::is_same_v<Space, Local>) {
    for (u32 rest = mask; rest != 0; rest &= rest - 1) {
      const u32 i = u32(__builtin_ctz(rest));
      const u64 at = address[i];
      if (at >= w.local_bytes || w.local_bytes - at < sizeof(T) || (at & (alignment - 1)) != 0) {
        fault_address(w, op, i, at, alignment);
        return false;
      }
      std::byte *const host = w.local + i * w.local_bytes + at;
      if constexpr (Write)
        store_one(host, static_cast<T>(d[i]));
      else
        d[i] = static_cast<R>(load_one<T>(host));
    }
    return true;
  } else {
    const Span span = span_of(address, mask, sizeof(T), alignment);
    const u64 bytes = span.high - span.low + sizeof(T);
    u64 base = 0;
    bool known = false;
    if constexpr (std::is_same_v<Space, Shared>) {
      known = span.aligned && span.high < w.shared_bytes && sizeof(T) <= w.shared_bytes - span.high;
      base = reinterpret_cast<u64>(w.shared);
    } else {
      const CachedRange &range = (Write ? w.writes : w.reads)[op->cache];
      known = span.aligned && in_range(range, span.low, bytes);
      base = reinterpret_cast<u64>(range.host) - range.begin;
    }
    if (known) [[likely]] {
      if constexpr (Write)
        scatter<T>(d, base, address, span, mask, width);
      else
        gather<T>(d, base, address, span, mask);
      return true;
    }
    return transfer_each<Write, Space, T>(w, op, d, address, alignment, width);
  }
}

template <bool Write, class Space, class A>
struct Accesses {
  template <class T, class R>
  static const Op *run(Warp &w, const Op *op);
};

template <bool Write, class Space, class A>
template <class T, class R>
const Op *Accesses<Write, Space, A>::run(Warp &w, const Op *op) {
  A buffer[lanes];
  const A *const base = reg<A>(w, op->a);
  if (op->data == nullptr) {
    const A *const address = with_offset(base, op->immediate, buffer);
    return transfer<Write, Space, T>(w, op, reg<R>(w, op->d), address, sizeof(T), sizeof(T)) ? op + 1
                                                                                             : nullptr;
  }
  const auto &parts = *static_cast<const Parts *>(op->data);
  // The address register may also be a destination.
  A kept[lanes];
  __builtin_memcpy(kept, base, sizeof kept);
  R sink[lanes];
  for (u32 p = 0; p < parts.count; ++p) {
    if (Write && parts.at[p] == ~0u) continue;
    const A *const address = with_offset<A>(kept, op->immediate + s64(p * sizeof(T)), buffer);
    R *const d = parts.at[p] == ~0u ? sink : reg<R>(w, parts.at[p]);
    // Only the first element has the alignment of the whole access.
    const u32 alignment = p == 0 ? op->extra : u32(sizeof(T));
    if (!transfer<Write, Space, T>(w, op, d, address, alignment, op->extra)) return nullptr;
  }
  return op + 1;
}

// Loads a kernel parameter at a fixed offset, which is the same for all lanes.
template <class T, class R>
const Op *parameter(Warp &w, const Op *op) {
  const R value = static_cast<R>(load_one<T>(w.parameters + op->immediate));
  return for_lanes<R>(w, op, [=](u32) { return value; });
}

// Loads a device function's parameter from the frame: `bytes` per lane, lane after lane.
template <class T, class R>
const Op *load_slot(Warp &w, const Op *op) {
  const std::byte *const from = w.frame + op->a;
  R *const d = reg<R>(w, op->d);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 i = u32(__builtin_ctz(rest));
    d[i] = static_cast<R>(load_one<T>(from + i * op->extra));
  }
  return op + 1;
}
template <class T, class R>
const Op *store_slot(Warp &w, const Op *op) {
  std::byte *const to = w.frame + op->a;
  const R *const d = reg<R>(w, op->d);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 i = u32(__builtin_ctz(rest));
    store_one(to + i * op->extra, static_cast<T>(d[i]));
  }
  return op + 1;
}

}  // namespace
}  // namespace cushim::ptx::execute
