// SPDX-License-Identifier: Apache-2.0
#include "ipc/share_table.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ipc/futex.hpp"

namespace cushim::sim {

namespace {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) number = 0;
  return number;
}

// A destroyed event can be opened, as on the real driver, until this number of later events was destroyed.
constexpr std::size_t kDestroyedKept = 4096;
constexpr std::uint32_t kBusy = 1u << 31;  // flag in `holders`: the record is being reused for another event

// Participant::state packs the phase, whether the participant holds a file lock, and the generation.
enum : std::uint32_t { kUnused, kJoining, kActive, kLeft, kPhases };
constexpr std::uint32_t kHasLock = kPhases, kGeneration = 2 * kPhases;
constexpr std::uint32_t kGenerations = 1 << ShareLayout::kGenerationBits;

constexpr std::uint32_t phase_of(std::uint32_t state) { return state % kPhases; }
constexpr std::uint32_t generation_of(std::uint32_t state) { return state / kGeneration; }

struct flock byte_lock(std::uint32_t index) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = index;
  lock.l_len = 1;
  return lock;
}

// Locks a participant's byte. The lock belongs to the open file description, so the kernel releases it when
// the process ends or calls exec(). A child of fork() inherits the lock and keeps it.
bool take_lock(const SharedFile &file, std::uint32_t index) {
  struct flock lock = byte_lock(index);
  return fcntl(file.number(), F_OFD_SETLK, &lock) == 0;
}

