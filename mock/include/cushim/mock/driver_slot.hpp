// SPDX-License-Identifier: Apache-2.0
// The pool of in-process drivers. A C function pointer has no `this`, so the pool has a fixed number of
// driver slots, each with its own function for every entry point, generated at compile time. The owner of
// the driver slot decides at run time what a call of these functions does.
#pragma once

#include <cushim/driver.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace cushim::mock {

// A function of the driver, with its type erased.
using Function = void (*)();

class HookStack;

// Handles the calls of one entry point that arrive through one driver slot.
class AnyReceiver {
 public:
  virtual ~AnyReceiver() = default;
  // Returns the hooks that this receiver runs; null if it has none (cushim/mock/hook.hpp).
  virtual HookStack *hooks() noexcept { return nullptr; }
};

template <class Signature>
class Receiver;

template <class... Arguments>
class Receiver<CUresult(Arguments...)> : public AnyReceiver {
 public:
  // Handles a call and returns its result.
  virtual CUresult receive(Arguments... arguments) = 0;
};

// The implementation of a driver in a driver slot.
class Owner {
 public:
  virtual ~Owner() = default;
  // Returns whether the driver has this entry point. If not, supports() and lookups say so, but a call
  // through the table still reaches the owner.
  virtual bool serves(int) const noexcept { return true; }
  // Returns whether the program created this driver. If so, a warning names the libraries that it does not
  // reach.
  virtual bool is_of_program() const noexcept { return true; }
  // Creates the Receiver for an entry point, whose types the CUDA headers have. Called once for each entry
  // point, when its first call arrives or it is first configured; calls are serialized.
  virtual std::unique_ptr<AnyReceiver> make_receiver(int slot) = 0;
};

// Thrown if no driver slot is free. what() lists the owners of all slots.
class PoolExhausted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One driver slot. Thread-safe.
class DriverSlot {
 public:
  static constexpr int kCount = 16;

  // Takes a free driver slot for a driver of this name and CUDA version (12040 is 12.4). Chooses the slot
  // that was retired longest ago, so that late calls to an ended driver are detected for as long as
  // possible. The owner must outlive the slot's retirement. Throws PoolExhausted.
  static DriverSlot &take(Owner &owner, const std::string &name, int version);

  // Returns the driver slot through which calls of this driver can be routed: the driver's own slot if it
  // is in-process, else a slot that is taken for it permanently, since programs may keep pointers into the
  // slot. Throws PoolExhausted, and std::logic_error if the driver was in-process and has ended.
  static DriverSlot &over(Driver &driver);

  // Ends what take() began: from now on calls return CUDA_ERROR_DEINITIALIZED and are reported. Waits for
  // calls in progress. Called inside a call of this driver, it aborts the program.
  void retire() noexcept;

  // Returns the driver of this slot, or the one that was passed to over().
  Driver &driver() const noexcept { return *driver_; }

  // Returns the driver slot's function for an entry point; null if the CUDA headers lack its types.
  Function function(int slot) const noexcept;

  // Returns whether the driver is implemented in this slot; false if the slot forwards to another driver.
  bool is_home() const noexcept { return below_ == nullptr; }

  // Returns the receiver of an entry point, creating it if needed; null if calls go straight to the driver
  // below.
  AnyReceiver *receiver(int slot) {
    AnyReceiver *const found = receivers_[slot].load(std::memory_order_acquire);
    return found != nullptr || below_ != nullptr ? found : make_receiver(slot);
  }

  // Puts a receiver of the entry point's type in front of the present one, which must stay usable: calls
  // may be inside it. Both are destroyed by retire(). `make` gets the present receiver, or null as above.
  template <class Make>
  void cover(int slot, Make make) {
    const std::lock_guard lock(mutex_);
    put(slot, make(receiver_locked(slot)));
  }

  // Calls the driver below. If it lacks the function, returns the same error codes as the table.
  template <class... Arguments>
  CUresult call_below(int slot, Arguments... arguments) {
    using Own = CUresult(CUDAAPI *)(Arguments...);
    CUresult missing = CUDA_ERROR_UNKNOWN;
    const Function function = own_function(slot, missing);
    return function != nullptr ? reinterpret_cast<Own>(function)(arguments...) : missing;
  }

  // Sets the function that is called for each call to an ended driver. Default, and for null: prints it to
  // stderr.
  using Report = void (*)(const char *symbol, const char *driver);
  static void on_call_after_end(Report report) noexcept;

  DriverSlot() = default;
  DriverSlot(const DriverSlot &) = delete;
  DriverSlot &operator=(const DriverSlot &) = delete;

 private:
  class Inside;
  template <class... Arguments>
  friend CUresult receive(unsigned where, Arguments... arguments);

  static DriverSlot &free_driver_slot(const std::string &name);
  int number() const noexcept;
  AnyReceiver *make_receiver(int slot);
  AnyReceiver *receiver_locked(int slot);
  void put(int slot, std::unique_ptr<AnyReceiver> receiver);
  Function own_function(int slot, CUresult &missing);
  CUresult refuse(int slot);
  void set_driver(const Owner &owner, const std::string &name, int version);

  std::atomic<bool> taken_{false};
  std::atomic<AnyReceiver *> receivers_[CUSHIM_ENTRY_COUNT]{};
  std::atomic<Function> own_[CUSHIM_ENTRY_COUNT]{};

  Driver *below_ = nullptr;   // set once, before the driver slot is reachable
  Driver *driver_ = nullptr;  // does not change while the driver slot is taken

  std::mutex mutex_;  // guards the members below
  Owner *owner_ = nullptr;
  std::vector<std::unique_ptr<AnyReceiver>> kept_;
  std::string name_;

  // Guarded by the pool's mutex.
  bool in_use_ = false;            // also during retire()
  std::vector<Driver *> drivers_;  // every driver that was ever in this slot; drivers are never freed
  unsigned long retired_at_ = 0;
};

}  // namespace cushim::mock
