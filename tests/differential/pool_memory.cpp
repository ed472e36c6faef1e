// SPDX-License-Identifier: Apache-2.0
// Memory of pools: allocation in stream order, use, queries, exported pools and pointers. All work is
// complete before each call, so that each answer is determined.
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "memory_walks.hpp"
#include "pointer_attributes.hpp"

namespace differential {
namespace {

using Pool = Pools::Pool;
using Memory = Pools::Memory;

unsigned a_memory(Walk &w) {
  return pick(w, of_pools(w).a, [](const Memory &one) { return one.address != 0; });
}
unsigned a_free_place(Walk &w) {
  return pick(w, of_pools(w).a, [](const Memory &one) { return one.address == 0; });
}

// ---- Memory ----

std::size_t a_size(Walk &w) {
  return w.dice.one_of<std::size_t>({0, 1, 256, 512, 513, 4096, 4096, 5000, kMiB, 3 * kMiB, 20 * kMiB,
                                     31 * kMiB, 32 * kMiB, 33 * kMiB, 70 * kMiB});
}

// Writes all bytes of memory, whose initial contents are undefined.
void has_made(Walk &w, unsigned k, CUresult code, std::size_t size, unsigned pool, bool is_on_host) {
  Memory &made = of_pools(w).a[k];
  if (code != CUDA_SUCCESS || made.address == 0) {
    w.also(made.address == 0 ? "null" : "some");
    made = {};
    return;
  }
  made.bytes = size;
  made.pool = pool;
  made.is_on_host = is_on_host;
  w.finish();
  if (!is_on_host)
    driver().cuMemsetD8(made.address, static_cast<unsigned char>(k), std::min<std::size_t>(size, 8192));
  w.finish();
}

void allocate(Walk &w) {
  const unsigned k = a_free_place(w);
  if (k == kNone) return;
  const unsigned from = a_pool(w);
  const std::size_t size = a_size(w);
  const auto stream = w.a_stream();
  w.finish();
  const Argument out{&of_pools(w).a[k].address, fmt::format("&a[{}]", k)};
  if (from == kNone || w.dice.once_in(4)) {
    const CUresult code = CALL(w, cuMemAllocAsync, out, bytes(size), stream);
    CUmemoryPool current = nullptr;
    unsigned pool = kNone;
    if (driver().cuDeviceGetMemPool(&current, 0) == CUDA_SUCCESS)
      for (unsigned i = 0; i < of_pools(w).q.size(); ++i)
        if (of_pools(w).q[i].handle == current) pool = i;
    has_made(w, k, code, size, pool, false);
    return;
  }
  const Pool &pool = of_pools(w).q[from];
  const CUresult code = CALL(w, cuMemAllocFromPoolAsync, out, bytes(size), pool_at(w, from), stream);
  has_made(w, k, code, size, from, pool.is_on_host);
}

bool is_imported_from(Walk &w, unsigned k) {
  for (const Memory &one : of_pools(w).a)
    if (one.address != 0 && one.imported_from == static_cast<int>(k)) return true;
  return false;
}

void free_memory(Walk &w) {
  const unsigned k = a_memory(w);
  if (k == kNone || is_imported_from(w, k)) return;
  w.finish();
  Memory &one = of_pools(w).a[k];
  const std::size_t inside =
      w.dice.once_in(10) ? std::min<std::size_t>(w.dice.one_of<std::size_t>({1, 256, 4096}), one.bytes - 1)
                         : 0;
  const Argument<CUdeviceptr> address{one.address + inside, fmt::format("a[{}] + {}", k, inside)};
  CUresult code = CUDA_SUCCESS;
  if (w.dice.once_in(3))
    code = CALL(w, cuMemFree, address);
  else
    code = CALL(w, cuMemFreeAsync, address, w.a_stream());
  if (code == CUDA_SUCCESS) one = {};
}

void use(Walk &w) {
  const unsigned k = a_memory(w);
  if (k == kNone || of_pools(w).a[k].is_on_host) return;  // the contents are undefined
  const Memory &one = of_pools(w).a[k];
  w.finish();
  const std::size_t offset =
      std::min<std::size_t>(w.dice.one_of<std::size_t>({0, 0, 0, 16, 256, 2}), one.bytes - 1);
  const Argument<CUdeviceptr> address{one.address + offset, fmt::format("a[{}] + {}", k, offset)};
  const std::size_t size = std::min<std::size_t>(w.dice.one_of<std::size_t>({1, 64, 256, 4096}),
                                                 one.bytes > offset ? one.bytes - offset : 0);
  std::vector<unsigned char> data(size, static_cast<unsigned char>(w.dice.below(200)));
  switch (w.dice.below(7)) {
    case 0:
      CALL(w, cuMemcpyHtoD, address, Argument<const void *>{data.data(), "data"}, bytes(size));
      break;
    case 1:
      CALL(w, cuMemsetD8, address, Argument{data.empty() ? static_cast<unsigned char>(0) : data[0], "value"},
           bytes(size));
      break;
    case 2:
      CALL(w, cuMemsetD32, address, number(7), bytes(size / 4));
      break;
    case 3: {
      // Beyond the end: the pool's block may go on, so only the code for a large size is determined.
      CALL(w, cuMemcpyDtoH, Argument<void *>{data.data(), "data"}, address, bytes(size));
      w.also(digest(data));
      break;
    }
    case 4: {
      const unsigned b = w.a_buffer();
      if (b == Walk::buffers || w.b[b].bytes < size) return;
      CALL(w, cuMemcpyDtoD, w.address_in(b, 0), address, bytes(size));
      break;
    }
    case 5:
      CALL(w, cuStreamWriteValue32, Argument<CUstream>{nullptr, "nullptr"}, address, number(3), number(0));
      break;
    default:
      CALL(w, cuMemcpyDtoH, Argument<void *>{data.data(), "data"}, address, bytes(size));
      w.also(digest(data));
  }
  w.finish();
}

void attribute(Walk &w) {
  const unsigned k = a_memory(w);
  if (k == kNone) return;
  const Memory &one = of_pools(w).a[k];
  const std::size_t offset =
      std::min<std::size_t>(w.dice.one_of<std::size_t>({0, 0, 1, one.bytes - 1}), one.bytes - 1);
  const Argument<CUdeviceptr> address{one.address + offset, fmt::format("a[{}] + {}", k, offset)};
  const auto attribute = an_attribute(w, address);
  if (!attribute) return;
  switch (attribute->which) {
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      w.also(name_of(w, reinterpret_cast<CUmemoryPool>(attribute->value)));
      break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:  // depends on the place of the memory in its block
      break;
    default:
      also_attribute(w, *attribute);
  }
}

void address_range(Walk &w) {
  const unsigned k = a_memory(w);
  if (k == kNone) return;
  Result<CUdeviceptr> base("base");
  Result<std::size_t> size("size");
  const std::size_t offset = of_pools(w).a[k].bytes > 1 ? w.dice.below(2) : 0;
  CALL(w, cuMemGetAddressRange, base.argument(), size.argument(),
       Argument{of_pools(w).a[k].address + offset, fmt::format("a[{}] + {}", k, offset)});
  w.also_name(base);
  w.also_number(size);
}

void host_calls(Walk &w) {
  const unsigned k = a_memory(w);
  if (k == kNone) return;
  const Argument<void *> host{reinterpret_cast<void *>(of_pools(w).a[k].address), fmt::format("a[{}]", k)};
  if (w.dice.once_in(2)) {
    Result<unsigned> flags("flags");
    CALL(w, cuMemHostGetFlags, flags.argument(), host);
    w.also_number(flags);
  } else {
    Result<CUdeviceptr> pointer("pointer");
    CALL(w, cuMemHostGetDevicePointer, pointer.argument(), host, number(0));
    w.also_name(pointer);
  }
}

// ---- Sharing, within this process ----

void share_pool(Walk &w) {
  const unsigned k = a_pool(w);
  const unsigned to = pick(w, of_pools(w).q, [](const Pool &one) { return one.handle == nullptr; });
  if (k == kNone) return;
  int file = -1;
  // The real driver takes a handle of type 8 for an address.
  const auto type = [&w] {
    return static_cast<CUmemAllocationHandleType>(w.dice.one_of({1, 1, 1, 1, 1, 0, 2}));
  };
  const unsigned long long flags = w.dice.once_in(20) ? 1 : 0;
  w.finish();
  if (CALL(w, cuMemPoolExportToShareableHandle, Argument<void *>{&file, "&file"}, pool_at(w, k),
           numbered("type", type()), Argument{flags, std::to_string(flags)}) != CUDA_SUCCESS)
    return;
  of_pools(w).q[k].is_exported = true;
  if (to != kNone) {
    Pool &made = of_pools(w).q[to];
    if (CALL(w, cuMemPoolImportFromShareableHandle, Argument{&made.handle, fmt::format("&q[{}]", to)},
             Argument{reinterpret_cast<void *>(static_cast<std::intptr_t>(file)), "file"},
             numbered("type", type()), Argument{0ULL, "0"}) == CUDA_SUCCESS) {
      made.imported_from = static_cast<int>(k);
      made.is_on_host = of_pools(w).q[k].is_on_host;
    } else {
      made = {};
    }
  }
  ::close(file);
}

void share_pointer(Walk &w) {
  const unsigned k = a_memory(w), to = a_free_place(w);
  if (k == kNone || of_pools(w).a[k].is_imported) return;
  // The real driver crashes with memory of a pool that was not exported.
  if (of_pools(w).a[k].pool == kNone || !of_pools(w).q[of_pools(w).a[k].pool].is_exported) return;
  w.finish();
  CUmemPoolPtrExportData data{};
  const std::size_t inside = w.dice.once_in(8) && of_pools(w).a[k].bytes > 256 ? 256 : 0;
  if (CALL(w, cuMemPoolExportPointer, Argument{&data, "&data"},
           Argument{of_pools(w).a[k].address + inside, fmt::format("a[{}] + {}", k, inside)}) != CUDA_SUCCESS)
    return;
  // Mostly into a pool that was imported from the memory's pool.
  const unsigned wanted = of_pools(w).a[k].pool;
  unsigned pool = pick(w, of_pools(w).q, [&](const Pool &one) {
    return one.handle != nullptr && one.imported_from == static_cast<int>(wanted);
  });
  if (pool == kNone || w.dice.once_in(6)) pool = a_pool(w);
  if (pool == kNone || to == kNone) return;
  Memory &made = of_pools(w).a[to];
  if (CALL(w, cuMemPoolImportPointer, Argument{&made.address, fmt::format("&a[{}]", to)}, pool_at(w, pool),
           Argument{&data, "&data"}) != CUDA_SUCCESS) {
    made = {};
    return;
  }
  for (unsigned i = 0; i < of_pools(w).a.size(); ++i)
    if (i != to && of_pools(w).a[i].address == made.address) {
      w.also(fmt::format("a[{}]", i));  // the second import returns the same address
      made = {};
      return;
    }
  made = {made.address, of_pools(w).a[k].bytes, pool, of_pools(w).a[k].is_on_host, true, static_cast<int>(k)};
}

}  // namespace

Choices pool_memory_choices() {
  return waiting({
      {50, allocate},
      {34, free_memory},
      {14, use},
      {10, attribute},
      {4, address_range},
      {3, host_calls},
      {8, share_pool},
      {8, share_pointer},
  });
}

}  // namespace differential