bool is_lock_free(const SharedFile &file, std::uint32_t index) {
  struct flock lock = byte_lock(index);
  return fcntl(file.number(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

}  // namespace

std::uint32_t ShareHandle::sum() const noexcept {
  // FNV-1a over all members except `check`.
  ShareHandle others = *this;
  others.check = 0;
  unsigned char bytes[sizeof others];
  std::memcpy(bytes, &others, sizeof bytes);
  std::uint64_t sum = 14695981039346656037u;
  for (const unsigned char byte : bytes) sum = (sum ^ byte) * 1099511628211u;
  return static_cast<std::uint32_t>(sum ^ sum >> 32);
}

std::shared_ptr<ShareTable> ShareTable::make() {
  SharedFile file = SharedFile::make(sizeof(ShareLayout));
  std::byte *const place = file ? file.map(0, sizeof(ShareLayout)) : nullptr;
  if (place == nullptr) return nullptr;
  auto *const layout = reinterpret_cast<ShareLayout *>(place);
  layout->nonce = random_number();
  layout->magic = ShareLayout::kMagic;
  std::shared_ptr<ShareTable> table(new ShareTable(std::move(file), layout, true));
  if (!table->join()) return nullptr;
  table->maker_ = table->participant_;
  return table;
}

std::shared_ptr<ShareTable> ShareTable::open(const ShareHandle &handle) {
  SharedFile file = SharedFile::open(handle.process(), handle.file);
  if (!file) return nullptr;
  if (file.size() != sizeof(ShareLayout)) return errno = ESTALE, nullptr;
  std::byte *const place = file.map(0, sizeof(ShareLayout));
  if (place == nullptr) return nullptr;
  std::shared_ptr<ShareTable> table(
      new ShareTable(std::move(file), reinterpret_cast<ShareLayout *>(place), false));
  // The process id may have been reused.
  if (table->layout_->magic != ShareLayout::kMagic || table->layout_->nonce != handle.nonce)
    return errno = ESTALE, nullptr;
  if (!table->join()) return errno = EUSERS, nullptr;
  table->maker_ = {0, generation_of(table->layout_->participants[0].state)};
  if (table->is_creator_dead()) return errno = ESTALE, nullptr;
  return table;
}

bool ShareTable::join() {
  const auto index = take_participant_entry();
  if (!index) return false;
  Participant &place = layout_->participants[*index];
  const std::uint32_t generation = generation_of(place.state);
  place.process = Process::self();
  const bool has_lock = take_lock(file_, *index);
  place.state = generation * kGeneration + (has_lock ? kHasLock : 0) + kActive;
  participant_ = {*index, generation};
  return takes_part_ = true;
}

std::optional<std::uint32_t> ShareTable::take_participant_entry() {
  std::atomic<std::uint32_t> &count = layout_->participant_count;
  for (std::uint32_t next = count; next < ShareLayout::kParticipants;)
    if (count.compare_exchange_weak(next, next + 1)) {
      if (take_participant_entry(next)) return next;
      next = count;
    }
  const std::uint32_t first = layout_->next_participant;
  for (std::uint32_t i = 0; i < ShareLayout::kParticipants; ++i) {
    const std::uint32_t index = (first + i) % ShareLayout::kParticipants;
    if (!take_participant_entry(index)) continue;
    layout_->next_participant = index + 1;
    return index;
  }
  return std::nullopt;
}

// Returns false if a live process uses the entry. An entry whose process is killed between this call and the
// end of join() is never reused.
bool ShareTable::take_participant_entry(std::uint32_t index) {
  Participant &place = layout_->participants[index];
  std::uint32_t state = place.state;
  if (phase_of(state) == kJoining) return false;
  if (phase_of(state) == kActive) {
    const bool is_left = (state & kHasLock) != 0 && is_lock_free(file_, index);
    if (!is_left && !Process(place.process).is_gone()) return false;
  }
  const std::uint32_t generation = (generation_of(state) + 1) % kGenerations;
  return place.state.compare_exchange_strong(state, generation * kGeneration + kJoining);
}

ShareTable::~ShareTable() {
  if (takes_part_)
    layout_->participants[participant_.index].state = participant_.generation * kGeneration + kLeft;
  munmap(layout_, sizeof(ShareLayout));
}

bool ShareTable::is_gone(ParticipantId who) {
  if (takes_part_ && who == participant_) return false;
  const Participant &place = layout_->participants[who.index];
  const std::uint32_t state = place.state;
  if (generation_of(state) != who.generation || phase_of(state) != kActive) return true;
  if ((state & kHasLock) != 0 && is_lock_free(file_, who.index)) return true;
  const Process process = place.process;
  auto watch = watches_.find(who.index);
  if (watch != watches_.end() && !(watch->second.process() == process))
    watch = watches_.erase(watch), watch = watches_.end();
  if (watch == watches_.end()) watch = watches_.try_emplace(who.index, process).first;
  return watch->second.is_gone();
}

void ShareTable::stop_watching() {
  std::erase_if(watches_, [this](const auto &entry) { return entry.first != maker_.index; });
}

std::shared_ptr<SharedBlocks> ShareTable::open_blocks(const Process &process,
                                                      const SharedMemoryRecord &record) {
  std::erase_if(opened_blocks_, [](const auto &entry) { return entry.second.expired(); });
  const std::uint64_t nonce = record.file_nonce;
  const auto known = opened_blocks_.find(nonce);
  if (known != opened_blocks_.end()) return known->second.lock();
  auto blocks = SharedBlocks::open(SharedFile::open(process, record.file), record.file_size, nonce);
  if (blocks != nullptr) opened_blocks_.emplace(nonce, blocks);
  return blocks;
}

ShareHandle ShareTable::handle(ShareHandle::Kind kind, std::uint32_t record, std::uint32_t generation,
                               std::size_t offset, std::uint64_t size) const {
  const Process process = layout_->participants[participant_.index].process;
  ShareHandle handle;
  handle.kind = kind;
  handle.file = file_.number();
  handle.process_id = static_cast<std::int32_t>(process.id);
  handle.process_start = process.start;
  handle.nonce = layout_->nonce;
  handle.namespace_of_id = process_namespace();
  handle.record = record;
  handle.user = geteuid();
  handle.generation = generation;
  handle.offset = static_cast<std::uint32_t>(offset / ShareHandle::kGranule);
  handle.size = size;
  handle.seal();
  return handle;
}

std::optional<std::uint32_t> ShareTable::take_event_record() {
  const bool has_fresh = event_records_ < ShareLayout::kEventRecords;
  for (std::size_t tries = free_events_.size(); tries > (has_fresh ? kDestroyedKept : 0); --tries) {
    const std::uint32_t record = free_events_.front();
    free_events_.pop_front();
    SharedEventRecord &event = layout_->events[record];
    std::uint32_t no_holder = 0;
    if (!event.holders.compare_exchange_strong(no_holder, kBusy)) {
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

bool ShareTable::retain_event_record(std::uint32_t record, std::uint32_t generation) {
  if (record >= ShareLayout::kEventRecords || generation % 2 == 0) return false;
  SharedEventRecord &event = layout_->events[record];
  const bool is_free = (event.holders.fetch_add(1) & kBusy) == 0;
  if (is_free && event.generation == generation) return true;
  --event.holders;
  return false;
}

void ShareTable::release_event_record(std::uint32_t record) {
  --layout_->events[record].holders;
  if (is_own()) free_events_.push_back(record);
}

void ShareTable::ring() noexcept {
  ++layout_->doorbell;
  if (layout_->sleepers != 0) wake_all(layout_->doorbell);
}

bool ShareTable::wait_for_completion(std::uint32_t than, std::chrono::milliseconds limit) noexcept {
  ++layout_->sleepers;
  const bool is_woken = sleep_while(layout_->doorbell, than, limit);
  --layout_->sleepers;
  return is_woken;
}

std::unique_ptr<MemoryExport> MemoryExport::make(std::shared_ptr<ShareTable> table, std::uint32_t number,
                                                 const Piece &blocks, const CUuuid &device,
                                                 std::uint64_t pool) {
  if (number == ObjectNumbers::kNone) return nullptr;
  SharedMemoryRecord &record = table->layout().memory[number];
  record.file = blocks.blocks->file().number();
  record.file_nonce = blocks.blocks->nonce();
  record.file_size = blocks.blocks->size();
  record.offset = blocks.offset;
  record.size = blocks.size;
  record.pool = pool;
  record.device = device;
  ++record.generation;
  return std::unique_ptr<MemoryExport>(new MemoryExport(std::move(table), number));
}

MemoryExport::~MemoryExport() { ++table_->layout().memory[record_].generation; }

ShareHandle MemoryExport::handle(std::size_t offset, std::size_t size) const {
  const SharedMemoryRecord &record = table_->layout().memory[record_];
  const auto kind = record.pool != 0 ? ShareHandle::Kind::pool_memory : ShareHandle::Kind::memory;
  return table_->handle(kind, record_, record.generation, offset, size);
}

std::optional<std::uint32_t> current_generation(const ShareTable &table, const ShareHandle &handle) {
  errno = ESTALE;
  if (handle.record >= ShareLayout::kMemoryRecords) return std::nullopt;
  const ShareLayout &layout = table.layout();
  const std::uint32_t generation = layout.memory[handle.record].generation;
  if (generation % 2 == 1) return generation;
  if (ObjectNumbers::is_taken(layout.numbers, handle.record)) errno = EACCES;
  return std::nullopt;
}

std::optional<FoundBlocks> find_blocks(ShareTable &table, const ShareHandle &handle,
                                       std::uint32_t generation) {
  errno = ESTALE;
  if (handle.record >= ShareLayout::kMemoryRecords) return std::nullopt;
  const SharedMemoryRecord &record = table.layout().memory[handle.record];
  const auto is_there = [&] { return record.generation == generation && generation % 2 == 1; };
  if (!is_there()) return std::nullopt;
  FoundBlocks found;
  found.pool = record.pool;
  found.device = record.device;
  auto blocks = table.open_blocks(handle.process(), record);
  if (blocks == nullptr) return std::nullopt;
  errno = ESTALE;
  const std::size_t offset = record.offset, size = record.size;
  if (size == 0 || offset > blocks->size() || size > blocks->size() - offset ||
      offset % SharedBlocks::kBlock != 0 || size % SharedBlocks::kBlock != 0)
    return std::nullopt;
  auto hold = std::make_shared<BlocksHold>(blocks, offset, size);
  found.piece = {std::move(blocks), offset, size, std::move(hold)};
  // The blocks are held now, so blocks that were not freed before this check keep their bytes.
  if (!is_there()) return std::nullopt;
  return found;
}

}  // namespace cushim::sim
