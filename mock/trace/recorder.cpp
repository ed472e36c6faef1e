// SPDX-License-Identifier: Apache-2.0
#include "recorder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "growing_file.hpp"
#include "process.hpp"
#include "ticks.hpp"

namespace cushim::trace {
namespace {

ClockPair clocks() { return {ticks(), monotonic()}; }

// Copies texts and single objects behind pointers to a record.
class ValueWriter {
 public:
  // After a failed call, only inputs have a meaning. A pointer that is not null points to an object if the
  // driver has accessed it: the call succeeded and has no arrays, which may be empty.
  ValueWriter(std::uint64_t *at, bool has_succeeded, bool has_arrays)
      : at_(at), has_succeeded_(has_succeeded), is_valid_(has_succeeded && !has_arrays) {}

  void write(std::uint32_t argument, const Type &type, std::span<const std::uint64_t> words) {
    using Kind = Type::Kind;
    const std::uint64_t address = words[0];
    if (address == 0) return;
    if (type.kind == Kind::text) return write_text(argument, address, kMostText);
    // The next argument is the capacity of the text.
    if (type.kind == Kind::text_out && is_valid_ && words.size() > 1)
      return write_text(argument, address, std::min<std::uint64_t>(words[1] & 0xffffffff, kMostText));
    if (type.pointee == nullptr || (!has_succeeded_ && !type.is_input)) return;
    if (type.pointee->kind == Kind::text) {
      std::uint64_t text = 0;
      if (copy(&text, address, sizeof text) && text != 0) write_text(argument, text, kMostText);
      return;
    }
    if (copy(at_ + 1, address, type.pointee->size)) add(argument, type.pointee->size);
  }

  std::uint64_t *end() const { return at_; }

 private:
  bool copy(void *to, std::uint64_t address, std::size_t size) const {
    if (!is_valid_) return copy_all_if_there(to, address, size);
    std::memcpy(to, reinterpret_cast<const void *>(address), size);
    return true;
  }

  void write_text(std::uint32_t argument, std::uint64_t address, std::size_t most) {
    char *const to = reinterpret_cast<char *>(at_ + 1);
    if (is_valid_) {
      const char *const from = reinterpret_cast<const char *>(address);
      const std::size_t length = strnlen(from, most);
      std::memcpy(to, from, length);
      add(argument, length);
    } else if (const std::size_t copied = copy_if_there(to, address, most); copied != 0) {
      add(argument, strnlen(to, copied));
    }
  }

  void add(std::uint32_t argument, std::size_t size) {
    const ValueHeader header{argument, static_cast<std::uint32_t>(size)};
    std::memcpy(at_, &header, sizeof header);
    at_ += 1 + words_for(size);
  }

  std::uint64_t *at_;
  const bool has_succeeded_, is_valid_;
};

// Writes the values behind the pointers of a call. Returns their end.
std::uint64_t *write_values(std::uint64_t *at, const Row &row, std::span<const std::uint64_t> words,
                            CUresult result) {
  if (row.most_values == 0) return at;
  ValueWriter writer(at, result == CUDA_SUCCESS, row.has_arrays);
  for (std::size_t i = 0; i < row.parameters.size(); ++i)
    writer.write(static_cast<std::uint32_t>(i), *row.parameters[i].type,
                 words.subspan(row.parameters[i].word));
  return writer.end();
}

void copy_text(std::span<char> to, std::string_view text) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), to.size() - 1));
}

[[noreturn]] void fail(const std::string &file) {
  throw std::system_error(errno, std::generic_category(), "cannot write the trace to " + file);
}

std::atomic<std::uint64_t> recorders{0};

}  // namespace

thread_local Recorder::OfThread Recorder::of_thread_;

