// SPDX-License-Identifier: Apache-2.0
// The contexts of streams, because cuCtxSynchronize waits for the streams of one context only.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/mock/mutex.hpp>

#include <cstdint>
#include <map>

namespace cushim::replay {

// Asks the driver once for each stream. Thread-safe.
class StreamContexts {
 public:
  explicit StreamContexts(cushim::Driver &driver) : driver_(driver) {}
  // Returns the handle of the current context; 0 if there is none.
  std::uint64_t current() const;
  // Returns the context of a stream; 0 if it is unknown. That of the legacy and the per-thread stream is the
  // current one.
  std::uint64_t of(std::uint64_t stream);
  // Tells that the stream was destroyed: its handle may mean another one later.
  void forget(std::uint64_t stream);

 private:
  cushim::Driver &driver_;
  mock::Mutex mutex_;  // guards the next
  std::map<std::uint64_t, std::uint64_t> contexts_;
};

// Returns whether work in a stream of this context is complete after a wait for another context; 0 stands for
// an unknown context.
inline bool waits_for_context(std::uint64_t waited, std::uint64_t of_stream) {
  return waited == 0 || of_stream == 0 || waited == of_stream;
}

}  // namespace cushim::replay
