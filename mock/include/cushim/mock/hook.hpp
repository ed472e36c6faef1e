// SPDX-License-Identifier: Apache-2.0
// Hooks: your code around the calls of one entry point of one driver, the real one included.
//
//   auto limit = hook::before<&cuMemAlloc>(driver, [&](CUdeviceptr *, size_t bytes) ->
//   std::optional<CUresult> {
//     if (bytes > most) return CUDA_ERROR_OUT_OF_MEMORY;
//     return std::nullopt;
//   });
//
// before   runs first; answers instead of what lies below if it returns a code (or returns void)
// replace  runs instead; if its first parameter takes it, it gets a callable for what lies below
// after    gets the result, then the arguments, so it sees out-values; may return another result
//
// A hook acts until its Hook ends, on all threads, for objects that exist already, and for pointers that
// the driver's cuGetProcAddress answers while any hook is on the driver (they stay good afterwards). The
// newest hook runs first. An entry without a hook keeps its own function in the table: it costs nothing.
// A driver that was not made by the mock library takes one of its 16 frames (cushim/mock/frame.hpp) when
// it gets its first hook, for good.
//
// A body is called by many threads at once, as the driver is. What it throws, the caller of the driver gets.
#pragma once

#include <cushim/mock/frame.hpp>
#include <cushim/mock/mutex.hpp>
#include <cushim/mock/signature.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace cushim {
inline namespace v1 {
namespace mock {

// One hook, whatever its type.
class AnyLayer {
 public:
  virtual ~AnyLayer() = default;
  std::atomic<int> inside{0};  // states of the stack that this is on, kept by calls
};

using Layers = std::vector<std::shared_ptr<AnyLayer>>;  // newest last

// The hooks of one entry of one driver.
class HookStack : public std::enable_shared_from_this<HookStack> {
 public:
  // The hooks that a call runs through, held as long as this lives.
  class Call {
   public:
    explicit Call(const HookStack &stack);
    ~Call();
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;
    const Layers &layers() const noexcept { return *layers_; }

   private:
    friend class HookStack;
    static thread_local const Call *innermost_;
    const Call *const outer_;
    std::shared_ptr<const Layers> layers_;
  };

  void push(std::shared_ptr<AnyLayer> layer);
  void erase(const AnyLayer &layer);
  bool is_empty() const;
  // Whether a call of this thread runs through this layer's stack.
  static bool is_inside(const AnyLayer &layer) noexcept;

 private:
  std::shared_ptr<const Layers> layers() const;
  template <class Edit>
  void change(Edit edit);

  mutable Mutex mutex_;
  std::shared_ptr<const Layers> layers_ = std::make_shared<const Layers>();
};

// Runs the hooks of an entry, then what lies below them: the receiver that was there before, or the
// driver's own function.
template <class Signature>
class HookReceiver;

// What lies below one hook. Callable with the entry's arguments while the hook's body runs.
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
  virtual CUresult run(const Next<CUresult(Arguments...)> &next, Arguments... arguments) = 0;
};

template <class... Arguments>
class HookReceiver<CUresult(Arguments...)> final : public Receiver<CUresult(Arguments...)> {
  using Signature = CUresult(Arguments...);

 public:
  HookReceiver(Frame &frame, int slot, AnyReceiver *below, std::shared_ptr<HookStack> stack)
      : frame_(frame),
        slot_(slot),
        below_(static_cast<Receiver<Signature> *>(below)),
        stack_(std::move(stack)) {}

  HookStack *hooks() noexcept override { return stack_.get(); }

  CUresult receive(Arguments... arguments) override {
    const HookStack::Call call(*stack_);
    return Next<Signature>(*this, call.layers(), call.layers().size())(arguments...);
  }

  CUresult below(Arguments... arguments) {
    return below_ != nullptr ? below_->receive(arguments...)
                             : frame_.call_below<Arguments...>(slot_, arguments...);
  }

 private:
  Frame &frame_;
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

}  // namespace mock

namespace hook {

namespace detail {

using MakeReceiver = std::unique_ptr<mock::AnyReceiver> (*)(mock::Frame &, int slot, mock::AnyReceiver *below,
                                                            std::shared_ptr<mock::HookStack>);

template <class Signature>
std::unique_ptr<mock::AnyReceiver> make_receiver(mock::Frame &frame, int slot, mock::AnyReceiver *below,
                                                 std::shared_ptr<mock::HookStack> stack) {
  // No make_unique: with an owner of each type, compiling the table of all rows takes four times as long.
  return std::unique_ptr<mock::AnyReceiver>(
      new mock::HookReceiver<Signature>(frame, slot, below, std::move(stack)));
}

template <class Signature, class Body>
class Before;
template <class Signature, class Body>
class Replace;
template <class Signature, class Body>
class After;

template <class Body, class... Arguments>
class Before<CUresult(Arguments...), Body> final : public mock::Layer<CUresult(Arguments...)> {
 public:
  explicit Before(Body body) : body_(std::move(body)) {}
  CUresult run(const mock::Next<CUresult(Arguments...)> &next, Arguments... arguments) override {
    if constexpr (std::is_void_v<std::invoke_result_t<Body &, Arguments...>>) {
      body_(arguments...);
    } else {
      const std::optional<CUresult> answer = body_(arguments...);
      if (answer) return *answer;
    }
    return next(arguments...);
  }

 private:
  Body body_;
};

template <class Body, class... Arguments>
class Replace<CUresult(Arguments...), Body> final : public mock::Layer<CUresult(Arguments...)> {
  using Next = mock::Next<CUresult(Arguments...)>;

 public:
  explicit Replace(Body body) : body_(std::move(body)) {}
  CUresult run(const Next &next, Arguments... arguments) override {
    if constexpr (std::is_invocable_v<Body &, const Next &, Arguments...>)
      return body_(next, arguments...);
    else
      return body_(arguments...);
  }

 private:
  Body body_;
};

template <class Body, class... Arguments>
class After<CUresult(Arguments...), Body> final : public mock::Layer<CUresult(Arguments...)> {
 public:
  explicit After(Body body) : body_(std::move(body)) {}
  CUresult run(const mock::Next<CUresult(Arguments...)> &next, Arguments... arguments) override {
    const CUresult result = next(arguments...);
    if constexpr (std::is_void_v<std::invoke_result_t<Body &, CUresult, Arguments...>>) {
      body_(result, arguments...);
      return result;
    } else {
      return body_(result, arguments...);
    }
  }

 private:
  Body body_;
};

// The function type behind a pointer to it.
template <auto function>
using SignatureOfFunction = std::remove_pointer_t<decltype(function)>;

}  // namespace detail

// A hook that is installed; removes it at its end. Empty if default-constructed or moved from.
class Hook {
 public:
  Hook() noexcept = default;
  Hook(Hook &&other) noexcept : installed_(std::exchange(other.installed_, {})) {}
  Hook &operator=(Hook &&other) noexcept {
    Hook old(std::move(*this));
    installed_ = std::exchange(other.installed_, {});
    return *this;
  }
  // As remove(), but the program ends, saying why, where that would throw.
  ~Hook();

  // Returns when no call is inside the hook, which then never runs again. Throws std::logic_error, and
  // removes nothing, if this thread is inside a call that runs through the hook.
  void remove();

  // Installs a hook; before(), replace() and after() do that with the right types. Throws as
  // mock::Frame::over().
  Hook(Driver &driver, int slot, std::shared_ptr<mock::AnyLayer> layer, detail::MakeReceiver make);

 private:
  struct Installed {
    mock::Frame *frame = nullptr;  // null if the driver lives in its frame: nothing was laid over its table
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

// By row, for every ABI under any headers that can type it: before<Entry::cuMemAlloc_v2000>(driver, ...).
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

// By function, as <cuda.h> means the name: before<&cuMemAlloc>(driver, ...). The function is only named,
// nothing needs to define it; with Clang, debug information about it would.
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

}  // namespace hook
}  // namespace v1
}  // namespace cushim
