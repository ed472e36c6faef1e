// SPDX-License-Identifier: Apache-2.0
#include "profile/profile_file.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "profile/json_lines.hpp"
#include "profile/json_value.hpp"
#include "profile/machine_profile.hpp"

namespace cushim::sim {

namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

// Functions instead of variables, since a program may create a machine before its static objects are
// initialized. The values are never destroyed: a signal handler that interrupted an allocation may call
// exit().

// By CUlimit.
const Words &limit_names() {
  static const Words &all = *new Words{"stack_size",
                                       "printf_fifo_size",
                                       "malloc_heap_size",
                                       "dev_runtime_sync_depth",
                                       "dev_runtime_pending_launch_count",
                                       "max_l2_fetch_granularity",
                                       "persisting_l2_cache_size",
                                       "shmem_size",
                                       "cig_enabled",
                                       "cig_shmem_fallback_enabled"};
  return all;
}

const std::map<std::string, double Costs::*> &bandwidths() {
  static const std::map<std::string, double Costs::*> &all = *new std::map<std::string, double Costs::*>{
      {"host_to_device", &Costs::host_to_device},         {"device_to_host", &Costs::device_to_host},
      {"pageable_to_device", &Costs::pageable_to_device}, {"device_to_pageable", &Costs::device_to_pageable},
      {"device_to_device", &Costs::device_to_device},     {"set", &Costs::set},
  };
  return all;
}

const std::map<std::string, std::int64_t Costs::*> &times() {
  static const std::map<std::string, std::int64_t Costs::*> &all =
      *new std::map<std::string, std::int64_t Costs::*>{
          {"call", &Costs::call},
          {"copy_start", &Costs::copy_start},
          {"event_record", &Costs::event_record},
          {"memory_operation", &Costs::memory_operation},
          {"host_function", &Costs::host_function},
      };
  return all;
}

constexpr std::int64_t least_int = std::numeric_limits<int>::min(),
                       most_int = std::numeric_limits<int>::max();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

template <class Map>
Words keys(const Map &map) {
  Words words;
  for (const auto &[key, value] : map) words.push_back(key);
  return words;
}

const std::map<std::string, int> &attribute_numbers() {
  static const std::map<std::string, int> &numbers = *new std::map<std::string, int>([] {
    std::map<std::string, int> made;
    for (const auto &[number, name] : attribute_names()) made.emplace(name, number);
    return made;
  }());
  return numbers;
}

const Words &peer_keys() {
  static const Words &all = *new Words{"access", "native_atomics", "performance_rank", "bandwidth"};
  return all;
}

const Words &priority_keys() {
  static const Words &all = *new Words{"least", "greatest"};
  return all;
}

void read_peer(const JsonValue &member, const std::string &key, Peer &peer) {
  if (key == "access") peer.access = member.truth();
  if (key == "native_atomics") peer.native_atomics = member.truth();
  if (key == "performance_rank") peer.performance_rank = static_cast<int>(member.integer(0, most_int));
  if (key == "bandwidth") peer.bandwidth = member.positive();
}

const Profile &like(const JsonValue &value, const std::vector<Profile> &known) {
  Words ids;
  for (const Profile &profile : known) ids.push_back(profile.id);
  if (ids.empty()) value.fail("no device is defined before this one, so \"like\" has nothing to refer to");
  return known[value.word(ids)];
}

// Returns the name of the value of the nth processing cluster, from 1.
std::string processing_cluster(std::size_t number) { return "processing_clusters." + std::to_string(number); }

// Fails if a value without a default is missing.
void check_complete(const JsonValue &value, const Profile &profile) {
  for (const char *key : {"compute_capability_major", "compute_capability_minor", "multiprocessor_count"})
    if (!profile.attributes.contains(attribute_numbers().at(key)))
      value.fail("the device \"" + profile.id + "\" has no " + key + "; add it, or a \"like\"");
  if (profile.total_memory == 0)
    value.fail("the device \"" + profile.id + "\" has no total_memory; add it, or a \"like\"");
  for (const auto &[key, bandwidth] : bandwidths())
    if (profile.costs.*bandwidth == 0)
      value.fail("the device \"" + profile.id + "\" has no \"" + key + "\" in costs; add it, or a \"like\"");
  if (profile.greatest_priority > profile.least_priority)
    value.fail("the greatest stream priority must be a smaller number than the least");
}

// Indices into Profile::sources.
enum : std::size_t { the_files, inherited_source };

// Reads the values of a device, which a file lists in groups with one source each.
class ValueReader {
 public:
  // The keys that hold such values.
  static const Words &keys() {
    static const Words &all = *new Words{"total_memory", "stream_priorities",  "peer", "limits", "costs",
                                         "attributes",   "processing_clusters"};
    return all;
  }

