// SPDX-License-Identifier: Apache-2.0
// What every noun has in common: a driver and a handle; being empty; comparing, hashing, printing.
#pragma once

#include <cushim/error.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>

namespace cushim {
inline namespace v1 {
namespace detail {

// The driver of empty objects: it serves nothing, so that every call through an empty object fails
// without reaching a driver, and calls through others need no check.
inline Driver &nowhere() noexcept {
  static CushimDriver *const driver = cushim_driver_from(
      "nowhere", 0, [](void *, const char *) -> void (*)() { return nullptr; }, nullptr);
  return *Driver::from(driver != nullptr ? driver : cushim_default_driver());
}

// A driver and one of its handles. Trivially copyable; owns nothing.
template <class Handle>
class Reference {
 public:
  // Empty: belongs to no driver.
  Reference() noexcept : driver_(&nowhere()) {}

  // The raw handle, to be used with this driver.
  Handle handle() const noexcept { return handle_; }
  // The driver that made the handle and that every call goes through.
  Driver &driver() const noexcept { return *driver_; }
  // Whether this is no object at all: default-constructed, moved from, closed. The null stream is
  // not empty.
  bool is_empty() const noexcept { return driver_ == &nowhere(); }

  friend bool operator==(const Reference &left, const Reference &right) noexcept {
    return left.driver_ == right.driver_ && left.handle_ == right.handle_;
  }

 protected:
  Reference(Handle handle, Driver &driver) noexcept : driver_(&driver), handle_(handle) {}
  // Makes this empty and returns the handle that it had.
  Handle take() noexcept {
    driver_ = &nowhere();
    return std::exchange(handle_, Handle{});
  }

 private:
  Driver *driver_;
  Handle handle_{};
};

template <class Handle>
std::true_type is_reference(const Reference<Handle> &);

// A noun of cushim: has a driver and a handle, and reads in words ("event 0x7f10"), by a friend
// in_words(noun) that its class declares.
template <class T>
concept Noun = requires(const T &noun) {
  detail::is_reference(noun);
  { in_words(noun) } -> std::same_as<std::string>;
};

inline std::string hexadecimal(std::uintptr_t value) {
  char text[2 + 16 + 1];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// "event 0x7f10", "an empty event".
template <class Handle>
std::string noun_in_words(const char *noun, const Reference<Handle> &reference) {
  if (reference.is_empty()) return std::string("an empty ") + noun;
  return std::string(noun) + " " + hexadecimal(reinterpret_cast<std::uintptr_t>(reference.handle()));
}

// An argument of an error's words: "flags 3".
struct Argument {
  const char *name;
  long long value;
};
inline std::string in_words(const Argument &argument) {
  return std::string(argument.name) + " " + std::to_string(argument.value);
}

// An address in an error's words: "address 0x7f1000".
struct Address {
  const char *name;
  std::uintptr_t value;
};
inline std::string in_words(const Address &address) {
  return std::string(address.name) + " " + hexadecimal(address.value);
}

// A remark in an error's words; none if null.
struct Remark {
  const char *text;
};
inline std::string in_words(const Remark &remark) { return remark.text != nullptr ? remark.text : ""; }

// The driver of a call that no noun takes part in; adds no words.
struct Through {
  Driver *driver_;
  Driver &driver() const noexcept { return *driver_; }
};
inline std::string in_words(const Through &) { return {}; }

template <class Thing>
bool is_empty_noun(const Thing &thing) {
  if constexpr (Noun<Thing>)
    return thing.is_empty();
  else
    return false;
}

// Why a driver has no such routine, where that is the reason.
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
  (add(in_words(things)), ...);
  if ((is_empty_noun(things) || ...)) {
    result = CUDA_ERROR_INVALID_HANDLE;  // and not what the nowhere driver says
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

// Throws if a call failed. Things are what the error shall name: nouns, Argument, Address, Remark.
// Objects are handed on by reference and temporaries by value, so that neither costs anything unless
// the call does fail.
template <class... Things>
[[gnu::always_inline]] inline void check(CUresult result, const char *routine, Where where,
                                         Things &&...things) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail<Things...>(result, routine, where, static_cast<Things &&>(things)...);
}

// Refuses an empty noun where the call goes through the driver of another.
template <class Thing>
void require(const Thing &thing, const char *routine, Where where) {
  if (thing.is_empty()) [[unlikely]]
    fail(CUDA_ERROR_INVALID_HANDLE, routine, where, thing);
}

// For destructors: tells the handler if a release failed, unless the driver or the context is gone
// and has released everything itself.
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

// "event 0x7f10" for any noun.
template <class Traits, detail::Noun T>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const T &noun) {
  return out << in_words(noun);
}

}  // namespace v1
}  // namespace cushim

// Equal nouns have equal hashes, whether owning or not.
template <cushim::detail::Noun T>
struct std::hash<T> {
  std::size_t operator()(const T &noun) const noexcept {
    using Handle = decltype(noun.handle());
    return std::hash<const void *>()(&noun.driver()) * 31 + std::hash<Handle>()(noun.handle());
  }
};
