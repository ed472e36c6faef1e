// SPDX-License-Identifier: Apache-2.0
#include <cushim/sim/profile.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include <cushim/detail/nearest.hpp>
#include "profile/built_in.hpp"
#include "profile/machine_profile.hpp"
#include "profile/profile_file.hpp"

namespace cushim::sim {

namespace {

using mock::edits;
using mock::nearest;

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// The largest file that is read; a description of a machine has a few kilobytes.
constexpr std::streamsize most_bytes = 1 << 20;

std::string read_file(const std::string &path) {
  const std::string name = "the file \"" + path + "\"";
  std::error_code error;
  if (const auto type = std::filesystem::status(path, error).type();
      type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found)
    throw std::invalid_argument(name + " is a directory, device or pipe, not a file");
  std::ifstream file(path);
  std::string text(most_bytes + 1, '\0');
  file.read(text.data(), most_bytes + 1);
  if (file.gcount() > most_bytes) throw std::invalid_argument(name + " is longer than the limit of 1 MiB");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.empty()) throw std::invalid_argument(name + " cannot be read, or is empty");
  return text;
}

// The built-in profiles. A profile is parsed when it or a later one is needed, to shorten the start of a
// process.
class BuiltInProfiles {
 public:
  BuiltInProfiles() { read_.reserve(files_.size()); }  // keeps pointers to profiles valid

  const Profile *find(std::string_view id) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < files_.size(); ++i)
      if (at(i).id == id) return &at(i);
    return nullptr;
  }

  const std::vector<Profile> &all() {
    const std::lock_guard lock(mutex_);
    at(files_.size() - 1);
    return read_;
  }

 private:
  const Profile &at(std::size_t i) {
    while (read_.size() <= i) {
      const BuiltIn &next = files_[read_.size()];
      read_.push_back(read_profile(next.text, next.file, read_));
    }
    return read_[i];
  }

  std::mutex mutex_;
  const std::vector<BuiltIn> &files_ = built_in_files();
  std::vector<Profile> read_;
};

// Never destroyed: machines may be created before other static objects and destroyed after them.
BuiltInProfiles &built_in() {
  static BuiltInProfiles *const profiles = new BuiltInProfiles;
  return *profiles;
}

std::vector<Profile> one_kind(const std::string &word) {
  if (const Profile *const profile = built_in().find(word)) return {*profile};
  if (is_file(word)) return read_machine(read_file(word), word).devices;
  return {};
}

std::vector<std::string> ids() {
  std::vector<std::string> all;
  for (const Profile &profile : profiles()) all.push_back(profile.id);
  return all;
}

// Returns the error message for an unknown device, with the nearest valid name.
std::string meant(const std::string &word) {
  const std::vector<std::string> valid = ids();
  std::string all;
  for (const std::string &id : valid) all += (all.empty() ? "" : ", ") + id;
  return "there is no device \"" + word + "\"; did you mean \"" + nearest(word, valid) +
         "\"? Devices: " + all + ", each also as " + valid[0] + "x2 to " + valid[0] + "x" +
         std::to_string(most_devices) + " for several, and files: ./mine.json";
}

int driver_option(std::string_view option) {
  constexpr std::string_view key = "driver=";
  if (!option.starts_with(key))
    throw std::invalid_argument("there is no \"" + std::string(option) +
                                "\" after the devices; did you mean \"driver=11.8\"?");
  return driver_version(option.substr(key.size()));
}

}  // namespace

std::string_view status_name(Status status) {
  constexpr std::string_view names[] = {"measured", "published", "estimated", "invented"};
  return names[static_cast<std::size_t>(status)];
}

const std::vector<Profile> &profiles() { return built_in().all(); }

const std::map<int, std::string> &attribute_names() { return built_in_attribute_names(); }

const Source &Profile::source(const std::string &value) const { return sources.at(source_of.at(value)); }

Peer MachineProfile::peer(int device, int other) const {
  return peers.at(static_cast<std::size_t>(device)).at(static_cast<std::size_t>(other));
}

bool is_file(std::string_view word) { return word.ends_with(".json"); }

std::vector<Profile> named_devices(const std::string &item) {
  // The whole item is tried first: rtx4090 is not 4090 times "rt".
  if (std::vector<Profile> devices = one_kind(item); !devices.empty()) return devices;
  const auto cross = item.rfind('x');
  const std::optional<int> count = cross == item.npos ? std::nullopt : number(item.substr(cross + 1));
  if (!count) throw std::invalid_argument(meant(item));
  const std::vector<Profile> kind = one_kind(item.substr(0, cross));
  if (kind.empty()) {
    // "h20x2" is nearest to two h200; "rtx409" is nearest to rtx4090.
    const std::string start = item.substr(0, cross);
    const auto distance = [](const std::string &word) { return edits(word, nearest(word, ids())); };
    throw std::invalid_argument(meant(distance(item) <= distance(start) ? item : start));
  }
  if (*count < 1 || *count > static_cast<int>(most_devices))
    throw std::invalid_argument("\"" + item + "\" is not 1 to " + std::to_string(most_devices) + " devices");
  std::vector<Profile> devices;
  for (int i = 0; i < *count; ++i) devices.insert(devices.end(), kind.begin(), kind.end());
  return devices;
}

