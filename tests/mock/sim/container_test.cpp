// SPDX-License-Identifier: Apache-2.0
// Device memory in a container with limited memory, which is a cgroup as a container runtime creates it.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMiB = 1 << 20;
constexpr const char *kFolder = "CUSHIM_TEST_CONTAINER";  // tells the process of the death test its cgroup

// A cgroup of version 1 or 2 with `memory` bytes and no swap, removed by the destructor. If none can be
// created (no privileges, or read-only cgroups), reason_not_found() returns the reason.
class Container {
 public:
  explicit Container(std::size_t memory) {
    GTEST_FLAG_SET(death_test_style,
                   "threadsafe");  // a forked process has no driver, a new one has
    if (const char *const made = std::getenv(kFolder)) {
      folder_ = made;
      return;
    }
    const std::string name = "cushim_test_" + std::to_string(getpid());
    for (const char *const root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
      std::error_code error;
      if (!fs::create_directory(fs::path(root) / name, error) || error) continue;
      folder_ = fs::path(root) / name;
      is_ours_ = true;
      if (limit(memory) && fs::exists(peak_file())) {
        setenv(kFolder, folder_.c_str(), 1);
        return;
      }
      remove();
    }
    why_not_ = "no cgroup can be made here that limits memory and tells its peak";
  }
  ~Container() { remove(); }
  Container(const Container &) = delete;
  Container &operator=(const Container &) = delete;

  const std::string &reason_not_found() const { return why_not_; }

  // Runs the program in the container, in the process of the death test.
  template <class Program>
  [[noreturn]] void run(Program program) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!write("cgroup.procs", "0")) _exit(2);
    try {
      program();
    } catch (const std::exception &error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(3);
    }
    _exit(0);
  }

  std::size_t peak() const {
    std::size_t bytes = 0;
    std::ifstream(peak_file()) >> bytes;
    return bytes;
  }

  // Returns the number of processes that the kernel has killed here because memory was exhausted.
  int killed() const {
    std::ifstream events(folder_ / (is_first_version() ? "memory.oom_control" : "memory.events"));
    std::string name;
    for (int count = 0; events >> name >> count;)
      if (name == "oom_kill") return count;
    return -1;
  }

 private:
  bool is_first_version() const { return fs::exists(folder_ / "memory.limit_in_bytes"); }

  fs::path peak_file() const {
    return folder_ / (is_first_version() ? "memory.max_usage_in_bytes" : "memory.peak");
  }

  // The file for swap does not exist if swap is not counted.
  bool limit(std::size_t memory) const {
    const std::string bytes = std::to_string(memory);
    if (is_first_version()) {
      const bool is_limited = write("memory.limit_in_bytes", bytes);
      write("memory.memsw.limit_in_bytes", bytes);
      return is_limited;
    }
    write("memory.swap.max", "0");
    return write("memory.max", bytes);
  }

  bool write(const char *file, const std::string &value) const {
    if (!fs::exists(folder_ / file)) return false;
    std::ofstream stream(folder_ / file);
    stream << value << std::flush;
    return stream.good();
  }

  void remove() {
    if (!is_ours_) return;
    std::error_code error;
    fs::remove(folder_, error);
    EXPECT_FALSE(error) << folder_ << ": " << error.message();
    unsetenv(kFolder);
    is_ours_ = false;
  }

  fs::path folder_;
  std::string why_not_;
  bool is_ours_ = false;
};

void require_word(CUdeviceptr address, std::uint32_t wanted) {
  if (word_at(address) != wanted) throw std::runtime_error("the device's memory holds something else");
}

class ContainerDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kIsSanitized) GTEST_SKIP() << "a sanitizer's own memory cannot be told apart";
  }
};

// Uses more memory in total than the container has, but frees it after each device.
void use_each_device_in_turn() {
  const Running running({.devices = "h200x8"});
  const std::vector<std::uint32_t> host(64 * kMiB / 4, 7);
  for (CUdevice device = 0; device < 8; ++device) {
    CUcontext context = nullptr;
    need(driver().cuDevicePrimaryCtxRetain(&context, device));
    need(driver().cuCtxSetCurrent(context));
    const CUdeviceptr source = running.memory(150 * kMiB), target = running.memory(150 * kMiB);
    const CUdeviceptr unused = running.memory(std::size_t{130} << 30);
    need(driver().cuMemsetD32(source, 9, 150 * kMiB / 4));
    need(driver().cuMemcpyHtoD(source, host.data(), 64 * kMiB));
    need(driver().cuMemcpyDtoD(target, source, 150 * kMiB));
    require_word(target + 64 * kMiB - 4, 7);
    require_word(target + 150 * kMiB - 4, 9);
    for (const CUdeviceptr memory : {source, target, unused}) need(driver().cuMemFree(memory));
  }
}

TEST_F(ContainerDeathTest, Of_2_GiB_has_room_for_a_program_on_eight_large_devices) {
  const Container container(2048 * kMiB);
  if (!container.reason_not_found().empty()) GTEST_SKIP() << container.reason_not_found();
  EXPECT_EXIT(container.run(use_each_device_in_turn), ::testing::ExitedWithCode(0), "^$");
  EXPECT_EQ(container.killed(), 0);
  EXPECT_GE(container.peak(), 300 * kMiB) << "it was not in the container";
  EXPECT_LT(container.peak(), 1024 * kMiB);
}

void use_all_of_1_GiB() {
  const Running running;
  const CUdeviceptr memory = running.memory(1024 * kMiB);  // allocating succeeds because the memory is not
                                                           // used yet
  std::fprintf(stderr, "got it\n");
  need(driver().cuMemsetD8(memory, 1, 1024 * kMiB));
}

TEST_F(ContainerDeathTest, Whose_memory_is_used_up_by_a_device_ends_the_program) {
  const Container container(256 * kMiB);
  if (!container.reason_not_found().empty()) GTEST_SKIP() << container.reason_not_found();
  EXPECT_EXIT(container.run(use_all_of_1_GiB), ::testing::KilledBySignal(SIGKILL), "^got it\n$");
  EXPECT_EQ(container.killed(), 1);
}

void use_128_MiB_and_ask_for_more() {
  const Running running({.faults = "memory:128MiB"});
  need(driver().cuMemsetD8(running.memory(128 * kMiB), 1, 128 * kMiB));
  CUdeviceptr more = 0;
  if (driver().cuMemAlloc(&more, 1) != CUDA_ERROR_OUT_OF_MEMORY)
    throw std::runtime_error("memory is not out");
}

TEST_F(ContainerDeathTest, With_a_memory_rule_returns_out_of_memory) {
  const Container container(256 * kMiB);
  if (!container.reason_not_found().empty()) GTEST_SKIP() << container.reason_not_found();
  EXPECT_EXIT(container.run(use_128_MiB_and_ask_for_more), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(container.killed(), 0);
}

}  // namespace
}  // namespace cushim::sim
