// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/leaks.hpp>

#include <string>

#include <cushim/detail/entry_traits.hpp>

#include "core/object_registry.hpp"

namespace cushim::check {
namespace {

std::string symbol_of(int slot) { return cushim_entry(slot)->symbol; }

std::string hex(std::uint64_t context) {
  return context == 0 ? "no context"
                      : mock::handle_in_words("context", reinterpret_cast<const void *>(context));
}

std::string advice_on(const TrackedObject &thing) {
  using mock::Object;
  const mock::EntryTraits &maker = mock::traits_of(thing.made_by);
  const std::string end(maker.inverse);
  switch (maker.object) {
    case Object::module:
      return "unload it with " + end;
    case Object::registered_memory:
      return "take the registration back with " + end;
    case Object::ipc_memory:
      return "close it with " + end + ", as often as it was opened";
    case Object::mapped_memory:
      return "unmap it with " + end;
    case Object::stream_ordered_memory:
    case Object::shared_pool_memory:
      return "free it with " + end + ", or cuMemFree once its work is done";
    default:
      return mock::is_memory(maker.object) ? "free it with " + end : "destroy it when it is no longer needed";
  }
}

}  // namespace

class Leaks::State final : public ObjectRegistry::DestroyListener {
 public:
  explicit State(Driver &driver) : object_registry(ObjectRegistry::of(driver)) {
    object_registry->add(*this);
  }
  ~State() override { object_registry->remove(*this); }
  State(const State &) = delete;
  State &operator=(const State &) = delete;

  void on_context_destroyed(const ObjectRegistry::TrackedObjects &left, const WatchedCall &by,
                            const CallStack &at) override {
    for (const TrackedObject &thing : left) {
      Finding finding =
          about(thing, "gone-with-context", "was still there when " + hex(thing.context) + " ended");
      finding.calls.push_back({"its context was ended by", by.in_words(), at});
      finding.advice = advice_on(thing) + ", before its context ends";
      findings.add(std::move(finding));
    }
  }

  void finish() {
    for (const TrackedObject &thing : object_registry->take_unreported_living()) {
      Finding finding = thing.is_memory()
                            ? about(thing, "never-freed", "of " + hex(thing.context) + " was not freed")
                            : about(thing, "never-destroyed",
                                    (thing.kind == Kind::context || thing.kind == Kind::memory_pool
                                         ? ""
                                         : "of " + hex(thing.context) + " ") +
                                        "was not destroyed");
      finding.advice = advice_on(thing);
      findings.add(std::move(finding));
    }
    if (std::exchange(has_finished, true)) return;
    for (const Retain &retain : object_registry->retains()) {
      if (retain.was_reset) continue;
      findings.add(
          {.checker = "leaks",
           .rule = "never-released",
           .what = "the primary context of device " + std::to_string(retain.device) + " was not released",
           .calls = {{"retained by", symbol_of(retain.by), retain.at}},
           .advice = "release it with cuDevicePrimaryCtxRelease, as often as it was retained"});
    }
  }

  static Finding about(const TrackedObject &thing, const char *rule, const std::string &fate) {
    return {.checker = "leaks",
            .rule = rule,
            .what = thing.in_words() + " " + fate,
            .calls = {{"made by", symbol_of(thing.made_by), thing.made_at}},
            .advice = "",
            .bytes = thing.bytes};
  }

  const std::shared_ptr<ObjectRegistry> object_registry;
  Findings findings;
  bool has_finished = false;
};

Leaks::Leaks(Driver &driver) : state_(std::make_unique<State>(driver)) {}
Leaks::~Leaks() = default;

std::vector<Finding> Leaks::findings() const { return state_->findings.all(); }

std::vector<Finding> Leaks::finish() {
  state_->finish();
  return findings();
}

}  // namespace cushim::check
