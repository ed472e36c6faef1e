// SPDX-License-Identifier: Apache-2.0
#include "shared_blocks.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cushim::sim {

namespace {

constexpr std::int32_t kTouched = -1;

std::size_t table_size(std::size_t size) {
  return sizeof(std::uint64_t) + size / SharedBlocks::kChunk * sizeof(std::int32_t);
}

bool is_gone(std::int32_t process) { return kill(process, 0) != 0 && errno == ESRCH; }

}  // namespace

SharedBlocks::SharedBlocks(SharedFile file, std::size_t size, std::byte *table) noexcept
    : file_(std::move(file)),
      size_(size),
      table_(table),
      nonce_(reinterpret_cast<std::uint64_t *>(table)),
      states_(reinterpret_cast<std::atomic<std::int32_t> *>(table + sizeof(std::uint64_t))) {}

SharedBlocks::~SharedBlocks() { munmap(table_, table_size(size_)); }

std::shared_ptr<SharedBlocks> SharedBlocks::make(std::size_t size, std::uint64_t nonce) {
  SharedFile file = SharedFile::make(size + table_size(size));
  std::byte *const table = file ? file.map(size, table_size(size)) : nullptr;
  if (table == nullptr) return nullptr;
  std::shared_ptr<SharedBlocks> blocks(new SharedBlocks(std::move(file), size, table));
  *blocks->nonce_ = nonce;
  return blocks;
}

std::shared_ptr<SharedBlocks> SharedBlocks::open(SharedFile file, std::size_t size, std::uint64_t nonce) {
  if (!file || size % kChunk != 0 || size > file.size() || file.size() != size + table_size(size))
    return nullptr;
  std::byte *const table = file.map(size, table_size(size));
  if (table == nullptr) return nullptr;
  std::shared_ptr<SharedBlocks> blocks(new SharedBlocks(std::move(file), size, table));
  return blocks->nonce() == nonce ? blocks : nullptr;
}

bool SharedBlocks::fill(std::size_t chunk, const std::byte *bytes) {
  for (std::size_t done = 0; done < kChunk;) {
    const ssize_t written =
        pwrite(file_.number(), bytes + done, kChunk - done, static_cast<off_t>(chunk * kChunk + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  states_[chunk] = kTouched;
  return true;
}

bool SharedBlocks::is_touched(std::size_t chunk) const noexcept {
  return states_[chunk].load(std::memory_order_acquire) == kTouched;
}

void SharedBlocks::touch(std::size_t chunk, std::byte *bytes) {
  const std::int32_t self = getpid();
  for (std::int32_t state = states_[chunk]; state != kTouched; state = states_[chunk]) {
    // Another process that was killed at it is followed.
    if (state != 0 && state != self && !is_gone(state)) {
      sched_yield();
      continue;
    }
    if (!states_[chunk].compare_exchange_strong(state, self)) continue;
    std::memset(bytes, kPoison, kChunk);
    states_[chunk] = kTouched;
  }
}

}  // namespace cushim::sim
