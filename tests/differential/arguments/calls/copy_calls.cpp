// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_copy_calls(Calls &calls) {
  // The real driver crashes if it copies from or to addresses without memory.
  CALL(cuMemcpy, o.memory(), o.other_memory(), std::size_t{4096})
      .without({"dst=1", "dst=unmapped", "src=1", "src=unmapped"});
  CALL(cuMemcpyPeer, o.memory(), o.context(), o.other_memory(), o.context(), std::size_t{4096});
  CALL(cuMemcpyHtoD, o.memory(), o.pageable(), std::size_t{4096});
  CALL(cuMemcpyDtoH, o.pageable(), o.memory(), std::size_t{4096});
  CALL(cuMemcpyDtoD, o.memory(), o.other_memory(), std::size_t{4096});
  CALL(cuMemcpyDtoA, o.array_1d(), std::size_t{0}, o.memory(), std::size_t{64});
  CALL(cuMemcpyAtoD, o.memory(), o.array_1d(), std::size_t{0}, std::size_t{64});
  CALL(cuMemcpyHtoA, o.array_1d(), std::size_t{0}, o.pageable(), std::size_t{64});
  CALL(cuMemcpyAtoH, o.pageable(), o.array_1d(), std::size_t{0}, std::size_t{64});
  CALL(cuMemcpyAtoA, o.array_1d(), std::size_t{0}, o.array_1d(), std::size_t{128}, std::size_t{64});
  CALL_AS("2D", cuMemcpyDtoA, o.array(), std::size_t{0}, o.memory(), std::size_t{64});
  CALL_AS("2D", cuMemcpyAtoH, o.pageable(), o.array(), std::size_t{0}, std::size_t{64});

  CALL(cuMemcpyAsync, o.memory(), o.other_memory(), std::size_t{4096}, o.stream())
      .without({"dst=1", "dst=unmapped", "src=1", "src=unmapped"});
  CALL(cuMemcpyPeerAsync, o.memory(), o.context(), o.other_memory(), o.context(), std::size_t{4096},
       o.stream());
  CALL(cuMemcpyHtoDAsync, o.memory(), o.pinned(), std::size_t{4096}, o.stream());
  CALL(cuMemcpyDtoHAsync, o.pinned(), o.memory(), std::size_t{4096}, o.stream());
  CALL(cuMemcpyDtoDAsync, o.memory(), o.other_memory(), std::size_t{4096}, o.stream());
  CALL(cuMemcpyHtoAAsync, o.array_1d(), std::size_t{0}, o.pinned(), std::size_t{64}, o.stream());
  CALL(cuMemcpyAtoHAsync, o.pinned(), o.array_1d(), std::size_t{0}, std::size_t{64}, o.stream());

  CALL(cuMemcpy2D, o.in(copy_2d(o)));
  CALL(cuMemcpy2DUnaligned, o.in(copy_2d(o)));
  CALL(cuMemcpy2DAsync, o.in(copy_2d(o)), o.stream());
  CALL_AS("array", cuMemcpy2D, o.in(copy_2d_to_array(o)));
  CALL_AS("array", cuMemcpy2DUnaligned, o.in(copy_2d_to_array(o)));
  // Rows outside the host memory are left out.
  CALL_AS("host", cuMemcpy2D, o.in(copy_2d_from_host(o)))
      .without({"pCopy.srcHost=null", "pCopy.srcY=2147483647", "pCopy.srcY=18446744073709551615",
                "pCopy.srcPitch=2147483647", "pCopy.srcPitch=18446744073709551615"});

  CALL(cuMemcpy3D, o.in(copy_3d(o)));
  CALL(cuMemcpy3DAsync, o.in(copy_3d(o)), o.stream());
  CALL_AS("array", cuMemcpy3D, o.in(copy_3d_from_array(o)));
  CALL_AS("host", cuMemcpy3D, o.in(copy_3d_to_host(o)))
      .without({"pCopy.dstHost=null", "pCopy.dstZ=2147483647", "pCopy.dstZ=18446744073709551615",
                "pCopy.dstY=2147483647", "pCopy.dstY=18446744073709551615", "pCopy.dstXInBytes=2147483647",
                "pCopy.dstXInBytes=18446744073709551615", "pCopy.dstPitch=2147483647",
                "pCopy.dstPitch=18446744073709551615", "pCopy.dstHeight=2147483647",
                "pCopy.dstHeight=18446744073709551615", "pCopy.Height=2147483647",
                "pCopy.Height=18446744073709551615", "pCopy.Depth=2147483647",
                "pCopy.Depth=18446744073709551615"});
  // The real driver crashes without a structure or contexts.
  CALL(cuMemcpy3DPeer, o.in(copy_3d_peer(o)))
      .without({"pCopy=null", "pCopy.srcContext=null", "pCopy.dstContext=null"});
  CALL(cuMemcpy3DPeerAsync, o.in(copy_3d_peer(o)), o.stream())
      .without({"pCopy=null", "pCopy.srcContext=null", "pCopy.dstContext=null"});

  const auto attributes = [](Objects &o) {
    CUmemcpyAttributes in_order{};
    in_order.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    return o.in(in_order);
  };
  CALL(cuMemcpyBatchAsync, o.list({o.memory().value, o.memory().value + 8192}),
       o.list({o.other_memory().value, o.other_memory().value + 8192}), o.list<std::size_t>({64, 128}),
       Count{2}, attributes(o), o.list<std::size_t>({0}), Count{1}, o.stream());
}

}  // namespace arguments
