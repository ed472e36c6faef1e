// SPDX-License-Identifier: Apache-2.0
// Device memory that another process opens.
#include "ipc.hpp"

namespace conformance {
namespace {

class IpcMemory : public Exporting<CUipcMemHandle, CUdeviceptr> {};

// Opens the handle with the flags that it receives, reads a byte, closes the memory, and closes it again.
struct Opened {
  CUresult open, open_again, read, close, close_again, close_too_often;
  bool same;
  int byte;
};
CUSHIM_CHILD(memory_importer) {
  make_context();
  const auto handle = parent.receive<CUipcMemHandle>();
  const auto flags = parent.receive<unsigned>();
  Opened result = {};
  CUdeviceptr at = 0, again = 0;
  result.open = driver().cuIpcOpenMemHandle(&at, handle, flags);
  if (result.open == CUDA_SUCCESS) {
    unsigned char byte = 0;
    result.open_again = driver().cuIpcOpenMemHandle(&again, handle, flags);
    result.same = at == again;
    result.read = driver().cuMemcpyDtoH(&byte, at, 1);
    result.byte = byte;
    result.close = driver().cuIpcCloseMemHandle(at);
    result.close_again = driver().cuIpcCloseMemHandle(at);
    result.close_too_often = driver().cuIpcCloseMemHandle(at);
  }
  parent.send(result);
}

STATEMENT(IpcMemory, Is_exported, driver().cuIpcGetMemHandle(&handle, memory()), CUDA_SUCCESS)
STATEMENT(IpcMemory, Is_exported_from_the_middle, driver().cuIpcGetMemHandle(&handle, memory() + 100),
          CUDA_SUCCESS)
STATEMENT(IpcMemory, Exporting_needs_a_place, driver().cuIpcGetMemHandle(nullptr, memory()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcMemory, Null_is_not_exported, driver().cuIpcGetMemHandle(&handle, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcMemory, Pinned_memory_is_not_exported, driver().cuIpcGetMemHandle(&handle, address_of(pinned())),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcMemory, Managed_memory_is_not_exported, driver().cuIpcGetMemHandle(&handle, managed()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcMemory, Registered_memory_is_not_exported,
          driver().cuIpcGetMemHandle(&handle, address_of(registered())), CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcMemory, The_stack_is_not_exported, driver().cuIpcGetMemHandle(&handle, address_of(&handle)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcMemory, Is_not_opened_by_its_own_process,
          driver().cuIpcOpenMemHandle(&pointer, exported(memory()), CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          CUDA_ERROR_INVALID_CONTEXT)
STATEMENT(IpcMemory, A_handle_of_zeros_is_not_opened,
          driver().cuIpcOpenMemHandle(&pointer, CUipcMemHandle{}, 1), CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcMemory, Opening_needs_a_place, driver().cuIpcOpenMemHandle(nullptr, exported(memory()), 1),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcMemory, What_was_not_opened_is_not_closed, driver().cuIpcCloseMemHandle(memory()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcMemory, Null_is_not_closed, driver().cuIpcCloseMemHandle(0), CUDA_ERROR_INVALID_VALUE)

TEST_F(IpcMemory, Is_not_exported_without_a_context) {
  const CUdeviceptr at = memory();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuIpcGetMemHandle(&handle, at), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(IpcMemory, Is_not_opened_without_a_context) {
  exported(memory());
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuIpcOpenMemHandle(&pointer, handle, 1), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(IpcMemory, Of_its_own_process_is_refused_before_the_flags) {
  EXPECT_ANSWER(driver().cuIpcOpenMemHandle(&pointer, exported(memory()), 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(IpcMemory, From_a_pool_is_not_exported) {
  CUSHIM_NEEDS(pools);
  const CUstream work = stream();
  NEED(driver().cuMemAllocAsync(&pointer, 4096, work));
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_ANSWER(driver().cuIpcGetMemHandle(&handle, pointer), CUDA_ERROR_INVALID_VALUE);
}

const bool opened = [] {
  for (unsigned flags : {0u, 1u, 2u, 3u, ~0u}) {
    ADD_TEST(IpcMemory, "Is_opened_with_flags_" + std::to_string(flags), [flags](IpcMemory &test) {
      const CUdeviceptr at = test.memory();
      NEED(driver().cuMemsetD8(at, 42, 4096));
      NEED(driver().cuCtxSynchronize());
      Child child("memory_importer");
      child.send(test.exported(at));
      child.send(flags);
      const auto result = child.receive<Opened>();
      // The driver ignores the other bits.
      EXPECT_ANSWER(result.open, (flags & 1u) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
      if ((flags & 1u) != 0) {
        EXPECT_ANSWER(result.open_again, CUDA_SUCCESS);
        EXPECT_VALUE(result.same, true);
        EXPECT_ANSWER(result.read, CUDA_SUCCESS);
        EXPECT_VALUE(result.byte, 42);
        EXPECT_ANSWER(result.close, CUDA_SUCCESS);
        EXPECT_ANSWER(result.close_again, CUDA_SUCCESS);
        EXPECT_ANSWER(result.close_too_often, CUDA_ERROR_INVALID_VALUE);
      }
      EXPECT_EQ(child.wait(), 0);
    });
  }
  return true;
}();

TEST_F(IpcMemory, Is_not_opened_after_it_was_freed) {
  CUdeviceptr at = 0;
  // Large enough for its own block, unlike small allocations, which share one.
  NEED(driver().cuMemAlloc(&at, 4 << 20));
  exported(at);
  NEED(driver().cuMemFree(at));
  Child child("memory_importer");
  child.send(handle);
  child.send(1u);
  EXPECT_ANSWER(child.receive<Opened>().open, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(child.wait(), 0);
}

CUSHIM_CHILD(memory_exporter) {
  make_context();
  CUdeviceptr at = 0;
  CUipcMemHandle handle = {};
  NEED(driver().cuMemAlloc(&at, 4096));
  NEED(driver().cuMemsetD8(at, 9, 4096));
  NEED(driver().cuCtxSynchronize());
  NEED(driver().cuIpcGetMemHandle(&handle, at));
  parent.send(handle);
  parent.receive<int>();
}
// The process whose memory a test opens.
class Exporter {
  Child child_{"memory_exporter"};

 public:
  CUipcMemHandle handle = child_.receive<CUipcMemHandle>();
  // Opens the memory.
  CUdeviceptr open() const {
    CUdeviceptr at = 0;
    NEED(driver().cuIpcOpenMemHandle(&at, handle, 1));
    return at;
  }
  void kill() { child_.kill(); }
  int wait() { return child_.wait(); }
  void end() {
    child_.send(0);
    EXPECT_EQ(child_.wait(), 0);
  }
};
TEST_F(IpcMemory, Of_a_killed_process_is_not_opened) {
  Exporter child;
  handle = child.handle;
  child.kill();
  child.wait();
  EXPECT_ANSWER(driver().cuIpcOpenMemHandle(&pointer, handle, 1), CUDA_ERROR_INVALID_HANDLE);
}
TEST_F(IpcMemory, Opened_is_neither_freed_nor_exported_again) {
  Exporter child;
  handle = child.handle;
  CUdeviceptr at = 0;
  EXPECT_ANSWER(driver().cuIpcOpenMemHandle(&at, handle, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemFree(at), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuIpcGetMemHandle(&handle, at), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuIpcCloseMemHandle(at), CUDA_SUCCESS);
  child.end();
}

// Opened memory has the attributes of any other memory.
TEST_F(IpcMemory, Opened_has_the_attributes_of_device_memory) {
  Exporter child;
  const CUdeviceptr at = child.open();
  CUdeviceptr base = 0;
  int kind = 0, ordinal = -1, is_capable = -1, is_managed = -1;
  CUcontext its_context = nullptr;
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at), CUDA_SUCCESS);
  EXPECT_VALUE(kind, int{CU_MEMORYTYPE_DEVICE});
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at),
                CUDA_SUCCESS);
  EXPECT_VALUE(ordinal, 0);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&its_context, CU_POINTER_ATTRIBUTE_CONTEXT, at), CUDA_SUCCESS);
  EXPECT_VALUE(its_context == context, true);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at),
                CUDA_SUCCESS);
  EXPECT_VALUE(is_managed, 0);
  EXPECT_ANSWER(
      driver().cuPointerGetAttribute(&is_capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at),
      CUDA_SUCCESS);
  EXPECT_VALUE(is_capable, 0);
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&base, &size, at + 10), CUDA_SUCCESS);
  EXPECT_VALUE(base == at, true);
  EXPECT_VALUE(size, 4096u);
  NEED(driver().cuIpcCloseMemHandle(at));
  child.end();
}
TEST_F(IpcMemory, Opened_is_not_closed_from_the_middle) {
  Exporter child;
  const CUdeviceptr at = child.open();
  EXPECT_ANSWER(driver().cuIpcCloseMemHandle(at + 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuIpcCloseMemHandle(at), CUDA_SUCCESS);
  child.end();
}
TEST_F(IpcMemory, Opened_is_not_closed_without_a_context) {
  Exporter child;
  const CUdeviceptr at = child.open();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuIpcCloseMemHandle(at), CUDA_ERROR_INVALID_CONTEXT);
  NEED(driver().cuCtxSetCurrent(context));
  NEED(driver().cuIpcCloseMemHandle(at));
  child.end();
}
TEST_F(IpcMemory, Opened_stays_readable_after_its_owner_was_killed) {
  Exporter child;
  const CUdeviceptr at = child.open();
  unsigned char byte = 0;
  child.kill();
  EXPECT_ANSWER(driver().cuMemcpyDtoH(&byte, at, 1), CUDA_SUCCESS);
  EXPECT_VALUE(byte, 9);
  EXPECT_ANSWER(driver().cuIpcCloseMemHandle(at), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance
