// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "../calls.hpp"
#include "../structures.hpp"
#include "support/structures.hpp"

namespace arguments {

void add_pool_calls(Calls &calls) {
  CALL(cuMemPoolCreate, o.made<CUmemoryPool>(), o.in(pool_properties()));
  CALL(cuMemPoolDestroy, o.pool()).destroys();
  CALL(cuMemPoolTrimTo, o.pool(), std::size_t{0});
  // The real driver crashes if the value is null.
  CALL(cuMemPoolSetAttribute, o.pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, o.list<std::uint64_t>({0}))
      .without({"value=null"});
  CALL(cuMemPoolGetAttribute, o.pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, o.out<unsigned>());
  CALL(cuMemPoolSetAccess, o.pool(), o.in(cushim::test::full_access()), Count{1});
  CALL(cuMemPoolGetAccess, o.out<CUmemAccess_flags>(), o.pool(), o.in(location_of_device()));
  CALL(cuMemAllocFromPoolAsync, o.made_memory(), SmallSize{4096}, o.pool(), o.stream());
  CALL(cuMemPoolExportToShareableHandle, o.made_descriptor(), o.pool(),
       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ULL);
  CALL(cuMemPoolImportFromShareableHandle, o.made<CUmemoryPool>(), fixed((void *)-1),
       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ULL);
  CALL(cuMemPoolExportPointer, o.hidden<CUmemPoolPtrExportData>(), o.pool_memory());
  CALL(cuMemPoolImportPointer, o.hidden<CUdeviceptr>(), o.pool(), o.list({CUmemPoolPtrExportData{}}));
  for (int place = CU_MEM_LOCATION_TYPE_INVALID; place < 8; ++place)
    for (const int id : {-1, 0, 1})
      for (const int type : {0, 1, 2, 3}) {
        CUmemLocation location{};
        location.type = static_cast<CUmemLocationType>(place);
        location.id = id;
        const auto allocation = static_cast<CUmemAllocationType>(type);
        const std::string tag = fmt::format("{},{},{}", place, id, type);
        CALL_AS(tag, cuMemGetDefaultMemPool, fixed(o.hidden<CUmemoryPool>().place),
                fixed(o.list({location}).first), fixed(allocation));
        CALL_AS(tag, cuMemGetMemPool, fixed(o.hidden<CUmemoryPool>().place), fixed(o.list({location}).first),
                fixed(allocation));
        CALL_AS(tag, cuMemSetMemPool, fixed(o.list({location}).first), fixed(allocation),
                fixed(o.pool_to_set()));
      }
  CALL(cuMemGetDefaultMemPool, o.hidden<CUmemoryPool>(), o.in(location_of_device()),
       CU_MEM_ALLOCATION_TYPE_PINNED);
  CALL(cuMemGetMemPool, o.hidden<CUmemoryPool>(), o.in(location_of_device()), CU_MEM_ALLOCATION_TYPE_PINNED);
  CALL(cuMemSetMemPool, o.in(location_of_device()), CU_MEM_ALLOCATION_TYPE_PINNED, o.pool_to_set());
}

}  // namespace arguments
