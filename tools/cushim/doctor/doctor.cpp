// SPDX-License-Identifier: Apache-2.0
// Implementation of `cushim doctor`, without the report (doctor_report.cpp).
#include "doctor/doctor.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>

#include "common/cushim_library.hpp"
#include "explain/explain.hpp"

namespace cushim::command {
namespace {

// A larger device count is taken as an error.
constexpr int max_devices = 1024;

constexpr const char *relevant_variables[] = {
    "CUSHIM_LIBRARY",         "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_INJECTION64_PATH",
    "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH",      "LD_PRELOAD",        "LD_AUDIT"};

std::string result_text(CUresult code) {
  for (const Explanation &explanation : explanations())
    if (explanation.code == static_cast<int>(code))
      return fmt::format("{} ({})", explanation.name, static_cast<int>(code));
  return fmt::format("unknown code {}", static_cast<int>(code));
}

std::string real_path(const std::string &path) {
  const std::unique_ptr<char, void (*)(void *)> real(realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : path;
}

// ---- Devices --------------------------------------------------------------------------------------

// Records the call if it failed. Returns whether it succeeded.
bool succeeded(CUresult result, const char *call, std::vector<std::string> &failures) {
  if (result != CUDA_SUCCESS) failures.push_back(fmt::format("{}: {}", call, result_text(result)));
  return result == CUDA_SUCCESS;
}

// Converts a text written by a driver, which may lack the terminating null byte.
template <std::size_t size>
std::string bounded(const char (&text)[size]) {
  return std::string(text, strnlen(text, size));
}

std::string uuid_text(const CUuuid &uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

// Drivers before 11.4 have only the first ABI of cuDeviceGetUuid.
CUresult get_uuid(Driver &driver, CUuuid *uuid, CUdevice device) {
  for (const Entry entry : {Entry::cuDeviceGetUuid_v11040, Entry::cuDeviceGetUuid_v9020}) {
    using Function = CUresult(CUDAAPI *)(CUuuid *, CUdevice);
    const auto function = reinterpret_cast<Function>(cushim_own_function(&driver, static_cast<int>(entry)));
    if (function != nullptr) return function(uuid, device);
  }
  return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
}

DeviceReport examine_device(Driver &driver, int number) {
  DeviceReport report;
  report.number = number;
  CUdevice device = 0;
  if (!succeeded(driver.cuDeviceGet(&device, number), "cuDeviceGet", report.failures)) return report;

  char name[256] = "";
  if (succeeded(driver.cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName", report.failures))
    report.name = bounded(name);
  std::size_t memory = 0;
  if (succeeded(driver.cuDeviceTotalMem(&memory, device), "cuDeviceTotalMem", report.failures))
    report.memory = memory;
  int major = 0;
  int minor = 0;
  if (succeeded(driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
                "cuDeviceGetAttribute", report.failures) &&
      succeeded(driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
                "cuDeviceGetAttribute", report.failures))
    report.compute_capability = fmt::format("{}.{}", major, minor);
  CUuuid uuid = {};
  if (succeeded(get_uuid(driver, &uuid, device), "cuDeviceGetUuid", report.failures))
    report.uuid = uuid_text(uuid);
  char pci[64] = "";
  if (succeeded(driver.cuDeviceGetPCIBusId(pci, sizeof pci, device), "cuDeviceGetPCIBusId", report.failures))
    report.pci = bounded(pci);
  return report;
}

void examine_devices(Driver &driver, DoctorReport &report) {
  int count = 0;
  if (!succeeded(driver.cuDeviceGetCount(&count), "cuDeviceGetCount", report.failures)) return;
  if (count < 0 || count > max_devices)
    report.failures.push_back(
        fmt::format("cuDeviceGetCount: returned {} devices; cushim examines 0 to {}", count, max_devices));
  for (int number = 0; number < std::min(count, max_devices); ++number)
    report.devices.push_back(examine_device(driver, number));
}

// ---- Entry points ---------------------------------------------------------------------------------

// Returns the file that contains a function.
std::string file_of(void (*function)()) {
  void *address;
  static_assert(sizeof address == sizeof function);
  std::memcpy(&address, &function, sizeof address);
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "(no file)";
  return real_path(info.dli_fname);
}

void examine_entries(Driver &driver, DriverReport &report) {
  std::map<std::string, std::vector<std::string>> by_object;
  std::map<int, ReleaseReport> by_release;
  for (int slot = 0; slot < cushim_entry_count(); ++slot) {
    const CushimEntryInfo &entry = *cushim_entry(slot);
    ReleaseReport &release = by_release[entry.version];
    release.release = entry.version;
    if (void (*function)() = cushim_own_function(&driver, slot)) {
      ++release.resolved;
      by_object[file_of(function)].push_back(entry.symbol);
    } else {
      release.missing.push_back(entry.symbol);
    }
  }
  for (const auto &[path, symbols] : by_object)
    report.objects.push_back({path, path == report.path, symbols});
  for (const auto &[version, release] : by_release) report.releases.push_back(release);
}

DriverReport examine_driver(Driver &driver) {
  DriverReport report;
  report.loaded_as = driver.name();
  report.path = real_path(report.loaded_as);
  report.is_simulated = !simulated_driver(report.loaded_as).value_or("").empty();
  report.version = driver.version();
  report.lookup = driver.lookup();
  examine_entries(driver, report);
  return report;
}

}  // namespace

DoctorReport examine(const DoctorOptions &options) {
  DoctorReport report;
  for (const char *name : relevant_variables)
    if (const char *value = std::getenv(name)) report.environment.push_back({name, value});

  // First opens the driver without conditions, so that a driver that does not meet them is examined too.
  const Loaded opened = Driver::load({.library = options.library});
  const CushimDiagnosis &search = opened.diagnosis.plain();
  report.attempts.assign(search.attempts, search.attempts + search.attempt_count);
  if (!opened) {
    report.problems.push_back(opened.diagnosis);
    return report;
  }
  Driver &driver = *opened;
  report.driver = examine_driver(driver);
  if (driver.version() < options.at_least)
    report.problems.push_back(
        Driver::load({.library = options.library, .at_least = options.at_least}).diagnosis);
  const Loaded initialized = Driver::load({.library = options.library, .initialize = true});
  if (initialized)
    examine_devices(driver, report);
  else
    report.problems.push_back(initialized.diagnosis);
  return report;
}

}  // namespace cushim::command
