// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/misuse.hpp>

#include <algorithm>
#include <array>
#include <string>

#include <cushim/detail/entry_traits.hpp>

#include "core/object_registry.hpp"

namespace cushim::check {
namespace {

using Type = Argument::Type;

// Returns whether this argument is a device address at which there must be living memory.
bool is_address_of_memory(int slot, std::size_t index) {
  const std::size_t count = parameters_of(slot).size();
  return std::ranges::any_of(mock::traits_of(slot).memory, [&](const mock::MemoryUse &use) {
    return use.is_device_address() && mock::position(use.argument, count) == index;
  });
}

// Returns the description of a 2D or 3D copy; null if the call takes none. The first ABI has other
// structures.
const mock::MemoryUse *description_of_copy(int slot) {
  const mock::MemoryUse &use = mock::traits_of(slot).memory[0];
  return use.is_described() && cushim_entry(slot)->version >= 3020 ? &use : nullptr;
}

template <class Copy>
std::array<Argument, 2> endpoints_of(const WatchedCall &call) {
  const auto side = [](CUmemorytype type, CUdeviceptr address, CUarray array) -> Argument {
    if (type == CU_MEMORYTYPE_ARRAY) return argument_of(array);
    return type == CU_MEMORYTYPE_HOST ? Argument{} : argument_of(address);
  };
  const auto *const copy = reinterpret_cast<const Copy *>(call.arguments[0].bits);
  if (copy == nullptr) return {};
  return {side(copy->srcMemoryType, copy->srcDevice, copy->srcArray),
          side(copy->dstMemoryType, copy->dstDevice, copy->dstArray)};
}

std::array<Argument, 2> endpoints_of_copy(const WatchedCall &call, const mock::MemoryUse &description) {
  switch (description.space) {
    case mock::MemoryUse::Space::described_2d:
      return endpoints_of<CUDA_MEMCPY2D>(call);
    case mock::MemoryUse::Space::described_3d_peer:
      return endpoints_of<CUDA_MEMCPY3D_PEER>(call);
    default:
      return endpoints_of<CUDA_MEMCPY3D>(call);
  }
}

bool is_checked(int slot) {
  if (description_of_copy(slot) != nullptr) return true;
  const std::span<const Argument> parameters = parameters_of(slot);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].type == Type::handle && parameters[i].kind != Kind::none) return true;
    if (parameters[i].type == Type::address && is_address_of_memory(slot, i)) return true;
  }
  return false;
}

// Returns whether the handle is null, the legacy stream or the per-thread stream.
bool is_predefined_stream(std::uint64_t handle) {
  return handle <= reinterpret_cast<std::uintptr_t>(CU_STREAM_PER_THREAD);
}

CUresult result_for(const TrackedObject &object) {
  if (object.is_memory()) return CUDA_ERROR_INVALID_VALUE;
  if (object.ended_with_context) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  switch (object.kind) {
    case Kind::context:
      return CUDA_ERROR_INVALID_CONTEXT;
    case Kind::memory_pool:
    case Kind::executable_graph:
      return CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_INVALID_HANDLE;
  }
}

CUresult result_for_kind(Kind wanted) { return result_for({.kind = wanted}); }

// Returns whether using the freed memory's address is surely a defect in this call. A host address may
// since belong to another allocation of the program. check::Hazards covers memory freed in the order of
// another stream.
bool is_invalid_address(const TrackedObject &memory, const WatchedCall &call) {
  if (memory.freed_in != 0) {
    const std::uint64_t stream = stream_of(call);
    return stream == 0 || stream == memory.freed_in;
  }
  using mock::Object;
  switch (mock::traits_of(memory.made_by).object) {
    case Object::device_memory:
    case Object::managed_memory:
    case Object::mapped_memory:
    case Object::ipc_memory:
      return true;
    case Object::stream_ordered_memory:  // without a stream: freed by cuMemFree, or gone with its context
      return mock::traits_of(memory.ended_by).object == Object::device_memory;
    default:
      return false;
  }
}

// Returns whether the real driver itself answers a second free of this kind: by an error, and for mapped
// memory by success. Measured, driver 580.
bool is_answered_by_driver(int slot) {
  const mock::Object object = mock::traits_of(slot).object;
  return object == mock::Object::registered_memory || object == mock::Object::ipc_memory ||
         object == mock::Object::mapped_memory;
}

class MisuseState final : public CheckerState, public Watcher, public ObjectRegistry::DestroyValidator {
 public:
  explicit MisuseState(Driver &driver) : object_registry_(ObjectRegistry::of(driver)) {
    object_registry_->add(*this);
    hooks_ = watch(driver, *this, [](int slot) {
      return lifetime_effect_of(slot).act != LifetimeEffect::Act::ends && is_checked(slot);
    });
  }
  ~MisuseState() override { object_registry_->remove(*this); }
  MisuseState(const MisuseState &) = delete;
  MisuseState &operator=(const MisuseState &) = delete;