  static const Words &cost_keys() {
    static const Words &all = *new Words([] {
      Words words = sim::keys(bandwidths());
      for (const std::string &word : sim::keys(times())) words.push_back(word);
      return words;
    }());
    return all;
  }

  explicit ValueReader(Profile &profile) : profile_(profile) {}

  void read(const JsonValue &group, std::size_t source) {
    source_ = source;
    for (const std::string &key : keys())
      if (group.has(key.c_str())) read(key, group.at(key));
  }

 private:
  void read(const std::string &key, const JsonValue &value) {
    if (key == "total_memory") {
      profile_.total_memory = static_cast<std::size_t>(value.integer(1, most));
      record(key, value);
    }
    if (key == "processing_clusters") {
      profile_.processing_clusters.clear();
      std::erase_if(profile_.source_of,
                    [](const auto &one) { return one.first.starts_with("processing_clusters."); });
      for (const JsonValue &one : value.elements()) {
        profile_.processing_clusters.push_back(static_cast<int>(one.integer(1, most_int)));
        record(processing_cluster(profile_.processing_clusters.size()), one);
      }
    }
    if (key == "peer")
      each(value, peer_keys(),
           [&](const std::string &name, const JsonValue &one) { read_peer(one, name, profile_.peer); });
    if (key == "stream_priorities")
      each(value, priority_keys(), [&](const std::string &name, const JsonValue &one) {
        (name == "least" ? profile_.least_priority : profile_.greatest_priority) =
            static_cast<int>(one.integer(least_int, most_int));
      });
    if (key == "limits")
      each(value, limit_names(), [&](const std::string &name, const JsonValue &one) {
        const auto number = std::ranges::find(limit_names(), name) - limit_names().begin();
        profile_.limits[static_cast<int>(number)] = static_cast<std::size_t>(one.integer(0, most));
      });
    if (key == "costs")
      each(value, cost_keys(), [&](const std::string &name, const JsonValue &one) { read_cost(name, one); });
    if (key == "attributes")
      each(value, sim::keys(attribute_numbers()), [&](const std::string &name, const JsonValue &one) {
        profile_.attributes[attribute_numbers().at(name)] =
            static_cast<int>(one.integer(least_int, most_int));
      });
  }

  void read_cost(const std::string &name, const JsonValue &one) {
    if (bandwidths().contains(name))
      profile_.costs.*bandwidths().at(name) = one.positive();
    else
      profile_.costs.*times().at(name) = one.integer(0, most);
  }

  template <class Read>
  void each(const JsonValue &value, const Words &valid, Read &&reader) {
    value.members(valid, [&](const std::string &name, const JsonValue &one) {
      reader(name, one);
      record(value.name() + "." + name, one);
    });
  }

  void record(const std::string &name, const JsonValue &value) {
    const auto [entry, is_new] = profile_.source_of.emplace(name, source_);
    if (!is_new && entry->second != inherited_source) value.fail(name + " is given twice");
    entry->second = source_;
  }

