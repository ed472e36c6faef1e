// SPDX-License-Identifier: Apache-2.0
// The objects of walks about kinds of memory that other walks do not have. Each walk destroys its objects at
// its end. Handles that have been destroyed are not used again: the real driver may crash.
#pragma once

#include <cushim/driver.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace differential {

constexpr std::size_t granule = std::size_t{2} << 20;

struct AddressRange {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  bool contains(CUdeviceptr address) const { return base != 0 && address - base < size; }
};

// Reserved ranges, physical memory, and what is mapped.
struct Mappings {
  struct Physical {
    CUmemGenericAllocationHandle handle = 0;
    std::size_t size = 0;
    unsigned references = 0;
  };
  std::array<AddressRange, 3> r;
  std::array<Physical, 4> h;
  std::vector<AddressRange> mapped;

  ~Mappings();
  std::string name_of(CUdeviceptr address) const;
};

// Memory pools and memory from them.
struct Pools {
  struct Memory {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    unsigned pool = 99;  // index in q; 99 if it is not one of these
    bool is_on_host = false;
    bool is_imported = false;
    int imported_from = -1;  // index in a
  };
  struct Pool {
    CUmemoryPool handle = nullptr;
    bool is_on_host = false;
    bool is_exported = false;
    int imported_from = -1;  // index in q
    std::size_t most = 0;    // bytes
  };
  std::array<Pool, 4> q;
  std::array<Memory, 6> a;

  ~Pools();
  std::string name_of(CUdeviceptr address) const;
};

// Arrays, and mipmapped arrays.
struct Arrays {
  struct Array {
    CUarray handle = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    std::size_t element = 0;  // bytes of an element; 0 if the walk does not read or write the array
    int level_of = -1;        // index in m
  };
  std::array<Array, 5> a;
  std::array<CUmipmappedArray, 2> m{};
  std::array<CUDA_ARRAY3D_DESCRIPTOR, 2> shape_of_m{};

  ~Arrays();
};

// Managed memory.
struct Managed {
  std::array<AddressRange, 3> g;

  ~Managed();
  std::string name_of(CUdeviceptr address) const;
};

// Large device memory, for walks about how much memory is free.
struct Usage {
  std::array<CUdeviceptr, 4> d{};
  std::size_t free_at_first = 0;

  ~Usage();
};

// Memory that was opened after its process had freed it.
struct Opened {
  CUdeviceptr address = 0;
  CUcontext owner = nullptr;
};

struct MemoryObjects {
  std::array<Opened, 2> opened;
  Mappings mappings;
  Pools pools;
  Arrays arrays;
  Managed managed;
  Usage usage;

  std::string name_of(CUdeviceptr address) const;
};

}  // namespace differential
