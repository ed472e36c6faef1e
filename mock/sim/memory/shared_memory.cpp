// SPDX-License-Identifier: Apache-2.0
// Memory that processes share: blocks in files, exported by one process and imported by others.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "memory/chunks.hpp"
#include "memory/memory.hpp"
#include "memory/pool.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {

bool Memory::Arena::is_shared(std::size_t chunk) const { return shared.contains(chunk / kChunksOfBlock); }

// Freed bytes stay readable for importers until the range is allocated again; poisons them then.
void Memory::poison_shared(Arena &arena, std::size_t offset, std::size_t length) {
  const std::size_t end = offset + length;
  for (auto place = arena.shared.lower_bound(offset / kBlock);
       place != arena.shared.end() && place->first * kBlock < end; ++place) {
    const auto &[block, shared] = *place;
    for (std::size_t i = 0; i < kChunksOfBlock; ++i) {
      const std::size_t chunk = block * kBlock + i * kChunk;
      const std::size_t from = std::max(offset, chunk), to = std::min(end, chunk + kChunk);
      if (from < to && shared.blocks->is_touched(shared.index * kChunksOfBlock + i))
        std::memset(arena.bytes + from, kPoison, to - from);
    }
  }
}

// Moves blocks into a file, at the same addresses, and exports them. Returns null on failure, with the reason
// in errno.
const MemoryExport *Memory::share(Arena &arena, std::size_t block, std::size_t count,
                                  const std::shared_ptr<ShareTable> &table, const CUuuid &device,
                                  std::uint64_t pool) {
  const auto blocks = arena.files.with_room(count * kBlock);
  if (blocks == nullptr) return nullptr;
  const std::size_t offset = *blocks->take(count * kBlock), index = offset / kBlock;
  std::shared_ptr<const MemoryExport> exported =
      MemoryExport::make(table, arena.numbers[block].object, {blocks, offset, count * kBlock}, device, pool);
  if (exported == nullptr) return errno = ENOSPC, nullptr;
  std::vector<std::shared_ptr<BlocksHold>> holds;
  for (std::size_t i = 0; i < count; ++i)
    holds.push_back(std::make_shared<BlocksHold>(blocks, offset + i * kBlock, kBlock));
  const std::size_t first = block * kChunksOfBlock;
  for (std::size_t chunk = 0; chunk < count * kChunksOfBlock; ++chunk)
    if (arena.touched[first + chunk] &&
        !blocks->fill(index * kChunksOfBlock + chunk, arena.bytes + (first + chunk) * kChunk))
      return nullptr;
  if (blocks->file().map(offset, count * kBlock, arena.bytes + block * kBlock) == nullptr) return nullptr;
  for (std::size_t i = 0; i < count; ++i)
    arena.shared.insert_or_assign(block + i, Arena::Shared{blocks, index + i, std::move(holds[i]), exported});
  return exported.get();
}

// Removes blocks that no allocation uses from their files. Importers that have them mapped keep the bytes.
void Memory::unshare(Arena &arena, std::size_t offset, std::size_t length) {
  const std::size_t end = (offset + length - 1) / kBlock;
  for (auto place = arena.shared.lower_bound(offset / kBlock);
       place != arena.shared.end() && place->first <= end;) {
    const std::size_t block = place->first;
    if (arena.users[block] == 0) place->second.exported.reset();
    // Without memory for the new mapping, the block stays in the file.
    if (arena.users[block] != 0 ||
        reserve(kBlock, PROT_READ | PROT_WRITE, arena.bytes + block * kBlock) == nullptr) {
      ++place;
      continue;
    }
    for (std::size_t i = 0; i < kChunksOfBlock; ++i) arena.touched[block * kChunksOfBlock + i] = false;
    place = arena.shared.erase(place);
  }
}

Memory::Blocks Memory::blocks_of(const Allocation &allocation) const {
  if (allocation.pool != nullptr) {
    const PoolRanges::Window window = allocation.pool->ranges.window_of(allocation.base);
    return {window.base, window.size};
  }
  const CUdeviceptr begin = arenas_[static_cast<std::size_t>(allocation.device->index)].begin;
  const std::size_t offset = rounded_down(allocation.base - begin, kBlock);
  return {begin + offset, rounded_up(allocation.end() - begin - offset, kBlock)};
}

