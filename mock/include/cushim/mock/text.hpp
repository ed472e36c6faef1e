// SPDX-License-Identifier: Apache-2.0
// Text for results, handles, flags and whole calls, for messages and logs. Makes no driver call.
#pragma once

#include <cushim/driver.hpp>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

namespace cushim::mock {

// The handle types and their nouns: CUSHIM_HANDLE(type, noun).
#define CUSHIM_HANDLES_11080(CUSHIM_HANDLE)                \
  CUSHIM_HANDLE(CUarray, "array")                          \
  CUSHIM_HANDLE(CUcontext, "context")                      \
  CUSHIM_HANDLE(CUevent, "event")                          \
  CUSHIM_HANDLE(CUexternalMemory, "external memory")       \
  CUSHIM_HANDLE(CUexternalSemaphore, "external semaphore") \
  CUSHIM_HANDLE(CUfunction, "function")                    \
  CUSHIM_HANDLE(CUgraph, "graph")                          \
  CUSHIM_HANDLE(CUgraphExec, "executable graph")           \
  CUSHIM_HANDLE(CUgraphNode, "graph node")                 \
  CUSHIM_HANDLE(CUgraphicsResource, "graphics resource")   \
  CUSHIM_HANDLE(CUlinkState, "linker")                     \
  CUSHIM_HANDLE(CUmemoryPool, "memory pool")               \
  CUSHIM_HANDLE(CUmipmappedArray, "mipmapped array")       \
  CUSHIM_HANDLE(CUmodule, "module")                        \
  CUSHIM_HANDLE(CUstream, "stream")                        \
  CUSHIM_HANDLE(CUsurfref, "surface reference")            \
  CUSHIM_HANDLE(CUtexref, "texture reference")             \
  CUSHIM_HANDLE(CUuserObject, "user object")
#if CUDA_VERSION >= 12000
#define CUSHIM_HANDLES(CUSHIM_HANDLE) \
  CUSHIM_HANDLES_11080(CUSHIM_HANDLE) \
  CUSHIM_HANDLE(CUkernel, "kernel")   \
  CUSHIM_HANDLE(CUlibrary, "library")
#else
#define CUSHIM_HANDLES CUSHIM_HANDLES_11080
#endif

// The noun of a handle type; null for other types.
template <class>
inline constexpr const char *noun_of = nullptr;
#define CUSHIM_HANDLE(type, noun) \
  template <>                     \
  inline constexpr const char *noun_of<type> = noun;
CUSHIM_HANDLES(CUSHIM_HANDLE)
#undef CUSHIM_HANDLE

// Returns "CUDA_ERROR_INVALID_HANDLE (400, invalid handle)".
std::string result_text(CUresult result);

// Returns "event 0x7f10" or "null event"; for streams also "legacy stream" and "per-thread stream".
std::string handle_text(const char *noun, const void *handle);

// Returns the flags of a call, by its base name: "CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING". A
// number if the names of the call's flags are unknown here.
std::string flags_text(const char *base, unsigned flags);

// One argument of a call, with its type erased.
class Value {
 public:
  Value() noexcept = default;
  template <class T>
  explicit Value(const T &value) noexcept {
    if constexpr (noun_of<T> != nullptr) {
      kind_ = Kind::handle;
      noun_ = noun_of<T>;
    } else if constexpr (std::is_same_v<T, const char *>) {
      kind_ = Kind::text;
    } else if constexpr (std::is_pointer_v<T> || std::is_same_v<T, CUdeviceptr>) {
      kind_ = Kind::address;
    } else if constexpr (std::is_same_v<T, CUresult>) {
      kind_ = Kind::result;
    } else if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::real;
      real_ = value;
      return;
    } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      kind_ = std::is_signed_v<T> ? Kind::signed_number : Kind::unsigned_number;
      bits_ = static_cast<std::uint64_t>(value);
      return;
    } else {
      kind_ = Kind::structure;
      bits_ = sizeof value;
      return;
    }
    std::memcpy(&bits_, &value, sizeof value);
  }

  // Returns the value as text. `base` and `name` are those of the call and the parameter: they select the
  // flag names.
  std::string to_text(const char *base, std::string_view name) const;

 private:
  enum class Kind : std::uint8_t {
    address,
    handle,
    text,
    result,
    signed_number,
    unsigned_number,
    real,
    structure
  };
  Kind kind_ = Kind::unsigned_number;
  const char *noun_ = nullptr;
  std::uint64_t bits_ = 0;
  double real_ = 0;
};

// A call: its entry point and arguments. The values are valid while the call runs.
struct Call {
  Entry entry;
  std::span<const Value> values;

  // Returns "cuEventRecord(hEvent = event 0x7f10, hStream = legacy stream)", with the exact symbol.
  std::string to_text() const;
};

}  // namespace cushim::mock
