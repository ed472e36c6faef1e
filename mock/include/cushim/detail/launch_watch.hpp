// SPDX-License-Identifier: Apache-2.0
// The interface by which an in-process driver reports the kernels of a call to checkers: their parameters,
// and the memory that they access when they run.
#pragma once

#include <cuda.h>
#include <cushim/mock/parameter_use.hpp>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cushim/detail/kernel_checks.hpp>

namespace cushim::mock {

// The memory that one execution of a kernel has accessed, in granules. Thread-safe.
class KernelRecord {
 public:
  static constexpr std::uint64_t kGranule = 64;
  enum class Kind { read, write, any };

  void add(std::uint64_t begin, std::uint64_t end, bool is_write);
  // Marks the kernel as ended.
  void finish();
  bool is_finished() const;

  // Return the begin and the end of the first granule from `begin` to `end` that this kernel has accessed in
  // the way `kind`; with `other`, also the other kernel in the way `kind_of_other`.
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  std::optional<Range> find(std::uint64_t begin, std::uint64_t end, Kind kind) const;
  std::optional<Range> find(std::uint64_t begin, std::uint64_t end, Kind kind, const KernelRecord &other,
                            Kind kind_of_other) const;

 private:
  static constexpr std::size_t kGranules = 128;  // of a page
  struct Page {
    std::bitset<kGranules> read, written;
    std::bitset<kGranules> of(Kind kind) const;
  };

  std::bitset<kGranules> granules(std::uint64_t page, Kind kind) const;
  // Returns the pages with accesses from `begin` to `end`, in order.
  std::vector<std::uint64_t> pages(std::uint64_t begin, std::uint64_t end) const;

  mutable std::mutex mutex_;
  bool is_finished_ = false;
  std::unordered_map<std::uint64_t, Page> pages_;
};

// A kernel that a call has enqueued.
struct EnqueuedKernel {
  struct Parameter {
    std::size_t offset = 0, size = 0;
    ParameterUse use = ParameterUse::unknown;
  };
  CUfunction function = nullptr;
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<std::byte> values;             // of the parameters
  std::shared_ptr<KernelRecord> record;      // null if the driver does not record what the kernel accesses
  std::shared_ptr<KernelDefects> defects{};  // null if the driver does not check the kernel
};

// Collects the kernels that calls of this thread enqueue, from its construction to its destruction. The
// watches of a thread are nested.
class LaunchWatch {
 public:
  explicit LaunchWatch(bool wants_records) noexcept
      : wants_records_(wants_records), outer_(std::exchange(innermost_, this)) {}
  ~LaunchWatch() { innermost_ = outer_; }
  LaunchWatch(const LaunchWatch &) = delete;
  LaunchWatch &operator=(const LaunchWatch &) = delete;

  // Called by drivers.
  static bool is_on() noexcept { return innermost_ != nullptr; }
  static bool wants_records() noexcept {
    for (const LaunchWatch *watch = innermost_; watch != nullptr; watch = watch->outer_)
      if (watch->wants_records_) return true;
    return false;
  }
  static void add(const EnqueuedKernel &kernel) {
    for (LaunchWatch *watch = innermost_; watch != nullptr; watch = watch->outer_)
      watch->kernels.push_back(kernel);
  }

  std::vector<EnqueuedKernel> kernels;

 private:
  const bool wants_records_;
  LaunchWatch *const outer_;
  static constinit thread_local LaunchWatch *innermost_;
};

}  // namespace cushim::mock
