// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cushim/sim/profile.hpp>

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace cushim::sim {
namespace {

std::vector<std::string> ids(const MachineProfile &machine) {
  std::vector<std::string> all;
  for (const Profile &profile : machine.devices) all.push_back(profile.id);
  return all;
}

using Ids = std::vector<std::string>;

// Returns the error in a description or in a file's text; empty if there is none.
std::string fault(const std::string &description) try {
  machine(description);
  return "";
} catch (const std::invalid_argument &error) {
  return error.what();
}

std::string file_fault(const std::string &text) try {
  read_machine(text, "mine.json");
  return "";
} catch (const std::invalid_argument &error) {
  return error.what();
}

::testing::AssertionResult says(const std::string &message, const std::string &part) {
  if (message.find(part) != message.npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << message << "\" does not say \"" << part << "\"";
}

const Profile &built_in(const std::string &id) {
  for (const Profile &profile : profiles())
    if (profile.id == id) return profile;
  throw std::invalid_argument(id);
}

TEST(Profiles, Every_built_in_device_is_read) {
  Ids found;
  for (const Profile &profile : profiles()) {
    found.push_back(profile.id);
    EXPECT_FALSE(profile.name.empty()) << profile.id;
    EXPECT_EQ(machine(profile.id).devices.at(0).name, profile.name);
  }
  EXPECT_EQ(found, (Ids{"h200", "a100", "h100", "b200", "l4", "rtx4090", "small"}));
}

TEST(Profiles, No_value_of_a_built_in_device_lacks_a_source) {
  for (const Profile &profile : profiles()) {
    const std::map<std::string, ProfileValue> values = profile.values();
    EXPECT_GT(values.size(), 150u) << profile.id;
    // Every value that a driver returns or computes with must have a source.
    EXPECT_EQ(values.size(), profile.source_of.size()) << profile.id;
    for (const auto &[number, value] : profile.attributes)
      EXPECT_TRUE(values.contains("attributes." + attribute_names().at(number)))
          << profile.id << " " << number;
    EXPECT_EQ(values.count("total_memory"), 1u);
    for (const auto &[name, value] : values)
      EXPECT_FALSE(profile.source(name).text.empty()) << profile.id << ", " << name;
  }
}

TEST(Profiles, Only_what_was_read_from_the_H200_and_the_H100_is_measured) {
  const auto was_read = [](const std::string &id, const std::string &name) {
    if (name == "attributes.dma_buf_supported") return false;  // dma-bufs are not simulated
    if (id == "h200") return name != "peer.bandwidth" && !name.starts_with("processing_clusters.");
    constexpr std::string_view kOthers[] = {"total_memory",
                                            "limits.persisting_l2_cache_size",
                                            "limits.shmem_size",
                                            "costs.host_to_device",
                                            "costs.device_to_host",
                                            "costs.device_to_device",
                                            "costs.set"};
    return id == "h100" && (name.starts_with("attributes.") || std::ranges::count(kOthers, name) != 0);
  };
  for (const Profile &profile : profiles())
    for (const auto &[name, value] : profile.values())
      EXPECT_EQ(profile.source(name).status == Status::measured, was_read(profile.id, name))
          << profile.id << ", " << name;
}

TEST(Profiles, The_H200_has_every_attribute_measured_and_no_other) {
  const Profile &h200 = built_in("h200");
  EXPECT_EQ(h200.total_memory, 150109880320u);
  EXPECT_EQ(h200.attributes.size(), 147u);
  EXPECT_EQ(h200.attributes.at(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 132);
  EXPECT_EQ(h200.attributes.at(139), 590680286);
  EXPECT_FALSE(h200.attributes.contains(148));
  EXPECT_EQ(h200.greatest_priority, -5);
  EXPECT_EQ(h200.limits.at(CU_LIMIT_STACK_SIZE), 1024u);
  EXPECT_FALSE(h200.limits.contains(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH));
}

TEST(Profiles, Values_of_a_like_device_are_estimated_and_those_that_a_file_states_are_not) {
  const Profile &l4 = built_in("l4");
  EXPECT_EQ(l4.source("attributes.multiprocessor_count").status, Status::published);
  EXPECT_EQ(l4.source("attributes.texture_pitch_alignment").status, Status::estimated);
  EXPECT_EQ(l4.source("attributes.texture_pitch_alignment").text, "as the h200");
  EXPECT_EQ(l4.source("attributes.max_persisting_l2_cache_size").status, Status::estimated);
  EXPECT_EQ(l4.attributes.at(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 9);
  EXPECT_EQ(l4.attributes.at(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT), 32);
  EXPECT_THROW(l4.source("attributes.nothing"), std::out_of_range);
}

TEST(Profiles, Attributes_have_the_names_of_the_wrappers) {
  EXPECT_EQ(attribute_names().size(), 161u);
  EXPECT_EQ(attribute_names().at(10), "warp_size");
  EXPECT_EQ(attribute_names().at(117), "gpu_direct_rdma_flush_writes_options");
  EXPECT_EQ(attribute_names().at(161), "gpu_direct_rdma_with_localized_memory_supported");
}

TEST(Profiles, A_description_names_one_device_several_or_a_mix) {
  EXPECT_EQ(ids(machine("h200")), (Ids{"h200"}));
  EXPECT_EQ(ids(machine("h200x2")), (Ids{"h200", "h200"}));
  EXPECT_EQ(ids(machine("h200x2,l4")), (Ids{"h200", "h200", "l4"}));
  EXPECT_EQ(ids(machine("rtx4090")), (Ids{"rtx4090"}));
  EXPECT_EQ(ids(machine("rtx4090x3")), (Ids{"rtx4090", "rtx4090", "rtx4090"}));
  EXPECT_EQ(machine("smallx64").devices.size(), 64u);
}

TEST(Profiles, Devices_of_one_machine_are_on_different_PCI_buses) {
  const MachineProfile two = machine("h200x2");
  EXPECT_EQ(two.devices[0].attributes.at(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), 0);
  EXPECT_EQ(two.devices[1].attributes.at(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), 1);
}

TEST(Profiles, Devices_of_one_id_have_the_peer_access_of_their_profile) {
  const MachineProfile mixed = machine("h200x2,rtx4090x2,l4x2");
  EXPECT_TRUE(mixed.peer(0, 1).access);
  EXPECT_TRUE(mixed.peer(0, 1).native_atomics);
  EXPECT_FALSE(mixed.peer(0, 2).access);
  EXPECT_FALSE(mixed.peer(2, 3).access);
  EXPECT_TRUE(mixed.peer(4, 5).access);
  EXPECT_FALSE(mixed.peer(4, 5).native_atomics);
}

TEST(Profiles, An_older_driver_does_not_know_later_attributes) {
  const MachineProfile old = machine("h200x2,l4;driver=11080");
  EXPECT_EQ(old.driver_version, 11080);
  for (const Profile &device : old.devices) {
    EXPECT_TRUE(device.attributes.contains(124));
    EXPECT_EQ(device.attributes.rbegin()->first, 124);
    EXPECT_EQ(device.values().size(), device.source_of.size());
  }
  EXPECT_EQ(machine("h200").driver_version, 13000);
}

TEST(Profiles, A_drivers_version_is_written_as_CUDAs_release_or_as_the_driver_answers_it) {
  EXPECT_EQ(driver_version("11.8"), 11080);
  EXPECT_EQ(driver_version("12040"), 12040);
  EXPECT_EQ(machine("h200;driver=12.4").driver_version, 12040);
}

TEST(Profiles, A_wrong_description_names_what_is_wrong_and_the_nearest_word) {
  constexpr std::pair<const char *, const char *> faults[] = {
      {"h20", "did you mean \"h200\"?"},
      {"h20x2", "there is no device \"h20\"; did you mean \"h200\"?"},
      {"rtx409", "did you mean \"rtx4090\"?"},
      {"h200,,l4", "without a name"},
      {"", "without a name"},
      {"h200x0", "1 to 64"},
      {"h200x65", "1 to 64"},
      {"h200x64,l4", "at most 64 devices, not 65"},
      {"h200x2y", "there is no device \"h200x2y\""},
      {"h200;drivers=11080", "did you mean \"driver=11.8\"?"},
      {"h200;driver=10.2", "\"10.2\" is not a CUDA version from 11.0"},
      {"h200;driver=12.x", "\"12.x\" is not a CUDA version"},
      {"./nowhere.json", "./nowhere.json"},
  };
  for (const auto &[description, message] : faults) EXPECT_TRUE(says(fault(description), message));
}

TEST(Profiles, A_file_of_one_device_may_state_only_how_it_differs) {
  const MachineProfile mine = read_machine(
      R"({"id": "mine", "like": "a100", "total_memory": 1000000, "attributes": {"multiprocessor_count": 7},
          "costs": {"set": 1.5}, "stream_priorities": {"greatest": -1}, "limits": {"stack_size": 2048}})",
      "mine.json");
  const Profile &device = mine.devices.at(0);
  EXPECT_EQ(device.name, "mine");
  EXPECT_EQ(device.source("total_memory").status, Status::invented);
  EXPECT_EQ(device.source("attributes.clock_rate").text, "as the a100");
  EXPECT_EQ(device.total_memory, 1000000u);
  EXPECT_EQ(device.attributes.at(16), 7);
  EXPECT_EQ(device.costs.set, 1.5);
  EXPECT_EQ(device.costs.device_to_device, built_in("a100").costs.device_to_device);
  EXPECT_EQ(device.greatest_priority, -1);
  EXPECT_EQ(device.limits.at(0), 2048u);
}

TEST(Profiles, A_file_of_a_machine_has_devices_a_driver_and_links) {
  const MachineProfile mine = read_machine(
      R"({"driver": 12040, "devices": ["l4x2", {"id": "big", "like": "l4"}],
          "links": [{"between": [0, 2], "access": true, "performance_rank": 3, "bandwidth": 12.5}]})",
      "mine.json");
  EXPECT_EQ(ids(mine), (Ids{"l4", "l4", "big"}));
  EXPECT_EQ(mine.driver_version, 12040);
  EXPECT_EQ(mine.devices[0].attributes.rbegin()->first, 134);
  EXPECT_TRUE(mine.peer(0, 1).access);
  EXPECT_TRUE(mine.peer(2, 0).access);
  EXPECT_EQ(mine.peer(0, 2).performance_rank, 3);
  EXPECT_EQ(mine.peer(2, 0).bandwidth, 12.5);
  EXPECT_FALSE(mine.peer(1, 2).access);
}

TEST(Profiles, An_unknown_key_is_refused_with_its_line_and_the_nearest_key) {
  EXPECT_EQ(file_fault("{\n  \"id\": \"x\",\n  \"like\": \"l4\",\n  \"total_memroy\": 1\n}"),
            "mine.json:4: there is no \"total_memroy\" in the file; did you mean \"total_memory\"?");
  EXPECT_TRUE(says(file_fault("{\"id\": \"x\", \"like\": \"l4\",\n\"attributes\": {\n\"warpsize\": 1}}"),
                   "mine.json:3: there is no \"warpsize\" in attributes; did you mean \"warp_size\"?"));
  EXPECT_TRUE(says(file_fault("{\"devices\": [\"l4\"],\n\"link\": []}"), "mine.json:2: "));
  EXPECT_TRUE(says(file_fault("{\"devices\": [\"l4\",\n\"l5\"]}"), "mine.json:2: there is no device \"l5\""));
}

TEST(Profiles, A_value_of_the_wrong_type_or_size_is_refused_with_its_line) {
  const auto with = [](const std::string &member) {
    return file_fault("{\n\"id\": \"x\",\n\"like\": \"l4\",\n" + member + "\n}");
  };
  EXPECT_TRUE(
      says(with("\"total_memory\": \"2 GiB\""), "mine.json:4: total_memory is \"2 GiB\", but must be"));
  EXPECT_TRUE(says(with("\"total_memory\": 0"), "mine.json:4: total_memory is 0, but must be from 1"));
  EXPECT_TRUE(says(with("\"total_memory\": 18446744073709551615"), "mine.json:4: total_memory is"));
  EXPECT_TRUE(
      says(with("\"attributes\":\n{\"warp_size\": 3000000000}"), "mine.json:5: warp_size is 3000000000"));
  EXPECT_TRUE(says(with("\"attributes\": []"), "mine.json:4: attributes is [], but must be an object"));
  EXPECT_TRUE(says(with("\"costs\": {\"set\": 0}"), "mine.json:4: set is 0, but must be above 0"));
  EXPECT_TRUE(says(with("\"costs\": {\"call\": 1.5}"), "mine.json:4: call is 1.5, but must be an integer"));
  EXPECT_TRUE(says(with("\"status\": \"mesured\""),
                   "mine.json:4: status cannot be \"mesured\"; did you mean \"measured\"?"));
  EXPECT_TRUE(
      says(with("\"stream_priorities\": {\"greatest\": 1}"), "mine.json:1: the greatest stream priority"));
  EXPECT_TRUE(says(with("\"limits\": {\"stack_size\": -1}"), "mine.json:4: stack_size is -1"));
  EXPECT_TRUE(says(with("\"peer\": {\"access\": 1}"), "mine.json:4: access is 1, but must be true or false"));
}

TEST(Profiles, A_file_may_state_values_of_several_sources_but_none_twice) {
  const auto with = [](const std::string &group) {
    return R"({"id": "x", "like": "l4", "attributes": {"warp_size": 8},
               "values": [
                 )" +
           group + "]}";
  };
  const Profile device =
      read_machine(with(R"({"status": "published", "source": "a book", "costs": {"set": 2}})"), "mine.json")
          .devices[0];
  EXPECT_EQ(device.costs.set, 2);
  EXPECT_EQ(device.source("costs.set").text, "a book");
  EXPECT_EQ(device.source("costs.set").status, Status::published);
  EXPECT_EQ(device.source("attributes.warp_size").status, Status::invented);
  EXPECT_TRUE(
      says(file_fault(with(R"({"status": "published", "source": "b", "attributes": {"warp_size": 8}})")),
           "mine.json:3: attributes.warp_size is given twice"));
  EXPECT_TRUE(says(file_fault(with(R"({"status": "published", "costs": {"set": 2}})")),
                   "mine.json:3: values need a \"status\" and a \"source\""));
}

TEST(Profiles, A_device_that_is_like_no_other_must_be_complete) {
  EXPECT_TRUE(says(file_fault("{\"id\": \"x\"}"), "has no compute_capability_major"));
  EXPECT_TRUE(says(file_fault("{\"name\": \"x\"}"), "needs an \"id\""));
  EXPECT_TRUE(says(file_fault(R"({"id": "x", "attributes": {"compute_capability_major": 9,
                   "compute_capability_minor": 0, "multiprocessor_count": 1}})"),
                   "has no total_memory"));
}