  void before(WatchedCall &call) override {
    const std::lock_guard lock(object_registry_->mutex);
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      if (call.arguments[i].type == Type::address && !is_address_of_memory(call.slot, i)) continue;
      check_use(call, call.arguments[i]);
      if (call.answer) return;
    }
    const mock::MemoryUse *const description = description_of_copy(call.slot);
    if (description == nullptr) return;
    for (const Argument &side : endpoints_of_copy(call, *description)) {
      check_use(call, side);
      if (!call.answer) continue;
      call.answer = CUDA_ERROR_INVALID_VALUE;
      return;
    }
  }

  void after(WatchedCall &call, CUresult result) override {
    if (result == CUDA_SUCCESS) return;
    const auto &[one, other] = mock::traits_of(call.slot).same_context;
    if (one != mock::kNoArgument) compare_contexts(call, call.argument(one), call.argument(other));
  }

  void before_destroy(WatchedCall &call, const LifetimeEffect &effect,
                      const TrackedObject *subject) override {
    for (const Argument &argument : call.arguments) {
      if (!is_checked_handle(argument)) continue;
      const bool is_subject = &argument == &call.arguments[effect.subject];
      check_handle(call, argument, is_subject ? subject : object_registry_->find(argument.bits),
                   "double-destroy");
      if (call.answer) return;
    }
    if (effect.memory == nullptr || subject == nullptr || subject->is_alive()) return;
    const CUresult answer = add_ended(call, *subject, "double-free");
    if (!is_answered_by_driver(call.slot)) call.answer = answer;
  }

 private:
  // Ignores graphs: a child graph, which no call creates, may have the handle of a destroyed graph.
  static bool is_checked_handle(const Argument &argument) {
    return argument.type == Type::handle && argument.kind != Kind::none && argument.kind != Kind::graph &&
           !is_predefined_stream(argument.bits);
  }

  void check_use(WatchedCall &call, const Argument &argument) {
    if (is_checked_handle(argument))
      return check_handle(call, argument, object_registry_->find(argument.bits), "use-after-destroy");
    if (argument.type != Type::address || argument.bits == 0) return;
    const TrackedObject *const object = object_registry_->find_memory(argument.bits);
    if (object != nullptr && !object->is_alive() && is_invalid_address(*object, call))
      call.answer = add_ended(call, *object, "use-after-free");
  }

  void check_handle(WatchedCall &call, const Argument &argument, const TrackedObject *object,
                    const char *rule_of_ended) {
    if (object == nullptr) return;
    if (object->kind == argument.kind && !object->is_alive())
      call.answer = add_ended(call, *object, rule_of_ended);
    else if (object->kind != argument.kind && object->is_alive())
      call.answer = add_wrong_kind(call, *object, argument);
  }

  CUresult add_ended(const WatchedCall &call, const TrackedObject &object, const std::string &rule) {
    const bool is_second_end = rule.starts_with("double");
    const std::string effect = object.is_memory() ? "freed" : "destroyed";
    const std::string fate = object.ended_with_context ? effect + " with its context" : effect;
    findings.add(
        {.checker = "misuse",
         .rule = rule,
         .what = object.to_text() +
                 (is_second_end ? " is " + effect + " a second time" : " is used after it was " + fate),
         .calls = {{is_second_end ? "second time by" : "used by", call.to_text(), CallStack::of_call()},
                   {fate + " by", cushim_entry(object.ended_by)->symbol, object.ended_at},
                   {"created by", cushim_entry(object.made_by)->symbol, object.made_at}},
         .advice = is_second_end ? "destroy or free it once, and clear the handle afterwards"
                                 : "destroy or free it after its last use"});
    return result_for(object);
  }

  CUresult add_wrong_kind(const WatchedCall &call, const TrackedObject &object, const Argument &argument) {
    const std::string wanted = argument.noun;
    findings.add({.checker = "misuse",
                  .rule = "wrong-kind",
                  .what = object.to_text() + " is passed as a handle of type " + wanted,
                  .calls = {{"used by", call.to_text(), CallStack::of_call()},
                            {"created by", cushim_entry(object.made_by)->symbol, object.made_at}},
                  .advice = "pass a handle of type " + wanted +
                            "; look for a cast that hides the type from the compiler"});
    return result_for_kind(argument.kind);
  }

  // The null, legacy and per-thread streams belong to the current context.
  void compare_contexts(const WatchedCall &call, const Argument &one, const Argument &other) {
    const std::uint64_t current = is_predefined_stream(other.bits) ? object_registry_->current() : 0;
    const std::lock_guard lock(object_registry_->mutex);
    const TrackedObject *const first = object_registry_->find(one.bits);
    const TrackedObject *const second = object_registry_->find(other.bits);
    if (first == nullptr || (second == nullptr && !is_predefined_stream(other.bits))) return;
    const std::uint64_t context = second != nullptr ? second->context : current;
    if (first->context == 0 || context == 0 || first->context == context) return;
    const auto text_of = [](const char *noun, std::uint64_t handle) {
      return mock::handle_text(noun, reinterpret_cast<const void *>(handle));
    };
    Finding finding{
        .checker = "misuse",
        .rule = "wrong-context",
        .what = first->to_text() + " belongs to " + text_of("context", first->context) + ", but " +
                text_of(other.noun, other.bits) + " to " + text_of("context", context),
        .calls = {{"used by", call.to_text(), CallStack::of_call()},
                  {first->to_text() + " created by", cushim_entry(first->made_by)->symbol, first->made_at}},
        .advice = "create both in one context; a stream of another context can wait with cuStreamWaitEvent"};
    if (second != nullptr)
      finding.calls.push_back(
          {second->to_text() + " created by", cushim_entry(second->made_by)->symbol, second->made_at});
    findings.add(std::move(finding));
  }

  const std::shared_ptr<ObjectRegistry> object_registry_;
  // last member: removed first, so that no call is inside when the rest is destroyed
  std::vector<hook::Hook> hooks_;
};

}  // namespace

Misuse::Misuse(Driver &driver) : StatefulChecker("misuse", std::make_shared<MisuseState>(driver)) {}

}  // namespace cushim::check
