// SPDX-License-Identifier: Apache-2.0
// Diagnostics of the driver: its log, coredumps, profiling, checkpoints, and its names of errors.
#pragma once

#include <cushim/detail/handle.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

namespace cushim {
inline namespace v1 {

// ---- Errors ----------------------------------------------------------------------------------------

// Return the driver's own name and description of a result; empty for an unknown one. name_of() needs no
// driver. Driver calls: cuGetErrorName, cuGetErrorString.
inline std::string driver_name_of(CUresult result, Driver &driver = cushim::driver()) {
  const char *name = nullptr;
  return driver.cuGetErrorName(result, &name) == CUDA_SUCCESS && name != nullptr ? name : "";
}
inline std::string driver_text_of(CUresult result, Driver &driver = cushim::driver()) {
  const char *text = nullptr;
  return driver.cuGetErrorString(result, &text) == CUDA_SUCCESS && text != nullptr ? text : "";
}

// ---- Profiling -------------------------------------------------------------------------------------

// Lets a profiler that is attached collect data during its lifetime. Driver calls: cuProfilerStart; at the
// end cuProfilerStop.
class ProfiledScope {
 public:
  explicit ProfiledScope(Driver &driver = cushim::driver(), Where where = Where::current())
      : driver_(driver) {
    detail::check(driver_.cuProfilerStart(), "cuProfilerStart", where, detail::Through{&driver_});
  }
  ~ProfiledScope() { detail::report(driver_.cuProfilerStop(), "cuProfilerStop", detail::Through{&driver_}); }
  ProfiledScope(const ProfiledScope &) = delete;
  ProfiledScope &operator=(const ProfiledScope &) = delete;

 private:
  Driver &driver_;
};

// ---- Log -------------------------------------------------------------------------------------------

#if CUDA_VERSION >= 12090

// A place in the driver's log of errors. Needs CUDA 12.9.
class LogPosition {
 public:
  // Returns the end of the log: what is logged later follows it. Driver calls: cuLogsCurrent.
  static LogPosition end(Driver &driver = cushim::driver(), Where where = Where::current()) {
    return LogPosition(
        driver, detail::ask<CUlogIterator>(detail::Through{&driver}, "cuLogsCurrent", where,
                                           [&](CUlogIterator *out) { return driver.cuLogsCurrent(out, 0); }));
  }
  // Returns what was logged since this place, at most 25600 bytes, and moves to the end. Driver calls:
  // cuLogsDumpToMemory.
  std::string read(Where where = Where::current()) {
    std::string text(25600, '\0');
    std::size_t size = text.size();
    detail::check(driver_->cuLogsDumpToMemory(&iterator_, text.data(), &size, 0), "cuLogsDumpToMemory", where,
                  detail::Through{driver_});
    text.resize(std::min(size, text.size()));
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }
  // Appends what was logged since this place to a file, and moves to the end. Driver calls:
  // cuLogsDumpToFile.
  void write(const std::string &path, Where where = Where::current()) {
    detail::check(driver_->cuLogsDumpToFile(&iterator_, path.c_str(), 0), "cuLogsDumpToFile", where,
                  detail::Through{driver_}, detail::Remark{path.c_str()});
  }

 private:
  LogPosition(Driver &driver, CUlogIterator iterator) noexcept : driver_(&driver), iterator_(iterator) {}

  Driver *driver_;
  CUlogIterator iterator_;
};

// Receives each message of the log during its lifetime, on the thread whose call failed. The function must
// make no driver calls. Needs CUDA 12.9. Driver calls: cuLogsRegisterCallback; at the end
// cuLogsUnregisterCallback.
class LogReceiver {
 public:
  LogReceiver(CUlogsCallback function, void *data, Driver &driver = cushim::driver(),
              Where where = Where::current())
      : driver_(driver) {
    detail::check(driver_.cuLogsRegisterCallback(function, data, &handle_), "cuLogsRegisterCallback", where,
                  detail::Through{&driver_});
  }
  ~LogReceiver() {
    detail::report(driver_.cuLogsUnregisterCallback(handle_), "cuLogsUnregisterCallback",
                   detail::Through{&driver_});
  }
  LogReceiver(const LogReceiver &) = delete;
  LogReceiver &operator=(const LogReceiver &) = delete;

 private:
  Driver &driver_;
  CUlogsCallbackHandle handle_ = nullptr;
};

#endif

// ---- Coredumps -------------------------------------------------------------------------------------

#if CUDA_VERSION >= 12010

// Selects a coredump setting: that of the current context, or the initial setting of new contexts.
enum class CoredumpScope { context, process };

// Return and set whether a coredump is written when a kernel faults. Need CUDA 12.1. Driver calls:
// cuCoredumpGetAttribute or cuCoredumpGetAttributeGlobal; cuCoredumpSetAttribute or
// cuCoredumpSetAttributeGlobal.
inline bool writes_coredumps(CoredumpScope scope, Driver &driver = cushim::driver(),
                             Where where = Where::current()) {
  const bool is_global = scope == CoredumpScope::process;
  std::size_t size = sizeof(bool);
  bool value = false;
  detail::check(
      is_global ? driver.cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &value, &size)
                : driver.cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &value, &size),
      is_global ? "cuCoredumpGetAttributeGlobal" : "cuCoredumpGetAttribute", where, detail::Through{&driver});
  return value;
}
inline void write_coredumps(bool value, CoredumpScope scope, Driver &driver = cushim::driver(),
                            Where where = Where::current()) {
  const bool is_global = scope == CoredumpScope::process;
  std::size_t size = sizeof value;
  detail::check(
      is_global ? driver.cuCoredumpSetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &value, &size)
                : driver.cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &value, &size),
      is_global ? "cuCoredumpSetAttributeGlobal" : "cuCoredumpSetAttribute", where, detail::Through{&driver});
}

