// SPDX-License-Identifier: Apache-2.0
// What lives on a driver: all handles and memory that calls made and have not ended, where that was, and, for
// whoever judges calls, what ended lately. Filled from the calls alone, so it knows nothing of what was made
// before it or past cushim.
#pragma once

#include <cushim/check/place.hpp>
#include <cushim/mock/mutex.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "deed.hpp"
#include "handle_map.hpp"
#include "watch.hpp"

namespace cushim::check {

// The n-th time that a device's primary context was retained.
struct Retain {
  int device;
  std::uint64_t context;
  int by;
  Place at;
  bool was_reset = false;  // since, and not retained again: nothing is left to be released
};

class Ledger final : public Watcher {
 public:
  using Things = std::vector<Thing>;

  // Looks at calls that are about to end something, under the ledger's lock. The subject is what is known by
  // the handle, or to begin at the address; null if nothing is.
  class Judge {
   public:
    virtual ~Judge() = default;
    virtual void judge_end(WatchedCall &call, const Deed &deed, const Thing *subject) = 0;  // may answer
  };
  // Hears of what was alive when its context ended.
  class Heir {
   public:
    virtual ~Heir() = default;
    virtual void bereave(const Things &left, const WatchedCall &by, const Place &at) = 0;
  };

  // The one of this driver; a new one if it has none at the moment.
  static std::shared_ptr<Ledger> of(Driver &driver);
  explicit Ledger(Driver &driver);

  void before(WatchedCall &call) override;
  void after(WatchedCall &call, CUresult result) override;

  void add(Judge &judge);
  void remove(Judge &judge);
  void add(Heir &heir);
  void remove(Heir &heir);

  // With what has ended lately, while there are judges. Null if it is not known. Until the lock is let go.
  const Thing *find(std::uint64_t handle) const noexcept { return handles_.find(handle); }
  const Thing *find_memory(std::uint64_t address) const;
  // The thread's current context. Calls the driver if that may have changed.
  std::uint64_t current();

  // Those that live and were not told before.
  Things tell_living();
  std::vector<Retain> retains() const;

  Driver &driver;
  mutable mock::Mutex mutex;  // over find() and find_memory()

 private:
  void make(const WatchedCall &call, const Deed &deed);
  void end(WatchedCall &call, Thing *thing, const Argument &subject, const Place &at);
  void revive(WatchedCall &call);
  void mark_ended(Thing &thing, const WatchedCall &by, const Place &at);
  void bury(Thing &thing);
  template <class IsIt>
  void forget(std::uint64_t value, bool is_memory, IsIt is_it);
  // Memory: that begins there.
  Thing *known(std::uint64_t value, bool is_memory) {
    return is_memory ? known_memory(value) : handles_.find(value);
  }
  Thing *known_memory(std::uint64_t address);
  Thing &place_of_memory(std::uint64_t address, std::uint64_t bytes);
  void add(const Thing &thing);
  template <class Visit>
  void for_each_living(Visit visit);
  void end_members(WatchedCall &call, std::uint64_t context, const Place &at);
  void note_primary(const WatchedCall &call, const Deed &deed);
  void bereave(const Things &left, const WatchedCall &by);

  // Where something lies that has ended, unless something new has its place.
  struct Grave {
    std::uint64_t value = 0;
    bool is_memory = false;
  };
  static constexpr unsigned kEndedKept = 1024;

  const std::uint64_t id_;
  const Deed *const deeds_ = &deed_of(0);  // by row
  HandleMap<Thing> handles_;
  std::map<std::uint64_t, Thing> memory_;  // by first address
  std::vector<Grave> graves_{kEndedKept};  // of the last that ended, in a ring
  unsigned buried_ = 0;                    // how many ended
  std::vector<Retain> retains_;
  std::vector<Judge *> judges_;
  std::atomic<bool> has_judges_{false};
  std::vector<Heir *> heirs_;
  std::vector<hook::Hook> hooks_;  // last: no call is inside when the rest goes
};

}  // namespace cushim::check
