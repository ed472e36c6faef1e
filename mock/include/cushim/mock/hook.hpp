// SPDX-License-Identifier: Apache-2.0
// Hooks: code around the calls of one entry point of one driver, the real driver included.
//
//   auto limit = hook::before<&cuMemAlloc>(driver, [&](CUdeviceptr *, size_t bytes) ->
//   std::optional<CUresult> {
//     if (bytes > most) return CUDA_ERROR_OUT_OF_MEMORY;
//     return std::nullopt;
//   });
//
// before   runs first; if it returns a code, the call returns that code and goes no further. May return void
// replace  runs instead; if its first parameter accepts it, gets a callable for the next hook or the driver
// after    gets the result and then the arguments, so it sees out-values; may return another result
//
// A hook is active until its Hook is destroyed: on all threads, for objects that already exist, and for
// pointers that the driver's cuGetProcAddress returns while any hook is on the driver (such pointers stay
// valid afterwards). The newest hook runs first. An entry point without a hook keeps the driver's own
// function in the table, at no cost. A driver that the mock library did not make permanently takes one of
// the 16 driver slots (cushim/mock/driver_slot.hpp) when it gets its first hook.
//
// Many threads may run a hook at once, like the driver. An exception from a hook propagates to the driver's
// caller.
#pragma once

#include <cushim/mock/driver_slot.hpp>
#include <cushim/mock/mutex.hpp>
#include <cushim/mock/signature.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace cushim::mock {

// One hook, with its type erased.
class AnyLayer {
 public:
  virtual ~AnyLayer() = default;
  std::atomic<int> inside{0};  // number of stack snapshots with this hook that are current or used by a call
};

using Layers = std::vector<std::shared_ptr<AnyLayer>>;  // newest last

// The hooks of one entry point of one driver.
class HookStack : public std::enable_shared_from_this<HookStack> {
 public:
  // The hooks that a call runs through; they stay alive as long as this object.
  class Call {
   public:
    explicit Call(const HookStack &stack);
    ~Call();
    Call(const Call &) = delete;
    const Layers &layers() const noexcept { return *layers_; }

   private:
    friend class HookStack;
    static thread_local const Call *innermost_;
    const Call *const outer_;
    std::shared_ptr<const Layers> layers_;
  };

  // Adds a hook, to run before the others.
  void push(std::shared_ptr<AnyLayer> layer);
  // Removes a hook. Calls that are running through it continue.
  void erase(const AnyLayer &layer);
  // Returns whether there are no hooks.
  bool is_empty() const;
  // Returns whether a call of this thread is running through a stack with this hook.
  static bool is_inside(const AnyLayer &layer) noexcept;

 private:
  std::shared_ptr<const Layers> layers() const;
  template <class Edit>
  void change(Edit edit);

  mutable Mutex mutex_;
  std::shared_ptr<const Layers> layers_ = std::make_shared<const Layers>();
};

// Runs the hooks of an entry point, then the receiver that was there before, or the driver's own function.
template <class Signature>
class HookReceiver;

// The next hook, or the driver. Callable with the call's arguments while the hook runs.
template <class Signature>
class Next;

template <class... Arguments>
class Next<CUresult(Arguments...)> {
 public:
  Next(HookReceiver<CUresult(Arguments...)> &receiver, const Layers &layers, std::size_t count) noexcept
      : receiver_(receiver), layers_(layers), count_(count) {}
  CUresult operator()(Arguments... arguments) const;

 private:
  HookReceiver<CUresult(Arguments...)> &receiver_;
  const Layers &layers_;
  std::size_t count_;
};

template <class Signature>
class Layer;

template <class... Arguments>
class Layer<CUresult(Arguments...)> : public AnyLayer {
 public:
  // Handles a call; `next` calls the next hook or the driver.
  virtual CUresult run(const Next<CUresult(Arguments...)> &next, Arguments... arguments) = 0;
};

template <class... Arguments>
class HookReceiver<CUresult(Arguments...)> final : public Receiver<CUresult(Arguments...)> {
  using Signature = CUresult(Arguments...);