TEST(Profiles, A_link_that_is_not_between_two_devices_is_refused) {
  const auto link = [](const std::string &ends) {
    return file_fault("{\"devices\": [\"l4x2\"],\n\"links\": [{\n\"between\": " + ends + "}]}");
  };
  EXPECT_EQ(link("[0, 1]"), "");
  EXPECT_TRUE(says(link("[0]"), "mine.json:3: "));
  EXPECT_TRUE(says(link("[1, 1]"), "mine.json:3: "));
  EXPECT_TRUE(says(link("[0, 2]"), "mine.json:3: "));
}

TEST(Profiles, Invalid_JSON_and_duplicate_keys_are_refused_with_their_line) {
  EXPECT_TRUE(says(file_fault("{\n\"id\": \"x\",\n\"like\" \"l4\"}"), "mine.json:3: this is not JSON: "));
  EXPECT_TRUE(says(file_fault("{\n\"id\": \"x\",\n"), "mine.json:3: this is not JSON: "));
  EXPECT_TRUE(says(file_fault(""), "mine.json:1: this is not JSON: "));
  EXPECT_TRUE(
      says(file_fault("{\n\"total_memory\": 1e999}"), "mine.json:2: number overflow parsing '1e999'"));
  EXPECT_TRUE(says(file_fault("[]"), "mine.json:1: the file is [], but must be an object"));
  EXPECT_TRUE(says(file_fault("{\"id\": \"x\",\n\"like\": \"l4\",\n\"id\": \"y\"}"),
                   "mine.json:3: \"id\" occurs twice"));
}

