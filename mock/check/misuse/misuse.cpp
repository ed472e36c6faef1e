// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/misuse.hpp>

#include <array>
#include <string>

#include "core/object_registry.hpp"

namespace cushim::check {
namespace {

using Type = Argument::Type;

std::string_view base_of(int slot) { return cushim_entry(slot)->base; }
std::string symbol_of(int slot) { return cushim_entry(slot)->symbol; }

bool takes_addresses(std::string_view base) {
  // Calls that query an address accept any address.
  return (base.starts_with("cuMem") && base != "cuMemGetAddressRange") || base.starts_with("cuStream");
}

// Returns whether the call is a 2D or 3D copy, which takes a descriptor structure.
bool is_2d_or_3d_copy(int slot) {
  const std::span<const Argument> parameters = parameters_of(slot);
  const std::string_view base = base_of(slot);
  return !parameters.empty() && parameters[0].type == Type::other && cushim_entry(slot)->version >= 3020 &&
         (base.starts_with("cuMemcpy2D") || base.starts_with("cuMemcpy3D")) &&
         base.find("Batch") == base.npos;
}

template <class Copy>
std::array<Argument, 2> sides_of(const WatchedCall &call) {
  const auto side = [](CUmemorytype type, CUdeviceptr address, CUarray array) -> Argument {
    if (type == CU_MEMORYTYPE_ARRAY) return argument_of(array);
    return type == CU_MEMORYTYPE_HOST ? Argument{} : argument_of(address);
  };
  const auto *const copy = reinterpret_cast<const Copy *>(call.arguments[0].bits);
  if (copy == nullptr) return {};
  return {side(copy->srcMemoryType, copy->srcDevice, copy->srcArray),
          side(copy->dstMemoryType, copy->dstDevice, copy->dstArray)};
}

std::array<Argument, 2> sides_of_box_copy(const WatchedCall &call) {
  const std::string_view base = base_of(call.slot);
  if (base.starts_with("cuMemcpy2D")) return sides_of<CUDA_MEMCPY2D>(call);
  return base.starts_with("cuMemcpy3DPeer") ? sides_of<CUDA_MEMCPY3D_PEER>(call)
                                            : sides_of<CUDA_MEMCPY3D>(call);
}

bool is_judged(int slot) {
  if (is_2d_or_3d_copy(slot)) return true;
  for (const Argument &parameter : parameters_of(slot)) {
    if (parameter.type == Type::handle && parameter.kind != Kind::none) return true;
    if (parameter.type == Type::address && takes_addresses(base_of(slot))) return true;
  }
  return false;
}

// Returns whether the handle is null, the legacy stream or the per-thread stream.
bool is_predefined_stream(std::uint64_t handle) {
  return handle <= reinterpret_cast<std::uintptr_t>(CU_STREAM_PER_THREAD);
}

CUresult answer_to(const TrackedObject &thing) {
  if (thing.is_memory()) return CUDA_ERROR_INVALID_VALUE;
  if (thing.ended_with_context) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  switch (thing.kind) {
    case Kind::context:
      return CUDA_ERROR_INVALID_CONTEXT;
    case Kind::memory_pool:
      return CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_INVALID_HANDLE;
  }
}

CUresult answer_for(Kind wanted) { return answer_to({.kind = wanted}); }

// Returns whether using the freed memory's address is surely a defect in this call. A host address may
// since belong to another allocation of the program. check::Hazards covers memory freed in the order of
// another stream.
bool is_gone(const TrackedObject &memory, const WatchedCall &call) {
  if (memory.freed_in != 0) {
    const std::uint64_t stream = stream_of(call);
    return stream == 0 || stream == memory.freed_in;
  }
  const std::string_view noun = memory.noun();
  return noun == "device memory" || noun == "managed memory" || noun == "memory of another process" ||
         (noun == "stream-ordered memory" && base_of(memory.ended_by) == "cuMemFree");
}

// Returns whether the real driver itself rejects the second free. Measured, driver 580.
bool is_refused_by_driver(std::string_view base) {
  return base == "cuMemHostUnregister" || base == "cuIpcCloseMemHandle";
}

}  // namespace

class Misuse::State final : public Watcher, public ObjectRegistry::DestroyValidator {
 public:
  explicit State(Driver &driver) : object_registry_(ObjectRegistry::of(driver)) {
    object_registry_->add(*this);
    hooks_ = watch(driver, *this, [](int slot) {
      return lifetime_effect_of(slot).act != LifetimeEffect::Act::ends && is_judged(slot);
    });
  }
  ~State() override { object_registry_->remove(*this); }
  State(const State &) = delete;
  State &operator=(const State &) = delete;

  void before(WatchedCall &call) override {
    const std::lock_guard lock(object_registry_->mutex);
    for (const Argument &argument : call.arguments) {
      judge_use(call, argument);
      if (call.answer) return;
    }
    if (call.arguments.empty() || call.arguments[0].type != Type::other || !is_2d_or_3d_copy(call.slot))
      return;
    for (const Argument &side : sides_of_box_copy(call)) {
      judge_use(call, side);
      if (!call.answer) continue;
      call.answer = CUDA_ERROR_INVALID_VALUE;
      return;
    }
  }

