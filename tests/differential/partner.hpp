// SPDX-License-Identifier: Apache-2.0
// Two processes that walk together: each does what the other asks it to, and nothing by itself. Process 0
// makes the program, of which the other one makes a part; every message brings what both are to know.
#pragma once

#include <sys/types.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "walk.hpp"

namespace differential {

// The other process, as one end of the connection sees it.
class Partner : public OtherProcess {
 public:
  // Starts the other process by fork, so neither a driver nor a thread may be there yet. It runs the
  // function, which is to call serve(), and ends.
  explicit Partner(const std::function<void(Partner &)> &run);
  ~Partner() override;
  Partner(const Partner &) = delete;
  Partner &operator=(const Partner &) = delete;

  // The other process ends the walk that it has, and begins this one along with a walk of this process.
  void begin(std::uint64_t seed, Walk &walk);

  // In the other process: does what it is asked, until process 0 has no partner any more.
  void serve(const Bench &bench);

  void choose(unsigned choice) override;
  std::size_t settle() override;
  void release() override;
  void close() override;

 private:
  // These throw std::runtime_error if the other process is gone.
  void send(nlohmann::json message);
  nlohmann::json receive();
  // What the other process is to know of the walk here, and what it says of its own: what it holds, the
  // handles if they are others now, its steps since the last time.
  void tell_of_walk(nlohmann::json &message);
  void learn_of_walk(const nlohmann::json &message);
  // The answer; what the other one asks in the meantime is done first.
  nlohmann::json ask(const nlohmann::json &request);
  // Does what is asked, and says so.
  void answer(const nlohmann::json &request);

  int file_ = -1;
  pid_t process_ = 0;             // 0 in the other process
  const Bench *bench_ = nullptr;  // there
  std::optional<Walk> own_{};     // there
  Walk *walk_ = nullptr;
  std::vector<std::uint8_t> known_handles_{};  // to both, as bytes; none of a new walk
};

}  // namespace differential
