// SPDX-License-Identifier: Apache-2.0
// Memory of the program that the driver page-locks.
#include <sys/mman.h>

#include <cushim/memory.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

class RegisteredMemory : public OnDevice {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(host_register);
    OnDevice::SetUp();
    pages =
        static_cast<char *>(mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages, MAP_FAILED);
  }
  void TearDown() override {
    if (pages != nullptr) {
      driver().cuMemHostUnregister(pages);
      munmap(pages, 65536);
    }
    OnDevice::TearDown();
  }

 public:
  char *pages = nullptr;
};

STATEMENT(RegisteredMemory, Is_registered, driver().cuMemHostRegister(pages, 4096, 0), CUDA_SUCCESS)
STATEMENT(RegisteredMemory, Half_a_page_is_registered, driver().cuMemHostRegister(pages, 100, 0),
          CUDA_SUCCESS)
STATEMENT(RegisteredMemory, No_bytes_are_refused, driver().cuMemHostRegister(pages, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(RegisteredMemory, Null_is_refused, driver().cuMemHostRegister(nullptr, 4096, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(RegisteredMemory, Null_and_no_bytes_are_refused, driver().cuMemHostRegister(nullptr, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(RegisteredMemory, Pinned_memory_is_not_registered_again,
          driver().cuMemHostRegister(pinned(), 4096, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(RegisteredMemory, Device_memory_is_not_registered,
          driver().cuMemHostRegister(reinterpret_cast<void *>(memory()), 4096, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(RegisteredMemory, Managed_memory_is_not_registered,
          driver().cuMemHostRegister(reinterpret_cast<void *>(managed()), 4096, 0), CUDA_ERROR_INVALID_VALUE)

// Memory that a device may only read. Recorded random programs about managed memory showed it.
TEST_F(RegisteredMemory, For_reading_is_not_copied_to) {
  NEED(driver().cuMemHostRegister(pages, 4096, CU_MEMHOSTREGISTER_READ_ONLY));
  EXPECT_ANSWER(driver().cuMemcpyDtoHAsync(pages, memory(), 16, nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(RegisteredMemory, For_reading_is_not_set) {
  NEED(driver().cuMemHostRegister(pages, 4096, CU_MEMHOSTREGISTER_READ_ONLY));
  EXPECT_ANSWER(driver().cuMemsetD8(reinterpret_cast<CUdeviceptr>(pages), 1, 16), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(RegisteredMemory, For_reading_is_copied_from) {
  NEED(driver().cuMemHostRegister(pages, 4096, CU_MEMHOSTREGISTER_READ_ONLY));
  EXPECT_ANSWER(driver().cuMemcpyHtoD(memory(), pages, 16), CUDA_SUCCESS);
}

const bool flags = [] {
  static constexpr int codes[] = {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  for (unsigned flags = 0; flags < 17; ++flags) {
    const CUresult expected = static_cast<CUresult>(flags < std::size(codes) ? codes[flags] : 0);
    ADD_TEST(RegisteredMemory, "Is_registered_with_flags_" + std::to_string(flags),
             [flags, expected](RegisteredMemory &test) {
               expect_answer(__FILE__, __LINE__, "cuMemHostRegister(pages, 4096, flags)",
                             driver().cuMemHostRegister(test.pages, 4096, flags), expected);
             });
  }
  return true;
}();
STATEMENT(RegisteredMemory, All_flags_are_refused, driver().cuMemHostRegister(pages, 4096, ~0u),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(RegisteredMemory, Is_not_registered_twice) {
  NEED(driver().cuMemHostRegister(pages, 4096, 0));
  EXPECT_ANSWER(driver().cuMemHostRegister(pages, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_ANSWER(driver().cuMemHostRegister(pages, 8192, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
}
TEST_F(RegisteredMemory, Overlapping_at_the_end_is_refused) {
  NEED(driver().cuMemHostRegister(pages, 8192, 0));
  EXPECT_ANSWER(driver().cuMemHostRegister(pages + 4096, 8192, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
}
TEST_F(RegisteredMemory, Side_by_side_is_registered) {
  NEED(driver().cuMemHostRegister(pages, 4096, 0));
  EXPECT_ANSWER(driver().cuMemHostRegister(pages + 4096, 4096, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemHostUnregister(pages + 4096), CUDA_SUCCESS);
}
TEST_F(RegisteredMemory, Of_one_page_in_two_parts) {
  NEED(driver().cuMemHostRegister(pages, 1024, 0));
  EXPECT_ANSWER(driver().cuMemHostRegister(pages + 2048, 1024, 0), CUDA_SUCCESS);
  driver().cuMemHostUnregister(pages + 2048);
}
TEST_F(RegisteredMemory, Is_unregistered_once) {
  NEED(driver().cuMemHostRegister(pages, 4096, 0));
  EXPECT_ANSWER(driver().cuMemHostUnregister(pages), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemHostUnregister(pages), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}
TEST_F(RegisteredMemory, Is_not_unregistered_by_an_interior_address) {
  NEED(driver().cuMemHostRegister(pages, 8192, 0));
  EXPECT_ANSWER(driver().cuMemHostUnregister(pages + 4096), CUDA_ERROR_INVALID_VALUE);
}
STATEMENT(RegisteredMemory, Null_is_not_unregistered, driver().cuMemHostUnregister(nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(RegisteredMemory, Pageable_memory_is_not_unregistered, driver().cuMemHostUnregister(pages),
          CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
STATEMENT(RegisteredMemory, Pinned_memory_is_not_unregistered, driver().cuMemHostUnregister(pinned()),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(RegisteredMemory, Is_registered_in_a_context_and_unregistered_without) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemHostRegister(pages, 4096, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemHostRegister(nullptr, 4096, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemHostUnregister(pages), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}
TEST_F(RegisteredMemory, By_wrappers_is_seen_by_the_device_at_its_address) {
  auto registered_pages = cushim::RegisteredBuffer<char>::create(std::span<char>(pages, 4096));
  EXPECT_VALUE(registered_pages.device_span().data().address() == address_of(pages), true);
}

}  // namespace
}  // namespace conformance
