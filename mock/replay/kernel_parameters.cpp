// SPDX-License-Identifier: Apache-2.0
#include "kernel_parameters.hpp"

#include <mutex>

namespace cushim::replay {

std::shared_ptr<const KernelParameters::Sizes> KernelParameters::ask(CUfunction kernel) const {
#if CUDA_VERSION >= 12040
  const auto ask_by = [](const auto &query) -> std::shared_ptr<const Sizes> {
    auto sizes = std::make_shared<Sizes>();
    std::size_t offset = 0, size = 0;
    CUresult result;
    while ((result = query(sizes->size(), &offset, &size)) == CUDA_SUCCESS) sizes->push_back(size);
    // An index behind the last parameter. A driver without the entry point, and one that has another kind of
    // handle here, return another error.
    return result == CUDA_ERROR_INVALID_VALUE ? sizes : nullptr;
  };
  if (auto sizes = ask_by([&](std::size_t index, std::size_t *offset, std::size_t *size) {
        return driver_.cuFuncGetParamInfo(kernel, index, offset, size);
      }))
    return sizes;
  // A CUkernel may be launched, too; NVIDIA's runtime library does so.
  return ask_by([&](std::size_t index, std::size_t *offset, std::size_t *size) {
    return driver_.cuKernelGetParamInfo(reinterpret_cast<CUkernel>(kernel), index, offset, size);
  });
#else
  static_cast<void>(driver_);
  static_cast<void>(kernel);
  return nullptr;
#endif
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

std::shared_ptr<const KernelParameters::Sizes> KernelParameters::known_sizes(CUfunction kernel) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(kernel);
  return known != known_.end() ? known->second : nullptr;
}

void KernelParameters::forget() {
  const std::lock_guard lock(mutex_);
  known_.clear();
}

}  // namespace cushim::replay
