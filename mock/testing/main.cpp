// SPDX-License-Identifier: Apache-2.0
// The main program of tests: selects the driver, runs GoogleTest, compares the answers.
#include <dlfcn.h>
#include <unistd.h>
#include <cushim/sim/machine.hpp>
#include <cushim/testing.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "calls.hpp"
#include "child.hpp"
#include "ctest_devices.hpp"
#include "fork_server.hpp"
#include "kernel.hpp"
#include "list.hpp"
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
  void OnTestEnd(const ::testing::TestInfo &) override {
    record_calls("end");
    watchdog_.watch("");
  }

 private:
  Watchdog &watchdog_;
};

// Returns whether NVIDIA's kernel module is loaded: on Linux, in WSL, or on a Tegra.
bool has_nvidia_device() {
  for (const char *device : {"/dev/nvidiactl", "/dev/dxg", "/dev/nvmap"})
    if (access(device, F_OK) == 0) return true;
  return false;
}

// Returns whether the library is cushim's libcuda.so.1 and not in front of another driver.
bool is_simulated(const cushim::Driver &driver) {
  const std::string path(driver.name());
  void *const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const auto name = reinterpret_cast<const char *(*)()>(dlsym(library, "cushim_simulated_driver"));
  const bool simulated = name != nullptr && name() != nullptr;
  dlclose(library);
  return simulated;
}

// Returns why the driver is not acceptable for --driver=real or CTest's label gpu; empty if it is.
std::string why_not_real(const cushim::Driver &driver) {
  if (is_simulated(driver)) return "the driver is SIMULATED: " + std::string(driver.name());
  if (options().is_labelled_gpu && !has_nvidia_device()) return "this machine has no NVIDIA device";
  return "";
}

// Makes the requested driver current for the rest of the process.
int choose_driver(std::string wanted) {
  if (options().is_labelled_gpu) {
    if (wanted == "default") wanted = "real";
    if (wanted != "real") {
      std::cerr << "cushim: a test with the label gpu needs the installed driver, not --driver=" << wanted
                << "\n";
      return failed;
    }
  }
  static std::optional<cushim::ScopedDriver> scope;
  if (wanted == "sim") {
    try {
      // Never destroyed: calls may come until the process ends.
      static auto &machine = *new cushim::sim::Machine(cushim::sim::options_from_environment());
      scope.emplace(machine.driver());
      begin_calls(machine);
      register_kernels_with(machine);
      return good;
    } catch (const std::exception &error) {
      std::cerr << "cushim: --driver=sim: " << error.what() << "\n";
      return wrong_use;
    }
  }
  if (!options().write_calls.empty()) {
    std::cerr << "cushim: --write-calls needs --driver=sim\n";
    return wrong_use;
  }
  if (wanted == "none") {
    setenv("CUSHIM_LIBRARY", "none", 1);  // makes calls fail that reach no driver of the test itself
    return good;
  }
  const bool is_library = wanted != "default" && wanted != "real";
  if (wanted == "real") unsetenv("CUSHIM_LIBRARY");  // it may name a library other than the machine's own
  const cushim::Loaded loaded =
      is_library ? cushim::Driver::load({.library = wanted.c_str()}) : cushim::Driver::load();
  if (!loaded) {
    std::cerr << loaded.diagnosis.text() << "\n";
    // A missing driver is an error if CUSHIM_TEST_HAS is set or a driver was requested explicitly.
    const bool declared = std::getenv("CUSHIM_TEST_HAS") != nullptr;
    if (is_library || wanted == "real" || declared) return failed;
    std::cerr << "cushim-skip: " << loaded.diagnosis.name() << "\n";
    return skipped;
  }
  if (wanted == "real") {
    if (const std::string reason = why_not_real(*loaded); !reason.empty()) {
      std::cerr << "cushim: --driver=real and the label gpu need the installed driver, but " << reason
                << "\n";
      return failed;
    }
  }
  scope.emplace(*loaded);
  return good;
}

int report(const Summary &summary) {
  int status = good;
  const auto report_failure = [&](const std::string &what) {
    std::cerr << "cushim: " << what << "\n";
    status = failed;
  };
  std::optional<Comparison> comparison;
  if (!options().compare_answers.empty()) {
    Answers expected;
    if (const std::string error = read_answers(options().compare_answers, expected); !error.empty()) {
      report_failure(error);
    } else {
      comparison = compare(expected, recorded());
      std::cout << comparison->table(expected);
      if (!comparison->different.empty() || !comparison->missing.empty())
        report_failure("the answers of this driver differ from those recorded in " +
                       options().compare_answers);
    }
  }
  if (!options().write_answers.empty()) {
    if (const std::string error = write_answers(options().write_answers, recorded()); !error.empty())
      report_failure(error);
  }
  if (!options().summary.empty()) {
    std::ofstream file(options().summary);
    file << summary.json(comparison ? &*comparison : nullptr);
    file.close();
    if (!file) report_failure("cannot write " + options().summary);
  }
  if (const std::string more = undeclared(); !more.empty())
    std::cout << "cushim: found but not declared in CUSHIM_TEST_HAS: " << more << "\n";
  std::cout << "cushim: " << summary.text() << "\n";
  if (summary.executed() == 0) report_failure("no test was executed");
  return status;
}

}  // namespace

int main(int argc, char **argv) {
  if (asks_for_help(argc, argv)) {
    std::cout << help << "\n";
    ::testing::InitGoogleTest(&argc, argv);  // prints GoogleTest's own help
    return good;
  }
  ::testing::InitGoogleTest(&argc, argv);
  Options given;
  if (const std::string error = parse(argc, argv, given); !error.empty()) {
    std::cerr << "cushim: " << error << "\n";
    return wrong_use;
  }
  set_options(given);
  if (given.is_fresh) {
    given = serve_fresh_processes(given);
    set_options(given);
    end_with_parent();
  }
  if (::testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  if (given.lists_tests) {
    std::cout << list_of_tests();
    return good;
  }
  if (const std::string error = restrict_to_ctest_devices(); !error.empty()) {
    std::cerr << "cushim: " << error << "\n";
    return failed;
  }
  if (const int status = choose_driver(given.driver); status != good) return status;

  Watchdog watchdog(given.limit_seconds, [&given] {
    if (!given.write_answers.empty()) write_answers_so_far(given.write_answers, recorded());
  });
  if (!given.child.empty()) {
    watchdog.watch("child " + given.child);
    const int status = run_child(given.child, given.child_file);
    record_calls("end");
    return status;
  }
  auto &listeners = ::testing::UnitTest::GetInstance()->listeners();
  auto owned = std::make_unique<Summary>();
  Summary &summary = *owned;
  listeners.Append(owned.release());
  listeners.Append(new TestWatcher(watchdog));
  const int tests = RUN_ALL_TESTS();
  if (given.is_fresh) return tests;
  const int status = report(summary);
  return tests != 0 ? tests : status;
}
