// SPDX-License-Identifier: Apache-2.0
// cushim doctor: what driver there is, what it serves, and what is wrong with it.
#pragma once

#include <cushim/driver.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace cushim::command {

// A device in the driver's words. What a call did not tell is missing, and failures says why.
struct DeviceReport {
  int number = 0;
  std::optional<std::string> name;
  std::optional<std::uint64_t> memory;            // bytes
  std::optional<std::string> compute_capability;  // "9.0"
  std::optional<std::string> uuid;                // "GPU-00112233-4455-..."
  std::optional<std::string> pci;                 // "0000:1B:00.0"
  std::vector<std::string> failures;              // "cuDeviceGetName: CUDA_ERROR_UNKNOWN (999)"
};

// Entry points of one release of CUDA.
struct ReleaseReport {
  int release = 0;  // 12040
  int resolved = 0;
  std::vector<std::string> missing;  // symbols

  int total() const { return resolved + static_cast<int>(missing.size()); }
};

// A file in which functions of the driver lie.
struct ObjectReport {
  std::string path;
  bool is_driver = false;  // the driver's own library
  std::vector<std::string> symbols;
};

struct DriverReport {
  std::string path;       // with symbolic links followed
  std::string loaded_as;  // as the dynamic linker knows it
  bool is_simulated = false;
  int version = 0;
  CushimLookup lookup = CUSHIM_LOOKUP_NONE;
  std::vector<ObjectReport> objects;
  std::vector<ReleaseReport> releases;
};

struct Variable {
  std::string name, value;
};

struct DoctorReport {
  std::vector<Diagnosis> problems;      // empty if all is well
  std::vector<CushimAttempt> attempts;  // what was tried, in order
  std::optional<DriverReport> driver;   // if one was opened
  std::vector<DeviceReport> devices;
  std::vector<std::string> failures;  // calls that failed for no device in particular
  std::vector<Variable> environment;

  // Whether there is nothing to do: no problem, and no call that failed.
  bool is_good() const;
};

struct DoctorOptions {
  const char *library = nullptr;  // instead of the default driver
  int at_least = 0;               // 12040: it is a problem if the driver is older than CUDA 12.4
};

// Opens the driver, initializes it and looks at it. Calls, all through cushim's table: cuInit,
// cuDeviceGetCount, and for each device cuDeviceGet, -GetName, -TotalMem, -GetAttribute, -GetUuid and
// -GetPCIBusId. Creates no context. Throws nothing but std::bad_alloc.
DoctorReport examine(const DoctorOptions &options);

// The report as it is printed. Exit::no_driver if no library was accepted, Exit::finding for any other
// problem or a call that failed.
Outcome report(const DoctorReport &report);

}  // namespace cushim::command
