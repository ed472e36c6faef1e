// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_stream_calls(Calls &calls) {
  CALL(cuStreamCreate, o.made<CUstream>(), 0U);
  CALL(cuStreamCreateWithPriority, o.made<CUstream>(), 0U, 0);
  CALL(cuStreamDestroy, o.stream()).destroys();
  CALL(cuStreamGetPriority, o.stream(), o.out<int>());
  CALL(cuStreamGetDevice, o.stream(), o.out<int>());
  CALL(cuStreamGetFlags, o.stream(), o.out<unsigned>());
  CALL(cuStreamGetId, o.stream(), o.hidden<unsigned long long>());
  CALL(cuStreamGetCtx, o.stream(), o.hidden<CUcontext>());
  CALL(cuStreamGetCtx_v2, o.stream(), o.hidden<CUcontext>(), o.hidden<CUgreenCtx>());
  CALL(cuStreamWaitEvent, o.stream(), o.event(), 0U);
  CALL(cuStreamAddCallback, o.stream(), fixed<CUstreamCallback>([](CUstream, CUresult, void *) {}), nullptr,
       0U);
  CALL(cuStreamQuery, o.stream());
  CALL(cuStreamSynchronize, o.stream());
  CALL(cuStreamCopyAttributes, o.stream(), o.stream());
  CALL(cuStreamGetAttribute, o.stream(), CU_LAUNCH_ATTRIBUTE_PRIORITY, o.hidden<CUstreamAttrValue>())
      .without({"value=null"});  // the real driver crashes
  for (int id = 0; id < 20; ++id)
    for (const int value : {-6, -1, 0, 1, 2, 3, 16}) {
      CUstreamAttrValue attribute{};
      attribute.priority = value;
      CALL_AS(std::to_string(id) + "," + std::to_string(value), cuStreamSetAttribute, fixed(o.stream()),
              fixed(static_cast<CUstreamAttrID>(id)), fixed(o.list({attribute}).first));
    }
  CALL(cuStreamSetAttribute, o.stream(), CU_LAUNCH_ATTRIBUTE_PRIORITY, o.list({CUstreamAttrValue{}}));
}

}  // namespace arguments
