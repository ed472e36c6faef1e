// SPDX-License-Identifier: Apache-2.0
// Installs hooks on many entry points at once and classifies their arguments by type, so that the entry
// point list determines what a call does to which handles.
#pragma once

#include <cushim/mock/hook.hpp>
#include <cushim/mock/text.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/kind.hpp"
#include "core/tracked_object.hpp"

namespace cushim::check {

struct Argument {
  enum class Type : std::uint8_t {
    handle,       // bits: the handle
    handle_out,   // bits: address to which the call writes a handle
    address,      // CUdeviceptr
    address_out,  // address to which the call writes a CUdeviceptr
    pointer,      // to host memory
    pointer_out,  // address to which the call writes a pointer
    number,
    other
  };
  Type type = Type::other;
  Kind kind = Kind::none;      // of a handle
  const char *noun = nullptr;  // of a handle: mock::noun_of
  std::uint64_t bits = 0;

  // Returns the value that the call wrote. Valid only after it has succeeded.
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

// A call in progress.
struct WatchedCall {
  // Returns "cuEventRecord(hEvent = event 0x7f10, hStream = legacy stream)".
  std::string to_text() const { return mock::Call{static_cast<Entry>(slot), values}.to_text(); }

  const Argument &argument(mock::ArgumentIndex index) const {
    return arguments[mock::position(index, arguments.size())];
  }

  int slot;
  std::span<const Argument> arguments;
  std::span<const mock::Value> values;  // the arguments, for to_text()
  // If set by before(), returned in place of the driver's result.
  std::optional<CUresult> answer{};
  // Set by before(): the object that the call destroys, and the objects that are destroyed with it.
  std::optional<TrackedObject> ended{};
  std::vector<TrackedObject> ended_with_it{};
};

// Returns the stream of the call. The null stream becomes CU_STREAM_LEGACY or CU_STREAM_PER_THREAD, as this
// entry point means it. 0 if the call takes no stream: the host does the work, or waits for it.
std::uint64_t stream_of(const WatchedCall &call);

class Watcher {
 public:
  virtual ~Watcher() = default;
  // May set call.answer; then the driver and after() are not called.
  virtual void before(WatchedCall &call) = 0;
  virtual void after(WatchedCall &call, CUresult result) = 0;
};

// Installs hooks on the wanted entry points; they last as long as the result. Only entry points that take
// or create a context, stream, event, array, pool, module or device address, or whose traits say that they
// wait, enqueue work or access memory, can be watched: this avoids compiling a function for each of the
// others.
std::vector<hook::Hook> watch(Driver &driver, Watcher &watcher,
                              const std::function<bool(int slot)> &is_wanted);

// Returns the parameters of an entry point that can be watched, without values; empty for others.
std::span<const Argument> parameters_of(int slot);

}  // namespace cushim::check
