/* SPDX-License-Identifier: Apache-2.0 */
/* HIP's names for memory IPC, for C++ programs that share memory on AMD and NVIDIA devices: the
 * three calls with HIP's types, flag and error names. Calls go to the current driver.
 *
 * A handle has HIP's 64 bytes, all of which the driver uses. It identifies an allocation without
 * an offset: opening it returns the base, also if an interior pointer was exported. cushim/ipc.hpp
 * transfers the offset too. Do not include HIP's own headers in the same file. */
#ifndef CUSHIM_COMPAT_HIP_IPC_H
#define CUSHIM_COMPAT_HIP_IPC_H

#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H)
#error "cushim/compat/hip_ipc.h and HIP's own headers define the same names: include one of them"
#endif

#include <cushim/ipc.hpp>

#include <cstring>

/* Results of the three calls; the numbers are HIP's. */
enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorNotInitialized = 3,
  hipErrorDeinitialized = 4,
  hipErrorInsufficientDriver = 35,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidContext = 201,
  hipErrorMapFailed = 205,
  hipErrorUnmapFailed = 206,
  hipErrorPeerAccessUnsupported = 217,
  hipErrorInvalidHandle = 400,
  hipErrorNotFound = 500,
  hipErrorContextIsDestroyed = 709,
  hipErrorNotSupported = 801,
  hipErrorUnknown = 999
};

/* Bytes of a handle. */
#define HIP_IPC_HANDLE_SIZE 64

/* A handle as HIP declares it. Its bytes may be sent to another process. */
struct hipIpcMemHandle_t {
  char reserved[HIP_IPC_HANDLE_SIZE];
};

/* The only flag of hipIpcOpenMemHandle: enables peer access as needed. */
enum : unsigned { hipIpcMemLazyEnablePeerAccess = 0x1 };

namespace cushim::compat {

/* Returns HIP's result for a result of the driver. */
inline hipError_t to_hip(CUresult result) {
  switch (static_cast<int>(result)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 100:
    case 101:
    case 201:
    case 205:
    case 206:
    case 217:
    case 400:
    case 500:
    case 709:
    case 801:
      return static_cast<hipError_t>(result);
    case 302: /* the driver lacks the call, or there is no driver */
    case 303:
      return hipErrorInsufficientDriver;
    default:
      return hipErrorUnknown;
  }
}

/* Runs the action. Returns HIP's result for an exception that it throws. */
template <class Action>
hipError_t as_hip(Action action) noexcept {
  try {
    action();
    return hipSuccess;
  } catch (const Error &error) {
    return to_hip(error.result());
  } catch (...) {
    return hipErrorOutOfMemory;
  }
}

}  // namespace cushim::compat

/* Writes a handle that identifies device memory for other processes. */
inline hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *devPtr) {
  if (handle == nullptr) return hipErrorInvalidValue;
  return cushim::compat::as_hip([&] {
    const auto exported = cushim::memory::ipc::export_(reinterpret_cast<CUdeviceptr>(devPtr));
    static_assert(sizeof handle->reserved == sizeof exported.raw);
    std::memcpy(handle->reserved, &exported.raw, sizeof exported.raw);
  });
}

/* Maps memory of another process in the current context; flags must be hipIpcMemLazyEnablePeerAccess. */
inline hipError_t hipIpcOpenMemHandle(void **devPtr, hipIpcMemHandle_t handle, unsigned int flags) {
  if (devPtr == nullptr || flags != hipIpcMemLazyEnablePeerAccess) return hipErrorInvalidValue;
  return cushim::compat::as_hip([&] {
    cushim::memory::ipc::handle_t imported{};
    std::memcpy(&imported.raw, handle.reserved, sizeof imported.raw);
    *devPtr = reinterpret_cast<void *>(cushim::memory::ipc::import(imported).release());
  });
}

/* Closes one opening of imported memory. */
inline hipError_t hipIpcCloseMemHandle(void *devPtr) {
  return cushim::compat::as_hip(
      [&] { cushim::memory::ipc::Mapping::adopt(reinterpret_cast<CUdeviceptr>(devPtr)).close(); });
}

#endif