MachineProfile assemble(std::vector<Profile> devices) {
  if (devices.size() > most_devices)
    throw std::invalid_argument("a machine has at most " + std::to_string(most_devices) + " devices, not " +
                                std::to_string(devices.size()));
  MachineProfile machine;
  machine.driver_version = default_driver;
  machine.devices = std::move(devices);
  int bus = 0;
  for (Profile &device : machine.devices) device.attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] += bus++;
  for (const Profile &device : machine.devices) {
    std::vector<Peer> &row = machine.peers.emplace_back();
    for (const Profile &other : machine.devices) row.push_back(device.id == other.id ? device.peer : Peer{});
  }
  return machine;
}

int driver_version(std::string_view text) {
  const auto point = text.find('.');
  std::optional<int> version = number(text.substr(0, point));
  if (version && point != text.npos) {
    const std::optional<int> minor = number(text.substr(point + 1));
    const bool is_one = minor && *minor >= 0 && *minor < 100 && *version >= 0 && *version < 100;
    version = is_one ? std::optional(*version * 1000 + *minor * 10) : std::nullopt;
  }
  if (!version || *version < oldest_driver || *version > newest_driver)
    throw std::invalid_argument("\"" + std::string(text) +
                                "\" is not a CUDA version from 11.0 to 13.99; an example is 12.4");
  return *version;
}

void set_driver(MachineProfile &machine, int version) {
  machine.driver_version = version;
  const int newest = newest_attribute(version);
  for (Profile &device : machine.devices) {
    std::erase_if(device.attributes, [&](const auto &one) { return one.first > newest; });
    for (auto name = attribute_names().upper_bound(newest); name != attribute_names().end(); ++name)
      device.source_of.erase("attributes." + name->second);
  }
}

MachineProfile read_machine(std::string_view text, const std::string &origin) {
  return read_machine(text, origin, profiles());
}

MachineProfile machine(const std::string &description) {
  const auto end = description.find(';');
  const std::string list = description.substr(0, end);
  const int driver = end == description.npos ? 0 : driver_option(description.substr(end + 1));
  MachineProfile made;
  if (is_file(list) && list.find(',') == list.npos) {  // a single file may be a machine with its own links
    made = read_machine(read_file(list), list);
  } else {
    std::vector<Profile> devices;
    std::istringstream items(list + ",");
    for (std::string item; std::getline(items, item, ',');) {
      if (item.empty()) throw std::invalid_argument("\"" + description + "\" has a device without a name");
      for (Profile &one : named_devices(item)) devices.push_back(std::move(one));
    }
    made = assemble(std::move(devices));
  }
  if (driver != 0) set_driver(made, driver);
  return made;
}

CUuuid uuid_of(const Profile &profile, int index) {
  CUuuid uuid = {};
  for (std::size_t i = 0; i < profile.id.size() && i < 8; ++i) uuid.bytes[i] = profile.id[i];
  uuid.bytes[15] = static_cast<char>(index + 1);
  return uuid;
}

std::vector<int> device_order(const MachineProfile &machine, const char *order) {
  std::vector<int> indices(machine.devices.size());
  std::iota(indices.begin(), indices.end(), 0);
  const auto value = [&](int index, int attribute) {
    const auto &attributes = machine.devices[static_cast<std::size_t>(index)].attributes;
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? 0 : found->second;
  };
  if (order != nullptr && std::string_view(order) == "PCI_BUS_ID") {
    const auto address = [&](int index) {
      return std::tuple(value(index, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
                        value(index, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
                        value(index, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
    };
    std::stable_sort(indices.begin(), indices.end(), [&](int a, int b) { return address(a) < address(b); });
    return indices;
  }
  const auto speed = [&](int index) {
    return std::int64_t{value(index, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)} *
           std::max(value(index, CU_DEVICE_ATTRIBUTE_CLOCK_RATE), 1);
  };
  std::stable_sort(indices.begin(), indices.end(), [&](int a, int b) { return speed(a) > speed(b); });
  return indices;
}

int newest_attribute(int driver_version) {
  // From the headers of each release.
  static const std::map<int, int> &newest =
      *new std::map<int, int>{{11080, 124}, {12000, 129}, {12010, 132}, {12020, 134}, {12050, 135},
                              {12080, 143}, {13000, 147}, {13010, 148}, {13030, 156}, {13050, 161}};
  const auto above = newest.upper_bound(driver_version);
  return above == newest.begin() ? above->second : std::prev(above)->second;
}

}  // namespace cushim::sim
