// SPDX-License-Identifier: Apache-2.0
// Hooks on many entry points at once, with their arguments sorted by type: what a call does to which handles
// is told from the one list.
#pragma once

#include <cushim/mock/hook.hpp>
#include <cushim/mock/words.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kind.hpp"
#include "thing.hpp"

namespace cushim::check {

struct Argument {
  enum class Type : std::uint8_t {
    handle,       // bits: the handle
    handle_out,   // bits: where the call writes one
    address,      // of a device: CUdeviceptr
    address_out,  // where the call writes one
    pointer,      // to memory of the host
    pointer_out,  // where the call writes one
    number,
    other
  };
  Type type = Type::other;
  Kind kind = Kind::none;      // of a handle
  const char *noun = nullptr;  // of a handle: mock::noun_of
  std::uint64_t bits = 0;

  // What the call wrote. Not before it has succeeded.
  std::uint64_t written() const {
    std::uint64_t value = 0;
    if (bits != 0) std::memcpy(&value, reinterpret_cast<const void *>(bits), sizeof value);
    return value;
  }
};

template <class T>
Argument argument_of(const T &value) noexcept {
  using Type = Argument::Type;
  const auto bits_of = [](const auto &from) {
    std::uint64_t bits = 0;
    if constexpr (sizeof from <= sizeof bits) std::memcpy(&bits, &from, sizeof from);
    return bits;
  };
  if constexpr (mock::noun_of<T> != nullptr)
    return {Type::handle, kind_of<T>(), mock::noun_of<T>, bits_of(value)};
  if constexpr (std::is_same_v<T, CUdeviceptr>) return {Type::address, Kind::none, nullptr, value};
  if constexpr (std::is_pointer_v<T>) {
    using Pointed = std::remove_pointer_t<T>;
    if constexpr (mock::noun_of<Pointed> != nullptr)
      return {Type::handle_out, kind_of<Pointed>(), mock::noun_of<Pointed>, bits_of(value)};
    if constexpr (std::is_same_v<Pointed, CUdeviceptr>)
      return {Type::address_out, Kind::none, nullptr, bits_of(value)};
    if constexpr (std::is_same_v<Pointed, void *>)
      return {Type::pointer_out, Kind::none, nullptr, bits_of(value)};
    if constexpr (std::is_void_v<Pointed>) return {Type::pointer, Kind::none, nullptr, bits_of(value)};
  }
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
    return {Type::number, Kind::none, nullptr, bits_of(value)};
  return {Type::other, Kind::none, nullptr, bits_of(value)};
}

// A call that runs.
struct WatchedCall {
  // "cuEventRecord(hEvent = event 0x7f10, hStream = legacy stream)"
  std::string in_words() const { return mock::Call{static_cast<Entry>(slot), values}.in_words(); }

  int slot;
  std::span<const Argument> arguments;
  std::span<const mock::Value> values;  // the same, for words
  // What is answered instead of the driver, if before() says so.
  std::optional<CUresult> answer{};
  // What before() took to end by this call, for after(): its subject, and what goes with it.
  std::optional<Thing> ended{};
  std::vector<Thing> ended_with_it{};
};

class Watcher {
 public:
  virtual ~Watcher() = default;
  // May set call.answer, then there is no after().
  virtual void before(WatchedCall &call) = 0;
  virtual void after(WatchedCall &call, CUresult result) = 0;
};

// Hooks on the entry points that are wanted, as long as they are kept. Of those that take or make a context,
// stream, event, array, pool or module, or whose names begin as those of memory and contexts do; a function
// for each of the others would be compiled for nothing.
std::vector<hook::Hook> watch(Driver &driver, Watcher &watcher,
                              const std::function<bool(int slot)> &is_wanted);

// The parameters of a row that can be watched, without values; of another, none.
std::span<const Argument> parameters_of(int slot);

}  // namespace cushim::check
