// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "inside.hpp"
#include "lookup.hpp"
#include "others.hpp"
#include "receive.hpp"

namespace cushim {
inline namespace v1 {
namespace mock {
namespace {

void print_call_after_end(const char *symbol, const char *driver) {
  std::fprintf(stderr,
               "cushim: %s was called on the %s, which has ended; it returned CUDA_ERROR_DEINITIALIZED\n",
               symbol, driver);
}

std::atomic<Frame::Report> report{print_call_after_end};

// What the shim asks for while it makes the driver of a frame.
struct Resolution {
  const Frame &frame;
  const Owner &owner;
  int version;
  int next = 0;  // the shim goes through the list in order

  Function resolve(const char *symbol) {
    int slot = next < cushim_entry_count() ? next : 0;
    if (std::strcmp(cushim_entry(slot)->symbol, symbol) != 0) slot = cushim_find_symbol(symbol);
    next = slot + 1;
    return is_in_release(slot) && owner.serves(slot) ? frame.function(slot) : nullptr;
  }

  bool is_in_release(int slot) const { return cushim_entry(slot)->version <= version; }
};

}  // namespace

constinit Pool *made_pool = nullptr;

Pool &pool() {
  static Pool &pool = *(made_pool = new Pool);
  return pool;
}

Function Frame::function(int slot) const noexcept {
  return slot >= 0 && slot < CUSHIM_ENTRY_COUNT ? frame_function(number(), slot) : nullptr;
}

// The pool's lock is held.
Frame &Frame::free_frame(const std::string &name) {
  InsideCounts::before_frames_are_taken();
  Frame *best = nullptr;
  for (Frame &frame : pool().frames)
    if (!frame.in_use_ && (best == nullptr || frame.retired_at_ < best->retired_at_)) best = &frame;
  if (best != nullptr) return *best;
  std::string text = "cushim: no frame is left for the " + name + ". All " + std::to_string(kCount) +
                     " in-process drivers are in use:";
  for (const Frame &frame : pool().frames) text += (&frame == pool().frames ? " " : ", ") + frame.name_;
  throw PoolExhausted(text + ". End one of them, or hook fewer drivers.");
}

// Finds or makes the driver of this name and version; one that lived here before has the same functions.
void Frame::set_driver(const Owner &owner, const std::string &name, int version) {
  for (Driver *one : drivers_)
    if (one->name() == name && one->version() == version) {
      driver_ = one;
      return;
    }
  Resolution resolution{*this, owner, version};
  driver_ = &Driver::from_functions(
      name.c_str(), version,
      [](void *data, const char *symbol) { return static_cast<Resolution *>(data)->resolve(symbol); },
      &resolution);
  drivers_.push_back(driver_);
  // A call of what the owner does not serve is its to answer all the same.
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
    if (resolution.is_in_release(slot) && !owner.serves(slot)) cushim_overlay(driver_, slot, function(slot));
}

Frame &Frame::take(Owner &owner, const std::string &name, int version) {
  if (owner.is_of_program()) {
    [[maybe_unused]] static const bool warned = (warn_of_others(), true);
  }
  const std::lock_guard lock(pool().mutex);
  Frame &frame = free_frame(name);
  const std::lock_guard frame_lock(frame.mutex_);
  frame.set_driver(owner, name, version);
  frame.name_ = name;
  frame.owner_ = &owner;
  frame.in_use_ = true;
  frame.taken_ = true;
  return frame;
}

Frame &Frame::over(Driver &driver) {
  const std::lock_guard lock(pool().mutex);
  for (Frame &frame : pool().frames) {
    bool lived_here = false;
    for (const Driver *one : frame.drivers_) lived_here = lived_here || one == &driver;
    if (!lived_here) continue;
    if (!frame.taken_ || frame.driver_ != &driver)
      throw std::logic_error("cushim: the " + std::string(driver.name()) + " has ended");
    return frame;
  }
  if (const auto found = pool().over.find(&driver); found != pool().over.end()) return *found->second;
  const std::string name = "hooks on " + (driver.name().empty() ? "the driver" : std::string(driver.name()));
  Frame &frame = free_frame(name);
  {
    const std::lock_guard frame_lock(frame.mutex_);
    frame.name_ = name;
    frame.below_ = &driver;
    frame.driver_ = &driver;
  }
  answer_lookups_below(frame);
  frame.in_use_ = true;
  frame.taken_ = true;
  pool().over.emplace(&driver, &frame);
  return frame;
}

void Frame::retire() noexcept {
  if (Inside::here(*this) != 0) {
    std::fprintf(stderr, "cushim: the %s cannot end while this thread is in a call of it\n", name_.c_str());
    std::abort();
  }
  // Without the pool's lock: a call that is inside may need it to come to its end.
  taken_ = false;
  InsideCounts::wait_for_all(number());
  std::vector<std::unique_ptr<AnyReceiver>> ended;
  {
    const std::lock_guard lock(mutex_);
    for (std::atomic<AnyReceiver *> &receiver : receivers_)
      receiver.store(nullptr, std::memory_order_relaxed);
    ended.swap(kept_);
  }
  ended.clear();
  const std::lock_guard lock(pool().mutex);
  const std::lock_guard frame_lock(mutex_);
  owner_ = nullptr;
  in_use_ = false;
  retired_at_ = ++pool().retirements;
}

AnyReceiver *Frame::make_receiver(int slot) {
  const std::lock_guard lock(mutex_);
  return receiver_locked(slot);
}

AnyReceiver *Frame::receiver_locked(int slot) {
  if (receivers_[slot].load(std::memory_order_relaxed) == nullptr && owner_ != nullptr)
    put(slot, owner_->make_receiver(slot));
  return receivers_[slot].load(std::memory_order_relaxed);
}

void Frame::put(int slot, std::unique_ptr<AnyReceiver> receiver) {
  receivers_[slot].store(receiver.get(), std::memory_order_release);
  kept_.push_back(std::move(receiver));
}

Function Frame::own_function(int slot, CUresult &missing) {
  Function function = own_[slot].load(std::memory_order_acquire);
  if (function != nullptr) return function;
  function = cushim_own_function(below_, slot);
  if (function != nullptr)
    own_[slot].store(function, std::memory_order_release);
  else  // not for good: the default driver may be opened later
    missing = below_->version() == 0 ? CUDA_ERROR_SHARED_OBJECT_INIT_FAILED
                                     : CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
  return function;
}

CUresult Frame::refuse(int slot) {
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    name = name_;
  }
  report.load()(cushim_entry(slot)->symbol, name.c_str());
  return CUDA_ERROR_DEINITIALIZED;
}

void Frame::on_call_after_end(Report new_report) noexcept {
  report = new_report != nullptr ? new_report : print_call_after_end;
}

}  // namespace mock
}  // namespace v1
}  // namespace cushim
