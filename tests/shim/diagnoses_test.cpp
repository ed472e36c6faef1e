// SPDX-License-Identifier: Apache-2.0
// Causes each diagnosis and checks its text: id, what happened, what was tried, what to do. Files that are
// not drivers are in broken_files.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <cushim/driver.hpp>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "child.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"

namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kDriver = fake_path("13000");
const std::string kTried = " (CUSHIM_LIBRARY: " + kDriver + "). ";

// Returns the diagnosis for a driver whose cuInit returns this code.
std::string initialize(int code, Environment environment = {}) {
  environment["CUSHIM_LIBRARY"] = kDriver;
  environment["FAKE_INIT"] = std::to_string(code);
  // Hides this machine's device nodes from the test.
  const Outcome outcome = probe({"devices", "/nowhere", "initialize"}, environment);
  EXPECT_EQ(outcome.status, 0);
  return outcome.out;
}

// ---- No driver ----------------------------------------------------------------------------------

TEST(Diagnosis, No_driver) {
  if (probe({"preload", "libcuda.so.1"}) == lines({})) GTEST_SKIP() << "this machine has a driver";
  const Outcome outcome = probe({"load", "every-entry"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out,
              StartsWith("cushim[no-driver]: libcuda.so.1 not found (soname: absent; WSL: absent; "));
  EXPECT_THAT(outcome.out,
              HasSubstr("; NixOS: absent). Install the NVIDIA driver, or start the container with "
                        "--gpus all.\n303: "));
}

TEST(Diagnosis, No_driver_under_the_name_that_CUSHIM_LIBRARY_gives) {
  EXPECT_EQ(probe({"load"}, {{"CUSHIM_LIBRARY", "/nowhere/libcuda.so.1"}}),
            lines({"cushim[no-driver]: /nowhere/libcuda.so.1 not found (CUSHIM_LIBRARY: absent). Correct "
                   "CUSHIM_LIBRARY, or unset it to use the installed driver."}));
}

TEST(Diagnosis, No_driver_under_the_name_that_the_program_gives) {
  const auto loaded = cushim::Driver::load({.library = "/nowhere/libcuda.so.1"});
  EXPECT_FALSE(loaded);
  EXPECT_EQ(loaded.diagnosis.id(), CUSHIM_NO_DRIVER);
  EXPECT_EQ(loaded.diagnosis.code(), CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
  EXPECT_EQ(loaded.diagnosis.driver_version(), 0);
  EXPECT_EQ(
      loaded.diagnosis.text(),
      "cushim[no-driver]: /nowhere/libcuda.so.1 not found (given: absent). Pass the path of an existing "
      "library.");
}

TEST(Diagnosis, No_driver_was_opened_yet) {
  EXPECT_EQ(probe({"explain", "3"}),
            lines({"cushim[no-driver]: no driver has been opened. Call load() first."}));
}

TEST(Diagnosis, Driver_disabled_by_the_program) {
  EXPECT_EQ(cushim::Driver::load({.library = "none"}).diagnosis.text(),
            "cushim[driver-disabled]: the library name \"none\" disables the driver (given: "
            "none). Pass another library name to use a driver.");
}

TEST(Diagnosis, Not_loadable_because_it_may_not_be_read) {
  const Folder folder;
  const std::string path = folder.write("libcuda.so.1", "");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  EXPECT_EQ(probe({"nobody", "load", "leave"}, {{"CUSHIM_LIBRARY", path}}),
            lines({"cushim[not-loadable]: " + path + " exists but cannot be loaded (CUSHIM_LIBRARY: " + path +
                   " cannot be read: Permission denied). See the message in parentheses: a library that the "
                   "driver needs "
                   "is missing, or a file is not readable."}));
}

// ---- Driver too old -----------------------------------------------------------------------------

TEST(Diagnosis, Driver_too_old_though_raw_calls_still_reach_it) {
  EXPECT_EQ(
      probe({"at-least", "13010", "call", "cuInit", "version", "at-least", "13000"},
            {{"CUSHIM_LIBRARY", kDriver}}),
      lines({"cushim[driver-too-old]: the driver supports CUDA 13.0, but CUDA 13.1 is required" + kTried +
                 "Update the NVIDIA driver, or install the cuda-compat package of the newer release.",
             "0", "13000", "cushim[ok]: the driver is usable (CUSHIM_LIBRARY: " + kDriver + ")."}));
}

TEST(Diagnosis, Driver_too_old_as_a_value) {
  const auto loaded = cushim::Driver::load({.library = kDriver.c_str(), .at_least = 99000});
  EXPECT_FALSE(loaded);
  EXPECT_EQ(loaded.diagnosis.id(), CUSHIM_DRIVER_TOO_OLD);
  EXPECT_EQ(loaded.diagnosis.name(), "driver-too-old");
  EXPECT_EQ(loaded.diagnosis.driver_version(), 13000);
}

// ---- Results of cuInit --------------------------------------------------------------------------

TEST(Diagnosis, No_device) {
  EXPECT_EQ(initialize(100),
            "cushim[no-device]: the driver is installed but finds no GPU" + kTried +
                "Check that a GPU is installed and that nvidia-smi lists it; in a container, that "
                "it was started with --gpus.\n");
}

TEST(Diagnosis, No_device_also_if_cuInit_succeeds_and_counts_none) {
  EXPECT_THAT(initialize(0, {{"FAKE_DEVICES", "0"}}), StartsWith("cushim[no-device]: "));
}

std::string device_hidden(const std::string &visible) {
  return "cushim[device-hidden]: CUDA_VISIBLE_DEVICES=\"" + visible +
         "\" leaves no device. Unset CUDA_VISIBLE_DEVICES, or name devices that exist (nvidia-smi -L lists "
         "them).\n";
}

// Returns the explanation of CUDA_ERROR_NO_DEVICE on a machine with these device nodes.
std::string explain_no_device(const Folder &nodes, const std::string &visible) {
  const std::string text = probe({"devices", nodes.path(), "load", "explain", "100"},
                                 {{"CUSHIM_LIBRARY", kDriver}, {"CUDA_VISIBLE_DEVICES", visible}})
                               .out;
  return text.substr(text.find('\n') + 1);
}

TEST(Diagnosis, Device_hidden_if_none_is_visible) {
  const Folder no_nodes;
  for (const char *visible : {"", "-1"})
    EXPECT_EQ(explain_no_device(no_nodes, visible), device_hidden(visible));
}

TEST(Diagnosis, Device_hidden_if_none_of_the_machines_devices_is_named) {
  const Folder nodes;
  nodes.write("nvidia0", "");
  for (const char *visible : {"17", "GPU-00000000"})
    EXPECT_EQ(explain_no_device(nodes, visible), device_hidden(visible));
}

TEST(Diagnosis, Device_not_hidden_on_a_machine_that_has_none) {
  const Folder no_nodes;
  EXPECT_THAT(explain_no_device(no_nodes, "0"), StartsWith("cushim[no-device]: "));
}

class DeviceNodes : public testing::TestWithParam<int> {
 protected:
  // Returns the explanation for an unprivileged user who has only these permissions for the node.
  std::string explain_with_closed(const std::string &node,
                                  std::filesystem::perms rights = std::filesystem::perms::none) const {
    for (const char *open : {"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-modeset", "null"})
      std::filesystem::permissions(folder_.write(open, ""), std::filesystem::perms(0666));
    std::filesystem::permissions(folder_.write(node, ""), rights);
    // Loads the driver as root first: the unprivileged user may not have access to the build directory.
    const Outcome outcome =
        probe({"devices", folder_.path(), "load", "nobody", "explain", std::to_string(GetParam()), "leave"},
              {{"CUSHIM_LIBRARY", kDriver}});
    EXPECT_EQ(outcome.status, 0);
    return outcome.out.substr(outcome.out.find('\n') + 1);
  }
  Folder folder_;
};

TEST_P(DeviceNodes, That_are_closed_are_a_lack_of_permission) {
  for (const char *node : {"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia12"}) {
    EXPECT_EQ(explain_with_closed(node), "cushim[no-permission]: this user has no permission to open " +
                                             folder_.path(node) +
                                             ". Give this user access to the "
                                             "NVIDIA device nodes (group video or "
                                             "render, or the container's device rules).\n");
  }
}

TEST_P(DeviceNodes, That_may_only_be_read_are_one_too) {
  EXPECT_THAT(explain_with_closed("nvidiactl", std::filesystem::perms(0444)),
              StartsWith("cushim[no-permission]: "));
}

TEST_P(DeviceNodes, That_are_open_or_not_needed_are_not) {
  for (const char *node : {"nvidia-modeset", "nvidiax", "null"})
    EXPECT_THAT(explain_with_closed(node), testing::Not(HasSubstr("no-permission"))) << node;
}

INSTANTIATE_TEST_SUITE_P(After, DeviceNodes, testing::Values(100, 999, 304),
                         [](const auto &parameter) { return std::to_string(parameter.param); });

TEST(Diagnosis, Fabric_manager) {
  EXPECT_EQ(
      initialize(802),
      "cushim[fabric-manager]: cuInit returned CUDA_ERROR_SYSTEM_NOT_READY (802): the fabric manager is not "
      "ready" +
          kTried +
          "Start nvidia-fabricmanager of the same version as the driver, and wait until nvidia-smi -q shows "
          "the "
          "fabric's state as completed.\n");
}

TEST(Diagnosis, Kernel_mismatch) {
  EXPECT_EQ(initialize(803),
            "cushim[kernel-mismatch]: " + kDriver +
                " and the loaded kernel module have different versions (803)" + kTried +
                "Reboot or reload the nvidia kernel modules after a driver update; in a container, "
                "use the host's libcuda.\n");
}

TEST(Diagnosis, Compat_unsupported) {
  EXPECT_EQ(initialize(804),
            "cushim[compat-unsupported]: " + kDriver +
                " is a forward-compatibility library, which this GPU does not support (804)" + kTried +
                "Remove the cuda-compat directory from the library search path, or update the driver.\n");
}

TEST(Diagnosis, Torn_down) {
  EXPECT_EQ(initialize(4), "cushim[torn-down]: the driver has shut down because the process is ending" +
                               kTried +
                               "Release GPU objects before main returns, or ignore this error at exit.\n");
}

TEST(Diagnosis, Stub_library_as_a_code) {
  EXPECT_EQ(initialize(34), "cushim[stub-library]: " + kDriver +
                                " is the CUDA toolkit's link stub, not a driver" + kTried +
                                "Remove the toolkit's stubs directory from the library search path.\n");
}

TEST(Diagnosis, Unknown) {
  EXPECT_EQ(initialize(999),
            "cushim[unknown]: the driver failed without a specific reason (999, CUDA_ERROR_UNKNOWN)" +
                kTried +
                "See the kernel log (dmesg | grep -i nvrm). Usual causes: the GPU fell off the bus, "
                "nvidia-uvm is not loaded, or the machine was suspended.\n");
  EXPECT_THAT(initialize(304),
              StartsWith("cushim[unknown]: the driver failed without a specific reason (304, "
                         "CUDA_ERROR_OPERATING_SYSTEM)"));
}

TEST(Diagnosis, Init_failed_for_every_other_code) {
  EXPECT_EQ(initialize(101), "cushim[init-failed]: the driver returned 101, CUDA_ERROR_INVALID_DEVICE" +
                                 kTried + "Run cushim explain with the code.\n");
  EXPECT_THAT(
      initialize(36),
      StartsWith("cushim[init-failed]: the driver returned 36, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER"));
  EXPECT_THAT(initialize(2),
              StartsWith("cushim[init-failed]: the driver returned 2, CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_THAT(initialize(12345), StartsWith("cushim[init-failed]: the driver returned 12345, unknown code"));
}

TEST(Diagnosis, Init_failed_without_a_call_of_cuInit) {
  EXPECT_EQ(
      probe({"load", "explain", "3"}, {{"CUSHIM_LIBRARY", kDriver}}).out,
      "cushim[ok]: the driver is usable (CUSHIM_LIBRARY: " + kDriver +
          ").\ncushim[init-failed]: the driver was not initialized (3). Call cuInit(0) before any other "
          "call.\n");
}

TEST(Diagnosis, Ok) {
  EXPECT_EQ(initialize(0), "cushim[ok]: the driver is usable (CUSHIM_LIBRARY: " + kDriver + ").\n");
}

TEST(Diagnosis, Its_code_is_the_driver_s_own) {
  const auto loaded = cushim::Driver::load({.library = kDriver.c_str()});
  ASSERT_TRUE(loaded);
  const cushim::Diagnosis diagnosis = loaded->explain(CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(diagnosis.id(), CUSHIM_FABRIC_MANAGER);
  EXPECT_EQ(diagnosis.code(), CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(diagnosis.driver_version(), 13000);
  EXPECT_FALSE(diagnosis);
  EXPECT_TRUE(loaded->explain(CUDA_SUCCESS));
}

// ---- All diagnoses ------------------------------------------------------------------------------

TEST(Diagnosis, Each_id_has_a_section_of_its_own_in_the_documentation) {
  std::ifstream file(CUSHIM_TEST_DOCS "/reference/errors.md");
  std::set<std::string> sections;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("## ")) sections.insert(line.substr(3));
  std::set<std::string> ids;
#define CUSHIM_DIAGNOSIS(enumerator, id) ids.insert(id);
  CUSHIM_DIAGNOSES(CUSHIM_DIAGNOSIS)
#undef CUSHIM_DIAGNOSIS
  ids.erase("ok");
  EXPECT_EQ(sections, ids);
}

TEST(Diagnosis, A_text_longer_than_its_buffer_is_cut_and_its_length_still_told) {
  const auto loaded = cushim::Driver::load({.library = "/nowhere/libcuda.so.1"});
  const std::string whole = loaded.diagnosis.text();
  std::string cut(12, 'x');
  EXPECT_EQ(cushim_diagnosis_text(&loaded.diagnosis.plain(), cut.data(), 11), whole.size());
  EXPECT_EQ(cut, whole.substr(0, 10) + '\0' + 'x');
}

TEST(Diagnosis, A_name_longer_than_there_is_room_for_is_cut_and_nothing_breaks) {
  const std::string name = "/" + std::string(5000, 'a');
  const auto loaded = cushim::Driver::load({.library = name.c_str()});
  EXPECT_FALSE(loaded);
  EXPECT_THAT(loaded.diagnosis.text(), HasSubstr("/aaaa"));
}

}  // namespace
