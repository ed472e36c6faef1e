// SPDX-License-Identifier: Apache-2.0
#include "ledger.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace cushim::check {
namespace {

struct MemoryDeed {
  std::string_view base;
  Deed::Act act;
  const char *noun;
};
using enum Deed::Act;
constexpr MemoryDeed kMemory[] = {
    {"cuIpcCloseMemHandle", ends, "memory of another process"},
    {"cuIpcOpenMemHandle", opens, "memory of another process"},
    {"cuMemAlloc", makes, "device memory"},
    {"cuMemAllocAsync", makes, "stream-ordered memory"},
    {"cuMemAllocFromPoolAsync", makes, "stream-ordered memory"},
    {"cuMemAllocHost", makes, "pinned memory"},
    {"cuMemAllocManaged", makes, "managed memory"},
    {"cuMemAllocPitch", makes, "device memory"},
    {"cuMemFree", ends, "memory"},
    {"cuMemFreeAsync", ends, "memory"},
    {"cuMemFreeHost", ends, "memory"},
    {"cuMemHostAlloc", makes, "pinned memory"},
    {"cuMemHostRegister", makes, "registered memory"},
    {"cuMemHostUnregister", ends, "memory"},
    {"cuMemPoolImportPointer", makes, "stream-ordered memory of another process"},
};

// Rows that are named so make what they write a handle of.
bool is_maker(std::string_view base) {
  return std::ranges::any_of(std::array{"Create", "Load", "OpenEvent", "ImportFrom"},
                             [&](const char *word) { return base.find(word) != base.npos; });
}
bool is_ender(std::string_view base) {
  return base.ends_with("Destroy") || base.ends_with("Unload") || base == "cuCtxDetach";
}
bool changes_current(std::string_view base) {
  return base.find("CtxCreate") != base.npos || base == "cuCtxDestroy" || base == "cuCtxDetach" ||
         base == "cuCtxAttach" || base == "cuCtxPopCurrent" || base == "cuCtxPushCurrent" ||
         base == "cuCtxSetCurrent";
}

Deed make_deed(int slot) {
  using Type = Argument::Type;
  const std::string_view base = cushim_entry(slot)->base;
  const std::span<const Argument> parameters = parameters_of(slot);
  Deed deed{.changes_current = changes_current(base)};
  if (base == "cuDevicePrimaryCtxRetain") deed.act = retains;
  if (base == "cuDevicePrimaryCtxRelease") deed.act = releases;
  if (base == "cuDevicePrimaryCtxReset") deed.act = resets;
  if (deed.act != none) return deed;
  // The first ABI has addresses of 32 bits, for which no device is left.
  const bool has_address = std::ranges::any_of(
      parameters.first(std::min<std::size_t>(1, parameters.size())), [](const Argument &parameter) {
        return parameter.type == Type::address || parameter.type == Type::address_out ||
               parameter.type == Type::pointer || parameter.type == Type::pointer_out;
      });
  if (const auto memory = std::ranges::find(kMemory, base, &MemoryDeed::base);
      memory != std::end(kMemory) && has_address) {
    deed.act = memory->act;
    deed.memory = memory->noun;
    return deed;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind == Kind::none) continue;
    deed.subject = static_cast<std::uint8_t>(i);
    if (parameters[i].type == Type::handle_out && is_maker(base)) deed.act = makes;
    if (parameters[i].type == Type::handle && is_ender(base)) deed.act = ends;
    break;
  }
  return deed;
}

// Null where the size stands in no argument.
std::uint64_t bytes_of(const WatchedCall &call) {
  const std::string_view base = cushim_entry(call.slot)->base;
  if (base == "cuMemAllocPitch") return call.arguments[1].written() * call.arguments[3].bits;
  return call.arguments[1].type == Argument::Type::number ? call.arguments[1].bits : 0;
}

}  // namespace

const Deed &deed_of(int slot) {
  static const std::vector<Deed> &deeds = *new std::vector<Deed>([] {
    std::vector<Deed> all;
    for (int row = 0; row < CUSHIM_ENTRY_COUNT; ++row) all.push_back(make_deed(row));
    return all;
  }());
  return deeds[static_cast<std::size_t>(slot)];
}

std::string Thing::in_words() const {
  const std::string words = mock::handle_in_words(noun, reinterpret_cast<const void *>(value));
  return bytes == 0 ? words : words + " of " + std::to_string(bytes) + " bytes";
}

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

Thing *Ledger::find(std::uint64_t handle) const {
  const auto *const found = handles_.find(handle);
  return found == nullptr ? nullptr : found->get();
}

Thing *Ledger::find_memory(std::uint64_t address) const {
  auto next = memory_.upper_bound(address);
  if (next == memory_.begin()) return nullptr;
  Thing &thing = *(--next)->second;
  return address - thing.value < std::max<std::uint64_t>(thing.bytes, 1) ? &thing : nullptr;
}

