// SPDX-License-Identifier: Apache-2.0
// Detects stream hazards from the calls of a program alone. Not thread-safe: the caller holds a lock.
//
// Besides streams, events and host waits, these count as order:
//   Stream memory operations: a write of a value and a wait at the same address are ordered, whatever the
//   value.
//   The host is assumed to have seen every value that a stream wrote to host memory, and every host
//   function that returned. A wait that the host may end (a memory value, a host function) is assumed to be
//   ended by the host, with all that it knew by the end of the wait.
//   A kernel that may write host memory may inform the host of all work before it.
// In doubt nothing is reported.
//
// When a kernel is enqueued, the model knows only the addresses in its parameters. If the driver records the
// accesses of kernels while they run, the model keeps each possible conflict with other work in the same
// allocations, and reports it when the record confirms it. Otherwise it assumes that the kernel uses the byte
// at each address.
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/detail/memory_kind.hpp>
#include <cushim/driver.hpp>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "hazards/access.hpp"
#include "hazards/shadow_memory.hpp"
#include "hazards/stream_names.hpp"

namespace cushim::check {

class HazardModel {
 public:
  using Report = std::function<void(Finding)>;

  // Without a report callback it checks nothing and only tracks which work waits for what.
  explicit HazardModel(Report report) : report_(std::move(report)) {}
  // Gets the conflicts instead of findings.
  using ConflictReport = std::function<void(const Conflict &)>;
  explicit HazardModel(ConflictReport report) : report_conflict_(std::move(report)) {}

  // ---- Streams, events and contexts ----
  StreamNames &streams() noexcept { return names_; }
  void stream_destroyed(CUstream stream) { names_.destroyed(stream); }
  void context_ended(ContextKey context);
  // `exported`: an event may order work of other processes; `imported`: it may be ordered by their work.
  enum class Sharing { none, exported, imported };
  void event_made(CUevent event, Sharing sharing);
  void event_destroyed(CUevent event) { events_.erase(event); }
  void record(CUevent event, const StreamRef &stream);
  // Records the event in all streams of a context.
  void record(CUevent event, ContextKey context);
  void wait(const StreamRef &stream, CUevent event);
  void wait(const StreamRef &stream, const VectorClock &clock) {
    order_.wait(names_.stream_index(stream), clock);
  }
  void semaphore_signalled(const StreamRef &stream);
  void semaphore_awaited(const StreamRef &stream);

  // ---- The host. The clock a call waits for is taken before the call and joined after it ----
  const VectorClock &work_of(const StreamRef &stream);
  VectorClock work_of(ContextKey context) { return order_.work_of(context); }
  const VectorClock &work_of(CUevent event);
  VectorClock work_of_all() { return order_.work_of_all(); }
  void host_learns(const VectorClock &clock);
  bool host_knows(const VectorClock &clock) const noexcept { return order_.host().covers(clock); }
  // Marks the event complete; cheap if that is already known.
  void host_learns(CUevent event);
  // Marks the stream idle; cheap if that is already known.
  void host_learns_all_of(const StreamRef &stream);

  // ---- Memory ----
  void memory_made(std::uint64_t begin, std::uint64_t size, MemoryKind kind, ContextKey context);
  void memory_made_in_order(std::uint64_t begin, std::uint64_t size, const StreamRef &stream, Access access);
  void memory_freed_in_order(std::uint64_t begin, const StreamRef &stream, Access access);
  // Call before memory is freed, by itself or with its context: its bytes are not read any more.
  void before_memory_freed(std::uint64_t begin);
  void memory_goes_with(ContextKey context);
  void all_memory_goes() { sources_.clear(); }
  void memory_freed(std::uint64_t begin);
  // A part of physical memory, mapped at an address.
  struct Mapping {
    std::uint64_t begin = 0, size = 0;
    std::uint64_t physical = 0, offset = 0;  // the handle of the physical memory, and the offset in it
  };
  // Accesses to the same bytes through two mappings of one handle may conflict.
  void memory_mapped(const Mapping &mapping, ContextKey context);
  // Forgets all mappings in the range.
  void memory_unmapped(ByteRange range);
  // The handle names new memory, whatever it named before.
  void physical_memory_made(std::uint64_t handle) { physical_.erase(handle); }
  // The device accesses host memory `host` at address `device`.
  void map_host_memory(std::uint64_t device, std::uint64_t host);
  void array_gone(CUarray array) { arrays_.erase(array); }
  bool is_pageable(std::uint64_t address) const { return memory_at(address) == nullptr; }
  bool is_device(std::uint64_t address) const;

