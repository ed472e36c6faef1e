// SPDX-License-Identifier: Apache-2.0
// Two processes that walk together: each executes the other's requests. Process 0 generates the program and
// has the other process make a part of it. Every message carries the state that both must know.
#pragma once

#include <sys/types.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "walk.hpp"

namespace differential {

// One end of the connection to the other process.
class Partner : public OtherProcess {
 public:
  // Forks the other process, so neither a driver nor a thread may exist yet. The other process runs `run`,
  // which must call serve(), and exits.
  explicit Partner(const std::function<void(Partner &)> &run);
  ~Partner() override;
  Partner(const Partner &) = delete;
  Partner &operator=(const Partner &) = delete;

  // Ends the current walk of the other process, and begins its part of `walk`.
  void begin(std::uint64_t seed, Walk &walk);

  // In the other process: executes requests until process 0 closes the connection.
  void serve(const SharedObjects &shared);

  void choose(unsigned choice) override;
  std::size_t settle() override;
  void release() override;
  void close() override;

 private:
  // Throw std::runtime_error if the other process is gone.
  void send(nlohmann::json message);
  nlohmann::json receive();
  // Add the state of this walk to a message, and read the state of the other one from a message: the number
  // of held waits, changed handles, and the steps since the last message.
  void tell_of_walk(nlohmann::json &message);
  void learn_of_walk(const nlohmann::json &message);
  // Sends a request and returns its answer. Executes the requests of the other process in the meantime.
  nlohmann::json ask(const nlohmann::json &request);
  // Executes a request and sends the answer.
  void answer(const nlohmann::json &request);

  int file_ = -1;
  pid_t process_ = 0;                      // 0 in the other process
  const SharedObjects *shared_ = nullptr;  // only in the other process
  std::optional<Walk> own_{};              // only in the other process
  Walk *walk_ = nullptr;
  std::vector<std::uint8_t> known_handles_{};  // bytes of the handles that both know; empty at first
};

}  // namespace differential
