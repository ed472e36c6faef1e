/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatch table: one member for each entry point of the driver, by its exported name.
 *
 *   cushim_driver()->cuMemAlloc(&pointer, bytes);         C
 *   cushim::driver().cuMemAlloc(&pointer, bytes);         C++ (cushim/driver.hpp)
 *
 * <cuda.h>'s own macros turn what you write into the exact symbol (cuMemAlloc_v2 here), so a call
 * means what it means without cushim, CUDA_API_PER_THREAD_DEFAULT_STREAM included. Members are
 * never null: what a driver lacks returns CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, and where
 * there is no driver at all every member returns CUDA_ERROR_SHARED_OBJECT_INIT_FAILED.
 *
 * The first call of a process opens the driver; call cushim_load() (cushim/load.h) to do that at a
 * moment of your choice and to learn why it failed. */
#ifndef CUSHIM_TABLE_H
#define CUSHIM_TABLE_H

#include <cushim/foreign_types.h>
#include <stddef.h>

/* Slots that a table has room for. Fixed within a major version, so that code built against a newer
 * cushim finds an error stub, never the end of the table, behind the entries of an older one. */
#define CUSHIM_TABLE_CAPACITY 1024

/* Functions of the library, kept out of the way of other copies of it in the process. */
#if defined(CUSHIM_SHARED)
#define CUSHIM_API __attribute__((visibility("default")))
#else
#define CUSHIM_API __attribute__((visibility("hidden")))
#endif

#ifdef __cplusplus

/* One entry. Calling it reads the function pointer once, atomically (an entry may be swapped while
 * other threads call it), and jumps. This operator is the one place from which cushim calls out of
 * the program through a pointer, so it alone is exempt from the indirect-call check of
 * -fsanitize=cfi: the driver is not part of the checked program. */
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

  /* The function that a call would reach now. */
  __attribute__((always_inline)) inline Function get() const {
    return __atomic_load_n(&function_, __ATOMIC_ACQUIRE);
  }

 private:
  Function function_;
};

/* An entry whose types need newer CUDA headers than these: present in the table, not callable. */
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
/* One entry of whatever driver is current. The call goes to a small function of its own, which reads
 * the current driver, reads the entry, and jumps: like a PLT entry, so that a call site costs what a
 * linked call costs. (A processor may take twice as long for an indirect call as for a direct call
 * and an indirect jump; benchmarks/dispatch_benchmark.cpp measures both.) */
template <size_t offset, class>
class CushimCurrentEntry;

template <size_t offset, class... Arguments>
class __attribute__((visibility("hidden"))) CushimCurrentEntry<offset, CUresult(Arguments...)> {
 public:
  __attribute__((always_inline)) inline CUresult operator()(Arguments... arguments) const {
    /* What does not fit into registers would have to be copied to jump on with. */
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

/* In C99 _Atomic is an extension of the compilers. */
#define CUSHIM_TABLE_MEMBER(symbol, version, parameters) \
  __extension__ CUresult(CUDAAPI *_Atomic symbol) parameters
#define CUSHIM_TABLE_UNTYPED_MEMBER(symbol, version) __extension__ void (*_Atomic symbol)(void)

#endif

/* Private to the library. */
typedef struct CushimDriverState CushimDriverState;

/* A driver: an identity with a stable address, and the table of what a call through it reaches.
 * Drivers are never freed; see cushim/load.h for how they come to be. */
typedef struct CushimDriver {
  size_t size; /* of the table in bytes: its library knows no entry beyond */
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

/* The current driver. Read it through cushim_driver(); only the library writes it. */
extern CUSHIM_API CushimDriver *cushim_current;

/* The current driver: the process's default driver unless a scope (cushim/load.h) says otherwise.
 * Never null, never freed; one load. */
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

/* The entries of the current driver, by the same names as in the table. */
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
