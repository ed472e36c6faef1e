// SPDX-License-Identifier: Apache-2.0
// The calls of the first releases that take device addresses or sizes of 32 bits.
#include <cushim/exact.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

namespace exact = cushim::exact;

class AddressesOf32Bits : public OnDevice {
 public:
  static constexpr CUresult kRefused = CUDA_ERROR_INVALID_CONTEXT;
  static constexpr unsigned kAddress = 256, kBytes = 16;

  unsigned address = 77, bytes = 77;
  char data[kBytes] = {};
};

TEST_F(AddressesOf32Bits, Are_not_allocated) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(exact::cuMemAllocPitch_v2000(driver())(&address, &bytes, kBytes, 1, 4), kRefused);
  EXPECT_ANSWER(exact::cuMemAllocHost_v2000(driver())(&host, kBytes), kRefused);
}
TEST_F(AddressesOf32Bits, Are_not_found) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(exact::cuMemGetAddressRange_v2000(driver())(&address, &bytes, kAddress), kRefused);
  EXPECT_ANSWER(exact::cuMemHostGetDevicePointer_v2020(driver())(&address, data, 0), kRefused);
  EXPECT_ANSWER(exact::cuModuleGetGlobal_v2000(driver())(&address, &bytes, nullptr, "name"),
                CUDA_ERROR_INVALID_HANDLE);
}
TEST_F(AddressesOf32Bits, Are_not_copied) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  const CUstream work = stream();
  EXPECT_ANSWER(exact::cuMemcpyDtoD_v2000(driver())(kAddress, kAddress, kBytes), kRefused);
  EXPECT_ANSWER(exact::cuMemcpyDtoDAsync_v3000(driver())(kAddress, kAddress, kBytes, work), kRefused);
  EXPECT_ANSWER(exact::cuMemcpyDtoHAsync_v2000(driver())(data, kAddress, kBytes, work), kRefused);
  EXPECT_ANSWER(exact::cuMemcpyHtoDAsync_v2000(driver())(kAddress, data, kBytes, work), kRefused);
}
TEST_F(AddressesOf32Bits, Are_not_set) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(exact::cuMemsetD8_v2000(driver())(kAddress, 1, kBytes), kRefused);
  EXPECT_ANSWER(exact::cuMemsetD16_v2000(driver())(kAddress, 1, kBytes), kRefused);
  EXPECT_ANSWER(exact::cuMemsetD32_v2000(driver())(kAddress, 1, kBytes), kRefused);
  EXPECT_ANSWER(exact::cuMemsetD2D8_v2000(driver())(kAddress, 64, 1, kBytes, 1), kRefused);
  EXPECT_ANSWER(exact::cuMemsetD2D16_v2000(driver())(kAddress, 64, 1, kBytes, 1), kRefused);
  EXPECT_ANSWER(exact::cuMemsetD2D32_v2000(driver())(kAddress, 64, 1, kBytes, 1), kRefused);
}

}  // namespace
}  // namespace conformance
