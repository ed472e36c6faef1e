// SPDX-License-Identifier: Apache-2.0
// The pool of in-process drivers. A C function pointer has no `this`, so the pool has a fixed number of
// frames, each with a function of its own for every entry point, made at compile time. What a call
// does that comes in by one of these functions is decided at run time, by whoever has taken the frame.
#pragma once

#include <cushim/driver.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace cushim {
inline namespace v1 {
namespace mock {

using Function = void (*)();

class HookStack;

// Answers the calls of one entry that come in by one frame.
class AnyReceiver {
 public:
  virtual ~AnyReceiver() = default;
  // The hooks that this receiver runs; null if it is no receiver of hooks (cushim/mock/hook.hpp).
  virtual HookStack *hooks() noexcept { return nullptr; }
};

template <class Signature>
class Receiver;

template <class... Arguments>
class Receiver<CUresult(Arguments...)> : public AnyReceiver {
 public:
  virtual CUresult receive(Arguments... arguments) = 0;
};

// Whoever takes a frame to be a driver.
class Owner {
 public:
  virtual ~Owner() = default;
  // Whether the driver is to have this row. A call of one that it does not have still comes in by the table,
  // but supports() and lookups say no.
  virtual bool serves(int) const noexcept { return true; }
  // Whether the driver is one of the program's own, which then is told whom it does not reach.
  virtual bool is_of_program() const noexcept { return true; }
  // A Receiver of the type of this row, which these headers can type. Called once a row, when its first
  // call comes in or something is to be set up for it; one call at a time.
  virtual std::unique_ptr<AnyReceiver> make_receiver(int slot) = 0;
};

// No frame is left. what() names who has them.
class PoolExhausted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// All functions may be called from any thread.
class Frame {
 public:
  static constexpr int kCount = 16;

  // Takes a free frame as a driver of this name that serves CUDA `version` (12040 is 12.4). Of the free
  // frames it is the one retired longest ago, so that late calls to an ended driver are found out for
  // as long as possible. The owner must stay until it has retired the frame. Throws PoolExhausted.
  static Frame &take(Owner &owner, const std::string &name, int version);

  // The frame that calls of this driver can be led through: its own if it lives in a frame, else one
  // that is taken for it, for good, since pointers into it may have been looked up. Throws
  // PoolExhausted, and std::logic_error if the driver lived in a frame and has ended.
  static Frame &over(Driver &driver);

  // Ends what take() began: from now on calls return CUDA_ERROR_DEINITIALIZED and are reported. Waits
  // for the calls that are inside; a thread that is inside itself cannot retire: the program ends.
  void retire() noexcept;

  // The driver that lives in this frame, or that was given to over().
  Driver &driver() const noexcept { return *driver_; }

  // The frame's function for a row; null if these headers cannot type it.
  Function function(int slot) const noexcept;

  // Whether the driver lives here; else its own functions lie below the frame's.
  bool is_home() const noexcept { return below_ == nullptr; }

  // What answers a row's calls. Made if need be; null if nothing stands before the driver's own function.
  AnyReceiver *receiver(int slot) {
    AnyReceiver *const found = receivers_[slot].load(std::memory_order_acquire);
    return found != nullptr || below_ != nullptr ? found : make_receiver(slot);
  }

  // Puts a receiver of the row's type before the one that is there, which must stay usable: calls may be
  // inside. Both end with retire(). make gets the present receiver, or null as above.
  template <class Make>
  void cover(int slot, Make make) {
    const std::lock_guard lock(mutex_);
    put(slot, make(receiver_locked(slot)));
  }

  // Calls what the driver below has itself. Error codes as the table's if it lacks it.
  template <class... Arguments>
  CUresult call_below(int slot, Arguments... arguments) {
    using Own = CUresult(CUDAAPI *)(Arguments...);
    CUresult missing = CUDA_ERROR_UNKNOWN;
    const Function function = own_function(slot, missing);
    return function != nullptr ? reinterpret_cast<Own>(function)(arguments...) : missing;
  }

  // Is told of every call to an ended driver; prints it to stderr at first. Null restores that.
  using Report = void (*)(const char *symbol, const char *driver);
  static void on_call_after_end(Report report) noexcept;

  Frame() = default;
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

 private:
  class Inside;
  template <class... Arguments>
  friend CUresult receive(unsigned where, Arguments... arguments);

  static Frame &free_frame(const std::string &name);
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

  Driver *below_ = nullptr;   // set once, before the frame is reachable
  Driver *driver_ = nullptr;  // does not change while the frame is taken

  std::mutex mutex_;  // over what follows
  Owner *owner_ = nullptr;
  std::vector<std::unique_ptr<AnyReceiver>> kept_;
  std::string name_;

  // Under the pool's lock.
  bool in_use_ = false;            // also while it retires
  std::vector<Driver *> drivers_;  // all that ever lived here; drivers are never freed
  unsigned long retired_at_ = 0;
};

}  // namespace mock
}  // namespace v1
}  // namespace cushim