TEST(Profiles, A_file_cannot_name_files) {
  EXPECT_TRUE(
      says(file_fault("{\"devices\": [\"mine.json\"]}"), "mine.json:1: a file can name built-in devices"));
}

TEST(Profiles, Identities_differ_by_device_and_are_the_same_each_time) {
  const Profile &l4 = built_in("l4");
  const auto text = [](const CUuuid &uuid) { return std::string(uuid.bytes, sizeof uuid.bytes); };
  EXPECT_EQ(text(uuid_of(l4, 1)), text(uuid_of(l4, 1)));
  EXPECT_NE(text(uuid_of(l4, 0)), text(uuid_of(l4, 1)));
  EXPECT_NE(text(uuid_of(l4, 0)), text(uuid_of(built_in("h200"), 0)));
}

TEST(Profiles, The_fastest_device_is_first_unless_the_PCI_order_is_asked_for) {
  const MachineProfile mixed = machine("l4,h200,l4,h200");
  EXPECT_EQ(device_order(mixed, nullptr), (std::vector<int>{1, 3, 0, 2}));
  EXPECT_EQ(device_order(mixed, "FASTEST_FIRST"), (std::vector<int>{1, 3, 0, 2}));
  EXPECT_EQ(device_order(mixed, "PCI_BUS_ID"), (std::vector<int>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace cushim::sim
