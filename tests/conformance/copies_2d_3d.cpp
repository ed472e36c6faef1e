// SPDX-License-Identifier: Apache-2.0
// Copies of two and three dimensions between every two kinds of memory, without a description, and by the
// first ABI. Each statement tests all calls.
#include <cushim/exact.hpp>

#include "copies_2d_3d.hpp"

namespace conformance {
namespace {

const End ends[] = {
    in_pageable,
    in_pinned,
    {"registered", CU_MEMORYTYPE_HOST, Kind::registered},
    {"host_managed", CU_MEMORYTYPE_HOST, Kind::managed},
    in_device,
    {"managed", CU_MEMORYTYPE_DEVICE, Kind::managed},
    {"device_pinned", CU_MEMORYTYPE_DEVICE, Kind::pinned},
    {"device_registered", CU_MEMORYTYPE_DEVICE, Kind::registered},
    {"device_pageable", CU_MEMORYTYPE_DEVICE, Kind::pageable},
    in_unified,
    {"unified_managed", CU_MEMORYTYPE_UNIFIED, Kind::managed},
    {"unified_pinned", CU_MEMORYTYPE_UNIFIED, Kind::pinned},
    {"unified_pageable", CU_MEMORYTYPE_UNIFIED, Kind::pageable},
    in_array,
};

const bool between_ends = [] {
  for (const BoxCall &call : box_calls)
    for (const End &from_end : ends)
      for (const End &to_end : ends) {
        const auto is_refused = [](const End &end) {
          return end.type == CU_MEMORYTYPE_DEVICE && end.kind == Kind::pageable;
        };
        const bool refused = is_refused(from_end) || is_refused(to_end);
        const CUresult expected = refused ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
        ADD_TEST(Copies3D, std::string(call.name) + "_takes_" + from_end.name + "_to_" + to_end.name,
                 [=](Copies3D &t) {
                   t.planes = call.planes;
                   const Box from = box(t, from_end, 1), to = box(t, to_end, 100);
                   aim(t, from, to);
                   expect_answer(__FILE__, __LINE__, std::string(call.name) + "(&copy)",
                                 call.call(t.copy, t.stream()), expected);
                   const auto after =
                       expected == CUDA_SUCCESS ? copied(t.copy, t.planes, from, to) : to.bytes;
                   EXPECT_VALUE(to.now() == after, true);
                 });
      }
  return true;
}();

// ---- Null descriptions, and the first ABI ----

// The real driver crashes in some of these calls.
const bool descriptions = [] {
  const auto add = [](const char *name, auto call) {
    for (const bool has_context : {true, false})
      ADD_TEST(Copies3D, std::string(name) + "_needs_a_description" + (has_context ? "" : "_and_a_context"),
               [=](Copies3D &t) {
                 CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
                 if (!has_context) NEED(driver().cuCtxSetCurrent(nullptr));
                 expect_answer(__FILE__, __LINE__, std::string(name) + "(nullptr)", call(t),
                               has_context ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT);
               });
  };
  add("cuMemcpy2D", [](Copies3D &) { return driver().cuMemcpy2D(nullptr); });
  add("cuMemcpy2DUnaligned", [](Copies3D &) { return driver().cuMemcpy2DUnaligned(nullptr); });
  add("cuMemcpy2DAsync", [](Copies3D &) { return driver().cuMemcpy2DAsync(nullptr, nullptr); });
  add("cuMemcpy3D", [](Copies3D &) { return driver().cuMemcpy3D(nullptr); });
  add("cuMemcpy3DAsync", [](Copies3D &) { return driver().cuMemcpy3DAsync(nullptr, nullptr); });
  add("cuMemcpy3DPeer", [](Copies3D &) { return driver().cuMemcpy3DPeer(nullptr); });
  add("cuMemcpy3DPeerAsync", [](Copies3D &) { return driver().cuMemcpy3DPeerAsync(nullptr, nullptr); });
  return true;
}();
TEST_F(Copies3D, cuMemcpy3D_with_something_reserved) {
  unsigned char from = 1, to = 2;
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = &from;
  copy.dstHost = &to;
  copy.WidthInBytes = copy.Height = copy.Depth = 1;
  copy.reserved0 = copy.reserved1 = &from;  // documented to be null
  EXPECT_ANSWER(driver().cuMemcpy3D(&copy), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(to), 1);
}

// The first ABI has device addresses of 32 bits.
template <class Copy>
Copy of_one_word(const void *from, void *to) {
  Copy copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.dstHost = to;
  copy.WidthInBytes = 4;
  copy.Height = 1;
  return copy;
}
TEST_F(Copies3D, Of_the_first_ABI_between_host_memory) {
  int from = 7, to = 0;
  const auto two = of_one_word<CushimMemcpy2D_v1>(&from, &to);
  auto three = of_one_word<CushimMemcpy3D_v1>(&from, &to);
  three.Depth = 1;
  EXPECT_ANSWER(cushim::exact::cuMemcpy2D_v2000(driver())(&two), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpy2DUnaligned_v2000(driver())(&two), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpy2DAsync_v2000(driver())(&two, stream()), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpy3D_v2000(driver())(&three), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpy3DAsync_v2000(driver())(&three, stream()), CUDA_ERROR_INVALID_CONTEXT);
  NEED(driver().cuCtxSynchronize());
  EXPECT_VALUE(to, 0);
}

}  // namespace
}  // namespace conformance