  void after(WatchedCall &call, CUresult result) override {
    if (result == CUDA_SUCCESS) return;
    const std::string_view base = base_of(call.slot);
    if (base == "cuEventRecord" || base == "cuEventRecordWithFlags")
      compare_contexts(call, call.arguments[0], call.arguments[1]);
    if (base == "cuEventElapsedTime") compare_contexts(call, call.arguments[1], call.arguments[2]);
  }

  void before_destroy(WatchedCall &call, const LifetimeEffect &effect,
                      const TrackedObject *subject) override {
    for (const Argument &argument : call.arguments) {
      if (!is_judged_handle(argument)) continue;
      const bool is_subject = &argument == &call.arguments[effect.subject];
      judge_handle(call, argument, is_subject ? subject : object_registry_->find(argument.bits),
                   "double-destroy");
      if (call.answer) return;
    }
    if (effect.memory == nullptr || subject == nullptr || subject->is_alive()) return;
    const CUresult answer = add_ended(call, *subject, "double-free");
    if (!is_refused_by_driver(base_of(call.slot))) call.answer = answer;
  }

  Findings findings;

 private:
  static bool is_judged_handle(const Argument &argument) {
    return argument.type == Type::handle && argument.kind != Kind::none &&
           !is_predefined_stream(argument.bits);
  }

  void judge_use(WatchedCall &call, const Argument &argument) {
    if (is_judged_handle(argument))
      return judge_handle(call, argument, object_registry_->find(argument.bits), "use-after-destroy");
    if (argument.type != Type::address || argument.bits == 0) return;
    const TrackedObject *const thing = object_registry_->find_memory(argument.bits);
    if (thing != nullptr && !thing->is_alive() && is_gone(*thing, call))
      call.answer = add_ended(call, *thing, "use-after-free");
  }

  void judge_handle(WatchedCall &call, const Argument &argument, const TrackedObject *thing,
                    const char *rule_of_ended) {
    if (thing == nullptr) return;
    if (thing->kind == argument.kind && !thing->is_alive())
      call.answer = add_ended(call, *thing, rule_of_ended);
    else if (thing->kind != argument.kind && thing->is_alive())
      call.answer = add_wrong_kind(call, *thing, argument);
  }

  CUresult add_ended(const WatchedCall &call, const TrackedObject &thing, const std::string &rule) {
    const bool is_second_end = rule.starts_with("double");
    const std::string effect = thing.is_memory() ? "freed" : "destroyed";
    const std::string fate = thing.ended_with_context ? effect + " with its context" : effect;
    findings.add(
        {.checker = "misuse",
         .rule = rule,
         .what = thing.in_words() + (is_second_end ? " is " + effect + " a second time"
                                                   : " is used, but was " + fate + " before"),
         .calls = {{is_second_end ? "the second time by" : "used by", call.in_words(), CallStack::of_call()},
                   {fate + " by", symbol_of(thing.ended_by), thing.ended_at},
                   {"made by", symbol_of(thing.made_by), thing.made_at}},
         .advice = is_second_end ? "let one owner end it, once, and forget the handle then"
                                 : "end it after its last use"});
    return answer_to(thing);
  }

  CUresult add_wrong_kind(const WatchedCall &call, const TrackedObject &thing, const Argument &argument) {
    const std::string wanted = argument.noun;
    findings.add(
        {.checker = "misuse",
         .rule = "wrong-kind",
         .what = thing.in_words() + " is given for a handle of the kind " + wanted,
         .calls = {{"used by", call.in_words(), CallStack::of_call()},
                   {"made by", symbol_of(thing.made_by), thing.made_at}},
         .advice = "give the " + wanted + "; look for a cast that hides the kind from the compiler"});
    return answer_for(argument.kind);
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
    const auto words = [](const char *noun, std::uint64_t handle) {
      return mock::handle_in_words(noun, reinterpret_cast<const void *>(handle));
    };
    Finding finding{
        .checker = "misuse",
        .rule = "wrong-context",
        .what = first->in_words() + " belongs to " + words("context", first->context) + ", but " +
                words(other.noun, other.bits) + " to " + words("context", context),
        .calls = {{"used by", call.in_words(), CallStack::of_call()},
                  {first->in_words() + " made by", symbol_of(first->made_by), first->made_at}},
        .advice = "make both in one context; a stream of another may wait with cuStreamWaitEvent"};
    if (second != nullptr)
      finding.calls.push_back({second->in_words() + " made by", symbol_of(second->made_by), second->made_at});
    findings.add(std::move(finding));
  }

  const std::shared_ptr<ObjectRegistry> object_registry_;
  // last member: removed first, so that no call is inside when the rest is destroyed
  std::vector<hook::Hook> hooks_;
};

Misuse::Misuse(Driver &driver) : state_(std::make_unique<State>(driver)) {}
Misuse::~Misuse() = default;

std::vector<Finding> Misuse::findings() const { return state_->findings.all(); }

}  // namespace cushim::check