 public:
  HookReceiver(DriverSlot &driver_slot, int slot, AnyReceiver *below, std::shared_ptr<HookStack> stack)
      : driver_slot_(driver_slot),
        slot_(slot),
        below_(static_cast<Receiver<Signature> *>(below)),
        stack_(std::move(stack)) {}

  HookStack *hooks() noexcept override { return stack_.get(); }

  // Runs the hooks, then the receiver or the function below them.
  CUresult receive(Arguments... arguments) override {
    const HookStack::Call call(*stack_);
    return Next<Signature>(*this, call.layers(), call.layers().size())(arguments...);
  }

  // Calls what the innermost hook wraps.
  CUresult below(Arguments... arguments) {
    return below_ != nullptr ? below_->receive(arguments...)
                             : driver_slot_.call_below<Arguments...>(slot_, arguments...);
  }

 private:
  DriverSlot &driver_slot_;
  const int slot_;
  Receiver<Signature> *const below_;
  const std::shared_ptr<HookStack> stack_;
};

template <class... Arguments>
CUresult Next<CUresult(Arguments...)>::operator()(Arguments... arguments) const {
  if (count_ == 0) return receiver_.below(arguments...);
  auto &newest = static_cast<Layer<CUresult(Arguments...)> &>(*layers_[count_ - 1]);
  return newest.run(Next(receiver_, layers_, count_ - 1), arguments...);
}

}  // namespace cushim::mock

namespace cushim::hook {

namespace detail {

using MakeReceiver = std::unique_ptr<mock::AnyReceiver> (*)(mock::DriverSlot &, int slot,
                                                            mock::AnyReceiver *below,
                                                            std::shared_ptr<mock::HookStack>);

template <class Signature>
std::unique_ptr<mock::AnyReceiver> make_receiver(mock::DriverSlot &driver_slot, int slot,
                                                 mock::AnyReceiver *below,
                                                 std::shared_ptr<mock::HookStack> stack) {
  // Avoids make_unique: instantiating it for each type makes the table of all entry points compile four
  // times slower.
  return std::unique_ptr<mock::AnyReceiver>(
      new mock::HookReceiver<Signature>(driver_slot, slot, below, std::move(stack)));
}

// A layer that calls a function object.
template <class Signature, class Body>
class BodyLayer : public mock::Layer<Signature> {
 public:
  explicit BodyLayer(Body body) : body_(std::move(body)) {}

 protected:
  Body body_;
};

template <class Signature, class Body>
class Before;
template <class Signature, class Body>
class Replace;
template <class Signature, class Body>
class After;

template <class Body, class... Arguments>
class Before<CUresult(Arguments...), Body> final : public BodyLayer<CUresult(Arguments...), Body> {
 public:
  using BodyLayer<CUresult(Arguments...), Body>::BodyLayer;
  CUresult run(const mock::Next<CUresult(Arguments...)> &next, Arguments... arguments) override {
    if constexpr (std::is_void_v<std::invoke_result_t<Body &, Arguments...>>) {
      this->body_(arguments...);
    } else {
      const std::optional<CUresult> answer = this->body_(arguments...);
      if (answer) return *answer;
    }
    return next(arguments...);
  }
};

template <class Body, class... Arguments>
class Replace<CUresult(Arguments...), Body> final : public BodyLayer<CUresult(Arguments...), Body> {
  using Next = mock::Next<CUresult(Arguments...)>;

