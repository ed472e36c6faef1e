// SPDX-License-Identifier: Apache-2.0
// What a machine shares with those of other processes.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "share_table.hpp"

namespace cushim::sim {

class Sharing {
 public:
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

 private:
  std::shared_ptr<ShareTable> own_;
  std::map<std::uint64_t, std::weak_ptr<ShareTable>> opened_;  // by the nonce
};

}  // namespace cushim::sim