const MemoryExport *Memory::share(const Device *device, const Blocks &blocks,
                                  const std::shared_ptr<ShareTable> &table, std::uint64_t pool) {
  if (device == nullptr) {
    HostBlock &block = host_blocks_.at(blocks.base);
    if (block.exported == nullptr)
      block.exported = MemoryExport::make(table, block.number.object(), block.piece, {}, pool);
    if (block.exported == nullptr) errno = ENOSPC;
    return block.exported.get();
  }
  note_written(blocks.base, blocks.size);  // other processes may write it
  Arena &arena = arena_of(*device);
  const std::size_t first = (blocks.base - arena.begin) / kBlock;
  const auto known = arena.shared.find(first);
  if (known != arena.shared.end() && known->second.exported != nullptr) return known->second.exported.get();
  return share(arena, first, blocks.size / kBlock, table, device->uuid, pool);
}

bool Memory::will_move(const Device *device, const Blocks &blocks) const {
  if (device == nullptr) return false;
  const Arena &arena = arenas_[static_cast<std::size_t>(device->index)];
  const auto known = arena.shared.find((blocks.base - arena.begin) / kBlock);
  return known == arena.shared.end() || known->second.exported == nullptr;
}

void Memory::take_numbers(Arena &arena, std::size_t offset) noexcept {
  arena.numbers[offset / kBlock] = take_pair(numbers_);
}

void Memory::give_back_numbers(Arena &arena, std::size_t offset) noexcept {
  sim::give_back(numbers_, std::exchange(arena.numbers[offset / kBlock], {}));
}

ImportedBlocks::~ImportedBlocks() {
  if (bytes != nullptr) munmap(bytes, size());
  if (addresses != nullptr) munmap(addresses, size());
}

std::shared_ptr<ImportedBlocks> Memory::find_blocks(const ImportedBlocks::Key &key) const {
  const auto found = imported_blocks_.find(key);
  return found != imported_blocks_.end() ? found->second.lock() : nullptr;
}

bool Memory::is_open_only_in(const Context &context, const ImportedBlocks::Key &key) const {
  for (auto one = imported_blocks_.lower_bound({key.table, key.record});
       one != imported_blocks_.end() && one->first.table == key.table && one->first.record == key.record;
       ++one) {
    const auto blocks = one->second.lock();
    if (blocks != nullptr && blocks->context != nullptr && blocks->context != &context) return false;
  }
  return true;
}

std::shared_ptr<ImportedBlocks> Memory::map_blocks(const ImportedBlocks::Key &key, FoundBlocks found,
                                                   MemoryKind kind) {
  auto made = std::make_shared<ImportedBlocks>();
  made->found = std::move(found);
  made->number = NumberHold(numbers_, take_pair(numbers_));
  const Piece &piece = made->found.piece;
  if (kind == MemoryKind::device) {
    made->addresses = reserve(piece.size, PROT_NONE);
    if (made->addresses == nullptr) return nullptr;
  }
  made->bytes = piece.blocks->file().map(piece.offset, piece.size);
  if (made->bytes == nullptr) return nullptr;
  if (imported_blocks_.size() >= imported_swept_at_) {
    std::erase_if(imported_blocks_, [](const auto &entry) { return entry.second.expired(); });
    imported_swept_at_ = std::max<std::size_t>(32, 2 * imported_blocks_.size());
  }
  imported_blocks_[key] = made;
  return made;
}

Allocation &Memory::add_imported(Device *device, std::shared_ptr<ImportedBlocks> blocks, std::size_t offset,
                                 std::size_t size) {
  auto node = make_node();
  Allocation &made = *node.mapped();
  made.base = blocks->base() + offset;
  made.size = size;
  made.device = device;
  made.kind = blocks->is_of_host() ? MemoryKind::pinned : MemoryKind::device;
  made.context = blocks->context;
  made.imported = std::make_unique<MemoryImport>();
  made.imported->blocks = std::move(blocks);
  replace(made.base, size);
  ++imports_;
  return add(std::move(node));
}

bool Memory::is_imported(CUdeviceptr address) const {
  if (imports_ == 0) return false;
  const Allocation *const allocation = const_cast<Memory *>(this)->find(address);
  return allocation != nullptr && allocation->imported != nullptr && allocation->kind == MemoryKind::device;
}

}  // namespace cushim::sim
