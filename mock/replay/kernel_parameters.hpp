// SPDX-License-Identifier: Apache-2.0
// The sizes of kernels' parameters, which the driver knows since CUDA 12.4.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/mock/mutex.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

namespace cushim::replay {

class KernelParameters {
 public:
  using Sizes = std::vector<std::size_t>;

  explicit KernelParameters(cushim::Driver &driver) : driver_(driver) {}
  // Returns the sizes of a kernel's parameters, in bytes; null if the driver does not know them.
  std::shared_ptr<const Sizes> sizes(CUfunction kernel);
  // The same without asking the driver: null, too, if it has not been asked.
  std::shared_ptr<const Sizes> known_sizes(CUfunction kernel);
  // Forgets all kernels: their handles may mean other kernels after a module was unloaded.
  void forget();

 private:
  std::shared_ptr<const Sizes> ask(CUfunction kernel) const;

  cushim::Driver &driver_;
  mock::Mutex mutex_;  // guards the next
  std::map<CUfunction, std::shared_ptr<const Sizes>> known_;
};

}  // namespace cushim::replay