Recorder::Recorder(const std::string &file, std::string_view driver,
                   std::function<std::int64_t()> virtual_time, std::function<std::string_view()> call_stack)
    : number_(++recorders),
      virtual_time_(std::move(virtual_time)),
      call_stack_(std::move(call_stack)),
      name_(std::filesystem::absolute(file)) {
  watch_for_fork();
  const int created = open(name_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (created < 0) fail(file);
  close(created);
  void *const memory = map_part(name_, inode_, 0, kPage);
  if (memory == nullptr) fail(file);
  header_ = new (memory) FileHeader;
  header_->cuda_version = CUDA_VERSION;
  header_->entry_count = CUSHIM_ENTRY_COUNT;
  header_->process = getpid();
  copy_text(header_->driver, driver);
  copy_text(header_->program, this_program());
  row_of(0);  // makes the table now instead of in the first call
  header_->first = clocks();
  // Long enough to know the counter's rate to 0.1 %, should the process be killed soon.
  while (monotonic() - header_->first.nanoseconds < 100'000) continue;
  header_->last = clocks();
}

void Recorder::note_time() noexcept {
  if (!is_forked_child) header_->last = clocks();
}

Recorder::~Recorder() {
  note_time();
  for (char *const region : regions_) munmap(region, kGrowth);
  munmap(header_, kPage);
}

void Recorder::stop() {
  if (!is_stopped_.exchange(true))
    std::fprintf(stderr, "cushim: the trace ends here, because %s cannot grow: %s\n", name_.c_str(),
                 std::strerror(errno));
}

// Requires the mutex.
bool Recorder::map_chunk(Chunk &chunk) {
  if (next_in_region_ == kGrowth) {
    void *const memory = map_part(name_, inode_, end_, kGrowth);
    if (memory == nullptr) return false;
    regions_.push_back(static_cast<char *>(memory));
    next_in_region_ = 0;
    end_ += kGrowth;
  }
  chunk.memory = regions_.back() + next_in_region_;
  next_in_region_ += kChunkSize;
  return true;
}

// Requires the mutex.
bool Recorder::copy_to_its_place(const Chunk &chunk) {
  const int descriptor = open_again(name_, inode_);
  if (descriptor < 0) return false;
  // The header last: if the process is killed, the place has the whole chunk or none.
  const bool is_copied = write_at(descriptor, chunk.memory, sizeof(ChunkHeader), chunk.used, chunk.offset) &&
                         write_at(descriptor, chunk.memory, 0, sizeof(ChunkHeader), chunk.offset);
  const int error = errno;
  close(descriptor);
  errno = error;
  return is_copied;
}

// Requires the mutex.
bool Recorder::take_next(Chunk &chunk) {
  if (!(chunk.memory == nullptr ? map_chunk(chunk) : copy_to_its_place(chunk))) return stop(), false;
  header_->last = clocks();
  auto *const header = reinterpret_cast<ChunkHeader *>(chunk.memory);
  const std::atomic_ref used(header->used);
  // In this order: a reader of the file of a killed process must not find the old records at the new place.
  used.store(0, std::memory_order_release);
  chunk.offset = std::exchange(end_, end_ + kChunkSize);
  chunk.used = sizeof(ChunkHeader);
  chunk.begin = 0;
  header->thread = chunk.thread;
  header->system_thread = static_cast<std::int32_t>(syscall(SYS_gettid));
  std::atomic_ref(header->place).store(chunk.offset, std::memory_order_release);
  used.store(chunk.used, std::memory_order_release);
  return true;
}

Recorder::Chunk &Recorder::find_chunk() {
  const std::lock_guard lock(mutex_);
  Chunk &chunk = chunks_[number_of_this_thread()];
  if (chunk.thread == 0) chunk.thread = ++threads_;
  of_thread_ = {number_, &chunk};
  return chunk;
}

Recorder::Chunk *Recorder::chunk_for(std::size_t words) {
  if (is_stopped_.load(std::memory_order_relaxed) || is_forked_child.load(std::memory_order_relaxed))
    return nullptr;
  return with_room(of_thread_.recorder == number_ ? *of_thread_.chunk : find_chunk(), words);
}

Recorder::Chunk *Recorder::with_room(Chunk &chunk, std::size_t words) {
  if (chunk.memory != nullptr && chunk.used + words * sizeof(std::uint64_t) <= kChunkSize) return &chunk;
  const std::lock_guard lock(mutex_);
  return take_next(chunk) ? &chunk : nullptr;
}

std::uint64_t Recorder::Chunk::commit(const RecordHeader &record) {
  const std::uint64_t at = offset + used;
  std::memcpy(memory + used, &record, sizeof record);
  begin = record.kind == RecordKind::begin ? used : 0;
  used += record.words * sizeof(std::uint64_t);
  // After the record's bytes, so that a reader of the file of a killed process sees complete records only.
  std::atomic_ref(reinterpret_cast<ChunkHeader *>(memory)->used).store(used, std::memory_order_release);
  return at;
}

void Recorder::Chunk::commit_call(RecordKind kind, const std::uint64_t *end) {
  const auto bytes = static_cast<std::size_t>(reinterpret_cast<const char *>(end) - (memory + begin));
  char *const record = memory + begin;
  RecordHeader header;
  std::memcpy(&header, record, sizeof header);
  header.words = static_cast<std::uint32_t>(bytes / sizeof(std::uint64_t));
  header.kind = kind;
  // After the record's bytes, at once, so that a reader of the file of a killed process sees a begin or a
  // call.
  std::uint64_t first = 0;
  std::memcpy(&first, &header, sizeof first);
  std::atomic_ref(*reinterpret_cast<std::uint64_t *>(record)).store(first, std::memory_order_release);
  used = begin + bytes;
  begin = 0;
  std::atomic_ref(reinterpret_cast<ChunkHeader *>(memory)->used).store(used, std::memory_order_release);
}

constexpr std::size_t kCallEndWords = sizeof(CallEnd) / sizeof(std::uint64_t);
constexpr std::size_t kRecordWords = sizeof(RecordHeader) / sizeof(std::uint64_t);
constexpr std::size_t kEndWords = sizeof(EndHeader) / sizeof(std::uint64_t);

std::uint64_t Recorder::begin(int slot, std::span<const std::uint64_t> words) {
  const std::size_t size = kRecordWords + words.size();
  Chunk *const chunk = chunk_for(size);
  if (chunk == nullptr) return 0;
  std::ranges::copy(words, chunk->next() + kRecordWords);
  const std::uint64_t call = chunk->call = chunk->commit(
      {static_cast<std::uint32_t>(size), RecordKind::begin, static_cast<std::uint16_t>(slot), ticks()});
  if (call_stack_) record_call_stack(call);
  return call;
}

void Recorder::record_call_stack(std::uint64_t call) {
  constexpr std::size_t kText = kRecordWords + sizeof(CallStackRecord) / sizeof(std::uint64_t);
  constexpr std::size_t kWords = kRecordWords + sizeof(CallStackOfCall) / sizeof(std::uint64_t);
  const std::string_view text = call_stack_().substr(0, kMostCallStack);
  const auto [number, is_new] = [&] {
    const std::lock_guard lock(mutex_);
    const auto [at, added] = call_stacks_.emplace(text.data(), call_stacks_.size() + 1);
    return std::pair(at->second, added);
  }();
  if (is_new) {
    const std::size_t size = kText + words_for(text.size());
    Chunk *const chunk = chunk_for(size);
    if (chunk == nullptr) return;
    const CallStackRecord record{.number = number, .size = text.size()};
    std::memcpy(chunk->next() + kRecordWords, &record, sizeof record);
    std::ranges::copy(text, reinterpret_cast<char *>(chunk->next() + kText));
    chunk->commit({static_cast<std::uint32_t>(size), RecordKind::call_stack, kNoSlot, ticks()});
  }
  Chunk *const chunk = chunk_for(kWords);
  if (chunk == nullptr) return;
  const CallStackOfCall record{.call = call, .number = number};
  std::memcpy(chunk->next() + kRecordWords, &record, sizeof record);
  chunk->commit({kWords, RecordKind::call_stack_of, kNoSlot, ticks()});
}

// Returns false if the call's begin is not the last record of the chunk, or the chunk has no room.
bool Recorder::end_begun_call(std::uint64_t begin, int slot, std::span<const std::uint64_t> words,
                              CUresult result, std::uint64_t now) {
  if (of_thread_.recorder != number_) return false;
  Chunk &chunk = *of_thread_.chunk;
  const Row &row = row_of(slot);
  if (chunk.begin == 0 || chunk.offset + chunk.begin != begin ||
      chunk.used + (kCallEndWords + 1 + row.most_values) * sizeof(std::uint64_t) > kChunkSize)
    return false;
  std::uint64_t *at = chunk.next();
  const CallEnd end{now, static_cast<std::int32_t>(result)};
  std::memcpy(at, &end, sizeof end);
  at += kCallEndWords;
  if (virtual_time_) *at++ = static_cast<std::uint64_t>(virtual_time_());
  at = write_values(at, row, words, result);
  chunk.commit_call(virtual_time_ ? RecordKind::call_in_virtual_time : RecordKind::call, at);
  return true;
}

void Recorder::end(std::uint64_t begin, int slot, std::span<const std::uint64_t> words, CUresult result) {
  const std::uint64_t now = ticks();
  if (of_thread_.recorder == number_) of_thread_.chunk->call = 0;
  if (begin == 0 || end_begun_call(begin, slot, words, result, now)) return;
  const Row &row = row_of(slot);
  Chunk *const chunk = chunk_for(kRecordWords + kEndWords + row.most_values);
  if (chunk == nullptr) return;
  const EndHeader header{begin, virtual_time_ ? virtual_time_() : -1, static_cast<std::int32_t>(result)};
  std::memcpy(chunk->next() + kRecordWords, &header, sizeof header);
  const std::uint64_t *const at = write_values(chunk->next() + kRecordWords + kEndWords, row, words, result);
  chunk->commit({static_cast<std::uint32_t>(at - chunk->next()), RecordKind::end, 0, now});
}

void Recorder::note(std::string_view text) {
  text = text.substr(0, kMostNote);
  constexpr std::size_t kNote = kRecordWords + sizeof(NoteRecord) / sizeof(std::uint64_t);
  const std::size_t size = kNote + words_for(text.size());
  Chunk *const chunk = chunk_for(size);
  if (chunk == nullptr) return;
  const NoteRecord record{.call = chunk->call, .size = text.size()};
  std::memcpy(chunk->next() + kRecordWords, &record, sizeof record);
  std::ranges::copy(text, reinterpret_cast<char *>(chunk->next() + kNote));
  chunk->commit({static_cast<std::uint32_t>(size), RecordKind::note, kNoSlot, ticks()});
}

void Recorder::name(std::string_view noun, std::uint64_t object, std::string_view text) {
  text = text.substr(0, kMostText);
  constexpr std::size_t kName = kRecordWords + sizeof(NameRecord) / sizeof(std::uint64_t);
  const std::size_t size = kName + words_for(noun.size()) + words_for(text.size());
  Chunk *const chunk = chunk_for(size);
  if (chunk == nullptr) return;
  const NameRecord record{.object = object,
                          .noun = static_cast<std::uint32_t>(noun.size()),
                          .size = static_cast<std::uint32_t>(text.size())};
  std::memcpy(chunk->next() + kRecordWords, &record, sizeof record);
  std::ranges::copy(noun, reinterpret_cast<char *>(chunk->next() + kName));
  std::ranges::copy(text, reinterpret_cast<char *>(chunk->next() + kName + words_for(noun.size())));
  chunk->commit({static_cast<std::uint32_t>(size), RecordKind::name, kNoSlot, ticks()});
}

void Recorder::gpu_time(std::uint64_t call, std::uint64_t clock, std::uint64_t asked, std::int64_t begin,
                        std::int64_t end) {
  constexpr std::size_t kWords = kRecordWords + sizeof(GpuTimeRecord) / sizeof(std::uint64_t);
  Chunk *const chunk = chunk_for(kWords);
  if (chunk == nullptr) return;
  const GpuTimeRecord record{.call = call, .clock = clock, .begin = begin, .end = end};
  std::memcpy(chunk->next() + kRecordWords, &record, sizeof record);
  chunk->commit({kWords, RecordKind::gpu_time, kNoSlot, asked});
}

void Recorder::submitted(unsigned long number) {
  if (of_thread_.recorder == number_ && of_thread_.chunk->call != 0)
    calls_of_operations_[number] = of_thread_.chunk->call;
}

void Recorder::ran(const mock::OperationRun &run) {
  constexpr std::size_t kWords = kRecordWords + sizeof(OperationRecord) / sizeof(std::uint64_t);
  const auto call = calls_of_operations_.extract(run.number);
  if (is_stopped_.load(std::memory_order_relaxed) || is_forked_child.load(std::memory_order_relaxed)) return;
  Chunk *const chunk = with_room(operations_, kWords);
  if (chunk == nullptr) return;
  const auto [slot, is_new] = slots_.emplace(run.call, kNoSlot);
  for (int i = 0; is_new && i < CUSHIM_ENTRY_COUNT; ++i)
    if (cushim_entry(i)->symbol == std::string_view(run.call)) slot->second = static_cast<std::uint16_t>(i);
  const OperationRecord record{.call = call.empty() ? 0 : call.mapped(),
                               .number = run.number,
                               .stream = run.stream,
                               .begin = run.begin.count(),
                               .end = run.end.count(),
                               .copy_engine = static_cast<std::uint32_t>(run.copy_engine),
                               .device = run.device};
  std::memcpy(chunk->next() + kRecordWords, &record, sizeof record);
  chunk->commit({kWords, RecordKind::operation, slot->second, ticks()});
}

}  // namespace cushim::trace
