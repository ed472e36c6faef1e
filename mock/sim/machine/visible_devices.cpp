// SPDX-License-Identifier: Apache-2.0
#include "machine/visible_devices.hpp"

#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/call.hpp"

namespace cushim::sim {

namespace {

// "GPU-01020304-0506-0708-090a-0b0c0d0e0f10"
std::string uuid_text(const CUuuid &uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    constexpr char digits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

Device *named(const std::vector<Device *> &all, std::string item) {
  item.erase(0, item.find_first_not_of(" \t"));
  if (item.starts_with("GPU-")) {
    // A prefix of a UUID is enough if it identifies one device.
    Device *found = nullptr;
    for (Device *device : all) {
      if (strncasecmp(uuid_text(device->uuid).c_str(), item.c_str(), item.size()) != 0) continue;
      if (found != nullptr) return nullptr;
      found = device;
    }
    return found;
  }
  char *end = nullptr;
  const long number = std::strtol(item.c_str(), &end, 10);
  if (end == item.c_str() || number < 0 || number >= static_cast<long>(all.size())) return nullptr;
  return all[static_cast<std::size_t>(number)];
}

}  // namespace

std::vector<Device *> visible_devices(const std::vector<Device *> &all, const char *text) {
  std::vector<Device *> visible;
  if (text == nullptr) {
    visible = all;
  } else {
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(item.size() + 1, rest.size()));
      Device *const device = named(all, std::string(item));
      if (device == nullptr) break;
      require(std::ranges::find(visible, device) == visible.end(), CUDA_ERROR_INVALID_DEVICE);
      visible.push_back(device);
    }
  }
  int ordinal = 0;
  for (Device *device : visible) device->ordinal = ordinal++;
  return visible;
}

}  // namespace cushim::sim
