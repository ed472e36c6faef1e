// SPDX-License-Identifier: Apache-2.0
// The state of a multicast object, in shared memory: the devices of its team, and the memory that processes
// have bound to it. The file is what a program exports and imports.
//
// A process that changes the state locks the file; the kernel releases the lock of a process that is killed.
// Each change leaves a valid state at every step.
#pragma once

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ipc/process.hpp"
#include "ipc/shared_file.hpp"

namespace cushim::sim {

class MulticastTable {
 public:
  struct Shape {
    std::uint64_t size = 0;  // a multiple of SharedBlocks::kBlock
    std::uint32_t team = 0;  // the number of devices that the object is for; at most kDevices
    std::uint32_t is_exportable = 0;
  };
  static constexpr std::uint32_t kDevices = 1024;

  // Memory of a device that a process has bound to a part of the object.
  struct Binding {
    static constexpr std::int32_t kPrivate = -1;

    std::uint64_t id = 0;  // never reused in the object
    CUuuid device = {};
    std::uint64_t offset = 0;  // in the object
    std::uint64_t size = 0;
    Process process;               // the process that bound it
    std::int32_t file = kPrivate;  // file descriptor of the memory in the process; kPrivate: it has no file
    std::uint64_t nonce = 0;       // of the file
    std::uint64_t from = 0;        // offset in the memory
  };

  // Creates a state without devices. Returns null on failure, with the reason in errno.
  static std::unique_ptr<MulticastTable> make(const Shape &shape);
  // Opens the state behind a file descriptor, which stays open. Returns null for another or a damaged file.
  static std::unique_ptr<MulticastTable> open(int descriptor);
  ~MulticastTable();
  MulticastTable(const MulticastTable &) = delete;
  MulticastTable &operator=(const MulticastTable &) = delete;

  const Shape &shape() const noexcept { return shape_; }
  std::uint64_t nonce() const noexcept;
  // Returns a new file descriptor, which the caller closes; -1 on failure, with the reason in errno.
  int new_descriptor() const { return file_.new_descriptor(); }

  // Returns the devices that were added so far.
  std::vector<CUuuid> devices() const;
  std::uint32_t device_count() const noexcept;
  // Returns false if the device has been added before, or if the team is complete.
  bool add_device(const CUuuid &device);
  // Waits until there are more devices than this. Returns false after the time limit.
  bool wait_for_device(std::uint32_t than, std::chrono::milliseconds limit) const;

  // Adds a binding and sets its id. Returns false if it overlaps other memory of the device. Removes bindings
  // of ended processes that it overlaps.
  bool bind(Binding &binding);
  // Removes the binding of exactly this part. Returns false if there is none.
  bool unbind(const CUuuid &device, std::uint64_t offset, std::uint64_t size);
  void unbind(std::uint64_t id);

  // Changes with each change of the bindings.
  std::uint64_t version() const noexcept;
  // Returns all bindings and their version. Those of ended processes are among them.
  struct Bindings {
    std::uint64_t version = 0;
    std::vector<Binding> all{};
  };
  Bindings bindings() const;

 private:
  struct Header;
  struct Record;
  class Lock;
  MulticastTable(SharedFile file, std::byte *mapped) noexcept;
  static std::size_t record_count(const Shape &shape) noexcept;
  static std::size_t file_size(const Shape &shape) noexcept;
  std::size_t used() const noexcept;

  const SharedFile file_;
  Header &header_;
  const Shape shape_;
  CUuuid *const devices_;
  Record *const records_;
};

bool are_equal(const CUuuid &one, const CUuuid &other) noexcept;

}  // namespace cushim::sim
