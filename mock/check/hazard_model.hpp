// SPDX-License-Identifier: Apache-2.0
// The hazards of streams, found from the calls of a program alone. Whoever feeds it holds a lock.
//
// What it takes for order, besides streams, events and waits of the host:
//   a word that stream memory operations write and wait for orders them, whichever value it is;
//   what the host may have learnt from a word of its memory that a stream wrote, and from a host function
//   that has returned, it has learnt; what may wait for the host, by a word or in a host function, may wait
//   for all that the host knew by the time that the wait was over.
// In doubt nothing is reported. What kernels and graphs touch is not known.
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "access.hpp"
#include "stream_names.hpp"
#include "touched.hpp"

namespace cushim::check {

enum class MemoryKind : std::uint8_t { device, pinned, registered, managed };

class HazardModel {
 public:
  using Report = std::function<void(Finding)>;

  // Without a report it judges nothing, and only knows what waits for what.
  explicit HazardModel(Report report) : report_(std::move(report)) {}

  // ---- Streams, events and contexts ----
  StreamNames &streams() noexcept { return names_; }
  void stream_destroyed(CUstream stream) { names_.destroyed(stream); }
  void context_ended(ContextKey context);
  // How an event may tell other processes, or learn from them.
  enum class Sharing { none, exported, imported };
  void event_made(CUevent event, Sharing sharing);
  void event_destroyed(CUevent event) { events_.erase(event); }
  void record(CUevent event, const StreamRef &stream);
  // Of all streams of a context.
  void record(CUevent event, ContextKey context);
  void wait(const StreamRef &stream, CUevent event);
  void wait(const StreamRef &stream, const Clock &clock) { order_.wait(names_.lane(stream), clock); }
  void semaphore_signalled(const StreamRef &stream);
  void semaphore_awaited(const StreamRef &stream);

  // ---- The host. What a call waits for is taken before it, and learnt after it ----
  const Clock &work_of(const StreamRef &stream);
  Clock work_of(ContextKey context) { return order_.work_of(context); }
  const Clock &work_of(CUevent event);
  Clock work_of_all() { return order_.work_of_all(); }
  void host_learns(const Clock &clock);
  bool host_knows(const Clock &clock) const noexcept { return order_.host().covers(clock); }
  // The event is complete; cheap if that is known.
  void host_learns(CUevent event);
  // The stream is idle; as cheap.
  void host_learns_all_of(const StreamRef &stream);

  // ---- Memory ----
  void memory_made(std::uint64_t begin, std::uint64_t size, MemoryKind kind, ContextKey context);
  void memory_made_in_order(std::uint64_t begin, std::uint64_t size, const StreamRef &stream, Access access);
  void memory_freed_in_order(std::uint64_t begin, const StreamRef &stream, Access access);
  // Before the memory goes, by itself or with its context: its bytes are not looked at any more.
  void memory_goes(std::uint64_t begin);
  void memory_goes_with(ContextKey context);
  void all_memory_goes() { sources_.clear(); }
  void memory_gone(std::uint64_t begin);
  // The device sees what lies at host here.
  void memory_also_at(std::uint64_t device, std::uint64_t host);
  void array_gone(CUarray array) { arrays_.erase(array); }
  bool is_pageable(std::uint64_t address) const { return memory_at(address) == nullptr; }
  bool is_device(std::uint64_t address) const;

  // ---- Work ----
  struct Use {
    Extent extent;
    Access::Kind kind = Access::Kind::read;
    CUarray array = nullptr;  // the extent is of its bytes
    bool is_host = false;     // of the host's side: bytes of pageable memory are used while the call runs
  };
  enum class Host { goes_on, waits };
  void work(const StreamRef &stream, Access access, std::span<const Use> uses, Host host);
  // Work of which it is not known what it touches: kernels, graphs, external things.
  void unknown_work(const StreamRef &stream);
  void write_word(const StreamRef &stream, std::uint64_t address);
  // What a stream waits for: the call, and its word, value and comparison (CUstreamWaitValue_flags).
  struct WordWait {
    std::uint64_t address = 0, value = 0;
    unsigned flags = 0;
    Access access{};
  };
  void wait_for_word(const StreamRef &stream, const WordWait &wait);
  // A host function; the number is for host_function_ended().
  std::uint64_t host_function(const StreamRef &stream, const Access &access);
  void host_function_ended(std::uint64_t number);
  void host_function_refused(std::uint64_t number) { host_functions_.erase(number); }

