// SPDX-License-Identifier: Apache-2.0
// The base of all nouns (contexts, streams, events, devices): driver and handle, emptiness, comparison, hash,
// output.
#pragma once

#include <cushim/error.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <type_traits>
#include <utility>

namespace cushim {
inline namespace v1 {
namespace detail {

// The driver of empty objects. All its entries fail, so a call through an empty object returns an error
// without reaching a real driver, and other calls need no check.
inline Driver &nowhere() noexcept {
  static CushimDriver *const driver = cushim_driver_from(
      "nowhere", 0, [](void *, const char *) -> void (*)() { return nullptr; }, nullptr);
  return *Driver::from(driver != nullptr ? driver : cushim_default_driver());
}

// A handle and its driver, as references store them. Owns nothing.
template <class Handle>
class Bound {
 public:
  // Empty: belongs to no driver.
  Bound() noexcept : driver_(&nowhere()) {}
  Bound(Handle handle, Driver &driver) noexcept : driver_(&driver), handle_(handle) {}

  Handle handle() const noexcept { return handle_; }
  Driver &driver() const noexcept { return *driver_; }
  bool is_empty() const noexcept { return driver_ == &nowhere(); }

 private:
  Driver *driver_;
  Handle handle_{};
};

// The base of every noun, reference or owner. Self is the noun. Self::ref() is the reference, which stores
// handle and driver (Reference). This class stores nothing. Copy and assignment are protected, so that
// an owner cannot be assigned through its bases.
template <class Self, class Handle>
class NounBase {
 public:
  using NounType = Self;
  using HandleType = Handle;

  // Returns the raw handle, which belongs to driver(). No driver call.
  Handle handle() const noexcept { return bound().handle(); }
  // Returns the driver that created the handle. Every call goes to this driver.
  Driver &driver() const noexcept { return bound().driver(); }
  // Returns whether this refers to no object: default-constructed, moved from or closed. The null stream is
  // not empty.
  bool is_empty() const noexcept { return bound().is_empty(); }

 protected:
  NounBase() = default;
  NounBase(const NounBase &) = default;
  NounBase &operator=(const NounBase &) = default;
  ~NounBase() = default;

  const Self &self() const noexcept { return static_cast<const Self &>(*this); }

 private:
  const Bound<Handle> &bound() const noexcept { return self().ref().bound_; }
};

template <class Self, class Handle>
Handle handle_type_of(const NounBase<Self, Handle> &);

// A noun of cushim: has a driver and a handle, and to_text(noun) returns its text ("event 0x7f10").
template <class T>
concept Noun = requires(const T &noun) {
  detail::handle_type_of(noun);
  { to_text(noun) } -> std::same_as<std::string>;
};

// Orders handles and addresses with std::less, which also orders pointers to different objects.
template <class T>
std::strong_ordering order(T left, T right) noexcept {
  if (std::less<T>()(left, right)) return std::strong_ordering::less;
  return std::less<T>()(right, left) ? std::strong_ordering::greater : std::strong_ordering::equal;
}

inline std::string hexadecimal(std::uintptr_t value) {
  char text[2 + 16 + 1];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}
inline std::string hexadecimal(const void *address) {
  return hexadecimal(reinterpret_cast<std::uintptr_t>(address));
}

// Returns "event 0x7f10" or "an empty event".
template <class Self, class Handle>
std::string noun_text(const char *noun, const NounBase<Self, Handle> &object) {
  if (object.is_empty()) return std::string("an empty ") + noun;
  return std::string(noun) + " " + hexadecimal(object.handle());
}

// An argument in an error's text: "flags 3".
struct Argument {
  const char *name;
  long long value;
};
inline std::string to_text(const Argument &argument) {
  return std::string(argument.name) + " " + std::to_string(argument.value);
}

// An address in an error's text: "address 0x7f1000".
struct Address {
  const char *name;
  std::uintptr_t value;
};
inline std::string to_text(const Address &address) {
  return std::string(address.name) + " " + hexadecimal(address.value);
}

// A remark in an error's text; no text if null.
struct Remark {
  const char *text;
};
inline std::string to_text(const Remark &remark) { return remark.text != nullptr ? remark.text : ""; }

// The driver of a call without a noun. Adds no text to an error.
struct Through {
  Driver *driver_;
  Driver &driver() const noexcept { return *driver_; }
};
inline std::string to_text(const Through &) { return {}; }

template <class Thing>
bool is_empty_noun(const Thing &thing) {
  if constexpr (Noun<Thing>)
    return thing.is_empty();
  else
    return false;
}

// Returns the reason why a driver lacks a routine, if the result says that it does; else an empty string.
inline std::string missing_routine(Driver &driver, CUresult result, const char *routine) {
  if (&driver == &nowhere()) return {};
  if (result == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED && driver.version() == 0)
    return driver.explain(result).text();
  if (result != CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND) return {};
  for (int slot = cushim_entry_count(); slot-- > 0;) {
    const CushimEntryInfo *entry = cushim_entry(slot);
    if (std::string_view(entry->base) != routine || entry->thread[0] != '\0') continue;
    if (std::string why = driver.why_missing(static_cast<Entry>(slot)); !why.empty()) return why;
  }
  return {};
}

template <class... Things>
Error make_error(CUresult result, const char *routine, const Where &where, const Things &...things) {
  std::string words;
  const auto add = [&words](const std::string &text) {
    if (!text.empty()) words += (words.empty() ? "" : ", ") + text;
  };
  (add(to_text(things)), ...);
  if ((is_empty_noun(things) || ...)) {
    result = CUDA_ERROR_INVALID_HANDLE;  // instead of the result of the driver of empty objects
  } else if constexpr (sizeof...(Things) > 0) {
    [&](const auto &first, const auto &...) {
      if constexpr (requires { first.driver(); }) add(missing_routine(first.driver(), result, routine));
    }(things...);
  }
  return Error(result, routine, words, where);
}

template <class... Things>
[[noreturn, gnu::cold, gnu::noinline]] void fail(CUresult result, const char *routine, Where where,
                                                 Things... things) {
  throw make_error(result, routine, where, things...);
}

// The parameter type in which fail() takes a thing. Small things are passed by value, so that their address
// is not taken and a successful call need not store them; others as they were given.
template <class Thing>
using Passed = std::conditional_t<std::is_trivially_copyable_v<std::remove_cvref_t<Thing>> &&
                                      sizeof(std::remove_cvref_t<Thing>) <= 2 * sizeof(void *),
                                  std::remove_cvref_t<Thing>, Thing>;

// Throws Error if a call failed. things are named in the error: nouns, Argument, Address, Remark.
template <class... Things>
[[gnu::always_inline]] inline void check(CUresult result, const char *routine, Where where,
                                         Things &&...things) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail<Passed<Things>...>(result, routine, where, static_cast<Things &&>(things)...);
}

// Throws INVALID_HANDLE for an empty noun. Needed where the call goes to the driver of another noun.
template <class Thing>
void require(const Thing &thing, const char *routine, Where where) {
  if (thing.is_empty()) [[unlikely]]
    fail(CUDA_ERROR_INVALID_HANDLE, routine, where, thing);
}

// For destructors: reports a failed release to the unreported handler. Does not report if the driver or the
// context is gone, because then the object is already released.
template <class... Things>
void report(CUresult result, const char *routine, const Things &...things) noexcept {
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED ||
      result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
    return;
  try {
    unreported_handler.load()(make_error(result, routine, Where{}, things...));
  } catch (...) {
    std::fprintf(stderr, "cushim: %s failed: %d\n", routine, static_cast<int>(result));  // out of memory
  }
}

}  // namespace detail

// Returns whether two nouns, owners or references, have the same driver and the same handle. No driver call.
template <class Left, class Right, class Handle>
bool operator==(const detail::NounBase<Left, Handle> &left,
                const detail::NounBase<Right, Handle> &right) noexcept {
  return &left.driver() == &right.driver() && left.handle() == right.handle();
}
// Orders nouns by driver and handle, for keys of std::map. The order has no other meaning.
template <class Left, class Right, class Handle>
std::strong_ordering operator<=>(const detail::NounBase<Left, Handle> &left,
                                 const detail::NounBase<Right, Handle> &right) noexcept {
  const std::strong_ordering drivers = detail::order(&left.driver(), &right.driver());
  return drivers != 0 ? drivers : detail::order(left.handle(), right.handle());
}
// Returns whether a noun is not empty and has this raw handle, of any driver. No driver call.
template <class Self, class Handle>
bool operator==(const detail::NounBase<Self, Handle> &noun, std::type_identity_t<Handle> handle) noexcept {
  return !noun.is_empty() && noun.handle() == handle;
}
// Deleted: `stream == nullptr` looks like "is empty", but would mean "is the default stream".
template <class Self, class Handle>
bool operator==(const detail::NounBase<Self, Handle> &noun, std::nullptr_t) = delete;

// Throws Error if a raw call failed: check_result(driver().cuInit(0), "cuInit"). The error names the routine
// and, if the driver lacks the entry point, the reason. No driver call.
inline void check_result(CUresult result, const char *routine, Driver &driver = cushim::driver(),
                         Where where = Where::current()) {
  detail::check(result, routine, where, detail::Through{&driver});
}

// Writes the text of a noun, such as "event 0x7f10".
template <class Traits, detail::Noun T>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const T &noun) {
  return out << to_text(noun);
}

}  // namespace v1
}  // namespace cushim

// Equal nouns have equal hashes, owners and references alike.
template <cushim::detail::Noun T>
struct std::hash<T> {
  std::size_t operator()(const T &noun) const noexcept {
    using Handle = decltype(noun.handle());
    return std::hash<const void *>()(&noun.driver()) * 31 + std::hash<Handle>()(noun.handle());
  }
};
