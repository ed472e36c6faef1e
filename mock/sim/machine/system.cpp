// SPDX-License-Identifier: Apache-2.0
#include "machine/system.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "api/service.hpp"
#include "graphs/capturing.hpp"
#include "kernels/kernel_library.hpp"

namespace cushim::sim {

namespace {

std::atomic<unsigned long> last_machine{0};
std::atomic<unsigned long> last_thread{0};

// The calling thread's state, by the machine's number. In a pthread key instead of thread_local variables,
// since calls may come after the destructors of the main thread's thread_local variables.
using Threads = std::unordered_map<unsigned long, Thread>;

Threads &of_this_thread() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    const auto end = [](void *threads) {
      Thread::last = {};
      delete static_cast<Threads *>(threads);
    };
    if (pthread_key_create(&made, end) != 0) std::abort();
    return made;
  }();
  void *threads = pthread_getspecific(key);
  if (threads == nullptr) {
    threads = new Threads;
    pthread_setspecific(key, threads);
  }
  return *static_cast<Threads *>(threads);
}

std::vector<std::unique_ptr<Device>> make_devices(const MachineProfile &profile) {
  std::vector<std::unique_ptr<Device>> devices;
  for (const Profile &one : profile.devices) {
    auto device = std::make_unique<Device>();
    device->index = static_cast<int>(devices.size());
    device->to_device.device = device->to_host.device = device->index;
    device->profile = one;
    device->peers = profile.peers[devices.size()];
    device->uuid = uuid_of(one, device->index);
    devices.push_back(std::move(device));
  }
  return devices;
}

MachineProfile profile_of(const Options &options) {
  MachineProfile profile = machine(options.devices);
  if (options.driver_version != 0) set_driver(profile, options.driver_version);
  return profile;
}

std::string name_of(const MachineProfile &profile) {
  std::string name = "SIMULATED driver";
  for (const Profile &one : profile.devices) name += (&one == &profile.devices[0] ? " of " : ", ") + one.name;
  return name;
}

}  // namespace

System::System(const Options &options)
    : options(options),
      number(++last_machine),
      process(getpid()),
      profile(profile_of(options)),
      ptx_store(options.ptx_store),
      devices(make_devices(profile)),
      memory(devices, numbers),
      kernels(kernels_of_libraries(options.kernels)),
      engine(mutex, this->options),
      fault_rules(sim::fault_rules(options.faults, devices.size())),
      driver_slot(mock::DriverSlot::take(*this, name_of(profile), profile.driver_version)) {
  engine.on_failure([this](const void *owner) {
    const auto *const context = static_cast<const Context *>(owner);
    lose_context(*const_cast<Context *>(context), error_of_exception());
  });
  if (!fault_rules.empty()) faults = std::make_unique<MachineFaults>(*this, fault_rules);
}

System::~System() {
  faults.reset();
  driver_slot.retire();
}

bool System::serves(int slot) const noexcept { return Service::all().serves(slot); }

std::unique_ptr<mock::AnyReceiver> System::make_receiver(int slot) { return Service::make(*this, slot); }

constinit thread_local Thread::Last Thread::last;

Thread &System::find_thread() {
  Thread &thread = of_this_thread()[number];
  if (thread.number == 0) thread.number = ++last_thread;
  Thread::last = {number, &thread};
  return thread;
}

Context &System::make_context(Device &device, unsigned flags) {
  auto context = std::make_unique<Context>();
  context->device = &device;
  context->id = ++last_id;
  context->flags = flags;
  context->limits = {device.profile.limits.begin(), device.profile.limits.end()};
  context->coredump = coredump;
  return handles.add(std::move(context));
}

void System::destroy_context(Context &context) {
  context.is_alive = false;
  context.ending = 0;
  context.fault = CUDA_SUCCESS;
  std::vector<Allocation *> allocations;
  memory.for_each([&](Allocation &allocation) {
    if (allocation.context == &context) allocations.push_back(&allocation);
  });
  for (Allocation *allocation : allocations) release(*allocation);
  for (Stream *const stream : context.streams) {
    leave_capture(*this, *stream);
    handles.erase(*stream);
  }
  for (const auto &[thread, stream] : context.per_thread) leave_capture(*this, *stream);
  while (const Object *const object = context.objects.first()) handles.erase(*object);
  while (!context.modules.empty()) destroy_module(*this, **context.modules.begin());
  context.streams.clear();
  context.per_thread.clear();
  context.legacy.reset();
  context.pending_tails.clear();
  context.awaited.clear();
  for (Context *const peer : context.peers) peer->peer_of.erase(&context);
  for (Context *const other : context.peer_of) other->peers.erase(&context);
  context.peers.clear();
  context.peer_of.clear();
  observe_complete(context);  // the call has waited for the context
  // A primary context keeps its handle. Other contexts are kept for threads that have them on their stacks.
  if (!context.is_primary) keep_ended(handles.take(context));
}

// Removes contexts that are on no stack once the number of contexts has doubled since the last sweep.
void System::keep_ended(std::unique_ptr<Context> context) {
  const auto is_on_no_stack = [](const auto &ended) { return ended->entries.use_count() == 1; };
  if (ended_contexts.size() >= ended_contexts_swept_at) {
    std::erase_if(ended_contexts, is_on_no_stack);
    ended_contexts_swept_at = std::max<std::size_t>(32, 2 * ended_contexts.size());
  }
  ended_contexts.push_back(std::move(context));
}

void System::release(Allocation &allocation) {
  Pool *const pool = allocation.pool;
  if (pool == nullptr) return memory.release(allocation);
  const bool gives_range = !allocation.is_freed && allocation.imported == nullptr;
  if (gives_range) release_to_pool(PoolRanges::make_node(), allocation, nullptr);
  memory.release(allocation);
  --pool->allocations;
  if (pool->is_destroyed)
    end_pool_if_unused(*pool);
  else if (gives_range)
    release_beyond_threshold(*pool);
}

void System::lose_context(Context &context, CUresult fault) {
  if (!context.is_alive && context.ending == 0) return;
  context.fault = fault;
  if (context.is_primary) context.device->fault = fault;
  engine.abandon(&context, context.works(), fault);
}

void System::lose_device(Device &device, CUresult fault) {
  device.fault = fault;
  handles.for_each<Context>([&](Context &context) {
    if (context.device == &device) lose_context(context, fault);
  });
}

void System::report_not_implemented(int slot) {
  const std::lock_guard lock(mutex);
  ++calls[static_cast<std::size_t>(slot)];
  if (!not_implemented.insert(slot).second) return;
  std::fprintf(stderr,
               "cushim[sim]: %s is not implemented by the simulated driver; it returns "
               "CUDA_ERROR_NOT_SUPPORTED (801)\n",
               cushim_entry(slot)->symbol);
}

}  // namespace cushim::sim
