// SPDX-License-Identifier: Apache-2.0
// Common parts of the statements about memory pools.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "conformance.hpp"

namespace conformance {

// Location types that the headers of CUDA 12.2 added.
inline constexpr auto kLocationHost = static_cast<CUmemLocationType>(2);
inline constexpr auto kLocationHostNuma = static_cast<CUmemLocationType>(3);
inline constexpr auto kLocationHostNumaCurrent = static_cast<CUmemLocationType>(4);

inline constexpr auto kPinned = CU_MEM_ALLOCATION_TYPE_PINNED;
inline constexpr auto kManaged = static_cast<CUmemAllocationType>(2);  // CUDA 13.0

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

inline CUmemLocation location_of(CUmemLocationType type, int id = 0) {
  CUmemLocation made{};
  made.type = type;
  made.id = id;
  return made;
}

// Returns the properties of a pool without a limit that cannot be exported.
inline CUmemPoolProps properties_of(CUmemLocationType type, int id = 0) {
  CUmemPoolProps made{};
  made.allocType = kPinned;
  made.location = location_of(type, id);
  return made;
}

// Sets members that the headers of CUDA 11.8 call reserved: `maxSize` (12.2) and `usage` (12.9).
inline constexpr std::size_t kOfMaxSize = offsetof(CUmemPoolProps, win32SecurityAttributes) + sizeof(void *);
inline constexpr std::size_t kOfUsage = kOfMaxSize + sizeof(std::size_t);
template <class T>
void set_member(CUmemPoolProps &properties, std::size_t offset, T value) {
  std::memcpy(reinterpret_cast<char *>(&properties) + offset, &value, sizeof value);
}

// A fixture that destroys the pools of a test.
class OnPools : public OnDevice {
 protected:
  void SetUp() override;
  void TearDown() override;

 public:
  // Creates a pool; its memory is device memory by default.
  CUmemoryPool pool(const CUmemPoolProps &properties = properties_of(CU_MEM_LOCATION_TYPE_DEVICE));
  // Creates a pool that holds at most `bytes`.
  CUmemoryPool pool_of_at_most(std::size_t bytes);
  // Creates a pool that the test destroys itself.
  static CUmemoryPool own_pool(const CUmemPoolProps &properties = properties_of(CU_MEM_LOCATION_TYPE_DEVICE));
  // Creates a pool, destroys it, and returns its handle.
  static CUmemoryPool destroyed_pool();
  // Allocates in a stream.
  static CUdeviceptr from(CUmemoryPool pool, std::size_t bytes, CUstream work);
  // Allocates in a new stream, which it synchronizes.
  CUdeviceptr synchronized_from(CUmemoryPool pool, std::size_t bytes = 4096);

  static unsigned long long value_of(CUmemoryPool pool, CUmemPool_attribute attribute);
  static void set_value(CUmemoryPool pool, CUmemPool_attribute attribute, unsigned long long value);
  static unsigned long long used(CUmemoryPool pool) {
    return value_of(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
  }
  static unsigned long long used_high(CUmemoryPool pool) {
    return value_of(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
  }
  static unsigned long long reserved(CUmemoryPool pool) {
    return value_of(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
  }
  static unsigned long long reserved_high(CUmemoryPool pool) {
    return value_of(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
  }
  // Lets the pool keep all of its memory.
  static void keep_all(CUmemoryPool pool) { set_value(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~0ull); }
  static int access(CUmemoryPool pool, CUmemLocation location);
  static CUresult set_access(CUmemoryPool pool, CUmemLocation location, CUmemAccess_flags flags);
  static CUmemoryPool default_pool();
  // Returns an attribute of memory.
  template <class T>
  static T attribute(CUpointer_attribute which, CUdeviceptr at) {
    T value{};
    NEED(driver().cuPointerGetAttribute(&value, which, at));
    return value;
  }

  CUmemoryPool pool_out = nullptr;

 private:
  std::vector<CUmemoryPool> pools_;
};

}  // namespace conformance
