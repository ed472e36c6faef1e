// SPDX-License-Identifier: Apache-2.0
// Memory pools: properties, attributes, access, memory in stream order, exported pools and pointers. All work
// is complete before each call that takes or returns memory, so that each answer is determined.
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "memory_walks.hpp"

namespace differential {

unsigned a_pool(Walk &w) {
  return pick(w, of_pools(w).q, [](const Pools::Pool &one) { return one.handle != nullptr; });
}

Argument<CUmemoryPool> pool_at(Walk &w, unsigned k) {
  return {of_pools(w).q[k].handle, fmt::format("q[{}]", k)};
}

std::string name_of(Walk &w, CUmemoryPool pool) {
  if (pool == nullptr) return "null";
  if (pool == w.shared.pool) return "pool";
  for (unsigned k = 0; k < of_pools(w).q.size(); ++k)
    if (of_pools(w).q[k].handle == pool) return fmt::format("q[{}]", k);
  return "another";
}

namespace {

using Pool = Pools::Pool;

// Returns a pool for a call, sometimes none.
Argument<CUmemoryPool> a_pool_or_null(Walk &w) {
  const unsigned k = a_pool(w);
  if (k == kNone || w.dice.once_in(25)) return {nullptr, "nullptr"};
  return pool_at(w, k);
}

// ---- Pools ----

CUmemPoolProps properties(Walk &w, std::string &text) {
  CUmemPoolProps made{};
  const int type = w.dice.once_in(12) ? w.dice.one_of({0, 2, 3, 99}) : 1;
  made.allocType = static_cast<CUmemAllocationType>(type);
  const int location = w.dice.one_of({1, 1, 1, 1, 1, 1, 2, 3, 3, 0, 4, 5});
  made.location.type = static_cast<CUmemLocationType>(location);
  made.location.id = w.dice.once_in(20) ? w.dice.one_of({-1, 1, 99}) : 0;
  const int types = w.dice.one_of({0, 0, 0, 1, 1, 1, 1, 2, 4, 8, 9, 16});
  made.handleTypes = static_cast<CUmemAllocationHandleType>(types);
  made.maxSize = w.dice.one_of<std::size_t>({0, 0, 0, 1, 4096, 2 * kMiB, 32 * kMiB, 33 * kMiB, 64 * kMiB});
  if (w.dice.once_in(30)) made.usage = 1;
  if (w.dice.once_in(40)) made.reserved[3] = 1;
  text = fmt::format("properties({}, {}, {}, {}, {}, {}, {})", type, location, made.location.id, types,
                     made.maxSize, made.usage, made.reserved[3]);
  return made;
}

void create(Walk &w) {
  const unsigned k = pick(w, of_pools(w).q, [](const Pool &one) { return one.handle == nullptr; });
  if (k == kNone) return;
  Pool &made = of_pools(w).q[k];
  std::string text;
  const CUmemPoolProps with = properties(w, text);
  if (CALL(w, cuMemPoolCreate, Argument{&made.handle, fmt::format("&q[{}]", k)},
           Argument<const CUmemPoolProps *>{&with, text}) != CUDA_SUCCESS) {
    made = {};
    return;
  }
  made.is_on_host = with.location.type != CU_MEM_LOCATION_TYPE_DEVICE;
  made.most = with.maxSize;
}

void destroy(Walk &w) {
  if (w.dice.once_in(12)) {
    const bool is_null = w.dice.once_in(2);
    CALL(w, cuMemPoolDestroy, Argument{is_null ? nullptr : w.shared.pool, is_null ? "nullptr" : "pool"});
    return;
  }
  const unsigned k = a_pool(w);
  if (k == kNone) return;
  // A pool outlives what was imported from it.
  for (const Pool &other : of_pools(w).q)
    if (other.handle != nullptr && other.imported_from == static_cast<int>(k)) return;
  for (const Pools::Memory &one : of_pools(w).a)
    if (one.address != 0 && one.pool == k && one.is_imported) return;
  w.finish();
  if (CALL(w, cuMemPoolDestroy, pool_at(w, k)) != CUDA_SUCCESS) return;
  of_pools(w).q[k] = {};
  for (Pools::Memory &one : of_pools(w).a)
    if (one.pool == k) one.pool = kNone;
}

void get_attribute(Walk &w) {
  const auto pool = a_pool_or_null(w);
  std::uint64_t value = 0;
  w.finish();
  const int which = static_cast<int>(w.dice.below(10));
  const CUresult code =
      CALL(w, cuMemPoolGetAttribute, pool, numbered("attribute", static_cast<CUmemPool_attribute>(which)),
           Argument<void *>{&value, "&value"});
  if (code == CUDA_SUCCESS) w.also(std::to_string(value));
}

void set_attribute(Walk &w) {
  const auto pool = a_pool_or_null(w);
  w.finish();
  const int which = static_cast<int>(w.dice.once_in(2) ? w.dice.below(10) : 1 + w.dice.below(4));
  std::uint64_t value =
      w.dice.one_of<std::uint64_t>({0, 0, 0, 1, 1, 4096, 2 * kMiB, 32 * kMiB, 64 * kMiB, ~0ULL});
  CALL(w, cuMemPoolSetAttribute, pool, numbered("attribute", static_cast<CUmemPool_attribute>(which)),
       Argument<void *>{&value, fmt::format("&{}", value)});
}

void trim(Walk &w) {
  const auto pool = a_pool_or_null(w);
  w.finish();
  CALL(w, cuMemPoolTrimTo, pool, bytes(w.dice.one_of<std::size_t>({0, 0, 1, 4096, 32 * kMiB, 40 * kMiB})));
}

CUmemLocation a_location(Walk &w, std::string &text) {
  CUmemLocation made{};
  const int type = w.dice.one_of({1, 1, 1, 1, 1, 0, 2, 3, 4, 5});
  made.type = static_cast<CUmemLocationType>(type);
  made.id = w.dice.once_in(10) ? w.dice.one_of({-1, 1, 99}) : 0;
  text = fmt::format("{}, {}", type, made.id);
  return made;
}

void get_access(Walk &w) {
  const unsigned k = a_pool(w);
  if (k == kNone) return;
  std::string text;
  CUmemLocation location = a_location(w, text);
  Result<CUmemAccess_flags> flags("flags");
  CALL(w, cuMemPoolGetAccess, flags.argument(), pool_at(w, k), Argument{&location, text});
  if (flags.is_set()) w.also(std::to_string(static_cast<int>(flags.value)));
}

void set_access(Walk &w) {
  const unsigned k = a_pool(w);
  if (k == kNone) return;
  w.finish();
  std::string text;
  CUmemAccessDesc list[2]{};
  for (CUmemAccessDesc &one : list) {
    std::string location;
    one.location = a_location(w, location);
    one.flags = static_cast<CUmemAccess_flags>(w.dice.one_of({3, 3, 3, 0, 1, 2, 7}));
    text += fmt::format("{{{}, {}}}", location, static_cast<int>(one.flags));
  }
  CALL(w, cuMemPoolSetAccess, pool_at(w, k), Argument<const CUmemAccessDesc *>{list, text},
       bytes(w.dice.one_of<std::size_t>({1, 1, 1, 1, 2, 0})));
}

void device_pool(Walk &w) {
  Result<CUmemoryPool> pool("found");
  const auto device = integer(w.dice.once_in(8) ? w.dice.one_of({-1, 1, 99}) : 0);
  switch (w.dice.below(4)) {
    case 0:
      CALL(w, cuDeviceGetDefaultMemPool, pool.argument(), device);
      break;
    case 1:
      CALL(w, cuDeviceGetMemPool, pool.argument(), device);
      break;
    default: {
      std::string text;
      CUmemLocation location = a_location(w, text);
      const auto type = numbered("type", static_cast<CUmemAllocationType>(w.dice.one_of({1, 1, 1, 2, 0, 3})));
      if (w.dice.once_in(2))
        CALL(w, cuMemGetMemPool, pool.argument(), Argument{&location, text}, type);
      else
        CALL(w, cuMemGetDefaultMemPool, pool.argument(), Argument{&location, text}, type);
    }
  }
  if (pool.is_set()) w.also(name_of(w, pool.value));
}

void set_device_pool(Walk &w) {
  const unsigned k = a_pool(w);
  const bool is_usual = k == kNone || w.dice.once_in(3);
  const auto pool = is_usual ? Argument<CUmemoryPool>{w.shared.pool, "pool"} : pool_at(w, k);
  w.finish();
  if (w.dice.once_in(2)) {
    CALL(w, cuDeviceSetMemPool, integer(w.dice.once_in(10) ? 99 : 0), pool);
    return;
  }
  CUmemLocation location{};
  location.type = static_cast<CUmemLocationType>(w.dice.one_of({1, 1, 1, 1, 0}));
  CALL(w, cuMemSetMemPool, Argument{&location, fmt::format("{}, 0", static_cast<int>(location.type))},
       numbered("type", static_cast<CUmemAllocationType>(w.dice.one_of({1, 1, 1, 1, 0, 3}))), pool);
}

}  // namespace

Choices pool_choices() {
  return waiting({
      {20, create},
      {4, destroy},
      {24, get_attribute},
      {14, set_attribute},
      {10, trim},
      {5, get_access},
      {7, set_access},
      {5, device_pool},
      {3, set_device_pool},
  });
}

}  // namespace differential
