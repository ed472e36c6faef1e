// SPDX-License-Identifier: Apache-2.0
#include <cushim/testing/needs.hpp>

#include <cstdlib>
#include <map>

#include "options.hpp"

namespace cushim::testing {

namespace {

using Capabilities = std::map<std::string, int, std::less<>>;

bool device_has(Driver &driver, std::initializer_list<CUdevice_attribute> attributes) {
  CUdevice device = 0;
  if (driver.cuDeviceGet(&device, 0) != CUDA_SUCCESS) return false;
  for (const CUdevice_attribute attribute : attributes) {
    int value = 0;
    if (driver.cuDeviceGetAttribute(&value, attribute, device) != CUDA_SUCCESS || value == 0) return false;
  }
  return true;
}

bool has_peers(Driver &driver, int count) {
  for (int one = 0; one < count; ++one)
    for (int other = one + 1; other < count; ++other) {
      int there = 0, back = 0;
      if (driver.cuDeviceCanAccessPeer(&there, one, other) == CUDA_SUCCESS && there != 0 &&
          driver.cuDeviceCanAccessPeer(&back, other, one) == CUDA_SUCCESS && back != 0)
        return true;
    }
  return false;
}

Capabilities found(Driver &driver) {
  Capabilities has;
  int count = 0;
  if (driver.cuInit(0) != CUDA_SUCCESS || driver.cuDeviceGetCount(&count) != CUDA_SUCCESS || count <= 0)
    return has;
  has["gpus"] = count;
  const struct {
    const char *name;
    std::initializer_list<CUdevice_attribute> attributes;
  } of_device[] = {
      // Numbers, since CUDA 11 headers use other names for the same attributes.
      {"mem_ops", {static_cast<CUdevice_attribute>(122), static_cast<CUdevice_attribute>(123)}},
      {"ipc", {static_cast<CUdevice_attribute>(125)}},
      {"managed", {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY}},
      {"concurrent_managed", {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS}},
      {"pools", {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED}},
      {"host_register", {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED}},
  };
  for (const auto &[name, attributes] : of_device)
    if (device_has(driver, attributes)) has[name] = 1;
  if (has_peers(driver, count)) has["peer"] = 1;
  return has;
}

// Queries each driver once: the machine does not change during a run.
const Capabilities &found() {
  static std::map<Driver *, Capabilities> known;
  Driver &driver = current_driver();
  if (const auto old = known.find(&driver); old != known.end()) return old->second;
  return known[&driver] = found(driver);
}

Capabilities declared() {
  Capabilities has;
  const char *text = std::getenv("CUSHIM_TEST_HAS");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(item.size() == rest.size() ? item.size() : item.size() + 1);
    const auto colon = item.find(':');
    const int count = colon == item.npos ? 1 : std::atoi(std::string(item.substr(colon + 1)).c_str());
    if (!item.empty()) has[std::string(item.substr(0, colon))] = count;
  }
  // A test labelled gpu must fail on a machine without a GPU.
  if (options().is_labelled_gpu) has.try_emplace("gpus", 1);
  return has;
}

int count_of(const Capabilities &has, std::string_view name) {
  const auto place = has.find(name);
  return place == has.end() ? 0 : place->second;
}

std::string to_text(std::string_view name, int count) {
  return std::string(name) + (name == "gpus" ? ":" + std::to_string(count) : "");
}

}  // namespace

detail::Unmet detail::unmet(const Needs &needs) {
  Unmet result;
  std::string names;
  for (const Need &need : needs.all) {
    if (count_of(found(), need.name) >= need.count) continue;
    names += (names.empty() ? "" : ",") + to_text(need.name, need.count);
    if (count_of(declared(), need.name) >= need.count) result.declared = true;
  }
  if (names.empty()) return result;
  result.reason = result.declared ? "CUSHIM_TEST_HAS declares features that were not found: " + names
                                  : "cushim-skip: needs " + names;
  return result;
}

std::string undeclared() {
  if (std::getenv("CUSHIM_TEST_HAS") == nullptr) return "";
  const Capabilities said = declared();
  std::string names;
  for (const auto &[name, count] : found())
    if (count_of(said, name) < count) names += (names.empty() ? "" : ",") + to_text(name, count);
  return names;
}

}  // namespace cushim::testing
