/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatch table: one member for each entry point of the driver, with its exported name.
 *
 *   cushim_driver()->cuMemAlloc(&pointer, bytes);         C
 *   cushim::driver().cuMemAlloc(&pointer, bytes);         C++ (cushim/driver.hpp)
 *
 * The macros of <cuda.h> replace the written name by the exact symbol (cuMemAlloc_v2 here), so a
 * call means the same as without cushim, also with CUDA_API_PER_THREAD_DEFAULT_STREAM. Members are
 * never null: an entry that the driver lacks returns CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
 * and without a driver every member returns CUDA_ERROR_SHARED_OBJECT_INIT_FAILED.
 *
 * The first call of a process opens the driver. Call cushim_load() (cushim/load.h) to do that
 * earlier, and to learn the reason of a failure. */
#ifndef CUSHIM_TABLE_H
#define CUSHIM_TABLE_H

#include <cushim/foreign_types.h>
#include <stddef.h>

/* The number of slots of a table. Constant within a major version, so that code compiled against a
 * newer cushim finds an error stub after the entries of an older one, not the end of the table. */
#define CUSHIM_TABLE_CAPACITY 1024

/* Functions of the library. Their names do not collide with other copies of cushim in the process. */
#if defined(CUSHIM_SHARED)
#define CUSHIM_API __attribute__((visibility("default")))
#else
#define CUSHIM_API __attribute__((visibility("hidden")))
#endif

#ifdef __cplusplus

/* One entry. A call reads the function pointer once, atomically (other threads may replace it
 * meanwhile), and jumps. This operator is the only place from which cushim calls out of the
 * program through a pointer. Only it is exempt from the indirect-call check of -fsanitize=cfi,
 * because the driver is not part of the checked program. */
template <class>
class CushimEntry;

template <class... Arguments>
class CushimEntry<CUresult(Arguments...)> {
 public:
  using Function = CUresult(CUDAAPI *)(Arguments...);

#if defined(__clang__)
  __attribute__((always_inline, no_sanitize("cfi-icall", "function")))
#else
  __attribute__((always_inline))
#endif
  inline CUresult
  operator()(Arguments... arguments) const {
    return get()(arguments...);
  }

  /* Returns the function that a call would reach now. */
  __attribute__((always_inline)) inline Function get() const {
    return __atomic_load_n(&function_, __ATOMIC_ACQUIRE);
  }

 private:
  Function function_;
};

/* An entry whose types need newer CUDA headers: present in the table, but not callable. */
template <int NeededCudaVersion>
class CushimUntypedEntry {
 public:
  template <class... Arguments>
  CUresult operator()(Arguments &&...) const {
    static_assert(sizeof...(Arguments) + 1 == 0,
                  "this entry point needs newer CUDA headers; see CushimUntypedEntry's argument");
    return CUDA_ERROR_UNKNOWN;
  }

 private:
  void (*function_)() = nullptr;
};

#if __cplusplus >= 202002L
/* One entry of the current driver. The call goes to a function of its own, which reads the current
 * driver and the entry, and jumps, like a PLT entry, so that a call site costs as much as a linked
 * call. (On some processors an indirect call takes twice as long as a direct call and an indirect
 * jump; benchmarks/dispatch_benchmark.cpp measures both.) */
template <size_t offset, class>
class CushimCurrentEntry;

template <size_t offset, class... Arguments>
class __attribute__((visibility("hidden"))) CushimCurrentEntry<offset, CUresult(Arguments...)> {
 public:
  __attribute__((always_inline)) inline CUresult operator()(Arguments... arguments) const {
    /* Arguments that do not fit into registers would have to be copied before the jump. */
    if constexpr (sizeof...(Arguments) > 6)
      return entry()(arguments...);
    else
      return jump(arguments...);
  }

 private:
  static const CushimEntry<CUresult(Arguments...)> &entry();
#if defined(__clang__)
  __attribute__((noinline, no_sanitize("cfi-icall", "function")))
#else
  __attribute__((noinline))
#endif
  static CUresult
  jump(Arguments... arguments);
};
#endif

#define CUSHIM_TABLE_MEMBER(symbol, version, parameters) CushimEntry<CUresult parameters> symbol
#define CUSHIM_TABLE_UNTYPED_MEMBER(symbol, version) CushimUntypedEntry<version> symbol
extern "C" {

#else

/* _Atomic is a compiler extension in C99. */
#define CUSHIM_TABLE_MEMBER(symbol, version, parameters) \
  __extension__ CUresult(CUDAAPI *_Atomic symbol) parameters
#define CUSHIM_TABLE_UNTYPED_MEMBER(symbol, version) __extension__ void (*_Atomic symbol)(void)

#endif

/* Private to the library. */
typedef struct CushimDriverState CushimDriverState;

/* A driver: an identity with a stable address, and the table of functions that its calls reach.
 * Drivers are never freed; cushim/load.h says how they are created. */
typedef struct CushimDriver {
  size_t size; /* size of the table in bytes, for the entries that its library knows */
  CushimDriverState *state;
/* clang-format off */
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  CUSHIM_TABLE_MEMBER(symbol, version, parameters);
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) \
  CUSHIM_TABLE_UNTYPED_MEMBER(symbol, version);
#include <cushim/entry_points.inc>
  /* clang-format on */
  void (*spare[CUSHIM_TABLE_CAPACITY - CUSHIM_ENTRY_COUNT])(void);
} CushimDriver;

#undef CUSHIM_TABLE_MEMBER
#undef CUSHIM_TABLE_UNTYPED_MEMBER

/* The current driver. Programs read it with cushim_driver(); only the library writes it. */
extern CUSHIM_API CushimDriver *cushim_current;

/* Returns the current driver: the process's default driver unless a scope (cushim/load.h) is
 * active. Never null, never freed. Costs one load. */
static inline CushimDriver *cushim_driver(void) { return __atomic_load_n(&cushim_current, __ATOMIC_ACQUIRE); }

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && __cplusplus >= 202002L
template <size_t offset, class... Arguments>
__attribute__((always_inline)) inline const CushimEntry<CUresult(Arguments...)>
    &CushimCurrentEntry<offset, CUresult(Arguments...)>::entry() {
  const char *table = reinterpret_cast<const char *>(cushim_driver());
  return *reinterpret_cast<const CushimEntry<CUresult(Arguments...)> *>(table + offset);
}

template <size_t offset, class... Arguments>
CUresult CushimCurrentEntry<offset, CUresult(Arguments...)>::jump(Arguments... arguments) {
  return entry()(arguments...);
}

/* The entries of the current driver, with the same names as in the table. */
struct CushimCurrentEntries {
/* clang-format off */
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  static constexpr CushimCurrentEntry<2 * sizeof(void *) + slot * sizeof(void *), CUresult parameters> symbol{};
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) \
  static constexpr CushimUntypedEntry<version> symbol{};
#include <cushim/entry_points.inc>
  /* clang-format on */
};
#endif

#endif
