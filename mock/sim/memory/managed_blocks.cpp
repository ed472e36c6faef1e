// SPDX-License-Identifier: Apache-2.0
#include "memory/managed_blocks.hpp"

#include <iterator>
#include <new>

namespace cushim::sim {

ManagedPlace ManagedBlocks::place(const Context &context, std::size_t size) {
  if (size > kBlock - kAlignment) return {std::make_shared<ManagedPages>(rounded_up(size, kBlock))};
  const std::size_t taken = rounded_up(size, kAlignment);
  auto found = holes_.lower_bound({&context, taken, 0, 0});
  if (found == holes_.end() || found->context != &context) {
    add_hole(blocks_.emplace(++last_block_, Block{&context}).first, 0, kBlock);
    found = holes_.find({&context, kBlock, last_block_, 0});
  }
  const Hole hole = *found;
  const auto block = blocks_.find(hole.block);
  remove_hole(block, block->second.holes.find(hole.offset));
  if (hole.size != taken) add_hole(block, hole.offset + taken, hole.size - taken);
  const auto give_back = [this, block, offset = hole.offset, taken](ManagedPages *) {
    this->give_back(block, offset, taken);
  };
  return {std::shared_ptr<ManagedPages>(&block->second.pages, give_back), hole.offset};
}

ManagedBlocks::Holes::iterator ManagedBlocks::remove_hole(Blocks::iterator block, Holes::iterator hole) {
  holes_.erase({block->second.context, hole->second, block->first, hole->first});
  return block->second.holes.erase(hole);
}

void ManagedBlocks::add_hole(Blocks::iterator block, std::size_t offset, std::size_t size) {
  Holes &holes = block->second.holes;
  auto next = holes.lower_bound(offset);
  if (next != holes.end() && next->first == offset + size) {
    size += next->second;
    next = remove_hole(block, next);
  }
  if (next != holes.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      remove_hole(block, before);
    }
  }
  const auto added = holes.emplace(offset, size).first;
  try {
    holes_.insert({block->second.context, size, block->first, offset});
  } catch (const std::bad_alloc &) {
    holes.erase(added);
    throw;
  }
}

void ManagedBlocks::give_back(Blocks::iterator block, std::size_t offset, std::size_t size) noexcept {
  try {
    block->second.pages.change(offset, size, [](PageState &page) { page = {}; });
    add_hole(block, offset, size);
  } catch (const std::bad_alloc &) {
    return;  // no allocation has these bytes any more
  }
  const auto hole = block->second.holes.begin();
  if (hole->second != kBlock) return;
  remove_hole(block, hole);
  blocks_.erase(block);
}

}  // namespace cushim::sim
