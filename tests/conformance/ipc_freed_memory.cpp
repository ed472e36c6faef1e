// SPDX-License-Identifier: Apache-2.0
// Handles of small allocations that their process has freed, while it keeps another one in the same block of
// 2 MiB.
#include "conformance.hpp"

namespace conformance {
namespace {

// Opens the handles that it receives, one after the other, and sends the codes. Closes them at its end.
CUSHIM_CHILD(opener_of_handles) {
  make_context();
  for (auto left = parent.receive<int>(); left != 0; --left) {
    CUdeviceptr at = 0;
    parent.send(driver().cuIpcOpenMemHandle(&at, parent.receive<CUipcMemHandle>(), 1));
  }
}

class IpcFreedMemory : public OnDevice {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(OnDevice::SetUp());
    if (IsSkipped()) return;
    CUSHIM_NEEDS(ipc);
    for (CUdeviceptr &each : memory_) NEED(driver().cuMemAlloc(&each, 4096));
    RECORD_VALUE(memory_[kept] / kBlock == memory_[freed] / kBlock);
    for (std::size_t i = 0; i < 2; ++i) NEED(driver().cuIpcGetMemHandle(&handles_[i], memory_[i]));
  }
  void TearDown() override {
    for (const CUdeviceptr each : memory_)
      if (each != 0) driver().cuMemFree(each);
    OnDevice::TearDown();
  }

 public:
  enum Which : std::size_t { kept, freed };
  void free(Which which) {
    NEED(driver().cuMemFree(memory_[which]));
    memory_[which] = 0;
  }
  // Has another process open the handles in this order, and expects these codes.
  void open(const std::vector<Which> &order, const std::vector<CUresult> &codes) {
    Child child("opener_of_handles");
    child.send(static_cast<int>(order.size()));
    for (std::size_t i = 0; i < order.size(); ++i) {
      child.send(handles_[order[i]]);
      EXPECT_ANSWER(child.receive<CUresult>(), codes[i]);
    }
    EXPECT_EQ(child.wait(), 0);
  }

 private:
  static constexpr CUdeviceptr kBlock = 2 << 20;
  CUdeviceptr memory_[2] = {};
  CUipcMemHandle handles_[2] = {};
};

TEST_F(IpcFreedMemory, Is_opened_before_it_is_freed) {
  open({kept, freed, kept}, {CUDA_SUCCESS, CUDA_SUCCESS, CUDA_SUCCESS});
}
TEST_F(IpcFreedMemory, Is_opened_alone) {
  free(freed);
  open({freed}, {CUDA_ERROR_INVALID_VALUE});
}
TEST_F(IpcFreedMemory, Is_opened_twice) {
  free(freed);
  open({freed, freed}, {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE});
}
TEST_F(IpcFreedMemory, Is_opened_before_the_kept_memory) {
  free(freed);
  open({freed, kept}, {CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS});
}
TEST_F(IpcFreedMemory, Is_opened_after_the_kept_memory) {
  free(freed);
  open({kept, freed, kept}, {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS});
}
TEST_F(IpcFreedMemory, Is_opened_when_the_other_is_freed_too) {
  free(freed);
  free(kept);
  open({freed, kept}, {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE});
}

}  // namespace
}  // namespace conformance
