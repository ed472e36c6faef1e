// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace cushim::sim {

// A copy of bytes. The two ranges may overlap.
struct Move {
  std::byte *to = nullptr;
  const std::byte *from = nullptr;
  std::size_t size = 0;
  // Instead of a copy: work to do without the machine's lock. Returns the virtual nanoseconds that it takes
  // in addition to the operation's cost.
  std::function<std::int64_t()> compute{};
};

// A movable function that is called once. Stores up to kInlineSize bytes of captured state without an
// allocation. The function has no parameter, or a Move & in which it may describe a copy for the engine.
class Action {
 public:
  Action() noexcept = default;
  template <class Function>
  requires(!std::is_same_v<std::remove_cvref_t<Function>, Action>) Action(Function &&function) {
    using Stored = std::remove_cvref_t<Function>;
    if constexpr (sizeof(Stored) <= kInlineSize && alignof(Stored) <= alignof(void *) &&
                  std::is_nothrow_move_constructible_v<Stored>) {
      new (storage_) Stored(std::forward<Function>(function));
      methods_ = &kMethods<Stored>;
    } else {
      new (storage_) HeapStored<Stored>{std::make_unique<Stored>(std::forward<Function>(function))};
      methods_ = &kMethods<HeapStored<Stored>>;
    }
  }
  Action(Action &&other) noexcept { take(other); }
  Action &operator=(Action &&other) noexcept {
    if (this == &other) return *this;
    reset();
    take(other);
    return *this;
  }
  ~Action() { reset(); }

  explicit operator bool() const noexcept { return methods_ != nullptr; }
  void operator()(Move &move) { methods_->call(storage_, move); }
  void reset() noexcept {
    const Methods *const methods = std::exchange(methods_, nullptr);
    if (methods != nullptr && methods->destroy != nullptr) methods->destroy(storage_);
  }

 private:
  static constexpr std::size_t kInlineSize = 64;

  struct Methods {
    void (*call)(void *function, Move &move);
    void (*relocate)(void *from, void *to) noexcept;  // null: relocate by copying the bytes
    void (*destroy)(void *function) noexcept;         // null: trivially destructible
  };

  template <class Stored>
  struct HeapStored {
    std::unique_ptr<Stored> stored;
    void operator()(Move &move) { call(*stored, move); }
  };

  template <class Stored>
  static void call(Stored &stored, Move &move) {
    if constexpr (std::is_invocable_v<Stored &, Move &>)
      stored(move);
    else
      stored();
  }

  template <class Stored>
  static constexpr Methods make_methods() {
    Methods methods{[](void *function, Move &move) { call(*static_cast<Stored *>(function), move); }, nullptr,
                    nullptr};
    if constexpr (!std::is_trivially_copyable_v<Stored>) {
      methods.relocate = [](void *from, void *to) noexcept {
        new (to) Stored(std::move(*static_cast<Stored *>(from)));
        static_cast<Stored *>(from)->~Stored();
      };
      methods.destroy = [](void *function) noexcept { static_cast<Stored *>(function)->~Stored(); };
    }
    return methods;
  }

  template <class Stored>
  static constexpr Methods kMethods = make_methods<Stored>();

  void take(Action &other) noexcept {
    methods_ = std::exchange(other.methods_, nullptr);
    if (methods_ == nullptr) return;
    if (methods_->relocate != nullptr)
      methods_->relocate(other.storage_, storage_);
    else
      std::memcpy(storage_, other.storage_, kInlineSize);
  }

  const Methods *methods_ = nullptr;
  alignas(void *) std::byte storage_[kInlineSize];
};

}  // namespace cushim::sim
