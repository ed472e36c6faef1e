// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/leaks.hpp>

#include <string>

#include "core/object_registry.hpp"

namespace cushim::check {
namespace {

std::string symbol_of(int slot) { return cushim_entry(slot)->symbol; }

std::string hex(std::uint64_t context) {
  return context == 0 ? "no context"
                      : mock::handle_in_words("context", reinterpret_cast<const void *>(context));
}

const char *advice_on(const TrackedObject &thing) {
  switch (thing.kind) {
    case Kind::none:
      break;
    case Kind::module:
      return "unload it with cuModuleUnload";
    default:
      return "destroy it when it is no longer needed";
  }
  const std::string_view base = cushim_entry(thing.made_by)->base;
  if (base == "cuMemHostRegister") return "take the registration back with cuMemHostUnregister";
  if (base == "cuIpcOpenMemHandle") return "close it with cuIpcCloseMemHandle, as often as it was opened";
  if (base == "cuMemAllocHost" || base == "cuMemHostAlloc") return "free it with cuMemFreeHost";
  if (base == "cuMemAllocAsync" || base == "cuMemAllocFromPoolAsync" || base == "cuMemPoolImportPointer")
    return "free it with cuMemFreeAsync, or cuMemFree once its work is done";
  return "free it with cuMemFree";
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
      finding.advice = std::string(advice_on(thing)) + ", before its context ends";
      findings.add(std::move(finding));
    }
  }

  void finish() {
    for (const TrackedObject &thing : object_registry->take_unreported_living()) {
      Finding finding = thing.is_memory()
                            ? about(thing, "never-freed", "of " + hex(thing.context) + " was not freed")
                            : about(thing, "never-destroyed",
                                    (thing.kind == Kind::context ? "" : "of " + hex(thing.context) + " ") +
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