  Profile &profile_;
  std::size_t source_ = the_files;
};

Status read_status(const JsonValue &value) {
  return static_cast<Status>(value.word({"measured", "published", "estimated", "invented"}));
}

Words and_value_keys(Words words) {
  words.insert(words.end(), ValueReader::keys().begin(), ValueReader::keys().end());
  return words;
}

const Words &device_keys() {
  static const Words all = and_value_keys({"$license", "id", "name", "status", "source", "like", "values"});
  return all;
}

const Words &group_keys() {
  static const Words all = and_value_keys({"status", "source"});
  return all;
}

Profile read_device(const JsonValue &value, const std::vector<Profile> &known) {
  value.members(device_keys(), [](const std::string &, const JsonValue &) {});
  if (value.has("$license")) value.at("$license").text();
  if (!value.has("id")) value.fail("a device needs an \"id\"");
  Profile profile;
  if (value.has("like")) profile = like(value.at("like"), known);
  for (auto &[name, source] : profile.source_of) source = inherited_source;
  profile.sources = {{value.has("status") ? read_status(value.at("status")) : Status::invented,
                      value.has("source") ? value.at("source").text() : "no source given in the file"},
                     {Status::estimated, "as the " + profile.id}};
  profile.id = value.at("id").text();
  profile.name = value.has("name") ? value.at("name").text() : profile.id;
  ValueReader reader(profile);
  reader.read(value, the_files);
  if (value.has("values"))
    for (const JsonValue &group : value.at("values").elements()) {
      group.members(group_keys(), [](const std::string &, const JsonValue &) {});
      if (!group.has("status") || !group.has("source"))
        group.fail("values need a \"status\" and a \"source\"");
      profile.sources.push_back({read_status(group.at("status")), group.at("source").text()});
      reader.read(group, profile.sources.size() - 1);
    }
  check_complete(value, profile);
  return profile;
}

const Words &link_keys() {
  static const Words &all = *new Words([] {
    Words words = peer_keys();
    words.emplace_back("between");
    return words;
  }());
  return all;
}

void read_link(const JsonValue &value, MachineProfile &machine) {
  if (!value.has("between")) value.fail("a link needs \"between\": the numbers of two devices");
  const std::vector<JsonValue> ends = value.at("between").elements();
  if (ends.size() != 2) value.at("between").fail("a link is between 2 devices");
  const auto last = static_cast<std::int64_t>(machine.devices.size()) - 1;
  const auto one = static_cast<std::size_t>(ends[0].integer(0, last));
  const auto other = static_cast<std::size_t>(ends[1].integer(0, last));
  if (one == other) value.at("between").fail("a link is between 2 different devices");
  Peer peer = machine.peers[one][other];
  value.members(link_keys(),
                [&](const std::string &key, const JsonValue &member) { read_peer(member, key, peer); });
  machine.peers[one][other] = machine.peers[other][one] = peer;
}

const Words &machine_keys() {
  static const Words &all = *new Words{"$license", "driver", "devices", "links"};
  return all;
}

MachineProfile read_machine_value(const JsonValue &value, const std::vector<Profile> &known) {
  value.members(machine_keys(), [](const std::string &, const JsonValue &) {});
  if (value.has("$license")) value.at("$license").text();
  std::vector<Profile> devices;
  for (const JsonValue &device : value.at("devices").elements()) {
    if (!device.is_text()) {
      devices.push_back(read_device(device, known));
      continue;
    }
    if (is_file(device.text()))
      device.fail("a file can name built-in devices or define devices; it cannot name another file");
    try {
      for (Profile &one : named_devices(device.text())) devices.push_back(std::move(one));
    } catch (const std::invalid_argument &error) {
      device.fail(error.what());
    }
  }
  if (devices.empty() || devices.size() > most_devices)
    value.at("devices").fail("a machine has 1 to " + std::to_string(most_devices) + " devices");
  MachineProfile machine = assemble(std::move(devices));
  if (value.has("driver"))
    set_driver(machine, static_cast<int>(value.at("driver").integer(oldest_driver, newest_driver)));
  if (value.has("links"))
    for (const JsonValue &link : value.at("links").elements()) read_link(link, machine);
  return machine;
}

// Parses the text and passes its value to `reader`. Throws std::invalid_argument if it is not JSON.
template <class Read>
auto read(std::string_view text, const std::string &origin, Read &&reader) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error &error) {
    const std::size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    // "[json.exception.parse_error.101] parse error at line 2, column 3: what is wrong"
    const std::string what = error.what();
    throw std::invalid_argument(origin + ":" + std::to_string(line_of_byte(text, offset)) +
                                ": this is not JSON: " + what.substr(what.find(": ") + 2));
  } catch (const Json::out_of_range &error) {
    // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
    const std::string what = error.what();
    const std::string number = what.substr(what.find('\'') + 1);
    const std::size_t offset = text.find(number.substr(0, number.rfind('\'')));
    throw std::invalid_argument(origin + ":" + std::to_string(line_of_byte(text, offset)) + ": " +
                                what.substr(what.find("] ") + 2));
  }
  const JsonLines lines = json_lines(text);
  if (!lines.duplicate.empty())
    throw std::invalid_argument(origin + ":" + std::to_string(lines.duplicate_line) + ": \"" +
                                lines.duplicate.substr(lines.duplicate.rfind('/') + 1) + "\" occurs twice");
  return reader(JsonValue(json, "", lines, origin));
}

}  // namespace

