// SPDX-License-Identifier: Apache-2.0
// The main program of tests: chooses the driver, runs GoogleTest, judges the answers.
#include <unistd.h>
#include <cushim/sim/machine.hpp>
#include <cushim/testing.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "child.hpp"
#include "options.hpp"
#include "record.hpp"
#include "spawn.hpp"
#include "summary.hpp"
#include "watchdog.hpp"

namespace {

using namespace cushim::testing;

enum Status { good = 0, failed = 1, wrong_use = 2, skipped = 77 };

class TestWatcher : public ::testing::EmptyTestEventListener {
 public:
  explicit TestWatcher(Watchdog &watchdog) : watchdog_(watchdog) {}
  void OnTestStart(const ::testing::TestInfo &test) override {
    watchdog_.watch(std::string(test.test_suite_name()) + "." + test.name());
  }
  void OnTestEnd(const ::testing::TestInfo &) override { watchdog_.watch(""); }

 private:
  Watchdog &watchdog_;
};

// A test with CTest's label gpu that some other driver answers has shown nothing.
bool is_labelled_gpu() {
  const char *label = std::getenv("CUSHIM_TEST_LABEL");
  return label != nullptr && std::string_view(label) == "gpu";
}

// Whether NVIDIA's kernel module serves this machine: on Linux, in WSL, or on a Tegra.
bool has_nvidia_device() {
  for (const char *device : {"/dev/nvidiactl", "/dev/dxg", "/dev/nvmap"})
    if (access(device, F_OK) == 0) return true;
  return false;
}

// Where CTest allots devices ("id:1,slots:1" for each group), no others are seen.
void see_allotted_devices() {
  const char *groups = std::getenv("CTEST_RESOURCE_GROUP_COUNT");
  std::string devices;
  for (int group = 0; groups != nullptr && group < std::atoi(groups); ++group) {
    const std::string variable = "CTEST_RESOURCE_GROUP_" + std::to_string(group) + "_GPUS";
    const char *text = std::getenv(variable.c_str());
    const std::string allotted = text == nullptr ? "" : text;
    if (!allotted.starts_with("id:")) continue;
    devices += (devices.empty() ? "" : ",") + allotted.substr(3, allotted.find(',') - 3);
  }
  if (!devices.empty()) setenv("CUDA_VISIBLE_DEVICES", devices.c_str(), 1);
}

// Makes the wanted driver current for the rest of the process.
int choose_driver(std::string wanted) {
  if (is_labelled_gpu()) {
    if (wanted == "default") wanted = "real";
    if (wanted != "real" || !has_nvidia_device()) {
      std::cerr << "cushim: a test labelled gpu wants the machine's own driver, "
                << (wanted != "real" ? "not --driver=" + wanted : "and this machine has no NVIDIA device")
                << "\n";
      return failed;
    }
  }
  static std::optional<cushim::ScopedDriver> scope;
  if (wanted == "sim") {
    try {
      // For the life of the process: calls may come until its end.
      static auto &machine = *new cushim::sim::Machine(cushim::sim::options_from_environment());
      scope.emplace(machine.driver());
      return good;
    } catch (const std::exception &error) {
      std::cerr << "cushim: --driver=sim: " << error.what() << "\n";
      return wrong_use;
    }
  }
  const bool is_library = wanted != "default" && wanted != "real";
  if (wanted == "real") unsetenv("CUSHIM_LIBRARY");  // what that names may be another than the machine's
  const cushim::Loaded loaded =
      is_library ? cushim::Driver::load({.library = wanted.c_str()}) : cushim::Driver::load();
  if (!loaded) {
    std::cerr << loaded.diagnosis.text() << "\n";
    // Where somebody says what the machine has, or which driver is wanted, its absence is a fault.
    const bool declared = std::getenv("CUSHIM_TEST_HAS") != nullptr;
    if (is_library || wanted == "real" || declared) return failed;
    std::cerr << "cushim-skip: " << loaded.diagnosis.name() << "\n";
    return skipped;
  }
  scope.emplace(*loaded);
  return good;
}

int report(const Summary &summary) {
  int status = good;
  const auto complain = [&](const std::string &what) {
    std::cerr << "cushim: " << what << "\n";
    status = failed;
  };
  std::optional<Comparison> comparison;
  if (!options().compare_answers.empty()) {
    Answers expected;
    if (const std::string error = read_answers(options().compare_answers, expected); !error.empty()) {
      complain(error);
    } else {
      comparison = compare(expected, recorded());
      std::cout << comparison->table(expected);
      if (!comparison->different.empty() || !comparison->missing.empty())
        complain("this driver does not answer as recorded in " + options().compare_answers);
    }
  }
  if (!options().write_answers.empty()) {
    if (const std::string error = write_answers(options().write_answers, recorded()); !error.empty())
      complain(error);
  }
  if (!options().summary.empty()) {
    std::ofstream file(options().summary);
    file << summary.json(comparison ? &*comparison : nullptr);
    file.close();
    if (!file) complain("cannot write " + options().summary);
  }
  if (const std::string more = undeclared(); !more.empty())
    std::cout << "cushim: found but not declared in CUSHIM_TEST_HAS: " << more << "\n";
  std::cout << "cushim: " << summary.text() << "\n";
  if (summary.executed() == 0) complain("no test was executed");
  return status;
}

}  // namespace

int main(int argc, char **argv) {
  if (asks_for_help(argc, argv)) {
    std::cout << help << "\n";
    ::testing::InitGoogleTest(&argc, argv);  // prints its own
    return good;
  }
  ::testing::InitGoogleTest(&argc, argv);
  Options given;
  if (const std::string error = parse(argc, argv, given); !error.empty()) {
    std::cerr << "cushim: " << error << "\n";
    return wrong_use;
  }
  set_options(given);
  if (::testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  see_allotted_devices();
  if (const int status = choose_driver(given.driver); status != good) return status;

  Watchdog watchdog(given.limit_seconds);
  if (!given.child.empty()) {
    watchdog.watch("child " + given.child);
    return run_child(given.child, given.child_file);
  }
  if (given.is_fresh) end_with_parent();
  auto &listeners = ::testing::UnitTest::GetInstance()->listeners();
  auto owned = std::make_unique<Summary>();
  Summary &summary = *owned;
  listeners.Append(owned.release());
  listeners.Append(new TestWatcher(watchdog));
  const int tests = RUN_ALL_TESTS();
  if (given.is_fresh) return tests;
  const int judged = report(summary);
  return tests != 0 ? tests : judged;
}
