// SPDX-License-Identifier: Apache-2.0
#include "stream_contexts.hpp"

#include <mutex>

namespace cushim::replay {

std::uint64_t StreamContexts::current() const {
  CUcontext context = nullptr;
  driver_.cuCtxGetCurrent(&context);
  return reinterpret_cast<std::uint64_t>(context);
}

std::uint64_t StreamContexts::of(std::uint64_t stream) {
  const auto handle = reinterpret_cast<CUstream>(stream);
  if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) return current();
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = contexts_.find(stream); known != contexts_.end()) return known->second;
  }
  CUcontext context = nullptr;
  if (driver_.cuStreamGetCtx(handle, &context) != CUDA_SUCCESS) context = nullptr;
  const std::lock_guard lock(mutex_);
  return contexts_[stream] = reinterpret_cast<std::uint64_t>(context);
}

void StreamContexts::forget(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  contexts_.erase(stream);
}

}  // namespace cushim::replay
