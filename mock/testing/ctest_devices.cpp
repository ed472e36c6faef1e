// SPDX-License-Identifier: Apache-2.0
#include "ctest_devices.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace cushim::testing {

namespace {

std::string value_of(const std::string &variable) {
  const char *value = std::getenv(variable.c_str());
  return value == nullptr ? "" : value;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    items.emplace_back(item);
  }
  return items;
}

// Returns the device IDs of all groups, each given as "id:1,slots:1;id:3,slots:1".
std::vector<std::string> identities() {
  std::vector<std::string> all;
  const int groups = std::atoi(value_of("CTEST_RESOURCE_GROUP_COUNT").c_str());
  for (int group = 0; group < groups; ++group)
    for (const std::string &device :
         split(value_of("CTEST_RESOURCE_GROUP_" + std::to_string(group) + "_GPUS"), ';'))
      if (device.starts_with("id:")) all.push_back(device.substr(3, device.find(',') - 3));
  return all;
}

}  // namespace

std::string restrict_to_ctest_devices() {
  const std::vector<std::string> allotted = identities();
  if (allotted.empty()) return "";
  const char *const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::vector<std::string> names = split(visible == nullptr ? "" : visible, ',');
  std::vector<std::string> seen;
  for (const std::string &identity : allotted) {
    char *end = nullptr;
    const unsigned long index = std::strtoul(identity.c_str(), &end, 10);
    if (*end != '\0')
      return "CTest assigned the GPU \"" + identity +
             "\"; an id must be a number, as cushim ctest-resources writes it";
    if (visible != nullptr && index >= names.size())
      return "CTest assigned the GPU " + identity + ", and CUDA_VISIBLE_DEVICES=" + visible +
             " has no such entry; write the resource file again";
    std::string device = visible == nullptr ? identity : names[index];
    if (std::ranges::find(seen, device) != seen.end())
      return "CTest assigned the GPU " + identity +
             " twice to a test that needs several; write the resource file without --slots";
    seen.push_back(std::move(device));
  }
  std::string text;
  for (const std::string &device : seen) text += (text.empty() ? "" : ",") + device;
  setenv("CUDA_VISIBLE_DEVICES", text.c_str(), 1);
  unsetenv("CTEST_RESOURCE_GROUP_COUNT");  // processes that this one starts must not select again
  return "";
}

}  // namespace cushim::testing
