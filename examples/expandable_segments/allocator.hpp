// SPDX-License-Identifier: Apache-2.0
// A caching allocator in the style of expandable segments: one large range of reserved addresses, to which
// chunks of physical memory are mapped where allocations need them.
//
//   grow    an allocation at the end maps new chunks behind the others, so free blocks stay contiguous
//   shrink  release_cached() unmaps the chunks that lie in free blocks, wherever they are
//   remap   unmapped chunks are kept, and mapped again at other addresses
//   share   share() exports the chunks of an allocation; SharedBlock maps them in another process
#pragma once

#include <cushim/cushim.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

// The handle that another process maps an allocation with.
struct SharedBlockHandle {
  std::vector<cushim::SharedMemoryFd> chunks;
  std::size_t offset = 0;  // bytes, in the first chunk
  std::size_t size = 0;    // bytes
};

class ExpandableSegment {
 public:
  ExpandableSegment(cushim::Device device, std::size_t max_bytes)
      : device_(device),
        chunk_(cushim::ShareablePhysicalMemory::granularity(device, cushim::Granularity::recommended)),
        addresses_(cushim::AddressReservation::create(round_up(max_bytes, chunk_), {}, device.driver())),
        chunks_(addresses_.size() / chunk_) {}

  // Allocates from the smallest free block that fits, else at the end. Throws cushim::Error with
  // OUT_OF_MEMORY if the device or the reserved addresses are exhausted.
  cushim::DeviceSpan<std::byte> allocate(std::size_t bytes) {
    bytes = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
    auto block = smallest_free(bytes);
    if (block == blocks_.end()) block = block_at_end(bytes);
    const std::size_t offset = block->first;
    map_chunks(offset, bytes);
    if (block->second.size > bytes) blocks_[offset + bytes] = {block->second.size - bytes, true};
    block->second = {bytes, false};
    return span(offset, bytes);
  }

  // Returns an allocation to the cache. Its memory stays mapped. Work that uses it must be done.
  void deallocate(cushim::DeviceSpan<std::byte> allocation) {
    auto block = blocks_.find(offset_of(allocation));
    if (block == blocks_.end() || block->second.is_free) throw std::invalid_argument("not an allocation");
    block->second.is_free = true;
    if (const auto next = std::next(block); next != blocks_.end() && next->second.is_free) join(block, next);
    if (block == blocks_.begin()) return;
    if (const auto before = std::prev(block); before->second.is_free) join(before, block);
  }

  // Unmaps the chunks that no allocation uses, and keeps their memory for other addresses.
  void unmap_cached() {
    for (const auto &[offset, block] : blocks_) {
      if (!block.is_free) continue;
      const std::size_t end = (offset + block.size) / chunk_;
      for (std::size_t i = (offset + chunk_ - 1) / chunk_; i < end; ++i) unmap_chunk(i);
    }
  }
  // Unmaps the chunks that no allocation uses, and gives their memory back to the device.
  void release_cached() {
    unmap_cached();
    spare_.clear();
  }

  // Exports the chunks of an allocation.
  SharedBlockHandle share(cushim::DeviceSpan<std::byte> allocation) const {
    const std::size_t offset = offset_of(allocation);
    SharedBlockHandle handle{{}, offset % chunk_, allocation.size()};
    for (std::size_t i = offset / chunk_; i * chunk_ < offset + allocation.size(); ++i)
      handle.chunks.push_back(chunks_[i]->memory.export_fd());
    return handle;
  }

  std::size_t mapped_bytes() const {
    return chunk_ * static_cast<std::size_t>(std::count_if(chunks_.begin(), chunks_.end(),
                                                           [](auto &one) { return one.has_value(); }));
  }
  std::size_t spare_bytes() const { return chunk_ * spare_.size(); }
  std::size_t chunk_bytes() const { return chunk_; }
  int created_chunks() const { return created_; }

 private:
  struct Block {
    std::size_t size;
    bool is_free;
  };
  struct Chunk {
    cushim::ShareablePhysicalMemory memory;
    cushim::Mapping mapping;
  };
  using Blocks = std::map<std::size_t, Block>;  // by offset, without gaps
  static constexpr std::size_t kAlignment = 512;

