// SPDX-License-Identifier: Apache-2.0
// The state of an event that processes share. Records are numbered across all processes. The event is
// complete when its last record is; a stream that waits for it waits for the record that was the last at the
// time of the wait call.
#pragma once

#include <memory>

#include "engine/operation.hpp"
#include "ipc/share_table.hpp"

namespace cushim::sim {

class SharedEvent {
 public:
  // Creates an event in this machine's own table. Returns null if all records are in use.
  static std::shared_ptr<SharedEvent> make(std::shared_ptr<ShareTable> table);
  // Opens an event of another process. Returns null if it no longer exists.
  static std::shared_ptr<SharedEvent> open(std::shared_ptr<ShareTable> table, const ShareHandle &handle);
  ~SharedEvent();
  SharedEvent(const SharedEvent &) = delete;
  SharedEvent &operator=(const SharedEvent &) = delete;

  ShareHandle handle() const;
  bool is_imported() const noexcept { return !table_->is_own(); }
  const std::shared_ptr<ShareTable> &table() const noexcept { return table_; }

  struct Record {
    std::uint64_t number = 0;  // 0: never recorded
    ParticipantId participant;
  };
  Record last() const noexcept;

  // Begins a record by this machine and returns its number. The caller must pass the number to complete()
  // later.
  std::uint64_t record() noexcept;
  void complete(std::uint64_t number, Time at) noexcept;

  bool is_complete(std::uint64_t number) const noexcept;
  // Returns the time of the latest completed record.
  Time completed_at() const noexcept;

 private:
  SharedEvent(std::shared_ptr<ShareTable> table, std::uint32_t record) noexcept
      : table_(std::move(table)), index_(record), state_(table_->layout().events[record]) {}

  const std::shared_ptr<ShareTable> table_;
  const std::uint32_t index_;
  SharedEventRecord &state_;
};

}  // namespace cushim::sim
