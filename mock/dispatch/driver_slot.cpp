// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cushim/detail/lookup.hpp>
#include "bypassing_files.hpp"
#include "inside.hpp"
#include "receive.hpp"

namespace cushim::mock {
namespace {

void print_call_after_end(const char *symbol, const char *driver) {
  std::fprintf(
      stderr,
      "cushim: %s was called on the %s, which was destroyed; it returned CUDA_ERROR_DEINITIALIZED (4)\n",
      symbol, driver);
}

std::atomic<DriverSlot::Report> report{print_call_after_end};

// Resolves symbols while the shim makes the driver of a driver slot.
struct Resolution {
  const DriverSlot &driver_slot;
  const Owner &owner;
  int version;
  int next = 0;  // the shim resolves symbols in list order

  Function resolve(const char *symbol) {
    int slot = next < cushim_entry_count() ? next : 0;
    if (std::strcmp(cushim_entry(slot)->symbol, symbol) != 0) slot = cushim_find_symbol(symbol);
    next = slot + 1;
    return is_in_release(slot) && owner.serves(slot) ? driver_slot.function(slot) : nullptr;
  }

  bool is_in_release(int slot) const { return cushim_entry(slot)->version <= version; }
};

}  // namespace

constinit Pool *made_pool = nullptr;

Pool &pool() {
  static Pool &pool = *(made_pool = new Pool);
  return pool;
}

Function DriverSlot::function(int slot) const noexcept {
  return slot >= 0 && slot < CUSHIM_ENTRY_COUNT ? function_of(number(), slot) : nullptr;
}

// Requires the pool's mutex.
DriverSlot &DriverSlot::free_driver_slot(const std::string &name) {
  InsideCounts::before_driver_slots_are_taken();
  DriverSlot *best = nullptr;
  for (DriverSlot &driver_slot : pool().driver_slots)
    if (!driver_slot.in_use_ && (best == nullptr || driver_slot.retired_at_ < best->retired_at_))
      best = &driver_slot;
  if (best != nullptr) return *best;
  std::string text = "cushim: no free driver slot for the " + name + ". All " + std::to_string(kCount) +
                     " in-process drivers are in use:";
  for (const DriverSlot &driver_slot : pool().driver_slots)
    text += (&driver_slot == pool().driver_slots ? " " : ", ") + driver_slot.name_;
  throw PoolExhausted(text + ". Destroy one of them, or hook fewer drivers.");
}

// Sets driver_ to the driver of this name and version; reuses one that was in this slot before, as its
// functions are the same.
void DriverSlot::set_driver(const Owner &owner, const std::string &name, int version) {
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
  // Calls of entry points that the owner does not serve still reach the owner.
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
    if (resolution.is_in_release(slot) && !owner.serves(slot)) cushim_overlay(driver_, slot, function(slot));
}

DriverSlot &DriverSlot::take(Owner &owner, const std::string &name, int version) {
  if (owner.is_of_program()) {
    [[maybe_unused]] static const bool warned = (warn_about_bypasses(), true);
  }
  const std::lock_guard lock(pool().mutex);
  DriverSlot &driver_slot = free_driver_slot(name);
  const std::lock_guard slot_lock(driver_slot.mutex_);
  driver_slot.set_driver(owner, name, version);
  driver_slot.name_ = name;
  driver_slot.owner_ = &owner;
  driver_slot.in_use_ = true;
  driver_slot.taken_ = true;
  return driver_slot;
}

DriverSlot &DriverSlot::over(Driver &driver) {
  const std::lock_guard lock(pool().mutex);
  for (DriverSlot &driver_slot : pool().driver_slots) {
    bool lived_here = false;
    for (const Driver *one : driver_slot.drivers_) lived_here = lived_here || one == &driver;
    if (!lived_here) continue;
    if (!driver_slot.taken_ || driver_slot.driver_ != &driver)
      throw std::logic_error("cushim: the " + std::string(driver.name()) + " was destroyed");
    return driver_slot;
  }
  if (const auto found = pool().over.find(&driver); found != pool().over.end()) return *found->second;
  const std::string name = "hooks on " + (driver.name().empty() ? "the driver" : std::string(driver.name()));
  DriverSlot &driver_slot = free_driver_slot(name);
  {
    const std::lock_guard slot_lock(driver_slot.mutex_);
    driver_slot.name_ = name;
    driver_slot.below_ = &driver;
    driver_slot.driver_ = &driver;
  }
  answer_lookups_below(driver_slot);
  driver_slot.in_use_ = true;
  driver_slot.taken_ = true;
  pool().over.emplace(&driver, &driver_slot);
  return driver_slot;
}

void DriverSlot::retire() noexcept {
  if (Inside::here(*this) != 0) {
    std::fprintf(
        stderr,
        "cushim: the %s is destroyed by a thread that is inside one of its calls; the program aborts\n",
        name_.c_str());
    std::abort();
  }
  // Without the pool's mutex: a call in progress may need it to finish.
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
  const std::lock_guard slot_lock(mutex_);
  owner_ = nullptr;
  in_use_ = false;
  retired_at_ = ++pool().retirements;
}

AnyReceiver *DriverSlot::make_receiver(int slot) {
  const std::lock_guard lock(mutex_);
  return receiver_locked(slot);
}

AnyReceiver *DriverSlot::receiver_locked(int slot) {
  if (receivers_[slot].load(std::memory_order_relaxed) == nullptr && owner_ != nullptr)
    put(slot, owner_->make_receiver(slot));
  return receivers_[slot].load(std::memory_order_relaxed);
}

void DriverSlot::put(int slot, std::unique_ptr<AnyReceiver> receiver) {
  kept_.push_back(std::move(receiver));
  receivers_[slot].store(kept_.back().get(), std::memory_order_release);
}

Function DriverSlot::own_function(int slot, CUresult &missing) {
  Function function = own_[slot].load(std::memory_order_acquire);
  if (function != nullptr) return function;
  function = cushim_own_function(below_, slot);
  if (function != nullptr)
    own_[slot].store(function, std::memory_order_release);
  else  // not cached: the default driver may be opened later
    missing = below_->version() == 0 ? CUDA_ERROR_SHARED_OBJECT_INIT_FAILED
                                     : CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
  return function;
}

CUresult DriverSlot::refuse(int slot) {
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    name = name_;
  }
  report.load()(cushim_entry(slot)->symbol, name.c_str());
  return CUDA_ERROR_DEINITIALIZED;
}

void DriverSlot::on_call_after_end(Report new_report) noexcept {
  report = new_report != nullptr ? new_report : print_call_after_end;
}

}  // namespace cushim::mock