  static std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
  }

  cushim::DeviceSpan<std::byte> span(std::size_t offset, std::size_t bytes) const {
    return {cushim::DevicePtr<std::byte>(addresses_.base() + offset), bytes};
  }
  std::size_t offset_of(cushim::DeviceSpan<std::byte> allocation) const {
    return static_cast<std::size_t>(allocation.data().address() - addresses_.base());
  }

  Blocks::iterator smallest_free(std::size_t bytes) {
    auto best = blocks_.end();
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
      if (block->second.is_free && block->second.size >= bytes &&
          (best == blocks_.end() || block->second.size < best->second.size))
        best = block;
    return best;
  }
  // Extends the last block if it is free, else adds one behind it.
  Blocks::iterator block_at_end(std::size_t bytes) {
    std::size_t begin = 0;
    if (!blocks_.empty()) {
      const auto last = std::prev(blocks_.end());
      begin = last->second.is_free ? last->first : last->first + last->second.size;
    }
    if (bytes > addresses_.size() - begin)
      throw cushim::Error(CUDA_ERROR_OUT_OF_MEMORY, "cuMemMap", "the reserved addresses are exhausted");
    return blocks_.insert_or_assign(begin, Block{bytes, true}).first;
  }
  void join(Blocks::iterator left, Blocks::iterator right) {
    left->second.size += right->second.size;
    blocks_.erase(right);
  }

  void map_chunks(std::size_t offset, std::size_t bytes) {
    for (std::size_t i = offset / chunk_; i * chunk_ < offset + bytes; ++i)
      if (!chunks_[i]) map_chunk(i);
  }
  void map_chunk(std::size_t index) {
    if (spare_.empty()) {
      spare_.push_back(cushim::ShareablePhysicalMemory::create(device_, chunk_));
      ++created_;
    }
    auto mapping = cushim::Mapping::create(addresses_.subrange(index * chunk_, chunk_), spare_.back());
    mapping.set_access(device_, cushim::MemoryAccess::read_write);
    chunks_[index] = Chunk{std::move(spare_.back()), std::move(mapping)};
    spare_.pop_back();
  }
  void unmap_chunk(std::size_t index) {
    if (!chunks_[index]) return;
    chunks_[index]->mapping.close();
    spare_.push_back(std::move(chunks_[index]->memory));
    chunks_[index].reset();
  }

  cushim::Device device_;
  std::size_t chunk_;  // bytes
  cushim::AddressReservation addresses_;
  std::vector<std::optional<Chunk>> chunks_;  // by index in the addresses, which outlive the mappings
  Blocks blocks_;
  std::vector<cushim::ShareablePhysicalMemory> spare_;
  int created_ = 0;
};

// An allocation of another process.
class SharedBlock {
 public:
  SharedBlock(cushim::Device device, const SharedBlockHandle &handle)
      : offset_(handle.offset), size_(handle.size) {
    const std::size_t chunk =
        cushim::ShareablePhysicalMemory::granularity(device, cushim::Granularity::recommended);
    addresses_ = cushim::AddressReservation::create(handle.chunks.size() * chunk, {}, device.driver());
    for (const cushim::SharedMemoryFd &descriptor : handle.chunks) {
      const auto memory = cushim::ShareablePhysicalMemory::import(descriptor, device.driver());
      mappings_.push_back(
          cushim::Mapping::create(addresses_.subrange(mappings_.size() * chunk, chunk), memory));
    }
    const cushim::Device all[] = {device};
    cushim::set_access(addresses_.range(), all, cushim::MemoryAccess::read_write);
  }

  cushim::DeviceSpan<std::byte> span() const {
    return {cushim::DevicePtr<std::byte>(addresses_.base() + offset_), size_};
  }

 private:
  std::size_t offset_;
  std::size_t size_;
  cushim::AddressReservation addresses_;
  std::vector<cushim::Mapping> mappings_;
};
