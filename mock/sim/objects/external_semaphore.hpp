// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/sim/external_semaphore.hpp>

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "ipc/shared_file.hpp"
#include "objects/handle.hpp"

namespace cushim::sim {

// The state of an external semaphore, in a file that processes share.
class SharedSemaphore {
 public:
  using Type = ExternalSemaphore::Type;

  // Return null on failure, with the reason in errno; open() also if the descriptor is that of another file.
  static std::shared_ptr<SharedSemaphore> make(Type type, std::uint64_t value);
  static std::shared_ptr<SharedSemaphore> open(int descriptor);
  ~SharedSemaphore();
  SharedSemaphore(const SharedSemaphore &) = delete;
  SharedSemaphore &operator=(const SharedSemaphore &) = delete;

  Type type() const noexcept;
  bool is_of_this_process() const noexcept;
  int new_descriptor() const { return file_.new_descriptor(); }

  std::uint64_t value() const noexcept;
  // Sets the value. Returns the value before.
  std::uint64_t set(std::uint64_t value) noexcept;
  // Sets the value if it exceeds the present one; returns false, and changes nothing, otherwise.
  bool raise(std::uint64_t value) noexcept;
  // Resets a signaled binary semaphore. Returns false if it is not signaled.
  bool take() noexcept;

 private:
  struct State;
  SharedSemaphore(SharedFile file, State &state) noexcept : file_(std::move(file)), state_(state) {}
  static std::shared_ptr<SharedSemaphore> map(SharedFile file);

  SharedFile file_;
  State &state_;
};

// A semaphore that cuImportExternalSemaphore has imported. Operations share its state, which outlives it.
struct ImportedSemaphore final : ObjectOf<Kind::external_semaphore> {
  ImportedSemaphore(std::shared_ptr<SharedSemaphore> of, std::uintptr_t in) noexcept
      : shared(std::move(of)), context(in) {}

  const std::shared_ptr<SharedSemaphore> shared;
  const std::uintptr_t context;  // the handle of the context that it was imported into
};

}  // namespace cushim::sim