Ledger::Things Ledger::living() const {
  const std::lock_guard lock(mutex);
  Things living;
  handles_.for_each([&](const auto &thing) {
    if (thing->is_alive()) living.push_back(thing);
  });
  std::ranges::sort(living, {}, [](const auto &thing) { return thing->value; });
  for (const auto &[value, thing] : memory_)
    if (thing->is_alive()) living.push_back(thing);
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
  // The end of a context is told with its place in any case.
  const bool is_of_interest = has_judges_ || call.arguments[deed.subject].kind == Kind::context;
  const Place at = is_of_interest ? Place::of_call() : Place{};
  const std::lock_guard lock(mutex);
  for (Judge *judge : judges_) {
    judge->judge(call);
    if (call.answer) return;
  }
  end(call, deed, at);
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

void Ledger::add(std::shared_ptr<Thing> thing) {
  if (!thing->is_memory()) {
    const std::uint64_t handle = thing->value;
    return handles_.set(handle, std::move(thing));
  }
  // What was there before is gone.
  const std::uint64_t end = thing->value + std::max<std::uint64_t>(thing->bytes, 1);
  auto there = memory_.lower_bound(thing->value);
  if (there != memory_.begin())
    if (const auto before = std::prev(there); before->first + before->second->bytes > thing->value)
      there = before;
  while (there != memory_.end() && there->first < end) there = memory_.erase(there);
  memory_[thing->value] = std::move(thing);
}

void Ledger::make(const WatchedCall &call, const Deed &deed) {
  const Argument &subject = call.arguments[deed.subject];
  const bool is_out = subject.type == Argument::Type::handle_out ||
                      subject.type == Argument::Type::address_out ||
                      subject.type == Argument::Type::pointer_out;
  auto thing = std::make_shared<Thing>();
  thing->kind = subject.kind;
  thing->value = is_out ? subject.written() : subject.bits;
  if (thing->value == 0) return;  // no bytes were asked for
  thing->noun = deed.memory != nullptr ? deed.memory : subject.noun;
  thing->made_by = call.slot;
  thing->made_at = Place::of_call();
  if (deed.act == Deed::Act::opens) {
    CUdeviceptr base = 0;
    std::size_t size = 0;
    if (driver.cuMemGetAddressRange(&base, &size, thing->value) == CUDA_SUCCESS && base == thing->value)
      thing->bytes = size;
  } else if (deed.memory != nullptr && call.arguments.size() > 1) {
    thing->bytes = bytes_of(call);
  }
  thing->context = thing->kind == Kind::context ? thing->value : current();
  const std::lock_guard lock(mutex);
  if (deed.act == Deed::Act::opens)
    if (Thing *const there = find_memory(thing->value);
        there != nullptr && there->is_alive() && there->value == thing->value)
      thing->count = there->count + 1;
  add(std::move(thing));
}

// Whoever judges knows it for some time yet.
void Ledger::bury(const std::shared_ptr<Thing> &thing) {
  if (judges_.empty()) return forget(thing);
  const std::shared_ptr<Thing> oldest = std::exchange(ended_[buried_++ % kEndedKept], thing);
  if (oldest != nullptr && !oldest->is_alive()) forget(oldest);  // alive: its end failed
}

void Ledger::forget(const std::shared_ptr<Thing> &thing) {
  if (thing->is_memory()) {
    if (const auto found = memory_.find(thing->value); found != memory_.end() && found->second == thing)
      memory_.erase(found);
  } else if (const auto *const found = handles_.find(thing->value); found != nullptr && *found == thing) {
    handles_.erase(thing->value);
  }
}

void Ledger::end(WatchedCall &call, const Deed &deed, const Place &at) {
  const Argument &subject = call.arguments[deed.subject];
  std::shared_ptr<Thing> thing;
  if (deed.memory == nullptr) {
    if (const auto *const found = handles_.find(subject.bits)) thing = *found;
    if (thing != nullptr && thing->kind != subject.kind) thing = nullptr;
  } else if (const auto found = memory_.find(subject.bits); found != memory_.end()) {
    thing = found->second;
  }
  if (thing != nullptr && thing->is_alive()) {
    if (--thing->count == 0) {
      thing->ended_by = call.slot;
      thing->ended_at = at;
      bury(thing);
    }
    call.ended = std::move(thing);
  }
  if (subject.kind == Kind::context) end_members(call, subject.bits, at);
}

Ledger::Things Ledger::members_of(std::uint64_t context) const {
  Things members;
  const auto add = [&](const std::shared_ptr<Thing> &thing) {
    if (thing->is_alive() && thing->context == context && thing->kind != Kind::context)
      members.push_back(thing);
  };
  handles_.for_each(add);
  std::ranges::sort(members, {}, [](const auto &thing) { return thing->value; });
  for (const auto &[value, thing] : memory_) add(thing);
  return members;
}

void Ledger::end_members(WatchedCall &call, std::uint64_t context, const Place &at) {
  call.ended_with_it = members_of(context);
  for (const std::shared_ptr<Thing> &member : call.ended_with_it) {
    member->ended_by = call.slot;
    member->ended_at = at;
    member->ended_with_context = true;
    bury(member);
  }
}

void Ledger::revive(WatchedCall &call) {
  if (call.ended == nullptr && call.ended_with_it.empty()) return;
  const std::lock_guard lock(mutex);
  const auto let_live = [this](const std::shared_ptr<Thing> &thing) {
    thing->ended_by = -1;
    thing->ended_with_context = false;
    add(thing);
  };
  if (call.ended != nullptr && call.ended->count++ == 0) let_live(call.ended);
  for (const std::shared_ptr<Thing> &member : call.ended_with_it) let_live(member);
}

void Ledger::bereave(const Things &left, const WatchedCall &by) {
  if (left.empty()) return;
  const Place at = left.front()->ended_at;
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
