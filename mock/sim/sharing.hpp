// SPDX-License-Identifier: Apache-2.0
// What a machine shares with those of other processes.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lookout.hpp"
#include "share_table.hpp"

namespace cushim::sim {

class Sharing {
 public:
  Sharing(Engine &engine, mock::Mutex &mutex) noexcept : engine_(engine), mutex_(mutex) {}

  // What this machine exports. Null if there cannot be such a table; errno says why.
  std::shared_ptr<ShareTable> own();

  // What has been found out about the process that made a handle.
  struct Opened {
    enum class Answer { opened, own, ended, refused };
    Answer answer;
    std::shared_ptr<ShareTable> table{};
    std::string reason{};  // if it was refused
  };
  Opened open(const ShareHandle &handle);

  // Work that is complete when this record is, or when the process that made it has ended; added to the
  // engine, and still to be started.
  Work await(const std::shared_ptr<SharedEvent> &event, SharedEvent::Record record);

 private:
  Engine &engine_;
  mock::Mutex &mutex_;
  std::shared_ptr<ShareTable> own_;
  std::map<std::uint64_t, std::weak_ptr<ShareTable>> opened_;  // by the nonce
  std::map<const ShareTable *, std::unique_ptr<Lookout>> lookouts_;
};

}  // namespace cushim::sim
