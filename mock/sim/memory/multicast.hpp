// SPDX-License-Identifier: Apache-2.0
// Multicast objects: memory of several devices under one address. Copies, memsets and multimem instructions
// write to all of it at once. From the documentation only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "ipc/multicast_table.hpp"
#include "memory/bound_memory.hpp"

namespace cushim::sim {

struct Device;
class PhysicalFiles;
struct PhysicalMemory;

// A multicast object of this or of another process. Memory that this process has bound to it stays bound
// until the process has neither a handle nor a mapping of the object.
class Multicast {
 public:
  using Shape = MulticastTable::Shape;

  // `files` must exist as long as the object.
  Multicast(std::unique_ptr<MulticastTable> table, PhysicalFiles &files);
  ~Multicast();
  Multicast(const Multicast &) = delete;
  Multicast &operator=(const Multicast &) = delete;

  std::size_t size() const noexcept { return table_->shape().size; }
  std::size_t team() const noexcept { return table_->shape().team; }
  bool is_exportable() const noexcept { return table_->shape().is_exportable != 0; }
  std::uint64_t nonce() const noexcept { return table_->nonce(); }
  // Returns a new file descriptor, which the caller closes; -1 on failure, with the reason in errno.
  int new_descriptor() const { return table_->new_descriptor(); }

  std::vector<CUuuid> devices() const { return table_->devices(); }
  bool has(const Device &device) const;
  bool is_complete() const noexcept { return table_->device_count() == team(); }
  // Returns false if the device has been added before, or if the team is complete.
  bool add(const Device &device);
  // Waits until a device is added or the team is complete, at most for this time.
  void wait_for_device(std::chrono::milliseconds limit) const;

  // Binds a part of physical memory, which begins at `from`. Returns false if other memory of the device
  // overlaps it. For an exportable object, the memory must be exportable.
  bool bind(const Device &device, std::size_t offset, std::size_t size,
            const std::shared_ptr<PhysicalMemory> &memory, std::shared_ptr<BoundMemory> view,
            std::size_t from);
  // Binds memory that no other process can reach, to an object that cannot be exported.
  bool bind(const Device &device, std::size_t offset, std::size_t size, std::shared_ptr<BoundMemory> view,
            std::size_t from);
  // Removes the binding of exactly this part. Returns false if there is none.
  bool unbind(const Device &device, std::size_t offset, std::size_t size);

  // Bytes of the object in the memory of a device. They stay mapped while the owner lives.
  struct Copy {
    std::byte *bytes = nullptr;
    std::size_t at = 0;  // offset in the bytes that were asked for
    std::size_t size = 0;
    std::shared_ptr<BoundMemory> owner{};
  };
  // Returns a part of the object in the memory of each device; nothing unless the whole part is bound to
  // memory of each device that this process can reach.
  std::vector<Copy> copies(std::size_t offset, std::size_t count);

 private:
  struct Bound {
    MulticastTable::Binding binding;
    std::shared_ptr<BoundMemory> memory;  // null: this process cannot reach it
  };
  bool add(MulticastTable::Binding &binding, std::shared_ptr<BoundMemory> memory);
  std::shared_ptr<BoundMemory> open(const MulticastTable::Binding &binding);
  void update();

  const std::unique_ptr<MulticastTable> table_;
  PhysicalFiles &files_;
  std::vector<Bound> bound_;                                   // as of `version_`
  std::uint64_t version_ = 0;                                  // of the table's bindings
  std::map<std::uint64_t, std::shared_ptr<BoundMemory>> own_;  // that this process has bound, by the id
};

// The multicast objects of a process. An object that it imports from its own export is the same.
class MulticastObjects {
 public:
  explicit MulticastObjects(PhysicalFiles &files) noexcept : files_(files) {}

  // Returns null on failure, with the reason in errno.
  std::shared_ptr<Multicast> make(const Multicast::Shape &shape);
  // Opens an exported object behind a file descriptor, which stays open. Returns null for another or a
  // damaged file.
  std::shared_ptr<Multicast> open(int descriptor);

 private:
  std::shared_ptr<Multicast> add(std::unique_ptr<MulticastTable> table);

  PhysicalFiles &files_;
  std::map<std::uint64_t, std::weak_ptr<Multicast>> objects_;  // by the nonce
};

}  // namespace cushim::sim
