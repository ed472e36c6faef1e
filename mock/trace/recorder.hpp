// SPDX-License-Identifier: Apache-2.0
// Writes records to chunks of a file that are mapped into memory. Each thread has a chunk of its own, so that
// threads do not wait for each other.
#pragma once

#include <sys/types.h>
#include <cushim/mock/mutex.hpp>
#include <cushim/mock/operations.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observer.hpp"
#include "trace_format.hpp"
#include "type.hpp"

namespace cushim::trace {

class Recorder final : public CallObserver, public mock::OperationObserver {
 public:
  // Throws std::system_error.
  Recorder(const std::string &file, std::string_view driver, std::function<std::int64_t()> virtual_time,
           std::function<std::string_view()> call_stack);
  ~Recorder();

  // Records that a call begins. Returns the offset of the record; 0 if nothing is recorded.
  std::uint64_t begin(int slot, std::span<const std::uint64_t> words) override;
  // Records the result of a call, and the values behind its pointers. Does nothing if begin() returned 0.
  void end(std::uint64_t begin, int slot, std::span<const std::uint64_t> words, CUresult result) override;
  // Records a text at the call that runs on this thread; the text is cut off after kMostNote bytes.
  void note(std::string_view text);
  // Records the name of an object, or of a thread (noun "thread"). It is cut off after kMostText bytes.
  void name(std::string_view noun, std::uint64_t object, std::string_view text);
  // Records when the work of a call ran, on a clock of its device. The work cannot have begun before `asked`,
  // in ticks().
  void gpu_time(std::uint64_t call, std::uint64_t clock, std::uint64_t asked, std::int64_t begin,
                std::int64_t end);
  // Records operations of a simulated machine, under its lock.
  void submitted(unsigned long number) override;
  void ran(const mock::OperationRun &run) override;
  // Notes the present time on both clocks.
  void note_time() noexcept;

 private:
  // The part of the file that a thread writes to.
  struct Chunk {
    char *memory = nullptr;
    std::uint64_t offset = 0;  // the chunk's place in the file
    std::size_t used = 0;
    std::size_t begin = 0;   // where the last record is, if it is a begin
    std::uint64_t call = 0;  // the offset in the file of the begin of the call that runs; 0 if none
    unsigned thread = 0;

    // Appends a record of which all but the header was written, and returns its offset in the file.
    std::uint64_t commit(const RecordHeader &record);
    // Makes the last record, which is a begin, a call that ends here.
    void commit_call(RecordKind kind, const std::uint64_t *end);
    std::uint64_t *next() const { return reinterpret_cast<std::uint64_t *>(memory + used); }
  };
  struct OfThread {
    std::uint64_t recorder = 0;
    Chunk *chunk = nullptr;
  };

  bool end_begun_call(std::uint64_t begin, int slot, std::span<const std::uint64_t> words, CUresult result,
                      std::uint64_t now);
  // Records the call stack of a call, and its text if it is new.
  void record_call_stack(std::uint64_t call);
  // Returns the thread's chunk, with room for a record of this size; null if nothing is recorded.
  Chunk *chunk_for(std::size_t words);
  Chunk &find_chunk();
  Chunk *with_room(Chunk &chunk, std::size_t words);
  bool take_next(Chunk &chunk);
  bool map_chunk(Chunk &chunk);
  bool copy_to_its_place(const Chunk &chunk);
  // Ends the recording because of errno.
  void stop();

  const std::uint64_t number_;  // never reused
  const std::function<std::int64_t()> virtual_time_;
  const std::function<std::string_view()> call_stack_;
  const std::string name_;
  ino_t inode_ = 0;  // of the file
  FileHeader *header_ = nullptr;
  std::atomic<bool> is_stopped_{false};

  // Under the lock of the machine: the calls that enqueued operations, by offset, and the chunk.
  std::unordered_map<unsigned long, std::uint64_t> calls_of_operations_;
  std::unordered_map<const char *, std::uint16_t> slots_;  // by the symbol's address
  Chunk operations_{.thread = kNoThread};

  mock::Mutex mutex_;                      // guards the members below
  std::map<std::uint64_t, Chunk> chunks_;  // by thread
  std::vector<char *> regions_;            // mapped, each kGrowth long
  std::size_t next_in_region_ = kGrowth;
  std::uint64_t end_ = kPage;  // of the file: the next place of a chunk
  unsigned threads_ = 0;
  std::unordered_map<const char *, std::uint64_t> call_stacks_;  // numbers, by the address of the text

  static thread_local OfThread of_thread_;
};

}  // namespace cushim::trace