  // ---- Work ----
  struct Use {
    Extent extent;
    Access::Kind kind = Access::Kind::read;
    CUarray array = nullptr;  // if not null, the extent is in this array
    bool is_host = false;     // the host end of a copy: pageable memory is accessed only while the call runs
  };
  enum class Host { goes_on, waits };
  void work(const StreamRef &stream, Access access, std::span<const Use> uses, Host host);
  // Work that the driver rejected as invalid: it accesses nothing. Reported only if it names memory that
  // another stream has freed in stream order; check::Misuse covers the same stream.
  void refused_work(const StreamRef &stream, Access access, std::span<const Use> uses);
  // Work whose memory accesses are unknown: external objects.
  void unknown_work(const StreamRef &stream) { submit_unknown(names_.stream_index(stream)); }
  // An address in the parameters of a kernel, and what the kernel does there.
  struct PointerUse {
    std::uint64_t address = 0;
    Access::Kind kind = Access::Kind::unknown;
  };
  void launch(const StreamRef &stream, Access access, std::span<const PointerUse> uses) {
    add_uses(submit_launch(stream, std::move(access)), uses);
  }
  // Adds a launch without accesses, to which add_uses() may add some at once. Returns it as an access.
  Access submit_launch(const StreamRef &stream, Access access);
  void add_uses(const Access &launch, std::span<const Use> uses);
  void add_uses(const Access &launch, std::span<const PointerUse> uses);
  // Notes that the work of the stream may tell the host that all work before it is done.
  void host_may_learn_all_of(const StreamRef &stream) { host_may_know_.join(work_of(stream)); }
  // Returns whether the address is in memory that the driver manages.
  bool is_known(std::uint64_t address) const { return memory_at(at_host(address)) != nullptr; }
  // Returns the number of bytes from the address to the end of its allocation; 0 if it is not known.
  std::uint64_t known_size(std::uint64_t address) const;
  void copy_memory_to(HazardModel &other, std::uint64_t address) const;
  bool reports() const noexcept { return report_ != nullptr || report_conflict_ != nullptr; }
  bool is_capturing() const noexcept { return captures_ != 0; }
  // Conflicts with kernels that have not run yet.
  bool has_unconfirmed() const noexcept { return !unconfirmed_.empty(); }
  void review_unconfirmed();
  // Reports a conflict between two nodes of a graph, and the launch.
  void report_in_graph(const Conflict &conflict, const Access &launch);
  void write_word(const StreamRef &stream, std::uint64_t address);
  // A stream's wait for a memory value: the call, and its address, value and comparison
  // (CUstreamWaitValue_flags).
  struct ValueWait {
    std::uint64_t address = 0, value = 0;
    unsigned flags = 0;
    Access access{};
  };
  void wait_for_word(const StreamRef &stream, const ValueWait &wait);
  // Adds a host function. Returns the number that identifies it in the functions below.
  std::uint64_t host_function(const StreamRef &stream, const Access &access);
  // Marks the work before the function as done: the program may learn that from the function.
  void host_function_begun(std::uint64_t number);
  void host_function_ended(std::uint64_t number);
  void host_function_refused(std::uint64_t number) { host_functions_.erase(number); }

  // During stream capture, calls describe work of later launches.
  void capture_began() noexcept { ++captures_; }
  void capture_ended() noexcept { captures_ -= captures_ != 0; }

  // Waits for memory values and host functions that the host does not know to be over, oldest first.
  bool has_open_waits() const noexcept { return !open_waits_.empty(); }
  std::vector<Finding::Call> open_waits() const;

  // Reports the held-back conflicts that can no longer be excused. Conflicts with kernels that have not run
  // are dropped.
  void finish();

