// SPDX-License-Identifier: Apache-2.0
#include "share_table.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace cushim::sim {

namespace {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) number = 0;
  return number;
}

// Events that were destroyed can be opened again, as on the real driver, until so many others were.
constexpr std::size_t kDestroyedKept = 4096;
constexpr std::uint32_t kBusy = 1u << 31;  // among the holders: it is becoming another event

// The futex of a shared word. Returns what the system does.
long futex(std::atomic<std::uint32_t> &word, int operation, std::uint32_t value, const timespec *limit) {
  return syscall(SYS_futex, &word, operation, value, limit, nullptr, 0);
}

enum : std::uint32_t { kTakesPart = 1, kHasEnded = 2 };

}  // namespace

std::uint64_t ShareHandle::sum() const noexcept {
  // FNV-1a over all but the sum itself.
  unsigned char bytes[offsetof(ShareHandle, check)];
  std::memcpy(bytes, this, sizeof bytes);
  std::uint64_t sum = 14695981039346656037u;
  for (const unsigned char byte : bytes) sum = (sum ^ byte) * 1099511628211u;
  return sum;
}

std::shared_ptr<ShareTable> ShareTable::make() {
  SharedFile file = SharedFile::make(sizeof(ShareLayout));
  std::byte *const place = file ? file.map(0, sizeof(ShareLayout)) : nullptr;
  if (place == nullptr) return nullptr;
  auto *const layout = reinterpret_cast<ShareLayout *>(place);
  layout->nonce = random_number();
  layout->magic = ShareLayout::kMagic;
  std::shared_ptr<ShareTable> table(new ShareTable(layout));
  table->file_ = std::move(file);
  return table->join() ? table : nullptr;
}

std::shared_ptr<ShareTable> ShareTable::open(const ShareHandle &handle) {
  const SharedFile file = SharedFile::open(handle.process, handle.file);
  if (!file) return nullptr;
  if (file.size() != sizeof(ShareLayout)) return errno = ESTALE, nullptr;
  std::byte *const place = file.map(0, sizeof(ShareLayout));
  if (place == nullptr) return nullptr;
  std::shared_ptr<ShareTable> table(new ShareTable(reinterpret_cast<ShareLayout *>(place)));
  // The number of the process may have been given again meanwhile.
  if (table->layout_->magic != ShareLayout::kMagic || table->layout_->nonce != handle.nonce ||
      !handle.process.is_alive())
    return errno = ESTALE, nullptr;
  return table->join() ? table : (errno = ENOMEM, nullptr);
}

bool ShareTable::join() {
  const std::uint32_t place = layout_->participant_count.fetch_add(1);
  if (place >= ShareLayout::kParticipants) return layout_->participant_count.fetch_sub(1), false;
  layout_->participants[place].process = Process::self();
  layout_->participants[place].state = kTakesPart;
  participant_ = place;
  return true;
}

ShareTable::~ShareTable() {
  if (participant_ < ShareLayout::kParticipants) layout_->participants[participant_].state = kHasEnded;
  munmap(layout_, sizeof(ShareLayout));
}

bool ShareTable::is_gone(std::uint32_t participant) const {
  const Participant &who = layout_->participants[participant];
  return who.state == kHasEnded || (who.state == kTakesPart && !who.process.is_alive());
}

ShareHandle ShareTable::handle(ShareHandle::Kind kind, std::uint32_t record, std::uint64_t generation) const {
  ShareHandle handle;
  handle.kind = kind;
  handle.file = file_->number();
  handle.process = layout_->participants[participant_].process;
  handle.nonce = layout_->nonce;
  handle.namespace_of_id = process_namespace();
  handle.record = record;
  handle.user = geteuid();
  handle.generation = generation;
  handle.seal();
  return handle;
}

std::optional<std::uint32_t> ShareTable::take_memory_record() {
  if (memory_records_ < ShareLayout::kMemoryRecords) return memory_records_++;
  if (free_memory_.empty()) return std::nullopt;
  const std::uint32_t record = free_memory_.front();
  free_memory_.pop_front();
  return record;
}