  // While streams are captured, calls say what later launches do.
  void capture_began() noexcept { ++captures_; }
  void capture_ended() noexcept { captures_ -= captures_ != 0; }

  // Waits for words and host functions that the host does not know to be over, oldest first.
  bool has_open_waits() const noexcept { return !open_waits_.empty(); }
  std::vector<Finding::Call> open_waits() const;

  // What was held back and can no longer be explained.
  void finish();

 private:
  struct Event {
    unsigned long number = 0;
    Sharing sharing = Sharing::none;
    Clock clock;
    bool is_known_done = true;
    Moment recorded;
  };
  struct Memory {
    std::uint64_t end = 0;
    MemoryKind kind = MemoryKind::device;
    ContextKey context = nullptr;
    bool is_in_order = false;  // made by a call that is work of a stream
    Clock changed_by;          // pinned: work that writes it
    std::uint64_t changed_at = 0;
  };
  // A wait that the host may end, or whoever writes a word.
  struct OpenWait {
    Moment moment;
    std::uint64_t address = 0;  // of the word; 0 is a host function
    bool can_host_end = false;
    WordWait word{};  // what waits
  };
  // Two uses that a wait may order, if what ends it comes after the other one.
  struct Held {
    struct Excuse {
      OpenWait wait;
      Moment other;
    };
    Conflict conflict;
    std::vector<Excuse> excuses;
  };
  // The bytes that a copy reads from pinned memory, as they were when the copy was submitted.
  struct Source {
    Access access;
    ByteRange bytes;
    std::uint64_t sum = 0;
    std::uint64_t at = 0;  // when
  };
  struct Record {
    unsigned long event = 0;
    std::uint64_t handle = 0;
    Step step = 0;
  };

  Event &event(CUevent event);
  const Memory *memory_at(std::uint64_t address) const;
  Memory *memory_at(std::uint64_t address) {
    return const_cast<Memory *>(std::as_const(*this).memory_at(address));
  }
  std::uint64_t at_host(std::uint64_t address) const;
  Touched &touched(CUarray array);
  void use(const Access &access, const Use &use);
  void judge(const Conflict &conflict);
  void review();
  void word_changed(Lane lane, const Extent &extent);
  void keep_source(const Access &access, const Extent &extent, const Memory &memory);
  void drop_sources(std::uint64_t begin, std::uint64_t end);
  void check_sources();
  void check_source(const Source &source);
  bool may_wait_for_host(Lane lane) const;
  void host_may_know(Lane lane);

  std::string bytes_words(ByteRange bytes) const;
  std::string event_words(const Conflict &conflict) const;
  void report(const Conflict &conflict);

  Report report_;
  Order order_;
  StreamNames names_{order_};
  std::unordered_map<CUevent, Event> events_;
  unsigned long event_count_ = 0;
  std::unordered_map<Lane, Record> last_record_;
  std::unordered_map<std::uint64_t, Record> last_wait_;  // of a lane for an event of another, by both
  Clock exported_;                                       // what other processes may know to be done
  Clock unknown_;                                        // what may have written any word
  Clock host_may_know_;
  std::map<std::uint64_t, Clock> words_;  // what was done before a word was written
  std::map<std::uint64_t, Memory> memory_;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> also_at_;  // device: its end, host
  Touched touched_{order_};
  std::unordered_map<CUarray, Touched> arrays_;
  std::vector<OpenWait> open_waits_;
  std::vector<Held> held_;
  std::unordered_map<Lane, std::deque<Source>> sources_;
  std::map<std::uint64_t, std::pair<Clock, Moment>> host_functions_;
  std::uint64_t host_function_count_ = 0;
  std::uint64_t ticks_ = 0;
  std::uint64_t host_might_have_known_at_ = 0;
  int captures_ = 0;
  std::vector<Conflict> conflicts_;  // of the call at hand
};

}  // namespace cushim::check
