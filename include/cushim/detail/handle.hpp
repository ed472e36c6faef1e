// SPDX-License-Identifier: Apache-2.0
// Base classes of references, and helpers for calls of the driver.
#pragma once

#include <cushim/detail/reference.hpp>

namespace cushim {
inline namespace v1 {
namespace detail {

// The base of references: stores driver and handle, owns nothing. Base is the NounBase of the reference, or a
// class with the functions that the reference shares with owners.
template <class Base>
class Reference : public Base {
  using Self = typename Base::NounType;
  using Handle = typename Base::HandleType;

 public:
  // Returns a reference to a raw handle of this driver. No driver call.
  static Self from_handle(Handle handle, Driver &driver = cushim::driver()) noexcept {
    Self made;
    static_cast<Reference &>(made).bound_ = {handle, driver};
    return made;
  }

  // Returns this. No driver call.
  const Self &ref() const noexcept { return static_cast<const Self &>(*this); }

 protected:
  Reference() = default;
  Reference(Handle handle, Driver &driver) noexcept : bound_(handle, driver) {}

 private:
  template <class, class>
  friend class NounBase;

  Bound<Handle> bound_;
};

// How a raw handle becomes a HandleRef.
enum class RawHandles : bool { from_handle, convert };

// A reference without functions of its own. Owns nothing. Calls<Self> has the functions that the reference
// and the owner have in common, and kNoun, the name in texts.
template <template <class> class Calls, RawHandles raw_handles = RawHandles::from_handle>
class HandleRef : public Reference<Calls<HandleRef<Calls, raw_handles>>> {
  using Handle = typename Calls<HandleRef>::HandleType;
  static constexpr bool kConverts = raw_handles == RawHandles::convert;

 public:
  // Empty: no object.
  HandleRef() = default;

  // With RawHandles::convert: refers to a raw handle of the current driver; that of the runtime API converts,
  // too. The literals 0 and nullptr do not compile, because they are easily mistaken for "no object".
  HandleRef(Handle handle) noexcept requires kConverts : HandleRef::Reference(handle, cushim::driver()) {}
  HandleRef(std::nullptr_t) requires kConverts = delete;
  HandleRef(int) requires kConverts = delete;

  // Returns "external semaphore 0x7f10" or "an empty external semaphore".
  friend std::string to_text(const HandleRef &object) {
    if constexpr (requires { HandleRef::name_of(object.handle()); })
      if (const char *name = object.is_empty() ? nullptr : HandleRef::name_of(object.handle())) return name;
    return noun_text(HandleRef::kNoun, object);
  }
};

// A call of the driver, and its name for errors: NamedCall{"cuEventDestroy", &Driver::cuEventDestroy}.
template <class Signature>
struct NamedCall {
  const char *name;
  CushimEntry<Signature> CushimDriver::*entry;

  constexpr NamedCall(const char *routine, CushimEntry<Signature> CushimDriver::*function) noexcept
      : name(routine), entry(function) {}

  template <class... Arguments>
  CUresult operator()(const Driver &driver, Arguments... arguments) const {
    return (driver.*entry)(arguments...);
  }
};

// Returns the value that call(&value) writes. Throws Error, which names `thing`, if the call fails.
template <class T, class Thing, class Call>
T ask(const Thing &thing, const char *routine, Where where, Call call) {
  T value{};
  check(call(&value), routine, where, thing);
  return value;
}
// Return the value that a call writes, which takes the handle of a noun and a pointer to the value. Throw
// Error, which names the noun, if the call fails.
template <class T, class Noun>
T ask(const Noun &noun, NamedCall<CUresult(typename Noun::HandleType, T *)> call, Where where) {
  return ask<T>(noun, call.name, where, [&](T *out) { return call(noun.driver(), noun.handle(), out); });
}
template <class T, class Noun>
T ask(const Noun &noun, NamedCall<CUresult(T *, typename Noun::HandleType)> call, Where where) {
  return ask<T>(noun, call.name, where, [&](T *out) { return call(noun.driver(), out, noun.handle()); });
}

// Returns an attribute of a noun, of which the driver has the number, as its type. Throws INVALID_HANDLE if
// one of the other nouns, whose handles the call takes too, is empty.
template <class T, class Id, class Noun, class... Others>
T attribute_of(NamedCall<CUresult(int *, Id, typename Noun::HandleType, typename Others::HandleType...)> call,
               int number, Where where, const Noun &noun, const Others &...others) {
  (require(others, call.name, where), ...);
  int value = 0;
  check(call(noun.driver(), &value, static_cast<Id>(number), noun.handle(), others.handle()...), call.name,
        where, noun, others..., Argument{"attribute", number});
  return static_cast<T>(value);
}

// Makes a call that takes the handles of two nouns of the first one's driver. Throws INVALID_HANDLE if the
// second one is empty, and Error, which names both, if the call fails.
template <class Noun, class Other>
void call_with(const Noun &noun, const Other &other,
               NamedCall<CUresult(typename Noun::HandleType, typename Other::HandleType)> call, Where where) {
  require(other, call.name, where);
  check(call(noun.driver(), noun.handle(), other.handle()), call.name, where, noun, other);
}

}  // namespace detail
}  // namespace v1
}  // namespace cushim
