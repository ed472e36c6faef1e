// SPDX-License-Identifier: Apache-2.0
#include "kernel_parameters.hpp"

#include <mutex>

namespace cushim::replay {

std::shared_ptr<const KernelParameters::Sizes> KernelParameters::ask(CUfunction kernel) const {
#if CUDA_VERSION >= 12040
  auto sizes = std::make_shared<Sizes>();
  std::size_t offset = 0, size = 0;
  CUresult result;
  while ((result = driver_.cuFuncGetParamInfo(kernel, sizes->size(), &offset, &size)) == CUDA_SUCCESS)
    sizes->push_back(size);
  // An index behind the last parameter. A driver without the entry point returns another error.
  if (result == CUDA_ERROR_INVALID_VALUE) return sizes;
#else
  static_cast<void>(kernel);
#endif
  return nullptr;
}

std::shared_ptr<const KernelParameters::Sizes> KernelParameters::sizes(CUfunction kernel) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(kernel); known != known_.end()) return known->second;
  }
  auto sizes = ask(kernel);
  const std::lock_guard lock(mutex_);
  return known_[kernel] = std::move(sizes);
}

void KernelParameters::forget() {
  const std::lock_guard lock(mutex_);
  known_.clear();
}

}  // namespace cushim::replay
