// SPDX-License-Identifier: Apache-2.0
// A driver as a C++ object: load it, query it, make it current. Each function wraps one function of the C API
// (cushim/load.h), which documents the rules.
#pragma once

#include <cushim/load.h>
#include <cushim/entry.hpp>

#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace cushim {
inline namespace v1 {

// The outcome of load(): a result, the libraries that were tried, and advice. docs/reference/errors.md
// explains each id.
class Diagnosis {
 public:
  Diagnosis() : plain_{} {}
  explicit Diagnosis(const CushimDiagnosis &plain) : plain_(plain) {}

  // Returns true if there is no error.
  explicit operator bool() const noexcept { return plain_.id == CUSHIM_OK; }

  CushimDiagnosisId id() const noexcept { return plain_.id; }
  std::string_view name() const noexcept { return cushim_diagnosis_name(plain_.id); }
  CUresult code() const noexcept { return plain_.code; }
  int driver_version() const noexcept { return plain_.driver_version; }
  std::string_view what() const noexcept { return plain_.what; }
  std::string_view advice() const noexcept { return plain_.advice; }
  const CushimDiagnosis &plain() const noexcept { return plain_; }

  // Returns the diagnosis as one line: "cushim[no-driver]: what (tried). advice".
  std::string text() const {
    std::string text(cushim_diagnosis_text(&plain_, nullptr, 0), '\0');
    cushim_diagnosis_text(&plain_, text.data(), text.size() + 1);
    return text;
  }

 private:
  CushimDiagnosis plain_;
};

// Options of load().
struct LoadOptions {
  const char *library = nullptr;  // a library to open instead of the default driver
  int at_least = 0;               // reject a driver below this version: 12040 is 12.4
  bool initialize = false;        // also call cuInit(0)
};

class Driver;

// The result of load(): a driver, or the diagnosis of the failure. load() does not throw.
struct Loaded {
  Driver *driver = nullptr;  // null on failure
  Diagnosis diagnosis;

  explicit operator bool() const noexcept { return driver != nullptr; }
  Driver *operator->() const noexcept { return driver; }
  Driver &operator*() const noexcept { return *driver; }
};

// A driver: the table of its entry points (members have symbol names: driver.cuInit(0)) and queries about it.
// Its address is its identity. Drivers are never freed, so references stay valid.
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

  // Returns the process's default driver, whether it is open or not.
  static Driver &by_default() { return *from(cushim_default_driver()); }

  // Returns a driver made from functions of this program; see cushim_driver_from(). Throws std::bad_alloc.
  static Driver &from_functions(const char *name, int version, void (*(*resolve)(void *, const char *))(),
                                void *data = nullptr) {
    CushimDriver *made = cushim_driver_from(name, version, resolve, data);
    if (made == nullptr) throw std::bad_alloc();
    return *from(made);
  }

  // Returns the C++ view of a driver of the C API.
  static Driver *from(CushimDriver *driver) noexcept { return static_cast<Driver *>(driver); }

  std::string_view name() const noexcept { return cushim_driver_name(this); }
  int version() const noexcept { return cushim_driver_version(this); }
  CushimLookup lookup() const noexcept { return cushim_driver_lookup(this); }

  // Returns whether the driver itself implements an entry point. The first form takes a function that the
  // CUDA headers in use declare; the others take every row of the list under all headers. Opens the default
  // driver if it is not open.
  template <auto function>
#if defined(__clang__)
  __attribute__((nodebug)) /* its debug information would need the function to be defined */
#endif
  bool
  supports() {
    return supports(entry_of<function>());
  }
  bool supports(Entry entry) { return cushim_supports(this, static_cast<int>(entry)); }
  // Looks up as cuGetProcAddress(base, version) does: supports("cuMemAlloc", 2000) asks for the first ABI.
  // Unlike cuGetProcAddress, returns false if the driver implements the name only since a release after
  // version.
  bool supports(std::string_view base, int version, bool per_thread = false) {
    const int slot = cushim_find_version(std::string(base).c_str(), version, per_thread);
    return slot >= 0 && cushim_supports(this, slot);
  }

  // Returns the reason why an entry point is not implemented; empty if it is.
  std::string why_missing(Entry entry) {
    const int slot = static_cast<int>(entry);
    std::string text(cushim_why_missing(this, slot, nullptr, 0), '\0');
    cushim_why_missing(this, slot, text.data(), text.size() + 1);
    return text;
  }

  // Explains a code that a call of this driver returned; see cushim_explain().
  Diagnosis explain(CUresult code) {
    CushimDiagnosis diagnosis;
    cushim_explain(this, code, &diagnosis);
    return Diagnosis(diagnosis);
  }

 private:
  Driver() = default;
};

// Returns the current driver. Objects store this reference when they are created.
inline Driver &current_driver() noexcept { return *static_cast<Driver *>(cushim_driver()); }

// Stands for the driver that is current at each call. Stateless; converts to the current driver.
class CurrentDriver : public CushimCurrentEntries {
 public:
  operator Driver &() const noexcept { return current_driver(); }
  Driver *operator->() const noexcept { return &current_driver(); }
};

namespace detail {
inline constexpr CurrentDriver current_driver_of_the_moment{};
}

// Returns the object for calls to the current driver: cushim::driver().cuMemAlloc(&pointer, bytes). A call
// costs a direct call, two loads and one indirect jump. Queries use the arrow: cushim::driver()->version(). A
// stored reference, auto &driver = cushim::driver(), follows later changes of the current driver.
inline const CurrentDriver &driver() noexcept { return detail::current_driver_of_the_moment; }

// Opens the default driver; see cushim_load(). Does not change the current driver.
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

// Makes a driver current for all threads of the process for a scope. Scopes may end in any order; the newest
// living scope decides.
class ScopedDriver {
 public:
  explicit ScopedDriver(Driver &driver) noexcept { cushim_enter(&scope_, &driver); }
  ~ScopedDriver() { cushim_leave(&scope_); }
  ScopedDriver(const ScopedDriver &) = delete;
  ScopedDriver &operator=(const ScopedDriver &) = delete;

 private:
  CushimScope scope_{};
};

// A copy of cushim in this process. Each static copy has its own current driver.
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
