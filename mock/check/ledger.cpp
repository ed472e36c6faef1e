// SPDX-License-Identifier: Apache-2.0
#include "ledger.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

namespace cushim::check {
namespace {

// Null where the size stands in no argument.
std::uint64_t bytes_of(const WatchedCall &call) {
  const std::string_view base = cushim_entry(call.slot)->base;
  if (base == "cuMemAllocPitch") return call.arguments[1].written() * call.arguments[3].bits;
  return call.arguments[1].type == Argument::Type::number ? call.arguments[1].bits : 0;
}

}  // namespace

std::shared_ptr<Ledger> Ledger::of(Driver &driver) {
  static auto &mutex = *new std::mutex;
  static auto &ledgers = *new std::map<Driver *, std::weak_ptr<Ledger>>;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Ledger> &kept = ledgers[&driver];
  std::shared_ptr<Ledger> ledger = kept.lock();
  if (ledger == nullptr) kept = ledger = std::make_shared<Ledger>(driver);
  return ledger;
}

Ledger::Ledger(Driver &driver)
    : driver(driver), id_([] {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
      }()) {
  hooks_ = watch(driver, *this, [](int slot) {
    return deed_of(slot).act != Deed::Act::none || deed_of(slot).changes_current;
  });
}

namespace {
struct Current {
  std::uint64_t ledger = 0;  // whose; 0 if it may have changed
  std::uint64_t context = 0;
};
thread_local Current current_of_thread;
}  // namespace

std::uint64_t Ledger::current() {
  if (current_of_thread.ledger != id_) {
    CUcontext context = nullptr;
    if (driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS) return 0;
    current_of_thread = {id_, reinterpret_cast<std::uintptr_t>(context)};
  }
  return current_of_thread.context;
}

void Ledger::add(Judge &judge) {
  const std::lock_guard lock(mutex);
  judges_.push_back(&judge);
  has_judges_ = true;
}
void Ledger::remove(Judge &judge) {
  const std::lock_guard lock(mutex);
  std::erase(judges_, &judge);
  has_judges_ = !judges_.empty();
}
void Ledger::add(Heir &heir) {
  const std::lock_guard lock(mutex);
  heirs_.push_back(&heir);
}
void Ledger::remove(Heir &heir) {
  const std::lock_guard lock(mutex);
  std::erase(heirs_, &heir);
}

const Thing *Ledger::find_memory(std::uint64_t address) const {
  auto next = memory_.upper_bound(address);
  if (next == memory_.begin()) return nullptr;
  const Thing &thing = (--next)->second;
  return address - thing.value < std::max<std::uint64_t>(thing.bytes, 1) ? &thing : nullptr;
}

Thing *Ledger::known_memory(std::uint64_t address) {
  const auto found = memory_.find(address);
  return found != memory_.end() ? &found->second : nullptr;
}

// In the order of their values, handles first.
template <class Visit>
void Ledger::for_each_living(Visit visit) {
  std::vector<Thing *> things;
  handles_.for_each([&](Thing &thing) { things.push_back(&thing); });
  std::ranges::sort(things, {}, [](const Thing *thing) { return thing->value; });
  for (auto &[value, thing] : memory_) things.push_back(&thing);
  for (Thing *thing : things)
    if (thing->is_alive()) visit(*thing);
}

Ledger::Things Ledger::tell_living() {
  const std::lock_guard lock(mutex);
  Things living;
  for_each_living([&](Thing &thing) {
    if (!std::exchange(thing.is_reported, true)) living.push_back(thing);
  });
  return living;
}

std::vector<Retain> Ledger::retains() const {
  const std::lock_guard lock(mutex);
  return retains_;
}

// What ends is marked before the call: once the driver has ended it, another thread may be given the same
// handle.
void Ledger::before(WatchedCall &call) {
  const Deed &deed = deeds_[call.slot];
  if (deed.act != Deed::Act::ends) return;
  const Argument &subject = call.arguments[deed.subject];
  // The end of a context is told with its place in any case.
  const Place at = has_judges_ || subject.kind == Kind::context ? Place::of_call() : Place{};
  const std::lock_guard lock(mutex);
  Thing *const thing = known(subject.bits, deed.memory != nullptr);
  for (Judge *judge : judges_) {
    judge->judge_end(call, deed, thing);
    if (call.answer) return;
  }
  end(call, thing, subject, at);
}

void Ledger::after(WatchedCall &call, CUresult result) {
  const Deed &deed = deeds_[call.slot];
  if (deed.changes_current) current_of_thread.ledger = 0;
  if (result != CUDA_SUCCESS) return revive(call);
  switch (deed.act) {
    case Deed::Act::makes:
    case Deed::Act::opens:
      return make(call, deed);
    case Deed::Act::ends:
      return bereave(call.ended_with_it, call);
    case Deed::Act::retains:
    case Deed::Act::releases:
    case Deed::Act::resets:
      return note_primary(call, deed);
    case Deed::Act::none:
      return;
  }
}

// What was there before is gone.
Thing &Ledger::place_of_memory(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + std::max<std::uint64_t>(bytes, 1);
  auto there = memory_.lower_bound(address);
  if (there != memory_.begin())
    if (const auto before = std::prev(there); before->first + before->second.bytes > address) there = before;
  while (there != memory_.end() && there->first < end) there = memory_.erase(there);
  return memory_[address];
}

void Ledger::add(const Thing &thing) {
  (thing.is_memory() ? place_of_memory(thing.value, thing.bytes) : handles_[thing.value]) = thing;
}

void Ledger::make(const WatchedCall &call, const Deed &deed) {
  const Argument &subject = call.arguments[deed.subject];
  const bool is_out = subject.type == Argument::Type::handle_out ||
                      subject.type == Argument::Type::address_out ||
                      subject.type == Argument::Type::pointer_out;
  const std::uint64_t value = is_out ? subject.written() : subject.bits;
  if (value == 0) return;  // no bytes were asked for
  const Place at = Place::of_call();
  std::uint64_t bytes = 0;
  if (deed.act == Deed::Act::opens) {
    CUdeviceptr base = 0;
    std::size_t size = 0;
    if (driver.cuMemGetAddressRange(&base, &size, value) == CUDA_SUCCESS && base == value) bytes = size;
  } else if (deed.memory != nullptr && call.arguments.size() > 1) {
    bytes = bytes_of(call);
  }
  const std::uint64_t context = subject.kind == Kind::context ? value : current();
  const std::lock_guard lock(mutex);
  unsigned count = 1;
  if (deed.act == Deed::Act::opens)
    if (const Thing *const there = known(value, true); there != nullptr && there->is_alive())
      count = there->count + 1;
  Thing &place = subject.kind == Kind::none ? place_of_memory(value, bytes) : handles_[value];
  // Made there: a copy would wait until the parts that were written just now have come to memory.
  new (&place) Thing{.value = value,
                     .bytes = bytes,
                     .context = context,
                     .made_at = at,
                     .count = count,
                     .made_by = static_cast<std::int16_t>(call.slot),
                     .kind = subject.kind};
}

void Ledger::mark_ended(Thing &thing, const WatchedCall &by, const Place &at) {
  thing.ended_by = static_cast<std::int16_t>(by.slot);
  thing.ended_at = at;
}

// What ended stays where it is: whoever judges knows it for some time yet.
void Ledger::bury(Thing &thing) {
  if (judges_.empty()) return forget(thing.value, thing.is_memory(), [](const Thing &) { return true; });
  const unsigned number = thing.ended_number = ++buried_;
  const Grave oldest = std::exchange(graves_[number % kEndedKept], {thing.value, thing.is_memory()});
  if (oldest.value != 0)
    forget(oldest.value, oldest.is_memory, [number](const Thing &there) {
      return !there.is_alive() && there.ended_number + kEndedKept == number;
    });
}

template <class IsIt>
void Ledger::forget(std::uint64_t value, bool is_memory, IsIt is_it) {
  if (!is_memory) return handles_.erase(value, is_it);
  if (const auto found = memory_.find(value); found != memory_.end() && is_it(found->second))
    memory_.erase(found);
}

void Ledger::end(WatchedCall &call, Thing *thing, const Argument &subject, const Place &at) {
  if (thing != nullptr && thing->kind == subject.kind && thing->is_alive()) {
    call.ended = *thing;
    if (--thing->count == 0) {
      mark_ended(*thing, call, at);
      bury(*thing);
    }
  }
  if (subject.kind == Kind::context) end_members(call, subject.bits, at);
}

void Ledger::end_members(WatchedCall &call, std::uint64_t context, const Place &at) {
  call.ended_with_it.clear();
  for_each_living([&](Thing &thing) {
    if (thing.context != context || thing.kind == Kind::context) return;
    mark_ended(thing, call, at);
    thing.ended_with_context = true;
    call.ended_with_it.push_back(thing);
  });
  // Things move in the map when one is forgotten.
  for (const Thing &member : call.ended_with_it)
    if (Thing *const thing = known(member.value, member.is_memory())) bury(*thing);
}

void Ledger::revive(WatchedCall &call) {
  if (!call.ended && call.ended_with_it.empty()) return;
  const std::lock_guard lock(mutex);
  const auto let_live = [this](Thing &thing) {
    thing.ended_by = -1;
    thing.ended_with_context = false;
    add(thing);
  };
  if (call.ended) {
    Thing *const there = known(call.ended->value, call.ended->is_memory());
    if (there != nullptr && there->is_alive() && deeds_[there->made_by].act == Deed::Act::opens) {
      ++there->count;
    } else {
      call.ended->count = 1;
      let_live(*call.ended);
    }
  }
  for (Thing &member : call.ended_with_it) let_live(member);
}

void Ledger::bereave(const Things &left, const WatchedCall &by) {
  if (left.empty()) return;
  const Place at = left.front().ended_at;
  const std::lock_guard lock(mutex);
  for (Heir *heir : heirs_) heir->bereave(left, by, at);
}

void Ledger::note_primary(const WatchedCall &call, const Deed &deed) {
  const Place at = Place::of_call();
  const bool is_retain = deed.act == Deed::Act::retains;
  const int device = static_cast<int>(call.arguments[is_retain ? 1 : 0].bits);
  unsigned flags = 0;
  int is_active = 1;
  if (deed.act == Deed::Act::releases) driver.cuDevicePrimaryCtxGetState(device, &flags, &is_active);
  WatchedCall ending{call.slot, call.arguments, call.values};
  {
    const std::lock_guard lock(mutex);
    const auto last = std::find_if(retains_.rbegin(), retains_.rend(),
                                   [&](const Retain &retain) { return retain.device == device; });
    const std::uint64_t context = is_retain                 ? call.arguments[0].written()
                                  : last != retains_.rend() ? last->context
                                                            : 0;
    const auto mark_all = [&](bool was_reset) {
      for (Retain &retain : retains_)
        if (retain.device == device) retain.was_reset = was_reset;
    };
    if (is_retain) {
      mark_all(false);  // a reset does not change how often it is retained
      retains_.push_back({device, context, call.slot, at});
    } else if (deed.act == Deed::Act::releases) {
      if (last != retains_.rend()) retains_.erase(std::next(last).base());
      if (is_active == 0 && context != 0) end_members(ending, context, at);
    } else {
      mark_all(true);
      if (context != 0) end_members(ending, context, at);
      ending.ended_with_it.clear();  // a reset is how a program lets go of all at once
    }
  }
  bereave(ending.ended_with_it, call);
}

}  // namespace cushim::check
