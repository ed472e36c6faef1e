// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"
#include "support/structures.hpp"

namespace arguments {

void add_virtual_memory_calls(Calls &calls) {
  // At addresses of host memory, the result depends on the address.
  CALL(cuMemAddressReserve, o.made_range(kGranule), fixed(kGranule), std::size_t{0}, Address{0}, 0ULL)
      .without({"addr=pinned", "addr=pageable", "addr=registered", "addr=managed", "addr=managed+1"});
  CALL_AS("size", cuMemAddressReserve, o.hidden<CUdeviceptr>(), SmallSize{kGranule}, fixed(std::size_t{0}),
          fixed(CUdeviceptr{0}), fixed(0ULL));
  CALL(cuMemAddressFree, o.range(), kReserved).destroys();
  CALL(cuMemCreate, o.made_physical(), SmallSize{kGranule}, o.in(physical_properties()), 0ULL);
  CALL(cuMemRelease, Handle{o.physical()}).destroys();
  CALL(cuMemMap, o.range(), kMapped, std::size_t{0}, Handle{o.physical()}, 0ULL);
  // Beyond the reserved range, the result depends on the other mappings of the process.
  CALL(cuMemUnmap, o.mapped(), kMapped).without({"size=1125899906842624", "size=18446744073709551615"});
  CALL(cuMemSetAccess, o.mapped(), kMapped, o.in(cushim::test::full_access()), Count{1});
  CALL(cuMemGetAccess, o.out<unsigned long long>(), o.in(location_of_device()), o.mapped());
  CALL(cuMemGetAllocationGranularity, o.out<std::size_t>(), o.in(physical_properties()),
       CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  CALL(cuMemGetAllocationPropertiesFromHandle, o.hidden<CUmemAllocationProp>(), Handle{o.physical()});
  CALL(cuMemRetainAllocationHandle, o.made_physical(),
       HostMemory{reinterpret_cast<void *>(o.mapped().value)});
  CALL(cuMemExportToShareableHandle, o.made_descriptor(), Handle{o.physical()},
       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ULL);
  CALL(cuMemImportFromShareableHandle, o.made_physical(), fixed((void *)-1),
       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

}  // namespace arguments
