// SPDX-License-Identifier: Apache-2.0
// All that a machine is made of.
#pragma once

#include <cushim/mock/frame.hpp>
#include <cushim/sim/machine.hpp>
#include <cushim/sim/usage.hpp>

#include <array>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "array.hpp"
#include "context.hpp"
#include "device.hpp"
#include "engine.hpp"
#include "event.hpp"
#include "faults.hpp"
#include "handle.hpp"
#include "memory.hpp"
#include "pool.hpp"
#include "sharing.hpp"
#include "spares.hpp"
#include "stream.hpp"

namespace cushim::sim {

// What a thread has of one machine.
struct Thread {
  unsigned long number = 0;      // never given again
  std::vector<Context *> stack;  // of contexts; the last is current
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

  // The machine, by its number, that the calling thread asked for last, and what it has of it.
  struct Last {
    unsigned long machine = 0;
    Thread *thread = nullptr;
  };
  static constinit thread_local Last last;
};

struct System final : mock::Owner {
  explicit System(const Options &options);
  ~System() override;

  // Owner
  bool serves(int slot) const noexcept override;
  std::unique_ptr<mock::AnyReceiver> make_receiver(int slot) override;
  bool is_of_program() const noexcept override { return !options.is_library; }

  // The calling thread's.
  Thread &thread() { return Thread::last.machine == number ? *Thread::last.thread : find_thread(); }

  Context &make_context(Device &device, unsigned flags);
  // Ends all that lives in it. Its handle may stay on threads' stacks.
  void end_context(Context &context);

  // All that has not run in it never runs, and all calls in it are answered the fault.
  void lose_context(Context &context, CUresult fault);
  // The same for all contexts of a device, and for those who want a new one.
  void lose_device(Device &device, CUresult fault);

  // Counts a call, and says once that a program made it.
  void report_not_implemented(int slot);

  // What has been done so far, and what is alive.
  Usage usage();

  const Options options;
  const unsigned long number;  // of the machine; never given again
  const MachineProfile profile;
  std::atomic<bool> is_initialized{false};
  // Calls that were answered before they had the lock, by slot.
  std::array<std::atomic<unsigned long>, CUSHIM_ENTRY_COUNT> not_admitted{};

  mock::Mutex mutex;                                      // over all that follows
  std::array<unsigned long, CUSHIM_ENTRY_COUNT> calls{};  // the others, by slot
  const std::vector<std::unique_ptr<Device>> devices;
  std::vector<Device *> visible;  // in the order of their ordinals; known from cuInit on
  Memory memory;
  Handles handles;
  Spares<Event> spare_events;
  std::vector<std::unique_ptr<Context>> ended_contexts;
  unsigned long last_id = 0;         // of contexts and streams
  std::set<int> not_implemented;     // slots that were called in vain
  std::set<std::string> not_found;   // names that were looked up in vain
  bool has_told_of_runtime = false;  // that it does not work here
  bool has_told_of_checker = false;  // which tells more of handles than the simulator
  unsigned long misuses = 0;         // of handles
  Engine engine;
  Sharing sharing{engine, mutex};
  const mock::FaultRules fault_rules;
  mock::Frame &frame;
  std::unique_ptr<MachineFaults> faults;  // null if there are no rules

 private:
  Thread &find_thread();
};

// From the first call on, children of fork() are told apart.
void note_forks();

// From the first cuInit of a process on: what runs at its end later than what was registered before (handlers
// of atexit, destructors of static objects) is answered DEINITIALIZED. Measured, driver 580.
void end_with_process();
bool is_after_fork() noexcept;

}  // namespace cushim::sim
