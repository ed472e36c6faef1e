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

#include "handle_map.hpp"
#include "watch.hpp"

namespace cushim::check {

// A handle or a piece of memory.
struct Thing {
  Kind kind = Kind::none;  // none: memory
  const char *noun = "";   // "stream", "device memory"
  std::uint64_t value = 0;
  std::uint64_t bytes = 0;    // of memory
  std::uint64_t context = 0;  // that it belongs to
  unsigned count = 1;         // how often it was opened: memory of another process
  int made_by = 0;            // the row
  Place made_at{};
  int ended_by = -1;  // the row; -1 while it lives
  Place ended_at{};
  bool ended_with_context = false;
  bool is_reported = false;  // as leaked

  bool is_alive() const noexcept { return ended_by < 0; }
  bool is_memory() const noexcept { return kind == Kind::none; }
  // "event 0x7f10", "device memory 0x7f00 of 4096 bytes"
  std::string in_words() const;
};

// The n-th time that a device's primary context was retained.
struct Retain {
  int device;
  std::uint64_t context;
  int by;
  Place at;
  bool was_reset = false;  // since, and not retained again: nothing is left to be released
};

// What a row does to lives.
struct Deed {
  enum class Act : std::uint8_t { none, makes, opens, ends, retains, releases, resets };
  Act act = Act::none;
  std::uint8_t subject = 0;      // which argument
  const char *memory = nullptr;  // the noun, where it is memory
  bool changes_current = false;  // the thread's current context
};
const Deed &deed_of(int slot);

class Ledger final : public Watcher {
 public:
  using Things = std::vector<std::shared_ptr<Thing>>;

  // Looks at calls that are about to end or use something, under the ledger's lock.
  class Judge {
   public:
    virtual ~Judge() = default;
    virtual void judge(WatchedCall &call) = 0;  // may answer
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

  // With what has ended lately, while there are judges. Null if it is not known.
  Thing *find(std::uint64_t handle) const;
  Thing *find_memory(std::uint64_t address) const;
  void forget_memory(const Thing &thing) { memory_.erase(thing.value); }
  // The thread's current context. Calls the driver if that may have changed.
  std::uint64_t current();

  Things living() const;
  std::vector<Retain> retains() const;

  Driver &driver;
  mutable mock::Mutex mutex;  // over find(), find_memory() and forget_memory()

 private:
  void make(const WatchedCall &call, const Deed &deed);
  void end(WatchedCall &call, const Deed &deed, const Place &at);
  void revive(WatchedCall &call);
  void bury(const std::shared_ptr<Thing> &thing);
  void forget(const std::shared_ptr<Thing> &thing);
  void add(std::shared_ptr<Thing> thing);
  Things members_of(std::uint64_t context) const;
  void end_members(WatchedCall &call, std::uint64_t context, const Place &at);
  void note_primary(const WatchedCall &call, const Deed &deed);
  void bereave(const Things &left, const WatchedCall &by);

  static constexpr std::size_t kEndedKept = 1024;

  const std::uint64_t id_;
  const Deed *const deeds_ = &deed_of(0);  // by row
  HandleMap<std::shared_ptr<Thing>> handles_;
  std::map<std::uint64_t, std::shared_ptr<Thing>> memory_;  // by first address
  Things ended_{kEndedKept};                                // the last ones, in a ring
  std::size_t buried_ = 0;                                  // how many ended
  std::vector<Retain> retains_;
  std::vector<Judge *> judges_;
  std::atomic<bool> has_judges_{false};
  std::vector<Heir *> heirs_;
  std::vector<hook::Hook> hooks_;  // last: no call is inside when the rest goes
};

}  // namespace cushim::check