std::optional<std::uint32_t> ShareTable::take_event_record() {
  const bool has_fresh = event_records_ < ShareLayout::kEventRecords;
  for (std::size_t tries = free_events_.size(); tries > (has_fresh ? kDestroyedKept : 0); --tries) {
    const std::uint32_t record = free_events_.front();
    free_events_.pop_front();
    SharedEventRecord &event = layout_->events[record];
    std::uint32_t nobody = 0;
    if (!event.holders.compare_exchange_strong(nobody, kBusy)) {
      free_events_.push_back(record);
      continue;
    }
    event.last = 0;
    event.completed = 0;
    event.completed_at = 0;
    event.generation += 2;
    event.holders -= kBusy - 1;
    return record;
  }
  if (!has_fresh) return std::nullopt;
  const std::uint32_t record = event_records_++;
  layout_->events[record].holders = 1;
  layout_->events[record].generation = 1;
  return record;
}

bool ShareTable::hold_event_record(std::uint32_t record, std::uint64_t generation) {
  if (record >= ShareLayout::kEventRecords || generation % 2 == 0) return false;
  SharedEventRecord &event = layout_->events[record];
  const bool is_free = (event.holders.fetch_add(1) & kBusy) == 0;
  if (is_free && event.generation == generation) return true;
  --event.holders;
  return false;
}

void ShareTable::let_event_record_go(std::uint32_t record) {
  --layout_->events[record].holders;
  if (is_own()) free_events_.push_back(record);
}

void ShareTable::ring() noexcept {
  ++layout_->doorbell;
  if (layout_->sleepers != 0) futex(layout_->doorbell, FUTEX_WAKE, INT_MAX, nullptr);
}

bool ShareTable::wait_for_bell(std::uint32_t than, std::chrono::milliseconds limit) noexcept {
  const timespec time{static_cast<time_t>(limit.count() / 1000),
                      static_cast<long>(limit.count() % 1000 * 1000000)};
  ++layout_->sleepers;
  const bool timed_out = futex(layout_->doorbell, FUTEX_WAIT, than, &time) != 0 && errno == ETIMEDOUT;
  --layout_->sleepers;
  return !timed_out;
}

std::unique_ptr<MemoryExport> MemoryExport::make(std::shared_ptr<ShareTable> table, std::vector<Piece> pieces,
                                                 std::size_t lead, std::size_t size, const CUuuid &device) {
  const auto place = table->take_memory_record();
  if (!place || pieces.size() > SharedMemoryRecord::kPieces) return nullptr;
  SharedMemoryRecord &record = table->layout().memory[*place];
  record.piece_count = static_cast<std::uint32_t>(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const SharedBlocks &blocks = *pieces[i].blocks;
    record.pieces[i] = {blocks.file().number(), blocks.nonce(), blocks.size(), pieces[i].offset,
                        pieces[i].size};
  }
  record.lead = lead;
  record.size = size;
  record.device = device;
  const std::uint64_t generation = ++record.generation;
  std::unique_ptr<MemoryExport> made(new MemoryExport(std::move(table), *place));
  made->handle_ = made->table_->handle(ShareHandle::Kind::memory, *place, generation);
  return made;
}

MemoryExport::~MemoryExport() {
  ++table_->layout().memory[record_].generation;
  table_->give_back_memory_record(record_);
}

std::optional<FoundMemory> find_memory(const ShareTable &table, const ShareHandle &handle) {
  if (handle.record >= ShareLayout::kMemoryRecords) return std::nullopt;
  const SharedMemoryRecord &record = table.layout().memory[handle.record];
  const auto is_there = [&] { return record.generation == handle.generation && handle.generation % 2 == 1; };
  if (!is_there()) return std::nullopt;
  FoundMemory found;
  found.lead = record.lead;
  found.size = record.size;
  found.device = record.device;
  const auto pieces = record.pieces;
  const std::size_t count = record.piece_count;
  if (!is_there() || count > pieces.size() || found.size == 0) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    const SharedMemoryRecord::Piece &piece = pieces[i];
    auto blocks =
        SharedBlocks::open(SharedFile::open(handle.process, piece.file), piece.file_size, piece.file_nonce);
    if (blocks == nullptr || piece.offset > blocks->size() || piece.size > blocks->size() - piece.offset ||
        piece.offset % SharedBlocks::kChunk != 0 || piece.size % SharedBlocks::kChunk != 0)
      return std::nullopt;
    found.pieces.push_back({std::move(blocks), piece.offset, piece.size});
  }
  if (!is_there()) return std::nullopt;
  return found;
}

}  // namespace cushim::sim
