// SPDX-License-Identifier: Apache-2.0
// Semaphores for cuImportExternalSemaphore in tests. No graphics interface is simulated: the test makes the
// semaphore, and signals and reads it in place of Vulkan.
//
//   sim::ExternalSemaphore frames(sim::ExternalSemaphore::Type::timeline);
//   CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
//   description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
//   description.handle.fd = frames.new_descriptor();
//   driver().cuImportExternalSemaphore(&semaphore, &description);
//   // A stream waits for value 1 and signals 2.
//   frames.signal(1);
//   driver().cuStreamSynchronize(stream);
//   EXPECT_EQ(frames.value(), 2u);
#pragma once

#include <cstdint>
#include <memory>

namespace cushim::sim {

class SharedSemaphore;

// A semaphore behind a file descriptor. It lies in shared memory, so that it also works between processes: a
// process passes the descriptor by fork() or SCM_RIGHTS. Objects of one semaphore share its state.
// Thread-safe.
class ExternalSemaphore {
 public:
  // binary: CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD; timeline:
  // CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD.
  enum class Type : std::uint32_t { binary = 1, timeline = 2 };

  // Throws std::invalid_argument for a binary semaphore with a value above 1, and std::system_error if the
  // system has no memory or no file descriptor left.
  explicit ExternalSemaphore(Type type, std::uint64_t value = 0);
  // Opens the semaphore behind a descriptor, which stays the caller's. Throws std::invalid_argument if it is
  // not the descriptor of an ExternalSemaphore.
  static ExternalSemaphore open(int descriptor);

  Type type() const noexcept;
  // Returns a new descriptor for cuImportExternalSemaphore, which closes it when it succeeds. Throws
  // std::system_error if there is no descriptor left.
  int new_descriptor() const;

  // Returns the value of a timeline semaphore; of a binary one, whether it is signaled (0 or 1).
  std::uint64_t value() const noexcept;
  // Sets the value of a timeline semaphore, or signals a binary one. Throws std::invalid_argument unless the
  // value exceeds the present one, as Vulkan requires; the value of a binary semaphore is 1. A stream that
  // waits continues at the next driver call, or at once with Schedule::background.
  void signal(std::uint64_t value = 1) const;
  // Resets a signaled binary semaphore, as a wait does. Returns false if it is not signaled.
  bool take() const noexcept;

 private:
  explicit ExternalSemaphore(std::shared_ptr<SharedSemaphore> shared) noexcept;
  std::shared_ptr<SharedSemaphore> shared_;
};

}  // namespace cushim::sim
