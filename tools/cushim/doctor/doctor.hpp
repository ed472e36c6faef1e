// SPDX-License-Identifier: Apache-2.0
// cushim doctor: which driver the machine has, what it supports, and its problems.
#pragma once

#include <cushim/driver.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/outcome.hpp"
#include "common/verb.hpp"

namespace cushim::command {

// A device as the driver describes it. A value is missing if its call failed; failures holds the reason.
struct DeviceReport {
  int number = 0;
  std::optional<std::string> name;
  std::optional<std::uint64_t> memory;            // bytes
  std::optional<std::string> compute_capability;  // "9.0"
  std::optional<std::string> uuid;                // "GPU-00112233-4455-..."
  std::optional<std::string> pci;                 // "0000:1B:00.0"
  std::vector<std::string> failures;              // "cuDeviceGetName: CUDA_ERROR_UNKNOWN (999)"
};

// The entry points that a CUDA release introduced.
struct ReleaseReport {
  int release = 0;  // 12040
  int resolved = 0;
  std::vector<std::string> missing;  // symbols

  int total() const { return resolved + static_cast<int>(missing.size()); }
};

// A file that contains functions of the driver.
struct ObjectReport {
  std::string path;
  bool is_driver = false;  // the driver's own library
  std::vector<std::string> symbols;
};

struct DriverReport {
  std::string path;       // with symbolic links resolved
  std::string loaded_as;  // the dynamic linker's name
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
  std::vector<Diagnosis> problems;      // empty if the driver is usable
  std::vector<CushimAttempt> attempts;  // in order
  std::optional<DriverReport> driver;   // if one was opened
  std::vector<DeviceReport> devices;
  std::vector<std::string> failures;  // failed calls that concern no particular device
  std::vector<Variable> environment;

  // Returns whether there are no problems and no failed calls.
  bool is_good() const;
};

struct DoctorOptions {
  const char *library = nullptr;  // default: null, the default driver
  int at_least = 0;               // 12040: a driver older than CUDA 12.4 is a problem
};

// Opens the driver, initializes and examines it. Calls, all through cushim's table: cuInit, cuDeviceGetCount,
// and for each device cuDeviceGet, cuDeviceGetName, cuDeviceTotalMem, cuDeviceGetAttribute, cuDeviceGetUuid
// and cuDeviceGetPCIBusId. Creates no context. Throws only std::bad_alloc.
DoctorReport examine(const DoctorOptions &options);

// Formats the report. Exit::no_driver if no library was accepted, Exit::finding for any other problem or a
// failed call.
Outcome report(const DoctorReport &report);

// Adds the verb doctor.
Verb add_doctor(CLI::App &app);

}  // namespace cushim::command