std::map<std::string, ProfileValue> Profile::values() const {
  std::map<std::string, ProfileValue> all;
  const auto add = [&]<class T>(const std::string &name, T value) {
    if (source_of.contains(name)) all.emplace(name, value);
  };
  add("total_memory", static_cast<std::int64_t>(total_memory));
  add("stream_priorities.least", std::int64_t{least_priority});
  add("stream_priorities.greatest", std::int64_t{greatest_priority});
  add("peer.access", peer.access);
  add("peer.native_atomics", peer.native_atomics);
  add("peer.performance_rank", std::int64_t{peer.performance_rank});
  add("peer.bandwidth", peer.bandwidth);
  for (std::size_t i = 0; i < processing_clusters.size(); ++i)
    add(processing_cluster(i + 1), std::int64_t{processing_clusters[i]});
  for (const auto &[number, value] : limits)
    add("limits." + limit_names()[static_cast<std::size_t>(number)], static_cast<std::int64_t>(value));
  for (const auto &[name, member] : bandwidths()) add("costs." + name, costs.*member);
  for (const auto &[name, member] : times()) add("costs." + name, costs.*member);
  for (const auto &[number, value] : attributes)
    add("attributes." + attribute_names().at(number), std::int64_t{value});
  return all;
}

Profile read_profile(std::string_view text, const std::string &origin, const std::vector<Profile> &known) {
  return read(text, origin, [&](const JsonValue &value) { return read_device(value, known); });
}

MachineProfile read_machine(std::string_view text, const std::string &origin,
                            const std::vector<Profile> &known) {
  return read(text, origin, [&](const JsonValue &value) {
    if (value.has("devices")) return read_machine_value(value, known);
    return assemble({read_device(value, known)});
  });
}

const std::map<std::string, std::vector<std::string>> &known_keys() {
  static const std::map<std::string, Words> &all =
      *new std::map<std::string, Words>{{"device", device_keys()},
                                        {"values", group_keys()},
                                        {"machine", machine_keys()},
                                        {"links", link_keys()},
                                        {"peer", peer_keys()},
                                        {"limits", limit_names()},
                                        {"costs", ValueReader::cost_keys()},
                                        {"stream_priorities", priority_keys()}};
  return all;
}

}  // namespace cushim::sim
