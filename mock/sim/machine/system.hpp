// SPDX-License-Identifier: Apache-2.0
// The state of a simulated machine.
#pragma once

#include <sys/types.h>
#include <cushim/mock/driver_slot.hpp>
#include <cushim/sim/machine.hpp>
#include <cushim/sim/usage.hpp>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "commands/command.hpp"
#include "engine/engine.hpp"
#include "graphs/capture.hpp"
#include "ipc/sharing.hpp"
#include "kernel_profile/collector.hpp"
#include "kernels/ptx_store.hpp"
#include "kernels/registered.hpp"
#include "machine/checkpoint.hpp"
#include "machine/error_log.hpp"
#include "machine/faults.hpp"
#include "memory/managed_blocks.hpp"
#include "memory/memory.hpp"
#include "memory/pinned_chunks.hpp"
#include "memory/pool.hpp"
#include "objects/array.hpp"
#include "objects/context.hpp"
#include "objects/device.hpp"
#include "objects/event.hpp"
#include "objects/green_context.hpp"
#include "objects/handle.hpp"
#include "objects/object_cache.hpp"
#include "objects/stream.hpp"

namespace cushim::sim {

// A thread's context stack; the last entry is the current context. Destroyed contexts are kept while they are
// on a stack. An entry of a green context has its handle and is otherwise one of the primary context.
class ContextStack {
 public:
  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  void reserve(std::size_t size) { entries_.reserve(size); }
  Context *back() const noexcept { return entries_.back().context; }
  // Returns the handle of the green context that the current context was converted from; 0 if it is none.
  std::uintptr_t green() const noexcept { return entries_.empty() ? 0 : entries_.back().green; }
  // Returns the handle of the current context, as the program knows it; 0 without one.
  std::uintptr_t current_handle() const noexcept {
    if (entries_.empty()) return 0;
    return entries_.back().green != 0 ? entries_.back().green : entries_.back().context->handle;
  }
  void push_back(Context *context, std::uintptr_t green = 0) {
    entries_.push_back({context, context->entries, green});
  }
  void pop_back() { entries_.pop_back(); }

 private:
  struct Entry {
    Context *context;
    std::shared_ptr<const void> reference;
    std::uintptr_t green;
  };
  std::vector<Entry> entries_;
};

// The default pool of a location, and the handle of the current one, which may have been destroyed.
struct PlacePools {
  Pool *usual = nullptr;
  std::uintptr_t current = 0;
};

// A thread's state in one machine.
struct Thread {
  unsigned long number = 0;  // never reused
  ContextStack stack;
  std::shared_ptr<const void> life = std::make_shared<char>();  // expires when the thread ends
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

  // The machine that the calling thread used last, by number, and the thread's state in it.
  struct Last {
    unsigned long machine = 0;
    Thread *thread = nullptr;
  };
  static constinit thread_local Last last;
};

struct System final : mock::Owner {
  explicit System(const Options &options);
  ~System() override;

  // ---- mock::Owner ----
  bool serves(int slot) const noexcept override;
  std::unique_ptr<mock::AnyReceiver> make_receiver(int slot) override;
  bool is_of_program() const noexcept override { return !options.is_library; }

  // Returns the calling thread's state.
  Thread &thread() { return Thread::last.machine == number ? *Thread::last.thread : find_thread(); }

  Context &make_context(Device &device, unsigned flags);
  // Destroys the objects of a context. Its handle may stay on threads' stacks.
  void destroy_context(Context &context);

  // Frees memory that no work uses any more.
  void release(Allocation &allocation);

  // ---- Memory pools ----

  Pool &make_pool(const PoolPlace &place);
  // Returns the pools of a location; creates the default pool on first use.
  PlacePools &pools_of(const PoolPlace &place);
  // Visits the pools with a handle in the order of their creation.
  template <class Visit>
  void for_each_pool(Visit visit) const {
    for (ListLink *hook = &live_pools.next(); hook != &live_pools; hook = &hook->next())
      visit(static_cast<Pool &>(*hook));
  }
  // Removes the pool's handle. The pool itself lives until its last allocation is freed.
  void destroy_pool(Pool &pool, const char *by);
  // Returns unused blocks to the device or the host; keeps at least `keep` bytes.
  void trim_pool(Pool &pool, unsigned long long keep);
  // Returns unused blocks until at most the release threshold is reserved.
  void release_beyond_threshold(Pool &pool);
  // Trims all pools. Returns whether any had an unused block.
  bool trim_pools();
  // Gives the addresses of an allocation back to its pool: it is freed when `freed` completes; null: now, and
  // then the bytes still count as used. Measured, driver 580.
  static void release_to_pool(PoolRanges::Node &&node, const Allocation &allocation,
                              const Work &freed) noexcept;
  // The last task of a stream whose completion the host observes.
  struct Observed {
    unsigned long stream, serial;
  };
  // Returns what the host observes if it waits for these works; empty if no pool has a pending free.
  std::vector<Observed> observed_by_wait(std::span<const Work> works) const;
  // Notes that the host has observed it: memory freed before can be used in any stream, and a pool returns
  // what it holds beyond its threshold.
  void observe(std::span<const Observed> observed);
  // The same for all complete work of a context, in destroyed streams too.
  void observe_complete(const Context &context);

