// SPDX-License-Identifier: Apache-2.0
// Copies between two contexts, and settings of the current context that few programs need.
//
//   copy_peer(of_second, second_context, of_first, first_context, stream);
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/memory.hpp>
#include <cushim/stream.hpp>

namespace cushim {
inline namespace v1 {

// Copies a range of one context to one of another. The devices need no access to each other. Throws
// INVALID_VALUE if the sizes differ. Driver calls: cuMemcpyPeer.
template <class T>
void copy_peer(DeviceSpan<T> to, ContextRef to_context, DeviceSpan<const std::type_identity_t<T>> from,
               ContextRef from_context, Where where = Where::current()) {
  constexpr const char *routine = "cuMemcpyPeer";
  if (to.size() != from.size())
    detail::fail(CUDA_ERROR_INVALID_VALUE, routine, where, to_context, from_context,
                 detail::Remark{"the sizes differ"});
  detail::require(from_context, routine, where);
  detail::check(
      to_context.driver().cuMemcpyPeer(to.data().address(), to_context.handle(), from.data().address(),
                                       from_context.handle(), to.size_bytes()),
      routine, where, to_context, from_context);
}

// ---- The current context ---------------------------------------------------------------------------

// Sets all lines of the L2 cache that were marked persisting to normal. Driver calls:
// cuCtxResetPersistingL2Cache.
inline void reset_persisting_cache(Driver &driver = cushim::driver(), Where where = Where::current()) {
  detail::check(driver.cuCtxResetPersistingL2Cache(), "cuCtxResetPersistingL2Cache", where,
                detail::Through{&driver});
}
// Returns the number of multiprocessors that the current context is limited to. Driver calls:
// cuCtxGetExecAffinity.
inline unsigned multiprocessor_limit(Driver &driver = cushim::driver(), Where where = Where::current()) {
  return detail::ask<CUexecAffinityParam>(detail::Through{&driver}, "cuCtxGetExecAffinity", where,
                                          [&](CUexecAffinityParam *out) {
                                            return driver.cuCtxGetExecAffinity(
                                                out, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
                                          })
      .param.smCount.val;
}
// Sets the flags of the current context. Needs a driver of CUDA 12.1. Driver calls: cuCtxSetFlags.
inline void set_flags(ContextFlags flags, Driver &driver = cushim::driver(), Where where = Where::current()) {
  detail::check(driver.cuCtxSetFlags(detail::number(flags)), "cuCtxSetFlags", where, detail::Through{&driver},
                detail::Argument{"flags", detail::number(flags)});
}

// The observers of remote writes that flush_remote_writes() makes visible.
enum class RemoteWriteScope : int {
  owner = CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER,  // the device of the memory
  all_devices = CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES,
};
// Waits until writes by network cards and other devices (GPUDirect RDMA) to the memory of the current context
// are visible. Driver calls: cuFlushGPUDirectRDMAWrites.
inline void flush_remote_writes(RemoteWriteScope scope, Driver &driver = cushim::driver(),
                                Where where = Where::current()) {
  detail::check(driver.cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                                  static_cast<CUflushGPUDirectRDMAWritesScope>(scope)),
                "cuFlushGPUDirectRDMAWrites", where, detail::Through{&driver});
}

inline namespace CUSHIM_DEFAULT_STREAM {

// Copies in stream order and returns at once. Otherwise as above. Driver calls: cuMemcpyPeerAsync.
template <class T>
void copy_peer(DeviceSpan<T> to, ContextRef to_context, DeviceSpan<const std::type_identity_t<T>> from,
               ContextRef from_context, const StreamRef &stream, Where where = Where::current()) {
  constexpr const char *routine = "cuMemcpyPeerAsync";
  if (to.size() != from.size())
    detail::fail(CUDA_ERROR_INVALID_VALUE, routine, where, stream, detail::Remark{"the sizes differ"});
  detail::require(to_context, routine, where);
  detail::require(from_context, routine, where);
  detail::check(
      stream.driver().cuMemcpyPeerAsync(to.data().address(), to_context.handle(), from.data().address(),
                                        from_context.handle(), to.size_bytes(), stream.handle()),
      routine, where, stream, to_context, from_context);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
