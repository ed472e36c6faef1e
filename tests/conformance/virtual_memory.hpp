// SPDX-License-Identifier: Apache-2.0
// Common parts of statements about virtual memory management: physical memory, address ranges, mappings.
#pragma once

#include <vector>

#include "memory_kinds.hpp"

namespace conformance {

// Values that older headers do not name.
inline CUmemLocationType location_type(int number) { return static_cast<CUmemLocationType>(number); }
inline CUmemAllocationHandleType handle_type(int number) {
  return static_cast<CUmemAllocationHandleType>(number);
}
inline CUmemAccess_flags access_flags(int number) { return static_cast<CUmemAccess_flags>(number); }
inline constexpr int kFileDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
inline constexpr int kFabric = 8;    // CU_MEM_HANDLE_TYPE_FABRIC, since 12.3
inline constexpr int kHost = 2;      // CU_MEM_LOCATION_TYPE_HOST, since 12.2
inline constexpr int kHostNuma = 3;  // CU_MEM_LOCATION_TYPE_HOST_NUMA, since 12.2

// Returns properties of pinned memory on device 0.
CUmemAllocationProp plain_properties(int handle_types = 0);

// The granularity of all statements. A statement compares it with the driver's.
inline constexpr std::size_t kGranule = 2 << 20;

// A fixture that unmaps, frees and releases at the end of a test what its members made and the test has not
// disowned.
class WithVirtualMemory : public OnDevice {
 protected:
  void TearDown() override;

 public:
  using Handle = CUmemGenericAllocationHandle;

  // Returns a handle of device memory.
  Handle physical(std::size_t bytes = kGranule, int handle_types = 0);
  CUdeviceptr range(std::size_t bytes = kGranule, std::size_t alignment = 0);
  // Maps all of the memory.
  CUdeviceptr map(CUdeviceptr at, std::size_t bytes, Handle memory);
  CUdeviceptr grant(CUdeviceptr at, std::size_t bytes, int flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

  // Returns an address range with one mapping of `granules`, without and with access of device 0.
  CUdeviceptr mapped(std::size_t granules = 1);
  CUdeviceptr accessible(std::size_t granules = 1);
  // Returns an address range with a mapping for each granule, each of a physical memory of its own.
  CUdeviceptr adjacent(std::size_t granules = 2);
  CUdeviceptr accessible_adjacent(std::size_t granules = 2);

  // Removes a handle or a range from what the end of the test releases, and returns it. The real driver may
  // crash on a handle that is released twice.
  Handle disowned(Handle memory);
  // Adds a handle.
  void own(Handle memory) { handles_.push_back(memory); }
  // Reserves exactly this range, which must be free. Throws if the driver returns another.
  CUdeviceptr range_at(CUdeviceptr at, std::size_t bytes);

  CUmemAccessDesc access(int flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE, int device_number = 0);
  // Returns the access of device 0 as a number, or 1000 plus the error.
  unsigned long long access_at(CUdeviceptr at);
  // Returns the free memory of the device in bytes.
  std::size_t free_memory();
  // Writes bytes to device memory, completely, and reads them.
  void put_device(CUdeviceptr at, const std::vector<unsigned char> &bytes);
  std::vector<unsigned char> take_device(CUdeviceptr at, std::size_t bytes);

  // Receive results; released at the end of the test.
  Handle handle_out = 0;
  CUdeviceptr range_out = 0;
  std::size_t range_out_size = kGranule;
  unsigned long long access_out = 0;
  CUmemAllocationProp properties_out = {};

 private:
  struct Range {
    CUdeviceptr base;
    std::size_t size;
  };
  std::vector<Range> ranges_, mappings_;
  std::vector<Handle> handles_;
};

}  // namespace conformance