 private:
  struct Event {
    unsigned long number = 0;
    Sharing sharing = Sharing::none;
    VectorClock clock;
    bool is_known_done = true;
    Epoch recorded;
  };
  struct Memory {
    std::uint64_t end = 0;
    MemoryKind kind = MemoryKind::device;
    ContextKey context = nullptr;
    bool is_in_order = false;  // allocated in stream order
    VectorClock changed_by;    // pinned memory: work that writes it
    std::uint64_t changed_at = 0;
    std::uint64_t physical = 0, offset = 0;  // as in Mapping
  };
  // Bytes of physical memory, and the mapping whose addresses stand for them.
  struct MappedPart {
    std::uint64_t end = 0;  // offset
    std::uint64_t address = 0;
  };
  using MappedParts = std::map<std::uint64_t, MappedPart>;  // by offset
  // A wait that the host, or any writer of the memory value, may end.
  struct OpenWait {
    Epoch epoch;
    std::uint64_t address = 0;  // of the memory value; 0 for a host function
    bool can_host_end = false;
    ValueWait word{};  // the wait itself
  };
  // A conflict that a wait may order, if the end of the wait comes after the other access.
  struct Held {
    struct PossibleOrder {
      OpenWait wait;
      Epoch other;
    };
    Conflict conflict;
    std::vector<PossibleOrder> excuses;
  };
  // The bytes that a copy reads from pinned memory, with their checksum at the time of submission.
  struct Source {
    Access access;
    ByteRange bytes;
    std::uint64_t sum = 0;
    std::uint64_t at = 0;  // time of submission, in ticks_
  };
  struct HostFunction {
    VectorClock clock;  // includes the function itself
    Epoch epoch;
  };
  struct Record {
    unsigned long event = 0;
    std::uint64_t handle = 0;
    Sequence sequence = 0;
  };

  Epoch submit_unknown(StreamIndex stream_index);
  void use_pointer(const Access &access, const PointerUse &pointer);
  void match_launches(const Extent &extent, const Access &access);
  // Compares a conflict with the records of its kernels, and reduces its bytes to those that they accessed.
  enum class Verdict { pending, confirmed, refuted };
  static Verdict confirm(Conflict &conflict);

  Event &event(CUevent event);
  const Memory *memory_at(std::uint64_t address) const;
  Memory *memory_at(std::uint64_t address) {
    return const_cast<Memory *>(std::as_const(*this).memory_at(address));
  }
  // Returns the address that stands for the memory at `address`, which may be mapped several times.
  std::uint64_t at_host(std::uint64_t address) const;
  void add_also_at(ByteRange range, std::uint64_t stands_for_it);
  void forget_also_at(std::uint64_t address, std::uint64_t stands_for_it);
  ShadowMemory &touched(CUarray array);
  void use(const Access &access, const Use &use);
  void report_or_hold(const Conflict &conflict);
  void review();
  void word_changed(StreamIndex stream_index, const Extent &extent);
  void keep_source(const Access &access, const Extent &extent, const Memory &memory);
  void drop_sources(std::uint64_t begin, std::uint64_t end);
  void check_sources();
  void check_source(const Source &source);
  // Checks these copies against the present contents of their sources, and stops tracking them: work
  // submitted now may signal to the program that the copies are done.
  void check_sources_now(const std::function<bool(const Source &)> &is_it);
  bool may_wait_for_host(StreamIndex stream_index) const;

  std::string bytes_text(ByteRange bytes) const;
  // Describes the memory that both accesses use.
  std::string place_text(const Conflict &conflict) const;
  // Returns " of device memory"; empty for unknown memory.
  std::string kind_text(std::uint64_t address) const;
  std::string ordering_event_text(const Conflict &conflict) const;
  void report(const Conflict &conflict);

  Report report_;
  ConflictReport report_conflict_;
  Order order_;
  StreamNames names_{order_};
  std::unordered_map<CUevent, Event> events_;
  unsigned long event_count_ = 0;
  std::unordered_map<StreamIndex, Record> last_record_;
  // Last wait of a stream for an event of another stream, by both streams.
  std::unordered_map<std::uint64_t, Record> last_wait_;
  VectorClock exported_;  // what other processes may know to be done
  VectorClock unknown_;   // what may have written any memory value
  VectorClock host_may_know_;
  std::map<std::uint64_t, VectorClock> words_;  // by address: what was done before the value was written
  std::map<std::uint64_t, Memory> memory_;
  // Address at which memory is mapped again: its end, and the address that stands for it.
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> also_at_;
  std::multimap<std::uint64_t, std::uint64_t> also_at_of_;  // the reverse
  std::map<std::uint64_t, MappedParts> physical_;           // by the handle
  ShadowMemory touched_{order_};
  std::unordered_map<CUarray, ShadowMemory> arrays_;
  std::vector<OpenWait> open_waits_;
  std::vector<Held> held_;
  std::unordered_map<StreamIndex, std::deque<Source>> sources_;
  std::map<std::uint64_t, HostFunction> host_functions_;
  std::uint64_t host_function_count_ = 0;
  std::uint64_t ticks_ = 0;
  int captures_ = 0;
  std::vector<Conflict> conflicts_;  // of the current call
  // Kernels whose accesses the driver records, by the beginning of each allocation that they may use.
  std::map<std::uint64_t, std::deque<Access>> launches_;
  std::deque<Conflict> unconfirmed_;
};

}  // namespace cushim::check