#endif

// ---- Checkpoints -----------------------------------------------------------------------------------

#if CUDA_VERSION >= 12080

// The CUDA state of a process, by its id. Needs CUDA 12.8.
class CheckpointedProcess {
 public:
  explicit CheckpointedProcess(int id, Driver &driver = cushim::driver()) noexcept
      : driver_(&driver), id_(id) {}

  // Returns whether the process runs, is locked, or is checkpointed. Driver calls:
  // cuCheckpointProcessGetState.
  CUprocessState state(Where where = Where::current()) const {
    return detail::ask<CUprocessState>(
        through(), "cuCheckpointProcessGetState", where,
        [this](CUprocessState *out) { return driver_->cuCheckpointProcessGetState(id_, out); });
  }
  // Returns the thread that must be running when the process is restored. Driver calls:
  // cuCheckpointProcessGetRestoreThreadId.
  int restore_thread(Where where = Where::current()) const {
    return detail::ask<int>(through(), "cuCheckpointProcessGetRestoreThreadId", where, [this](int *out) {
      return driver_->cuCheckpointProcessGetRestoreThreadId(id_, out);
    });
  }
  // Makes driver calls of the process block, and waits for its work. Throws NOT_READY after the time; 0 is no
  // limit. Driver calls: cuCheckpointProcessLock.
  void lock(std::chrono::milliseconds most = {}, Where where = Where::current()) const {
    CUcheckpointLockArgs arguments{};
    arguments.timeoutMs = static_cast<unsigned>(most.count());
    detail::check(driver_->cuCheckpointProcessLock(id_, &arguments), "cuCheckpointProcessLock", where,
                  through());
  }
  // Copies the memory of a locked process to the host and frees its devices. Driver calls:
  // cuCheckpointProcessCheckpoint.
  void checkpoint(Where where = Where::current()) const {
    CUcheckpointCheckpointArgs arguments{};
    detail::check(driver_->cuCheckpointProcessCheckpoint(id_, &arguments), "cuCheckpointProcessCheckpoint",
                  where, through());
  }
  // Restores a checkpointed process to the devices that it had. It stays locked. Driver calls:
  // cuCheckpointProcessRestore.
  void restore(Where where = Where::current()) const {
    CUcheckpointRestoreArgs arguments{};
    detail::check(driver_->cuCheckpointProcessRestore(id_, &arguments), "cuCheckpointProcessRestore", where,
                  through());
  }
  // Lets the driver calls of a locked process continue. Driver calls: cuCheckpointProcessUnlock.
  void unlock(Where where = Where::current()) const {
    CUcheckpointUnlockArgs arguments{};
    detail::check(driver_->cuCheckpointProcessUnlock(id_, &arguments), "cuCheckpointProcessUnlock", where,
                  through());
  }

 private:
  detail::Through through() const noexcept { return {driver_}; }

  Driver *driver_;
  int id_;
};

#endif

}  // namespace v1
}  // namespace cushim
