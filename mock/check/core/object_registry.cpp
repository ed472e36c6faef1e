// SPDX-License-Identifier: Apache-2.0
#include "core/object_registry.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <cushim/detail/entry_traits.hpp>

namespace cushim::check {
namespace {

// Returns the size of the memory that a call creates; 0 if no argument has it.
std::uint64_t bytes_of(const WatchedCall &call) {
  const mock::EntryTraits &traits = mock::traits_of(call.slot);
  if (traits.bytes == mock::kNoArgument) return 0;
  const Argument &bytes = call.argument(traits.bytes);
  return traits.rows == mock::kNoArgument ? bytes.bits : bytes.written() * call.argument(traits.rows).bits;
}

}  // namespace

std::shared_ptr<ObjectRegistry> ObjectRegistry::of(Driver &driver) {
  static auto &mutex = *new std::mutex;
  static auto &registries = *new std::map<Driver *, std::weak_ptr<ObjectRegistry>>;
  const std::lock_guard lock(mutex);
  std::weak_ptr<ObjectRegistry> &kept = registries[&driver];
  std::shared_ptr<ObjectRegistry> object_registry = kept.lock();
  if (object_registry == nullptr) kept = object_registry = std::make_shared<ObjectRegistry>(driver);
  return object_registry;
}

ObjectRegistry::ObjectRegistry(Driver &driver)
    : driver(driver), id_([] {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
      }()) {
  hooks_ = watch(driver, *this, [](int slot) {
    return lifetime_effect_of(slot).act != LifetimeEffect::Act::none ||
           lifetime_effect_of(slot).changes_current;
  });
  // Variables of modules and memory of graphs may be at addresses of freed memory.
  const auto forget = [this](CUdeviceptr address, std::size_t bytes) {
    const std::lock_guard lock(mutex);
    place_of_memory(address, bytes);
    memory_.erase(address);
  };
  const auto forget_variable = [forget](CUresult result, const CUdeviceptr *address, auto &&...) {
    if (result == CUDA_SUCCESS && address != nullptr) forget(*address, 1);
  };
  hooks_.push_back(hook::after<Entry::cuModuleGetGlobal_v3020>(driver, forget_variable));
  hooks_.push_back(hook::after<Entry::cuGraphAddMemAllocNode_v11040>(
      driver, [forget](CUresult result, CUgraphNode *, CUgraph, const CUgraphNode *, std::size_t,
                       const CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
        if (result == CUDA_SUCCESS) forget(parameters->dptr, parameters->bytesize);
      }));
#if CUDA_VERSION >= 12030
  hooks_.push_back(hook::after<Entry::cuGraphAddNode_v12030>(
      driver, [forget](CUresult result, CUgraphNode *, CUgraph, const CUgraphNode *, const CUgraphEdgeData *,
                       std::size_t, const CUgraphNodeParams *parameters) {
        if (result == CUDA_SUCCESS && parameters->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
          forget(parameters->alloc.dptr, parameters->alloc.bytesize);
      }));
#endif
#if CUDA_VERSION >= 12000
  hooks_.push_back(hook::after<Entry::cuLibraryGetGlobal_v12000>(driver, forget_variable));
  hooks_.push_back(hook::after<Entry::cuLibraryGetManaged_v12000>(driver, forget_variable));
#endif
}

namespace {
struct Current {
  // id_ of the registry that owns `context`; 0 if the current context may have changed
  std::uint64_t object_registry = 0;
  std::uint64_t context = 0;
};
thread_local Current current_of_thread;
}  // namespace

std::uint64_t ObjectRegistry::current() {
  if (current_of_thread.object_registry != id_) {
    CUcontext context = nullptr;
    if (driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS) return 0;
    current_of_thread = {id_, reinterpret_cast<std::uintptr_t>(context)};
  }
  return current_of_thread.context;
}

void ObjectRegistry::add(DestroyValidator &validator) {
  const std::lock_guard lock(mutex);
  destroy_validators_.push_back(&validator);
  has_destroy_validators_ = true;
}
void ObjectRegistry::remove(DestroyValidator &validator) {
  const std::lock_guard lock(mutex);
  std::erase(destroy_validators_, &validator);
  has_destroy_validators_ = !destroy_validators_.empty();
}
void ObjectRegistry::add(DestroyListener &listener) {
  const std::lock_guard lock(mutex);
  destroy_listeners_.push_back(&listener);
}
void ObjectRegistry::remove(DestroyListener &listener) {
  const std::lock_guard lock(mutex);
  std::erase(destroy_listeners_, &listener);
}

const TrackedObject *ObjectRegistry::find_memory(std::uint64_t address) const {
  auto next = memory_.upper_bound(address);
  if (next == memory_.begin()) return nullptr;
  const TrackedObject &thing = (--next)->second;
  return address - thing.value < std::max<std::uint64_t>(thing.bytes, 1) ? &thing : nullptr;
}

TrackedObject *ObjectRegistry::known_memory(std::uint64_t address) {
  const auto found = memory_.find(address);
  return found != memory_.end() ? &found->second : nullptr;
}

// Visits living objects, handles first, in the order of their values.
template <class Visit>
void ObjectRegistry::for_each_alive(Visit visit) {
  std::vector<TrackedObject *> things;
  handles_.for_each([&](TrackedObject &thing) { things.push_back(&thing); });
  std::ranges::sort(things, {}, [](const TrackedObject *thing) { return thing->value; });
  for (auto &[value, thing] : memory_) things.push_back(&thing);
  for (TrackedObject *thing : things)
    if (thing->is_alive()) visit(*thing);
}

ObjectRegistry::TrackedObjects ObjectRegistry::take_unreported_living() {
  const std::lock_guard lock(mutex);
  TrackedObjects living;
  for_each_alive([&](TrackedObject &thing) {
    if (!std::exchange(thing.is_reported, true)) living.push_back(thing);
  });
  return living;
}

std::vector<Retain> ObjectRegistry::retains() const {
  const std::lock_guard lock(mutex);
  return retains_;
}

// Marks destroyed objects before the call: once the driver has destroyed one, another thread may get the
// same handle value.
void ObjectRegistry::before(WatchedCall &call) {
  const LifetimeEffect &effect = effects_[call.slot];
  if (effect.act != LifetimeEffect::Act::ends) return;
  const Argument &subject = call.arguments[effect.subject];
  // The findings about a destroyed context need the call stack in any case.
  const CallStack at =
      has_destroy_validators_ || subject.kind == Kind::context ? CallStack::of_call() : CallStack{};
  const std::lock_guard lock(mutex);
  TrackedObject *const thing = known(subject.bits, effect.memory != nullptr);
  for (DestroyValidator *validator : destroy_validators_) {
    validator->before_destroy(call, effect, thing);
    if (call.answer) return;
  }
  end(call, thing, subject, at);
}

void ObjectRegistry::after(WatchedCall &call, CUresult result) {
  const LifetimeEffect &effect = effects_[call.slot];
  if (effect.changes_current) current_of_thread.object_registry = 0;
  if (result != CUDA_SUCCESS) return revive(call);
  switch (effect.act) {
    case LifetimeEffect::Act::makes:
    case LifetimeEffect::Act::opens:
      return make(call, effect);
    case LifetimeEffect::Act::ends:
      if (call.arguments[effect.subject].kind == Kind::context)
        on_context_destroyed(call.ended_with_it, call);
      return;
    case LifetimeEffect::Act::retains:
    case LifetimeEffect::Act::releases:
    case LifetimeEffect::Act::resets:
      return note_primary(call, effect);
    case LifetimeEffect::Act::none:
      return;
  }
}

// Returns the entry of memory at `address`, after erasing all entries that overlap the new range.
TrackedObject &ObjectRegistry::place_of_memory(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + std::max<std::uint64_t>(bytes, 1);
  auto there = memory_.lower_bound(address);
  if (there != memory_.begin())
    if (const auto before = std::prev(there); before->first + before->second.bytes > address) there = before;
  while (there != memory_.end() && there->first < end) there = memory_.erase(there);
  return memory_[address];
}

void ObjectRegistry::add(const TrackedObject &thing) {
  (thing.is_memory() ? place_of_memory(thing.value, thing.bytes) : handles_[thing.value]) = thing;
}

std::uint64_t ObjectRegistry::context_of_new(int slot) {
  return has_no_context(mock::traits_of(slot).object) ? 0 : current();
}

void ObjectRegistry::make(const WatchedCall &call, const LifetimeEffect &effect) {
  const Argument &subject = call.arguments[effect.subject];
  const bool is_out = subject.type == Argument::Type::handle_out ||
                      subject.type == Argument::Type::address_out ||
                      subject.type == Argument::Type::pointer_out;
  const std::uint64_t value = is_out ? subject.written() : subject.bits;
  if (value == 0) return;  // a request for no bytes
  const CallStack at = CallStack::of_call();
  std::uint64_t bytes = 0;
  if (effect.act == LifetimeEffect::Act::opens && effect.memory != nullptr) {
    CUdeviceptr base = 0;
    std::size_t size = 0;
    if (driver.cuMemGetAddressRange(&base, &size, value) == CUDA_SUCCESS && base == value) bytes = size;
  } else if (effect.memory != nullptr || has_integer_handle(effect.kind)) {
    bytes = bytes_of(call);
  }
  const std::uint64_t context = effect.kind == Kind::context ? value : context_of_new(call.slot);
  const std::lock_guard lock(mutex);
  unsigned count = 1;
  if (effect.act == LifetimeEffect::Act::opens)
    if (TrackedObject *const there = known(value, effect.memory != nullptr);
        there != nullptr && there->is_alive()) {
      count = there->count + 1;
      if (effect.memory == nullptr) return static_cast<void>(there->count = count);
    }
  TrackedObject &place = effect.kind == Kind::none ? place_of_memory(value, bytes) : handles_[value];
  // Constructed in place: copying would stall until the fields just written have reached memory.
  new (&place) TrackedObject{.value = value,
                             .bytes = bytes,
                             .context = context,
                             .made_at = at,
                             .count = count,
                             .made_by = static_cast<std::int16_t>(call.slot),
                             .kind = effect.kind};
}

void ObjectRegistry::mark_ended(TrackedObject &thing, const WatchedCall &by, const CallStack &at) {
  thing.ended_by = static_cast<std::int16_t>(by.slot);
  thing.ended_at = at;
  thing.freed_in = lifetime_effect_of(by.slot).memory != nullptr ? stream_of(by) : 0;
}

// Keeps the tombstone of a destroyed object while a validator is registered: the last kEndedKept are known.
void ObjectRegistry::keep_tombstone(TrackedObject &thing) {
  if (destroy_validators_.empty())
    return forget(thing.value, thing.is_memory(), [](const TrackedObject &) { return true; });
  const unsigned number = thing.ended_number = ++destroyed_count_;
  const Tombstone oldest = std::exchange(tombstones_[number % kEndedKept], {thing.value, thing.is_memory()});
  if (oldest.value != 0)
    forget(oldest.value, oldest.is_memory, [number](const TrackedObject &there) {
      return !there.is_alive() && there.ended_number + kEndedKept == number;
    });
}

template <class IsIt>
void ObjectRegistry::forget(std::uint64_t value, bool is_memory, IsIt is_it) {
  if (!is_memory) return handles_.erase(value, is_it);
  if (const auto found = memory_.find(value); found != memory_.end() && is_it(found->second))
    memory_.erase(found);
}

void ObjectRegistry::end(WatchedCall &call, TrackedObject *thing, const Argument &subject,
                         const CallStack &at) {
  if (thing != nullptr && thing->kind == effects_[call.slot].kind && thing->is_alive()) {
    call.ended = *thing;
    if (--thing->count == 0) {
      mark_ended(*thing, call, at);
      keep_tombstone(*thing);
    }
  }
  if (subject.kind == Kind::context) end_members(call, subject.bits, at);
  if (mock::traits_of(call.slot).object == mock::Object::mapped_memory) end_mappings(call, subject.bits, at);
}

// One call unmaps all mappings of a range.
void ObjectRegistry::end_mappings(WatchedCall &call, std::uint64_t address, const CallStack &at) {
  const std::uint64_t end = address + bytes_of(call);
  for (auto next = memory_.upper_bound(address); next != memory_.end() && next->first < end; ++next) {
    if (!next->second.is_alive()) continue;
    call.ended_with_it.push_back(next->second);
    mark_ended(next->second, call, at);
  }
  for (const TrackedObject &mapping : call.ended_with_it)
    if (TrackedObject *const thing = known(mapping.value, true)) keep_tombstone(*thing);
}

void ObjectRegistry::end_members(WatchedCall &call, std::uint64_t context, const CallStack &at) {
  call.ended_with_it.clear();
  for_each_alive([&](TrackedObject &thing) {
    if (thing.context != context || thing.kind == Kind::context) return;
    mark_ended(thing, call, at);
    thing.ended_with_context = true;
    call.ended_with_it.push_back(thing);
  });
  // Pointers into the map change when an entry is erased.
  for (const TrackedObject &member : call.ended_with_it)
    if (TrackedObject *const thing = known(member.value, member.is_memory())) keep_tombstone(*thing);
}

void ObjectRegistry::revive(WatchedCall &call) {
  if (!call.ended && call.ended_with_it.empty()) return;
  const std::lock_guard lock(mutex);
  const auto let_live = [this](TrackedObject &thing) {
    thing.ended_by = -1;
    thing.ended_with_context = false;
    add(thing);
  };
  if (call.ended) {
    TrackedObject *const there = known(call.ended->value, call.ended->is_memory());
    if (there != nullptr && there->is_alive() && effects_[there->made_by].act == LifetimeEffect::Act::opens) {
      ++there->count;
    } else {
      call.ended->count = 1;
      let_live(*call.ended);
    }
  }
  for (TrackedObject &member : call.ended_with_it) let_live(member);
}

void ObjectRegistry::on_context_destroyed(const TrackedObjects &left, const WatchedCall &by) {
  if (left.empty()) return;
  const CallStack at = left.front().ended_at;
  const std::lock_guard lock(mutex);
  for (DestroyListener *listener : destroy_listeners_) listener->on_context_destroyed(left, by, at);
}

void ObjectRegistry::note_primary(const WatchedCall &call, const LifetimeEffect &effect) {
  const CallStack at = CallStack::of_call();
  const bool is_retain = effect.act == LifetimeEffect::Act::retains;
  const int device = static_cast<int>(call.arguments[effect.subject].bits);
  unsigned flags = 0;
  int is_active = 1;
  if (effect.act == LifetimeEffect::Act::releases)
    driver.cuDevicePrimaryCtxGetState(device, &flags, &is_active);
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
      mark_all(false);  // a reset does not change the reference count
      retains_.push_back({device, context, call.slot, at});
    } else if (effect.act == LifetimeEffect::Act::releases) {
      if (last != retains_.rend()) retains_.erase(std::next(last).base());
      if (is_active == 0 && context != 0) end_members(ending, context, at);
    } else {
      mark_all(true);
      if (context != 0) end_members(ending, context, at);
      ending.ended_with_it.clear();  // a reset destroys everything deliberately: no leaks
    }
  }
  on_context_destroyed(ending.ended_with_it, call);
}

}  // namespace cushim::check
