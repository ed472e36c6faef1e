// SPDX-License-Identifier: Apache-2.0
// Base classes of references and owners without functions of their own, and a helper for queries of the
// driver.
#pragma once

#include <cushim/detail/owner.hpp>

namespace cushim {
inline namespace v1 {
namespace detail {

// The base of the kinds of objects that HandleRef refers to. RawHandle is the driver's type;
// CallsOfBoth<Self> has the functions that the reference and the owner have in common.
template <class RawHandle, template <class> class CallsOfBoth>
struct HandleKind {
  using Handle = RawHandle;
  template <class Self>
  using Calls = CallsOfBoth<Self>;
};

// A reference to an object of one kind. Owns nothing. Kind derives from HandleKind, and has kNoun, the name
// in texts.
template <class Kind>
class HandleRef : public Kind::template Calls<HandleRef<Kind>> {
 public:
  // Empty: no object.
  HandleRef() = default;
  // Returns a reference to a raw handle of this driver. No driver call.
  static HandleRef from_handle(typename Kind::Handle handle, Driver &driver = cushim::driver()) noexcept {
    HandleRef made;
    made.bound_ = {handle, driver};
    return made;
  }

  // Returns this. No driver call.
  const HandleRef &ref() const noexcept { return *this; }

  // Returns "external semaphore 0x7f10" or "an empty external semaphore".
  friend std::string to_text(const HandleRef &object) {
    if (object.is_empty()) return std::string("an empty ") + Kind::kNoun;
    return std::string(Kind::kNoun) + " " + hexadecimal(number_of(object.handle()));
  }

 private:
  template <class, class>
  friend class NounBase;

  static std::uintptr_t number_of(const void *handle) noexcept {
    return reinterpret_cast<std::uintptr_t>(handle);
  }
  static std::uintptr_t number_of(unsigned long long handle) noexcept {
    return static_cast<std::uintptr_t>(handle);
  }

  Bound<typename Kind::Handle> bound_;
};

// The base of the classes Kind::Calls.
template <class Self, class Handle>
class HandleCalls : public NounBase<Self, Handle> {
 protected:
  HandleCalls() = default;
  HandleCalls(const HandleCalls &) = default;
  HandleCalls &operator=(const HandleCalls &) = default;
};

// Returns the value that call(&value) writes. Throws Error, which names `thing`, if the call fails.
template <class T, class Thing, class Call>
T ask(const Thing &thing, const char *routine, Where where, Call call) {
  T value{};
  check(call(&value), routine, where, thing);
  return value;
}

}  // namespace detail
}  // namespace v1
}  // namespace cushim
