// SPDX-License-Identifier: Apache-2.0
// A table in shared memory of the objects that a process exports; one per simulated machine. Importers map
// it.
//
// It uses no locks, so that a process may be killed at any time. An importer that reads a record compares the
// generation before and after, since the exporter may revoke the record at the same time.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>

#include "ipc/object_numbers.hpp"
#include "ipc/shared_blocks.hpp"

namespace cushim::sim {

// The 64 bytes of a CUipcMemHandle, a CUipcEventHandle or a CUmemPoolPtrExportData; also in the file of a
// pool. The format is the same in all processes.
struct ShareHandle {
  enum class Kind : std::uint32_t {
    memory = 0x4D485343,
    event = 0x45485343,
    pool = 0x50485343,
    pool_memory = 0x41485343
  };
  static constexpr std::size_t kGranule = 512;  // of the offset

  Kind kind = {};
  std::int32_t file = 0;  // file descriptor of the table in the exporter
  std::int32_t process_id = 0;
  std::uint32_t user = 0;
  std::uint64_t process_start = 0;
  std::uint64_t nonce = 0;            // of the table
  std::uint64_t namespace_of_id = 0;  // PID namespace of the exporter
  std::uint32_t record = 0;
  std::uint32_t generation = 0;  // of the record
  std::uint32_t offset = 0;      // of the memory in its blocks, in granules
  std::uint32_t check = 0;       // checksum of all other members
  std::uint64_t size = 0;        // of the memory, in bytes; for a pool: its nonce

  Process process() const noexcept { return {process_id, process_start}; }

  void seal() noexcept { check = sum(); }
  // Returns whether seal() made this handle and it is of the wanted kind.
  bool is(Kind wanted) const noexcept { return kind == wanted && check == sum(); }

 private:
  std::uint32_t sum() const noexcept;
};
// Without padding, whose bytes would be indeterminate.
static_assert(std::has_unique_object_representations_v<ShareHandle>);
static_assert(sizeof(ShareHandle) == sizeof(CUipcMemHandle));
static_assert(sizeof(ShareHandle) == sizeof(CUipcEventHandle));
static_assert(sizeof(ShareHandle) == sizeof(CUmemPoolPtrExportData));

// Blocks of device memory that other processes may open: a part of a file.
struct SharedMemoryRecord {
  std::atomic<std::uint32_t> generation;  // odd while the record can be opened
  std::int32_t file;                      // file descriptor in the exporter
  std::uint64_t file_nonce;
  std::uint64_t file_size;
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t pool;  // nonce of the pool; 0: memory of cuMemAlloc
  CUuuid device;
};

struct SharedEventRecord {
  std::atomic<std::uint32_t> generation;  // odd while the record can be opened
  std::atomic<std::uint32_t> holders;     // the exporter, importers and incomplete work
  std::atomic<std::uint64_t> last;        // the last record: its number, and its participant in the low bits
  std::atomic<std::uint64_t> completed;   // the highest number of a complete record
  std::atomic<std::int64_t> completed_at;
  std::uint64_t unused[3];
};

// The index of a participant and its generation: an index is reused after its process has ended.
struct ParticipantId {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;

  bool operator==(const ParticipantId &) const = default;
};

struct Participant {
  Process process;
  std::atomic<std::uint32_t> state;  // packed as share_table.cpp describes
};

struct ShareLayout {
  static constexpr std::uint64_t kMagic = 0x3430'6d69'6873'7563;  // "cushim04", includes the layout's version
  static constexpr int kParticipantBits = 14, kGenerationBits = 10;
  static constexpr std::uint32_t kParticipants = 1 << kParticipantBits;   // at the same time
  static constexpr std::uint32_t kMemoryRecords = ObjectNumbers::kCount;  // by the number of the object
  static constexpr std::uint32_t kEventRecords = 1 << 20;

  std::uint64_t magic;
  std::uint64_t nonce;
  std::atomic<std::uint32_t> doorbell;           // a futex; incremented when a record completes
  std::atomic<std::uint32_t> sleepers;           // number of threads that wait for `doorbell`
  std::atomic<std::uint32_t> participant_count;  // entries that were ever used
  std::atomic<std::uint32_t> next_participant;   // where the search for a reusable entry begins
  std::array<Participant, kParticipants> participants;
  ObjectNumbers::Taken numbers;  // of the exporter's objects
  std::array<SharedMemoryRecord, kMemoryRecords> memory;
  std::array<SharedEventRecord, kEventRecords> events;
};

class ShareTable {
 public:
  // Creates the table of this simulated machine. Returns null on failure, with the reason in errno.
  static std::shared_ptr<ShareTable> make();
  // Opens the table of the process that made the handle; the calling process becomes a participant. Returns
  // null on failure, with the reason in errno: ESTALE if that table no longer exists.
  static std::shared_ptr<ShareTable> open(const ShareHandle &handle);
  // Ends the participation: other processes stop waiting for this participant.
  ~ShareTable();
  ShareTable(const ShareTable &) = delete;
  ShareTable &operator=(const ShareTable &) = delete;

