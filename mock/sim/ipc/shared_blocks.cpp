// SPDX-License-Identifier: Apache-2.0
#include "ipc/shared_blocks.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

namespace cushim::sim {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds, std::chrono::milliseconds;

// Encodes the process that poisons a chunk. Linux has no ids above 2^22; the start time has 40 bits.
constexpr int kIdBits = 24;
std::uint64_t state_of(const Process &process) {
  return process.start << kIdBits | static_cast<std::uint64_t>(process.id);
}
Process process_of(std::uint64_t state) {
  return {static_cast<std::int64_t>(state & ((1u << kIdBits) - 1)), state >> kIdBits};
}

std::size_t table_size(std::size_t size) {
  return sizeof(std::uint64_t) + size / SharedBlocks::kChunk * sizeof(std::uint64_t) +
         size / SharedBlocks::kBlock * sizeof(std::uint32_t);
}

// Waits for another process that poisons a chunk.
class PoisonerWait {
 public:
  explicit PoisonerWait(std::uint64_t poisoner) : process_(process_of(poisoner)) {}

  // Pauses. Returns true if the process has ended.
  bool pause_or_is_gone() {
    const auto waited = Clock::now() - begin_;
    if (waited < microseconds(50)) return sched_yield(), false;
    std::this_thread::sleep_for(microseconds(100));
    if (waited >= report_at_) {
      report_at_ = Clock::duration::max();
      std::fprintf(stderr,
                   "cushim[sim]: process %lld was stopped while it touched shared memory; this process waits "
                   "until it continues or ends\n",
                   static_cast<long long>(process_.id));
    }
    if (waited < look_at_) return false;
    look_at_ = waited + milliseconds(10);
    return process_.is_gone();
  }

 private:
  const Process process_;
  const Clock::time_point begin_ = Clock::now();
  Clock::duration look_at_ = milliseconds(1);
  Clock::duration report_at_ = std::chrono::seconds(10);
};

}  // namespace

SharedBlocks::SharedBlocks(SharedFile file, std::size_t size, std::byte *table) noexcept
    : file_(std::move(file)),
      size_(size),
      table_(table),
      nonce_(reinterpret_cast<std::uint64_t *>(table)),
      states_(reinterpret_cast<std::atomic<std::uint64_t> *>(nonce_ + 1)),
      holders_(reinterpret_cast<std::atomic<std::uint32_t> *>(states_ + size / kChunk)) {}

SharedBlocks::~SharedBlocks() { munmap(table_, table_size(size_)); }

std::shared_ptr<SharedBlocks> SharedBlocks::make(std::size_t size, std::uint64_t nonce,
                                                 std::span<const std::byte> label) {
  const std::size_t label_at = size + table_size(size);
  SharedFile file = SharedFile::make(label_at + label.size());
  std::byte *const table = file ? file.map(size, table_size(size)) : nullptr;
  if (table == nullptr) return nullptr;
  std::shared_ptr<SharedBlocks> blocks(new SharedBlocks(std::move(file), size, table));
  *blocks->nonce_ = nonce;
  const bool is_labelled = pwrite(blocks->file_.number(), label.data(), label.size(),
                                  static_cast<off_t>(label_at)) == static_cast<ssize_t>(label.size());
  return is_labelled ? blocks : nullptr;
}

std::shared_ptr<SharedBlocks> SharedBlocks::open(SharedFile file, std::size_t size, std::uint64_t nonce,
                                                 std::size_t label_size) {
  if (!file) return nullptr;
  if (size % kBlock != 0 || size > file.size() || file.size() != size + table_size(size) + label_size)
    return errno = ESTALE, nullptr;
  std::byte *const table = file.map(size, table_size(size));
  if (table == nullptr) return nullptr;
  std::shared_ptr<SharedBlocks> blocks(new SharedBlocks(std::move(file), size, table));
  return blocks->nonce() == nonce ? blocks : (errno = ESTALE, nullptr);
}

bool SharedBlocks::read_label(const SharedFile &file, std::span<std::byte> label) {
  return file.size() >= label.size() &&
         pread(file.number(), label.data(), label.size(), static_cast<off_t>(file.size() - label.size())) ==
             static_cast<ssize_t>(label.size());
}

std::optional<std::size_t> SharedBlocks::take(std::size_t size) noexcept {
  if (!has_room(size)) return std::nullopt;
  taken_ += size;
  return taken_ - size;
}

void SharedBlocks::hold(std::size_t offset, std::size_t size) noexcept {
  for (std::size_t block = offset / kBlock; block * kBlock < offset + size; ++block) ++holders_[block];
}

void SharedBlocks::let_go(std::size_t offset, std::size_t size) noexcept {
  for (std::size_t block = offset / kBlock; block * kBlock < offset + size; ++block)
    if (--holders_[block] == 0)
      fallocate(file_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(block * kBlock), kBlock);
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

void SharedBlocks::touch(std::size_t chunk, std::byte *bytes) {
  std::atomic<std::uint64_t> &state = states_[chunk];
  const std::uint64_t self = state_of(Process::self());
  std::optional<PoisonerWait> wait;
  for (std::uint64_t seen = 0, awaited = 0; !is_touched(chunk);) {
    if (state.compare_exchange_strong(seen, self)) {
      std::memset(bytes, kPoison, kChunk);
      state = kTouched;
      return;
    }
    if (seen == kTouched) return;
    if (seen != awaited) wait.emplace(awaited = seen);
    // If the process ended during its write, `seen` keeps its value, and the next exchange takes over.
    if (!wait->pause_or_is_gone()) seen = 0;
  }
}

std::optional<std::uint64_t> make_nonce() {
  std::uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce) return std::nullopt;
  return nonce;
}

std::shared_ptr<SharedBlocks> BlockFiles::with_room(std::size_t size) {
  if (const auto last = last_.lock(); last != nullptr && last->has_room(size)) return last;
  const auto nonce = make_nonce();
  if (!nonce) return nullptr;
  constexpr std::size_t least = 128 << 20;
  const std::size_t wanted = std::max(size, least << std::min(made_ / 8, 8u));
  auto file = SharedBlocks::make(wanted, *nonce);
  if (file == nullptr && errno == EFBIG) file = SharedBlocks::make(size, *nonce);
  if (file == nullptr) return nullptr;
  ++made_;
  last_ = file;
  return file;
}

}  // namespace cushim::sim
