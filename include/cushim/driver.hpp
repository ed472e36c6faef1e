// SPDX-License-Identifier: Apache-2.0
// The driver as a C++ value: finding it, asking what it can do, choosing which one is current.
// Each function is one call of the C face (cushim/load.h), where the rules are written.
#pragma once

#include <cushim/load.h>
#include <cushim/entry.hpp>

#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace cushim {
inline namespace v1 {

// What happened, what was tried, what to do. See docs/reference/errors.md for each id.
class Diagnosis {
 public:
  Diagnosis() : plain_{} {}
  explicit Diagnosis(const CushimDiagnosis &plain) : plain_(plain) {}

  // True if nothing is wrong.
  explicit operator bool() const noexcept { return plain_.id == CUSHIM_OK; }

  CushimDiagnosisId id() const noexcept { return plain_.id; }
  std::string_view name() const noexcept { return cushim_diagnosis_name(plain_.id); }
  CUresult code() const noexcept { return plain_.code; }
  int driver_version() const noexcept { return plain_.driver_version; }
  std::string_view what() const noexcept { return plain_.what; }
  std::string_view advice() const noexcept { return plain_.advice; }
  const CushimDiagnosis &plain() const noexcept { return plain_; }

  // "cushim[no-driver]: what (tried). advice"
  std::string text() const {
    std::string text(cushim_diagnosis_text(&plain_, nullptr, 0), '\0');
    cushim_diagnosis_text(&plain_, text.data(), text.size() + 1);
    return text;
  }

 private:
  CushimDiagnosis plain_;
};

// What load() opens, and what it requires.
struct LoadOptions {
  const char *library = nullptr;  // a library to open instead of the default driver
  int at_least = 0;               // refuse a driver below this version: 12040 is 12.4
  bool initialize = false;        // also call cuInit(0)
};

class Driver;

// A driver, or why there is none. A value: nothing is thrown.
struct Loaded {
  Driver *driver = nullptr;  // null if refused
  Diagnosis diagnosis;

  explicit operator bool() const noexcept { return driver != nullptr; }
  Driver *operator->() const noexcept { return driver; }
  Driver &operator*() const noexcept { return *driver; }
};

// A driver: the table of its entry points (members bear symbol names: driver.cuInit(0)) and what can
// be asked about it. Its address is its identity; it is never freed, so references stay valid.
class Driver : public CushimDriver {
 public:
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  // Opens a driver and resolves its entry points; see cushim_load().
  static Loaded load(const LoadOptions &options = {}) {
    const CushimLoadOptions plain{sizeof plain, options.library, options.at_least, options.initialize};
    CushimDiagnosis diagnosis;
    CushimDriver *driver = cushim_load(&plain, &diagnosis);
    return {from(driver), Diagnosis(diagnosis)};
  }

  // The process's default driver, opened or not.
  static Driver &by_default() { return *from(cushim_default_driver()); }

  // A driver made of functions in this program; see cushim_driver_from().
  static Driver &from_functions(const char *name, int version, void (*(*resolve)(void *, const char *))(),
                                void *data = nullptr) {
    CushimDriver *made = cushim_driver_from(name, version, resolve, data);
    if (made == nullptr) throw std::bad_alloc();
    return *from(made);
  }

  // The C++ view of a driver that the C face gave.
  static Driver *from(CushimDriver *driver) noexcept { return static_cast<Driver *>(driver); }

  std::string_view name() const noexcept { return cushim_driver_name(this); }
  int version() const noexcept { return cushim_driver_version(this); }
  CushimLookup lookup() const noexcept { return cushim_driver_lookup(this); }

  // Whether this driver serves an entry point itself. All three forms see the same rows; the first
  // takes any function that the headers in use declare, the others every row under any headers.
  template <auto function>
#if defined(__clang__)
  __attribute__((nodebug)) /* its debug information would need the function to be defined */
#endif
  bool
  supports() {
    return supports(entry_of<function>());
  }
  bool supports(Entry entry) { return cushim_supports(this, static_cast<int>(entry)); }
  // As cuGetProcAddress(base, version) would find it: supports("cuMemAlloc", 2000) asks for the
  // first ABI. Other than there, a name that this driver serves only since a later release is false.
  bool supports(std::string_view base, int version, bool per_thread = false) {
    const int slot = cushim_find_version(std::string(base).c_str(), version, per_thread);
    return slot >= 0 && cushim_supports(this, slot);
  }

  // Why an entry point is not served, in words; empty if it is.
  std::string why_missing(Entry entry) {
    const int slot = static_cast<int>(entry);
    std::string text(cushim_why_missing(this, slot, nullptr, 0), '\0');
    cushim_why_missing(this, slot, text.data(), text.size() + 1);
    return text;
  }

  // Explains a code that this driver returned from cuInit or later; see cushim_explain().
  Diagnosis explain(CUresult code) {
    CushimDiagnosis diagnosis;
    cushim_explain(this, code, &diagnosis);
    return Diagnosis(diagnosis);
  }

 private:
  Driver() = default;
};

// The current driver as an object: what objects remember that are made with it.
inline Driver &current_driver() noexcept { return *static_cast<Driver *>(cushim_driver()); }

// Whatever driver is current when a call is made. Stateless; converts to the driver of the moment.
class CurrentDriver : public CushimCurrentEntries {
 public:
  operator Driver &() const noexcept { return current_driver(); }
  Driver *operator->() const noexcept { return &current_driver(); }
};

namespace detail {
inline constexpr CurrentDriver current_driver_of_the_moment{};
}

// Raw calls: cushim::driver().cuMemAlloc(&pointer, bytes). Two loads and one indirect jump, reached by
// a direct call. What else is asked of the current driver: cushim::driver()->version(). What is kept of
// it, auto &driver = cushim::driver(), goes on meaning the driver of the moment.
inline const CurrentDriver &driver() noexcept { return detail::current_driver_of_the_moment; }

// Opens the default driver; see cushim_load(). The current driver stays what it is.
inline Loaded load(const LoadOptions &options = {}) { return Driver::load(options); }

// supports() of the current driver.
template <auto function>
#if defined(__clang__)
__attribute__((nodebug)) /* as above */
#endif
bool
supports() {
  return current_driver().supports<function>();
}
inline bool supports(Entry entry) { return current_driver().supports(entry); }
inline bool supports(std::string_view base, int version, bool per_thread = false) {
  return current_driver().supports(base, version, per_thread);
}

// Makes a driver current for all threads of the process while it lives. Scopes may end in any
// order; the newest that is alive decides.
class ScopedDriver {
 public:
  explicit ScopedDriver(Driver &driver) noexcept { cushim_enter(&scope_, &driver); }
  ~ScopedDriver() { cushim_leave(&scope_); }
  ScopedDriver(const ScopedDriver &) = delete;
  ScopedDriver &operator=(const ScopedDriver &) = delete;

 private:
  CushimScope scope_{};
};

// A copy of cushim in this process; static copies have a current driver of their own each.
struct Copy {
  std::string path;
  int version_major, version_minor, version_patch;
  bool is_this_one;
};

// Returns the copies of cushim in this process. Each static copy has its own current driver.
inline std::vector<Copy> copies() {
  std::vector<Copy> found;
  cushim_copies(
      [](void *data, const CushimCopy *copy) {
        static_cast<std::vector<Copy> *>(data)->push_back(
            {copy->path, copy->version_major, copy->version_minor, copy->version_patch, copy->is_this_one});
      },
      &found);
  return found;
}

}  // namespace v1
}  // namespace cushim