  ShareLayout &layout() const noexcept { return *layout_; }
  ParticipantId participant() const noexcept { return participant_; }
  bool is_own() const noexcept { return is_own_; }
  // Returns whether a participant will complete no more records: its process has ended or called exec(), or
  // its machine was destroyed.
  bool is_gone(ParticipantId who);
  // Returns whether the participant that made the table is gone.
  bool is_creator_dead() { return is_gone(maker_); }
  // Closes the pidfds that is_gone() caches, except the one of the table's maker.
  void stop_watching();

  // Opens a file of blocks that the table's maker has exported; returns the same object for the same file.
  // Returns null as SharedBlocks::open() does.
  std::shared_ptr<SharedBlocks> open_blocks(const Process &process, const SharedMemoryRecord &record);

  // ---- For the exporter ----

  // Returns a handle of a record; offset and size, in bytes, are of the memory in the record's blocks.
  ShareHandle handle(ShareHandle::Kind kind, std::uint32_t record, std::uint32_t generation,
                     std::size_t offset = 0, std::uint64_t size = 0) const;
  // Returns a record with one holder; nothing if all records are in use.
  std::optional<std::uint32_t> take_event_record();

  // ---- For all participants ----

  // Adds a holder. Returns false if the record has been reused for another event.
  bool retain_event_record(std::uint32_t record, std::uint32_t generation);
  void release_event_record(std::uint32_t record);

  // Increments the counter of completed records and wakes up all waiting threads.
  void ring() noexcept;
  // The counter that ring() increments.
  // wait_for_completion() waits until the counter differs from `than`; returns false after the time limit.
  std::uint32_t bell() const noexcept { return layout_->doorbell; }
  bool wait_for_completion(std::uint32_t than, std::chrono::milliseconds limit) noexcept;

 private:
  ShareTable(SharedFile file, ShareLayout *layout, bool is_own) noexcept
      : file_(std::move(file)), layout_(layout), is_own_(is_own) {}
  bool join();
  std::optional<std::uint32_t> take_participant_entry();
  bool take_participant_entry(std::uint32_t index);

  const SharedFile file_;  // a lock on the byte at a participant's index shows that the participant exists
  ShareLayout *const layout_;
  const bool is_own_;
  bool takes_part_ = false;
  ParticipantId participant_, maker_;
  std::map<std::uint32_t, ProcessWatch> watches_;                       // by the participant's index
  std::map<std::uint64_t, std::weak_ptr<SharedBlocks>> opened_blocks_;  // by the nonce
  std::uint32_t event_records_ = 0;
  std::deque<std::uint32_t> free_events_;  // some may still have holders
};

// Makes blocks openable for other processes, until it is destroyed.
class MemoryExport {
 public:
  // `number` is that of the blocks; `pool` is the nonce of the pool that has them; 0: memory of cuMemAlloc.
  // Returns null if the blocks have no number.
  static std::unique_ptr<MemoryExport> make(std::shared_ptr<ShareTable> table, std::uint32_t number,
                                            const Piece &blocks, const CUuuid &device, std::uint64_t pool);
  ~MemoryExport();
  MemoryExport(const MemoryExport &) = delete;
  MemoryExport &operator=(const MemoryExport &) = delete;

  // Returns the handle of memory in the blocks. `offset` is a multiple of ShareHandle::kGranule.
  ShareHandle handle(std::size_t offset, std::size_t size) const;

 private:
  MemoryExport(std::shared_ptr<ShareTable> table, std::uint32_t record) noexcept
      : table_(std::move(table)), record_(record) {}

  const std::shared_ptr<ShareTable> table_;
  const std::uint32_t record_;
};

// Blocks of another process.
struct FoundBlocks {
  Piece piece;
  std::uint64_t pool = 0;
  CUuuid device = {};
};
// Returns the generation of the exported blocks that have the handle's number now; nothing on failure: errno
// is ESTALE if no object has it, EACCES if an object has it that is not exported.
std::optional<std::uint32_t> current_generation(const ShareTable &table, const ShareHandle &handle);
// Returns the blocks with the handle's number and this generation. Returns nothing on failure: errno is
// ESTALE if the blocks can no longer be opened, else the reason why this process cannot open them.
std::optional<FoundBlocks> find_blocks(ShareTable &table, const ShareHandle &handle,
                                       std::uint32_t generation);

}  // namespace cushim::sim
