// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/leaks.hpp>

#include <string>

#include <cushim/detail/entry_traits.hpp>

#include "core/object_registry.hpp"
#include "leaks/graph_leaks.hpp"

namespace cushim::check {
namespace {

std::string context_text(std::uint64_t context) {
  return context == 0 ? "no context" : mock::handle_text("context", reinterpret_cast<const void *>(context));
}

std::string advice_on(const TrackedObject &object) {
  using mock::Object;
  const mock::EntryTraits &maker = mock::traits_of(object.made_by);
  const std::string end(maker.inverse);
  switch (maker.object) {
    case Object::module:
      return "unload it with " + end;
    case Object::registered_memory:
      return "unregister it with " + end;
    case Object::ipc_memory:
      return "call " + end + " once for each " + cushim_entry(object.made_by)->base;
    case Object::mapped_memory:
      return "unmap it with " + end;
    case Object::allocation_handle:
      return "call " + end + " once for each call that returned the handle";
    case Object::stream_ordered_memory:
    case Object::shared_pool_memory:
      return "free it with " + end + ", or with cuMemFree after its last use";
    default:
      return mock::is_memory(maker.object) || maker.object == Object::address_range
                 ? "free it with " + end
                 : "destroy it after its last use";
  }
}

class LeaksState final : public CheckerState, public ObjectRegistry::DestroyListener {
 public:
  explicit LeaksState(Driver &driver)
      : object_registry(ObjectRegistry::of(driver)),
        graph_leaks(driver, [this](Finding finding) { findings.add(std::move(finding)); }) {
    object_registry->add(*this);
  }
  ~LeaksState() override { object_registry->remove(*this); }
  LeaksState(const LeaksState &) = delete;
  LeaksState &operator=(const LeaksState &) = delete;

  void on_context_destroyed(const ObjectRegistry::TrackedObjects &left, const WatchedCall &by,
                            const CallStack &at) override {
    for (const TrackedObject &object : left) {
      Finding finding = about(object, "gone-with-context",
                              "was alive when " + context_text(object.context) + " was destroyed");
      finding.calls.push_back({"context destroyed by", by.to_text(), at});
      finding.advice = advice_on(object) + ", before its context is destroyed";
      findings.add(std::move(finding));
    }
  }

  void finish() override {
    for (const TrackedObject &object : object_registry->take_unreported_living()) {
      const bool names_no_context = object.kind == Kind::context || has_no_context(object.kind);
      const std::string owner = names_no_context ? "" : "of " + context_text(object.context) + " ";
      Finding finding = object.is_memory() || has_integer_handle(object.kind)
                            ? about(object, "never-freed", owner + "was not freed")
                            : about(object, "never-destroyed", owner + "was not destroyed");
      finding.advice = advice_on(object);
      findings.add(std::move(finding));
    }
    graph_leaks.finish();
    if (std::exchange(has_finished, true)) return;
    for (const Retain &retain : object_registry->retains()) {
      if (retain.was_reset) continue;
      findings.add(
          {.checker = "leaks",
           .rule = "never-released",
           .what = "the primary context of device " + std::to_string(retain.device) + " was not released",
           .calls = {{"retained by", cushim_entry(retain.by)->symbol, retain.at}},
           .advice = "call cuDevicePrimaryCtxRelease once for each cuDevicePrimaryCtxRetain"});
    }
  }

  static Finding about(const TrackedObject &object, const char *rule, const std::string &fate) {
    return {.checker = "leaks",
            .rule = rule,
            .what = object.to_text() + " " + fate,
            .calls = {{"created by", cushim_entry(object.made_by)->symbol, object.made_at}},
            .advice = "",
            .bytes = object.bytes};
  }

  const std::shared_ptr<ObjectRegistry> object_registry;
  bool has_finished = false;
  // last member: removed first
  GraphLeaks graph_leaks;
};

}  // namespace

Leaks::Leaks(Driver &driver) : StatefulChecker("leaks", std::make_shared<LeaksState>(driver)) {}

}  // namespace cushim::check
