// SPDX-License-Identifier: Apache-2.0
// What a process has exported: a table in shared memory, one a machine, which importers map.
//
// Nobody holds a lock in it, so that a process may be killed at any time. Where an importer reads what the
// exporter may take back meanwhile, it looks at the generation before and afterwards.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "shared_blocks.hpp"

namespace cushim::sim {

// The 64 bytes that name something exported. All processes of one kind of machine understand them.
struct ShareHandle {
  enum class Kind : std::uint32_t { memory = 0x4D485343, event = 0x45485343 };

  Kind kind = {};
  std::int32_t file = 0;  // the table's number in the exporter
  Process process{};
  std::uint64_t nonce = 0;            // of the table
  std::uint64_t namespace_of_id = 0;  // in which the process has its number
  std::uint32_t record = 0;
  std::uint32_t user = 0;
  std::uint64_t generation = 0;
  std::uint64_t check = 0;  // over all the rest

  void seal() noexcept { check = sum(); }
  // Whether this came from seal(), for this kind of thing.
  bool is(Kind wanted) const noexcept { return kind == wanted && check == sum(); }

  bool operator==(const ShareHandle &) const = default;

 private:
  std::uint64_t sum() const noexcept;
};
// Without padding, whose bytes would be anything.
static_assert(std::has_unique_object_representations_v<ShareHandle>);
static_assert(sizeof(ShareHandle) == sizeof(CUipcMemHandle));
static_assert(sizeof(ShareHandle) == sizeof(CUipcEventHandle));

struct SharedMemoryRecord {
  static constexpr std::size_t kPieces = 2;
  struct Piece {
    std::int32_t file = 0;  // its number in the exporter
    std::uint64_t file_nonce = 0;
    std::uint64_t file_size = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };

  std::atomic<std::uint64_t> generation;  // odd while it can be opened
  std::uint32_t piece_count;
  std::uint64_t lead;  // from the first piece's begin to the allocation's
  std::uint64_t size;
  CUuuid device;
  std::array<Piece, kPieces> pieces;
};

struct SharedEventRecord {
  std::atomic<std::uint64_t> generation;  // odd while it can be opened
  std::atomic<std::uint32_t> holders;     // exporter, importers and unfinished work
  std::atomic<std::uint64_t> last;        // the last record: its number above, who made it in the low bits
  std::atomic<std::uint64_t> completed;   // the highest number of a record that is complete
  std::atomic<std::int64_t> completed_at;
  std::uint64_t unused[3];
};

struct Participant {
  Process process;
  std::atomic<std::uint32_t> state;  // 0; 1: takes part; 2: its machine has ended, the process lives
};

struct ShareLayout {
  static constexpr std::uint64_t kMagic = 0x3130'6d69'6873'7563;  // "cushim01": the layout's version too
  static constexpr std::uint32_t kParticipants = 1 << 16;
  static constexpr std::uint32_t kMemoryRecords = 1 << 16;
  static constexpr std::uint32_t kEventRecords = 1 << 20;

  std::uint64_t magic;
  std::uint64_t nonce;
  std::atomic<std::uint32_t> doorbell;  // a futex: rung when a record completes
  std::atomic<std::uint32_t> sleepers;  // who wants it rung
  std::atomic<std::uint32_t> participant_count;
  std::array<Participant, kParticipants> participants;
  std::array<SharedMemoryRecord, kMemoryRecords> memory;
  std::array<SharedEventRecord, kEventRecords> events;
};

class ShareTable {
 public:
  // This machine's own. Null if that fails; errno says why.
  static std::shared_ptr<ShareTable> make();
  // That of the process which made the handle, the calling process becoming a participant. Null if that
  // fails; errno says why, ESTALE if the table is another by now.
  static std::shared_ptr<ShareTable> open(const ShareHandle &handle);
  // Others no longer expect anything of this machine.
  ~ShareTable();
  ShareTable(const ShareTable &) = delete;
  ShareTable &operator=(const ShareTable &) = delete;

  ShareLayout &layout() const noexcept { return *layout_; }
  std::uint32_t participant() const noexcept { return participant_; }
  bool is_own() const noexcept { return file_.has_value(); }
  // Whether this one will complete nothing any more.
  bool is_gone(std::uint32_t participant) const;

  // ---- Of the exporter ----

  ShareHandle handle(ShareHandle::Kind kind, std::uint32_t record, std::uint64_t generation) const;
  // Null if all are taken.
  std::optional<std::uint32_t> take_memory_record();
  void give_back_memory_record(std::uint32_t record) { free_memory_.push_back(record); }
  // With one holder.
  std::optional<std::uint32_t> take_event_record();

  // ---- Of all ----

  // One holder more; false if it is another event by now.
  bool hold_event_record(std::uint32_t record, std::uint64_t generation);
  void let_event_record_go(std::uint32_t record);

  // Says that a record of an event has completed.
  void ring() noexcept;
  // How often that was said; and waits until it is more often than so, false if it was not within that time.
  std::uint32_t bell() const noexcept { return layout_->doorbell; }
  bool wait_for_bell(std::uint32_t than, std::chrono::milliseconds limit) noexcept;

 private:
  explicit ShareTable(ShareLayout *layout) noexcept : layout_(layout) {}
  bool join();

  ShareLayout *const layout_;
  std::optional<SharedFile> file_;  // kept open by who made it
  std::uint32_t participant_ = ShareLayout::kParticipants;
  std::uint32_t memory_records_ = 0;
  std::deque<std::uint32_t> free_memory_;
  std::uint32_t event_records_ = 0;
  std::deque<std::uint32_t> free_events_;  // some may still have holders
};

// That an allocation can be opened by others, until this ends.
class MemoryExport {
 public:
  // Null if no more can be exported.
  static std::unique_ptr<MemoryExport> make(std::shared_ptr<ShareTable> table, std::vector<Piece> pieces,
                                            std::size_t lead, std::size_t size, const CUuuid &device);
  ~MemoryExport();
  MemoryExport(const MemoryExport &) = delete;
  MemoryExport &operator=(const MemoryExport &) = delete;

  const ShareHandle &handle() const noexcept { return handle_; }

 private:
  MemoryExport(std::shared_ptr<ShareTable> table, std::uint32_t record) noexcept
      : table_(std::move(table)), record_(record) {}

  const std::shared_ptr<ShareTable> table_;
  const std::uint32_t record_;
  ShareHandle handle_;
};

// An allocation of another process.
struct FoundMemory {
  std::vector<Piece> pieces;
  std::size_t lead = 0;
  std::size_t size = 0;
  CUuuid device = {};
};
// Nothing if it can be opened no more.
std::optional<FoundMemory> find_memory(const ShareTable &table, const ShareHandle &handle);

}  // namespace cushim::sim