 public:
  using BodyLayer<CUresult(Arguments...), Body>::BodyLayer;
  CUresult run(const Next &next, Arguments... arguments) override {
    if constexpr (std::is_invocable_v<Body &, const Next &, Arguments...>)
      return this->body_(next, arguments...);
    else
      return this->body_(arguments...);
  }
};

template <class Body, class... Arguments>
class After<CUresult(Arguments...), Body> final : public BodyLayer<CUresult(Arguments...), Body> {
 public:
  using BodyLayer<CUresult(Arguments...), Body>::BodyLayer;
  CUresult run(const mock::Next<CUresult(Arguments...)> &next, Arguments... arguments) override {
    const CUresult result = next(arguments...);
    if constexpr (std::is_void_v<std::invoke_result_t<Body &, CUresult, Arguments...>>) {
      this->body_(result, arguments...);
      return result;
    } else {
      return this->body_(result, arguments...);
    }
  }
};

// The function type of a function pointer.
template <auto function>
using SignatureOfFunction = std::remove_pointer_t<decltype(function)>;

}  // namespace detail

// An installed hook; the destructor removes it. Empty if default-constructed or moved from.
class Hook {
 public:
  Hook() noexcept = default;
  Hook(Hook &&other) noexcept : installed_(std::exchange(other.installed_, {})) {}
  Hook &operator=(Hook &&other) noexcept {
    Hook old(std::move(*this));
    installed_ = std::exchange(other.installed_, {});
    return *this;
  }
  // As remove(), but aborts the program with a message where that would throw.
  ~Hook();

  // Removes the hook, and returns when no call is inside it. It never runs again. If this thread is inside
  // a call that runs through the hook, throws std::logic_error and leaves the hook installed.
  void remove();

  // Installs a hook. Use before(), replace() and after(), which choose the right types. Throws as
  // mock::DriverSlot::over().
  Hook(Driver &driver, int slot, std::shared_ptr<mock::AnyLayer> layer, detail::MakeReceiver make);

 private:
  struct Installed {
    // Null if the driver itself is in its driver slot: its table has no overlay.
    mock::DriverSlot *driver_slot = nullptr;
    int slot = 0;
    std::shared_ptr<mock::HookStack> stack;
    std::shared_ptr<mock::AnyLayer> layer;
  };
  Installed installed_;
};

namespace detail {

template <class Signature, template <class, class> class Kind, class Body>
Hook install(Driver &driver, Entry entry, Body body) {
  return Hook(driver, static_cast<int>(entry), std::make_shared<Kind<Signature, Body>>(std::move(body)),
              &make_receiver<Signature>);
}

}  // namespace detail

// Install a hook by entry point, for any ABI whose types the CUDA headers have:
// before<Entry::cuMemAlloc_v2000>(driver, ...).
template <Entry entry, class Body>
[[nodiscard]] Hook before(Driver &driver, Body body) {
  return detail::install<mock::Signature<entry>, detail::Before>(driver, entry, std::move(body));
}
template <Entry entry, class Body>
[[nodiscard]] Hook replace(Driver &driver, Body body) {
  return detail::install<mock::Signature<entry>, detail::Replace>(driver, entry, std::move(body));
}
template <Entry entry, class Body>
[[nodiscard]] Hook after(Driver &driver, Body body) {
  return detail::install<mock::Signature<entry>, detail::After>(driver, entry, std::move(body));
}

// Install a hook by function, as <cuda.h> names it: before<&cuMemAlloc>(driver, ...). The function is only
// named and needs no definition; with Clang, debug information would need one.
#if defined(__clang__)
#define CUSHIM_ONLY_NAMED [[nodiscard, gnu::nodebug]]
#else
#define CUSHIM_ONLY_NAMED [[nodiscard]]
#endif
template <auto function, class Body>
requires std::is_pointer_v<decltype(function)> CUSHIM_ONLY_NAMED Hook before(Driver &driver, Body body) {
  return detail::install<detail::SignatureOfFunction<function>, detail::Before>(driver, entry_of<function>(),
                                                                                std::move(body));
}
template <auto function, class Body>
requires std::is_pointer_v<decltype(function)> CUSHIM_ONLY_NAMED Hook replace(Driver &driver, Body body) {
  return detail::install<detail::SignatureOfFunction<function>, detail::Replace>(driver, entry_of<function>(),
                                                                                 std::move(body));
}
template <auto function, class Body>
requires std::is_pointer_v<decltype(function)> CUSHIM_ONLY_NAMED Hook after(Driver &driver, Body body) {
  return detail::install<detail::SignatureOfFunction<function>, detail::After>(driver, entry_of<function>(),
                                                                               std::move(body));
}
#undef CUSHIM_ONLY_NAMED

}  // namespace cushim::hook