  // Drops the pending work of a context; all later calls in it return `fault`.
  void lose_context(Context &context, CUresult fault);
  // Calls lose_context() for all contexts of a device; creating a new one returns `fault`, too.
  void lose_device(Device &device, CUresult fault);

  // Counts a call; reports the first call of each entry point on stderr.
  void report_not_implemented(int slot);

  // Returns the numbers of calls and live objects so far.
  Usage usage();

  const Options options;
  const unsigned long number;  // of the machine; never reused
  // The process that called cuInit; before that, the process that created the machine.
  std::atomic<pid_t> process;
  const MachineProfile profile;
  const PtxStore ptx_store;
  std::atomic<bool> is_initialized{false};
  // Calls that admit() rejected before they took the lock, by slot.
  std::array<std::atomic<unsigned long>, CUSHIM_ENTRY_COUNT> not_admitted{};
  Checkpoint checkpoint;
  ErrorLog errors;

  mock::Mutex mutex;                                      // protects all following members
  std::array<unsigned long, CUSHIM_ENTRY_COUNT> calls{};  // all other calls, by slot
  const std::vector<std::unique_ptr<Device>> devices;
  std::vector<Device *> visible;  // by ordinal; set by cuInit
  ObjectNumbers numbers;
  PinnedChunks pinned_chunks{numbers};
  ManagedBlocks managed_blocks;  // before the allocations, which have places in it
  Memory memory;
  std::unordered_map<cuuint64_t, GraphCondition *> conditions;  // of conditional nodes, by handle
  Handles handles;
  std::map<PoolPlace, PlacePools> pools;
  struct Pools : ListHook {
  } live_pools;
  std::unordered_map<const Pool *, std::unique_ptr<Pool>> ended_pools;  // destroyed pools with allocations
  ObjectCache<Event> spare_events;
  std::vector<std::unique_ptr<Context>> ended_contexts;  // destroyed contexts that may be on a thread's stack
  std::size_t ended_contexts_swept_at = 32;
  unsigned long last_id = 0;                               // of contexts and streams
  BlockPool::Owner graph_nodes{}, graph_edges{};           // null before the first graph
  unsigned long last_graph_id = 0;                         // of graphs, executable graphs and their nodes
  unsigned long last_capture = 0;                          // the number of the last stream capture
  std::vector<std::shared_ptr<Capture>> captures;          // in progress
  std::vector<std::shared_ptr<GraphMemory>> graph_memory;  // of all allocation nodes
  std::size_t graph_memory_swept_at = 32;
  std::vector<HostFunction> destructors;  // of user objects without references; not called yet
  unsigned long last_ending = 0;          // of calls that destroy contexts
  std::set<int> not_implemented;          // entry points that were called, by slot
  std::set<std::string> not_found;        // names that cuGetProcAddress did not find
  bool has_reported_runtime = false;      // whether the missing export tables were reported
  bool has_recommended_checker = false;   // whether the misuse checker was recommended
  unsigned long misuses = 0;              // of handles
  CoredumpSettings coredump;              // of the process; a new context takes them over
  std::map<unsigned long, const Device *> notifications;       // registrations of asynchronous notifications
  std::map<unsigned long, CoredumpMoment> coredump_callbacks;  // registrations, by when they are called
  unsigned long last_registration = 0;                         // of either
  RegisteredKernels kernels;
  std::map<std::thread::id, CUresult> compiler_errors;   // the last one of each thread, for PTX
  std::map<std::string, Usage::Cubin> cubins;            // loaded machine code, by content
  std::map<std::string, unsigned long> skipped_kernels;  // launches that did nothing, by kernel
  KernelProfileCollector kernel_profiles;
  Engine engine;
  Sharing sharing{engine, mutex, numbers};
  const mock::FaultRules fault_rules;
  mock::DriverSlot &driver_slot;
  std::unique_ptr<MachineFaults> faults;  // null without rules

 private:
  Thread &find_thread();
  void end_pool_if_unused(Pool &pool);
  enum class BlocksBelow { stay, may_go };  // a block of which only a part exceeds the limit
  void release_blocks(Pool &pool, unsigned long long keep, BlocksBelow below);
  void keep_ended(std::unique_ptr<Context> context);
};

// Marks the process as initialized: its later children of fork() have no driver. A child that was forked
// before has one. Measured, driver 580.
void note_initialization();

// Makes calls return DEINITIALIZED once the process exits: in atexit handlers and destructors of static
// objects that were registered before the first cuInit. Measured, driver 580.
void end_with_process();

}  // namespace cushim::sim
