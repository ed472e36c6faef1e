// SPDX-License-Identifier: Apache-2.0
// The base of classes that own objects of the driver: moves, destroys once, keeps the context of creation.
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/detail/home_context.hpp>

namespace cushim {
inline namespace v1 {
namespace detail {

// Whether a context must be current when an object is destroyed. any: it may be another than the object's.
enum class ContextToDestroy : bool { none, any };

// Owns a handle of the driver. Calls<Self> has the functions that Self shares with its reference type, Ref,
// and kDestroy, the NamedCall that destroys the object. A default-constructed Self is empty.
template <class Self, class Ref, template <class> class Calls,
          ContextToDestroy context_to_destroy = ContextToDestroy::none>
class Owner : public Calls<Self> {
  using Handle = typename Calls<Self>::HandleType;

 public:
  // Takes ownership of an existing object. No driver call.
  static Self adopt(Handle handle, Driver &driver = cushim::driver()) noexcept {
    return Self(handle, driver, 0);
  }

  // Returns a reference to this object, which must not outlive it. No driver call.
  const Ref &ref() const noexcept { return ref_; }
  operator const Ref &() const noexcept { return ref_; }

  void swap(Self &other) noexcept { swap_members(other); }
  friend void swap(Self &left, Self &right) noexcept { left.swap(right); }
  // Returns the text of the reference.
  friend std::string to_text(const Owner &owner) { return to_text(owner.ref_); }

  // Destroys the object now. Throws Error if that fails. Does nothing if this is empty. Driver calls: those
  // that create() names for the end; cuDevicePrimaryCtxRelease if it was created on a device.
  void close(Where where = Where::current()) {
    if (this->is_empty()) return;
    const Ref object = std::exchange(ref_, {});
    HomeContext home = std::move(home_);
    const char *routine = nullptr;
    const CUresult result = destroy(object, home, routine);
    check(result, routine, where, object);
    home.close(where);
  }

  // Returns the handle, which the caller must destroy, and becomes empty. Driver calls:
  // cuDevicePrimaryCtxRelease if the object was created on a device.
  [[nodiscard]] Handle release() noexcept {
    home_ = {};
    return std::exchange(ref_, {}).handle();
  }

 protected:
  Owner() = default;
  Owner(Handle handle, Driver &driver, unsigned flags) noexcept
      : ref_(Ref::from_handle(handle, driver)), flags_(flags) {}
  Owner(Owner &&other) noexcept
      : ref_(std::exchange(other.ref_, {})), home_(std::move(other.home_)), flags_(other.flags_) {}
  Owner &operator=(Owner &&other) noexcept {
    Owner moved(std::move(other));
    swap_members(moved);
    return *this;
  }
  ~Owner() {
    if (this->is_empty()) return;
    const char *routine = nullptr;
    const CUresult result = destroy(ref_, home_, routine);
    report(result, routine, ref_);
  }

  const HomeContext &home() const noexcept { return home_; }
  // Returns the flags that the object was created with; 0 if this is empty.
  unsigned creation_flags() const noexcept { return this->is_empty() ? 0 : flags_; }

 private:
  friend Creation;
  // Sets routine to the call that returned the result.
  static CUresult destroy(const Ref &object, const HomeContext &home, const char *&routine) noexcept {
    routine = Owner::kDestroy.name;
    const auto release = [&] { return Owner::kDestroy(object.driver(), object.handle()); };
    if constexpr (context_to_destroy == ContextToDestroy::any)
      return home.run(release, routine);
    else
      return release();
  }
  void set_home(HomeContext home) noexcept { home_ = std::move(home); }
  void swap_members(Owner &other) noexcept {
    std::swap(ref_, other.ref_);
    std::swap(home_, other.home_);
    std::swap(flags_, other.flags_);
  }

  Ref ref_;
  HomeContext home_;
  unsigned flags_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace cushim
