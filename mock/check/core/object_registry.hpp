// SPDX-License-Identifier: Apache-2.0
// The registry of the objects of a driver: all handles and memory that calls created and have not
// destroyed, with the call stack of the creation, and recently destroyed objects while a validator is
// registered. Filled from observed calls alone, so it does not know objects that are older or that bypass
// cushim.
#pragma once

#include <cushim/check/call_stack.hpp>
#include <cushim/mock/mutex.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/handle_map.hpp"
#include "core/lifetime_effect.hpp"
#include "core/watch.hpp"

namespace cushim::check {

// One retain of a device's primary context.
struct Retain {
  int device;
  std::uint64_t context;
  int by;
  CallStack at;
  bool was_reset = false;  // reset since, and not retained again: nothing is left to release
};

class ObjectRegistry final : public Watcher {
 public:
  using TrackedObjects = std::vector<TrackedObject>;

  // Inspects each call that is about to destroy an object, while the registry's lock is held. `subject` is
  // the object with that handle, or the memory that begins at that address; null if unknown.
  class DestroyValidator {
   public:
    virtual ~DestroyValidator() = default;
    virtual void before_destroy(WatchedCall &call, const LifetimeEffect &effect,
                                const TrackedObject *subject) = 0;  // may set call.answer
  };
  // Receives the objects that were alive when their context ended.
  class DestroyListener {
   public:
    virtual ~DestroyListener() = default;
    virtual void on_context_destroyed(const TrackedObjects &left, const WatchedCall &by,
                                      const CallStack &at) = 0;
  };

  // Returns the registry of this driver; creates it if it has none at the moment.
  static std::shared_ptr<ObjectRegistry> of(Driver &driver);
  explicit ObjectRegistry(Driver &driver);

  void before(WatchedCall &call) override;
  void after(WatchedCall &call, CUresult result) override;

  void add(DestroyValidator &validator);
  void remove(DestroyValidator &validator);
  void add(DestroyListener &listener);
  void remove(DestroyListener &listener);

  // Returns the object; null if unknown. Includes recently destroyed objects while a validator is registered.
  // The pointer is valid while the lock is held.
  const TrackedObject *find(std::uint64_t handle) const noexcept { return handles_.find(handle); }
  const TrackedObject *find_memory(std::uint64_t address) const;
  // Returns the thread's current context. Calls the driver if it may have changed.
  std::uint64_t current();

  // Returns the living objects that no earlier call has returned.
  TrackedObjects take_unreported_living();
  std::vector<Retain> retains() const;

  Driver &driver;
  mutable mock::Mutex mutex;  // guards find() and find_memory()

 private:
  // Returns the context that the call's new object ends with; 0 if the object belongs to none.
  std::uint64_t context_of_new(int slot);
  void make(const WatchedCall &call, const LifetimeEffect &effect);
  void end(WatchedCall &call, TrackedObject *thing, const Argument &subject, const CallStack &at);
  void revive(WatchedCall &call);
  void mark_ended(TrackedObject &thing, const WatchedCall &by, const CallStack &at);
  void keep_tombstone(TrackedObject &thing);
  template <class IsIt>
  void forget(std::uint64_t value, bool is_memory, IsIt is_it);
  // For memory: the allocation that begins at `value`.
  TrackedObject *known(std::uint64_t value, bool is_memory) {
    return is_memory ? known_memory(value) : handles_.find(value);
  }
  TrackedObject *known_memory(std::uint64_t address);
  TrackedObject &place_of_memory(std::uint64_t address, std::uint64_t bytes);
  void add(const TrackedObject &thing);
  template <class Visit>
  void for_each_alive(Visit visit);
  void end_members(WatchedCall &call, std::uint64_t context, const CallStack &at);
  void end_mappings(WatchedCall &call, std::uint64_t address, const CallStack &at);
  void note_primary(const WatchedCall &call, const LifetimeEffect &effect);
  void on_context_destroyed(const TrackedObjects &left, const WatchedCall &by);

  // The handle or address of a destroyed object; a new object may have the same one.
  struct Tombstone {
    std::uint64_t value = 0;
    bool is_memory = false;
  };
  static constexpr unsigned kEndedKept = 1024;

  const std::uint64_t id_;
  const LifetimeEffect *const effects_ = &lifetime_effect_of(0);  // by slot
  HandleMap<TrackedObject> handles_;
  std::map<std::uint64_t, TrackedObject> memory_;  // by first address
  std::vector<Tombstone> tombstones_{kEndedKept};  // ring of the objects destroyed last
  unsigned destroyed_count_ = 0;                   // number of destroyed objects
  std::vector<Retain> retains_;
  std::vector<DestroyValidator *> destroy_validators_;
  std::atomic<bool> has_destroy_validators_{false};
  std::vector<DestroyListener *> destroy_listeners_;
  // last member: removed first, so that no call is inside when the rest is destroyed
  std::vector<hook::Hook> hooks_;
};

}  // namespace cushim::check
