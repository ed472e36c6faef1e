// SPDX-License-Identifier: Apache-2.0
#include "recorder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "process.hpp"

namespace cushim::trace {
namespace {

std::int64_t monotonic() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Reads a counter that advances at a constant rate on all processors. Takes less time than the monotonic
// clock.
std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return static_cast<std::uint64_t>(monotonic());
#endif
}

ClockPair clocks() { return {ticks(), monotonic()}; }

// Copies texts and single objects behind pointers to a record.
class ValueWriter {
 public:
  // After a failed call, only inputs have a meaning. A pointer that is not null leads to an object if the
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
    if (!is_valid_) return copy_if_there(to, address, size) == size;
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

void copy_text(std::span<char> to, std::string_view text) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), to.size() - 1));
}

// Enlarges the file at `offset`, and maps this part. The file must have this inode, or any for 0. Opens the
// file each time: a program may close all descriptors and use their numbers again. Returns null and sets
// errno on failure.
void *map_part(const std::string &file, ino_t &inode, std::size_t offset, std::size_t size) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return nullptr;
  struct stat status {};
  void *memory = MAP_FAILED;
  if (fstat(descriptor, &status) == 0) {
    errno = inode != 0 && status.st_ino != inode
                ? ESTALE
                : posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(size));
    inode = status.st_ino;
    if (errno == 0)
      memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor,
                    static_cast<off_t>(offset));
  }
  const int error = errno;
  close(descriptor);
  errno = error;
  return memory != MAP_FAILED ? memory : nullptr;
}

[[noreturn]] void fail(const std::string &file) {
  throw std::system_error(errno, std::generic_category(), "cannot write the trace to " + file);
}

std::atomic<std::uint64_t> recorders{0};

}  // namespace

thread_local Recorder::OfThread Recorder::of_thread_;

Recorder::Recorder(const std::string &file, std::string_view driver,
                   std::function<std::int64_t()> virtual_time)
    : number_(++recorders), virtual_time_(std::move(virtual_time)), name_(std::filesystem::absolute(file)) {
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
bool Recorder::take_next(Chunk &chunk) {
  if (next_in_region_ == kGrowth) {
    void *const memory = map_part(name_, inode_, kPage + regions_.size() * kGrowth, kGrowth);
    if (memory == nullptr) return stop(), false;
    regions_.push_back(static_cast<char *>(memory));
    next_in_region_ = 0;
    header_->last = clocks();
  }
  chunk.memory = regions_.back() + next_in_region_;
  chunk.offset = kPage + (regions_.size() - 1) * kGrowth + next_in_region_;
  chunk.used = sizeof(ChunkHeader);
  next_in_region_ += kChunkSize;
  new (chunk.memory) ChunkHeader{chunk.used, chunk.thread, static_cast<std::int32_t>(syscall(SYS_gettid))};
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
  Chunk &chunk = of_thread_.recorder == number_ ? *of_thread_.chunk : find_chunk();
  if (chunk.memory != nullptr && chunk.used + words * sizeof(std::uint64_t) <= kChunkSize) return &chunk;
  const std::lock_guard lock(mutex_);
  return take_next(chunk) ? &chunk : nullptr;
}

std::uint64_t Recorder::Chunk::commit(const RecordHeader &record) {
  const std::uint64_t at = offset + used;
  std::memcpy(memory + used, &record, sizeof record);
  used += record.words * sizeof(std::uint64_t);
  // After the record's bytes, so that a reader of the file of a killed process sees complete records only.
  std::atomic_ref(reinterpret_cast<ChunkHeader *>(memory)->used).store(used, std::memory_order_release);
  return at;
}

constexpr std::size_t kRecordWords = sizeof(RecordHeader) / sizeof(std::uint64_t);
constexpr std::size_t kEndWords = sizeof(EndHeader) / sizeof(std::uint64_t);

std::uint64_t Recorder::begin(int slot, std::span<const std::uint64_t> words) {
  const std::size_t size = kRecordWords + words.size();
  Chunk *const chunk = chunk_for(size);
  if (chunk == nullptr) return 0;
  std::ranges::copy(words, chunk->next() + kRecordWords);
  return chunk->commit(
      {static_cast<std::uint32_t>(size), RecordKind::begin, static_cast<std::uint16_t>(slot), ticks()});
}

void Recorder::end(std::uint64_t begin, int slot, std::span<const std::uint64_t> words, CUresult result) {
  const std::uint64_t now = ticks();
  if (begin == 0) return;
  const Row &row = row_of(slot);
  Chunk *const chunk = chunk_for(kRecordWords + kEndWords + row.most_values);
  if (chunk == nullptr) return;
  const EndHeader header{begin, virtual_time_ ? virtual_time_() : -1, static_cast<std::int32_t>(result)};
  std::memcpy(chunk->next() + kRecordWords, &header, sizeof header);
  ValueWriter writer(chunk->next() + kRecordWords + kEndWords, result == CUDA_SUCCESS, row.has_arrays);
  if (row.most_values != 0)
    for (std::size_t i = 0; i < row.parameters.size(); ++i)
      writer.write(static_cast<std::uint32_t>(i), *row.parameters[i].type,
                   words.subspan(row.parameters[i].word));
  chunk->commit({static_cast<std::uint32_t>(writer.end() - chunk->next()), RecordKind::end, 0, now});
}

}  // namespace cushim::trace
