// SPDX-License-Identifier: Apache-2.0
// The state of an event where other processes see it. Records are numbered, whoever makes them: an event is
// complete when its last record is, and a stream that waits for it waits for the record that was the last
// when it was told so.
#pragma once

#include <memory>

#include "operation.hpp"
#include "share_table.hpp"

namespace cushim::sim {

class SharedEvent {
 public:
  // A new one in this machine's own table. Null if there can be no more.
  static std::shared_ptr<SharedEvent> make(std::shared_ptr<ShareTable> table);
  // One that another process made. Null if it is no more.
  static std::shared_ptr<SharedEvent> open(std::shared_ptr<ShareTable> table, const ShareHandle &handle);
  ~SharedEvent();
  SharedEvent(const SharedEvent &) = delete;
  SharedEvent &operator=(const SharedEvent &) = delete;

  ShareHandle handle() const;
  bool is_imported() const noexcept { return !table_->is_own(); }
  const std::shared_ptr<ShareTable> &table() const noexcept { return table_; }

  struct Record {
    std::uint64_t number = 0;  // 0: it was never recorded
    std::uint32_t participant = 0;
  };
  Record last() const noexcept;

  // A record by this machine begins; its number. Whoever calls it calls complete() with it some day.
  std::uint64_t record() noexcept;
  void complete(std::uint64_t number, Time at) noexcept;

  bool is_complete(std::uint64_t number) const noexcept;
  // Of the last that completed.
  Time completed_at() const noexcept;

 private:
  SharedEvent(std::shared_ptr<ShareTable> table, std::uint32_t record) noexcept
      : table_(std::move(table)), index_(record), state_(table_->layout().events[record]) {}

  const std::shared_ptr<ShareTable> table_;
  const std::uint32_t index_;
  SharedEventRecord &state_;
};

}  // namespace cushim::sim
