// SPDX-License-Identifier: Apache-2.0
// Calls about a device as a whole: execution affinity, atomic operations, notifications, decompression,
// profilers and writes of other devices.
#include "conformance.hpp"

namespace conformance {
namespace {

class ExecutionAffinity : public OnDevice {
 public:
  CUexecAffinityParam parameter{};
};

STATEMENT(ExecutionAffinity, Needs_a_place,
          driver().cuCtxGetExecAffinity(nullptr, CU_EXEC_AFFINITY_TYPE_SM_COUNT), CUDA_ERROR_INVALID_VALUE)
STATEMENT(ExecutionAffinity, Of_an_unknown_type,
          driver().cuCtxGetExecAffinity(&parameter, static_cast<CUexecAffinityType>(7)),
          CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY)
TEST_F(ExecutionAffinity, Is_read) {
  EXPECT_ANSWER(driver().cuCtxGetExecAffinity(&parameter, CU_EXEC_AFFINITY_TYPE_SM_COUNT), CUDA_SUCCESS);
  RECORD_VALUE(static_cast<int>(parameter.type));
  RECORD_VALUE(parameter.param.smCount.val);
}
TEST_F(ExecutionAffinity, Needs_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuCtxGetExecAffinity(&parameter, CU_EXEC_AFFINITY_TYPE_SM_COUNT),
                CUDA_ERROR_INVALID_CONTEXT);
}

// ---- Profilers ----

using Profilers = OnDevice;

constexpr unsigned kCsv = 1;  // CU_OUT_CSV of cudaProfiler.h

STATEMENT(Profilers, Are_not_initialized, driver().cuProfilerInitialize("", "", kCsv),
          CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(Profilers, Of_an_unknown_mode, driver().cuProfilerInitialize("", "", 9), CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(Profilers, Without_a_file, driver().cuProfilerInitialize(nullptr, nullptr, kCsv),
          CUDA_ERROR_NOT_SUPPORTED)

// ---- Writes of other devices ----

class RemoteWrites : public OnDevice {
 public:
  static constexpr auto kContext = CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX;
  static constexpr auto kOwner = CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER;
};
STATEMENT(RemoteWrites, Are_flushed_to_the_owner, driver().cuFlushGPUDirectRDMAWrites(kContext, kOwner),
          CUDA_SUCCESS)
STATEMENT(RemoteWrites, Are_flushed_to_all_devices,
          driver().cuFlushGPUDirectRDMAWrites(kContext, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES),
          CUDA_SUCCESS)
STATEMENT(RemoteWrites, Of_an_unknown_target,
          driver().cuFlushGPUDirectRDMAWrites(static_cast<CUflushGPUDirectRDMAWritesTarget>(1), kOwner),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(RemoteWrites, Of_an_unknown_scope,
          driver().cuFlushGPUDirectRDMAWrites(kContext, static_cast<CUflushGPUDirectRDMAWritesScope>(1)),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(RemoteWrites, Need_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuFlushGPUDirectRDMAWrites(kContext, kOwner), CUDA_ERROR_INVALID_CONTEXT);
}

#if CUDA_VERSION >= 13000

// ---- Atomic operations ----

class AtomicCapabilities : public OnDevice {
 public:
  std::vector<unsigned> capabilities = std::vector<unsigned>(16, 77);
  std::vector<CUatomicOperation> operations = [] {
    std::vector<CUatomicOperation> all;
    for (int i = 0; i < CU_ATOMIC_OPERATION_MAX; ++i) all.push_back(static_cast<CUatomicOperation>(i));
    return all;
  }();
};
TEST_F(AtomicCapabilities, Of_the_host_are_told) {
  EXPECT_ANSWER(driver().cuDeviceGetHostAtomicCapabilities(capabilities.data(), operations.data(),
                                                           static_cast<unsigned>(operations.size()), device),
                CUDA_SUCCESS);
  for (std::size_t i = 0; i < operations.size(); ++i) EXPECT_VALUE(capabilities[i], 0u);
}
TEST_F(AtomicCapabilities, Of_one_device_are_told) {
  EXPECT_ANSWER(
      driver().cuDeviceGetP2PAtomicCapabilities(capabilities.data(), operations.data(),
                                                static_cast<unsigned>(operations.size()), device, device),
      CUDA_ERROR_INVALID_DEVICE);
  for (std::size_t i = 0; i < operations.size(); ++i) EXPECT_VALUE(capabilities[i], 77u);
}
STATEMENT(AtomicCapabilities, Need_a_place,
          driver().cuDeviceGetHostAtomicCapabilities(nullptr, operations.data(), 1, device),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(AtomicCapabilities, Need_operations,
          driver().cuDeviceGetHostAtomicCapabilities(capabilities.data(), nullptr, 1, device),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(AtomicCapabilities, Of_no_operation,
          driver().cuDeviceGetHostAtomicCapabilities(capabilities.data(), operations.data(), 0, device),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(AtomicCapabilities, Of_no_device,
          driver().cuDeviceGetHostAtomicCapabilities(capabilities.data(), operations.data(), 1, 99),
          CUDA_ERROR_INVALID_DEVICE)
TEST_F(AtomicCapabilities, Of_an_unknown_operation) {
  operations[1] = static_cast<CUatomicOperation>(99);
  EXPECT_ANSWER(driver().cuDeviceGetHostAtomicCapabilities(capabilities.data(), operations.data(), 2, device),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(capabilities[0], 0u);
}

#endif
#if CUDA_VERSION >= 12060

// ---- Notifications ----

class Notifications : public OnDevice {
 public:
  static void CUDA_CB ignore(CUasyncNotificationInfo *, void *, CUasyncCallbackHandle) {}
  CUasyncCallbackHandle handle = nullptr, second = nullptr;
};
TEST_F(Notifications, Are_registered) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuDeviceRegisterAsyncNotification(device, ignore, nullptr, &handle), CUDA_SUCCESS);
  EXPECT_VALUE(handle != nullptr, true);
  EXPECT_ANSWER(driver().cuDeviceRegisterAsyncNotification(device, ignore, nullptr, &second), CUDA_SUCCESS);
  EXPECT_VALUE(second != handle, true);
  EXPECT_ANSWER(driver().cuDeviceUnregisterAsyncNotification(device, handle), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceUnregisterAsyncNotification(device, second), CUDA_SUCCESS);
}
TEST_F(Notifications, Need_a_function) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuDeviceRegisterAsyncNotification(device, nullptr, nullptr, &handle),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Notifications, Need_a_place) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuDeviceRegisterAsyncNotification(device, ignore, nullptr, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Notifications, Of_no_device) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuDeviceRegisterAsyncNotification(99, ignore, nullptr, &handle),
                CUDA_ERROR_INVALID_DEVICE);
}
TEST_F(Notifications, That_are_not_registered) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuDeviceUnregisterAsyncNotification(device, nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Notifications, Are_unregistered_once) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  NEED(driver().cuDeviceRegisterAsyncNotification(device, ignore, nullptr, &handle));
  NEED(driver().cuDeviceUnregisterAsyncNotification(device, handle));
  EXPECT_ANSWER(driver().cuDeviceUnregisterAsyncNotification(device, handle), CUDA_ERROR_INVALID_VALUE);
}

// ---- Decompression ----

class Decompression : public OnDevice {
 public:
  CUmemDecompressParams parameters{};
  std::size_t error = 77;
};
TEST_F(Decompression, Is_not_supported) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  NEED(driver().cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK, device));
  EXPECT_VALUE(number, 0);
  EXPECT_ANSWER(driver().cuMemBatchDecompressAsync(nullptr, 0, 0, nullptr, nullptr),
                CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_ANSWER(driver().cuMemBatchDecompressAsync(&parameters, 0, 0, &error, nullptr),
                CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_ANSWER(driver().cuMemBatchDecompressAsync(&parameters, 1, 0, &error, nullptr),
                CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_ANSWER(driver().cuMemBatchDecompressAsync(&parameters, 1, 1, &error, nullptr),
                CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_VALUE(error, std::size_t{77});
}

#endif

}  // namespace
}  // namespace conformance
