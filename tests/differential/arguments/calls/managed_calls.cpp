// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_managed_calls(Calls &calls) {
  CALL(cuMemPrefetchAsync, o.managed(), kBytes, location_of_device(), 0U, o.stream());
  for (int advice = CU_MEM_ADVISE_SET_READ_MOSTLY; advice <= CU_MEM_ADVISE_UNSET_ACCESSED_BY + 2; ++advice)
    CALL_AS(std::to_string(advice), cuMemAdvise, o.managed(), kBytes,
            fixed(static_cast<CUmem_advise>(advice)), location_of_device());
  CALL(cuMemPrefetchBatchAsync, o.list({o.managed().value}), o.list({std::size_t{4096}}), Count{1},
       o.in(location_of_device()), o.list({std::size_t{0}}), Count{1}, 0ULL, o.stream());
  CALL(cuMemDiscardBatchAsync, o.list({o.managed().value}), o.list({kBytes}), Count{1}, 0ULL, o.stream());
  CALL(cuMemDiscardAndPrefetchBatchAsync, o.list({o.managed().value}), o.list({kBytes}), Count{1},
       o.in(location_of_device()), o.list({std::size_t{0}}), Count{1}, 0ULL, o.stream());
  CALL(cuMemRangeGetAttribute, o.out<int>(), std::size_t{4}, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, o.managed(),
       kBytes);
  CALL(cuMemRangeGetAttributes, o.list<void *>({o.out<int>().place}), o.list({std::size_t{4}}),
       o.list({CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION}), Count{1}, o.managed(), kBytes);
  // The real driver crashes with flags of 0 for a whole allocation.
  CALL(cuStreamAttachMemAsync, o.stream(), o.managed(), std::size_t{0}, 4U).without({"flags=0"});
}

}  // namespace arguments
