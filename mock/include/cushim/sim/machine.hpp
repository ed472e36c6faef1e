// SPDX-License-Identifier: Apache-2.0
// A machine with simulated devices: its driver behaves as the real one, on host memory and in virtual time.
//
//   sim::Machine machine({.devices = "h200x2", .schedule = sim::Schedule::seeded, .seed = 7});
//   ScopedDriver scope(machine.driver());
#pragma once

#include <cushim/driver.hpp>
#include <cushim/mock/operations.hpp>
#include <cushim/sim/kernel.hpp>
#include <cushim/sim/kernel_profile.hpp>
#include <cushim/sim/schedule.hpp>
#include <cushim/sim/usage.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::sim {

// Options of a machine.
struct Options {
  std::string devices = "h200";  // names or files (cushim/sim/profile.hpp)
  int driver_version = 0;        // 11080 is CUDA 11.8; 0 takes the version of the device description
  Schedule schedule = Schedule::eager;
  std::uint64_t seed = 1;  // for Schedule::seeded
  // Fault rules, or @ and the name of a file of rules (cushim/faults/fault_rules.hpp,
  // docs/guide/faults.md).
  std::string faults{};
  // Folder with the PTX of cubins, which `cushim run` makes NVRTC, nvJitLink and ptxas leave there. Empty:
  // none.
  std::string ptx_store{};
  // Libraries that register kernels (cushim/sim/kernels.h), separated by colons. Empty: none.
  std::string kernels{};
  // If true, the launch of an unregistered kernel of a cubin without PTX does nothing and is reported. If
  // false, such a kernel is not found: CUDA_ERROR_NO_BINARY_FOR_GPU (209).
  bool skips_kernels = false;
  // If true, counts executions, lanes and bytes of each instruction of PTX kernels for kernel_profiles().
  // Kernels then run slower.
  bool profiles_kernels = false;
  // If true, models the virtual time of PTX kernels. If false, each launch takes the same time.
  bool models_kernel_times = false;
  // The most instructions that the warps of one launch of a PTX kernel execute together. Then the launch ends
  // with CUDA_ERROR_LAUNCH_TIMEOUT (702), and the report names the kernel and the line. 0: no limit.
  std::uint64_t kernel_limit = 0;
  // Time after which a call that still waits for the host or another process is reported. The call keeps
  // waiting.
  std::chrono::milliseconds patience{10'000};
  // Receives the machine's reports; empty: stderr. Must not call the driver or the machine.
  std::function<void(const std::string &)> report{};
  bool is_library = false;  // the machine is libcuda.so.1 itself, not a driver that the program makes
};

// Returns the schedule of this name. Throws std::invalid_argument that lists the known names.
Schedule schedule(std::string_view name);
std::string_view name_of(Schedule schedule) noexcept;

// Returns the options, with the values of CUSHIM_DEVICES, CUSHIM_DRIVER_VERSION, CUSHIM_SCHEDULE,
// CUSHIM_SEED, CUSHIM_PATIENCE (milliseconds), CUSHIM_FAULTS, CUSHIM_PTX_STORE, CUSHIM_KERNELS,
// CUSHIM_SKIP_KERNELS (0 or 1), CUSHIM_PROFILE_KERNELS (not empty), CUSHIM_KERNEL_TIMES (fixed or model) and
// CUSHIM_KERNEL_LIMIT where these are set. Throws std::invalid_argument for a value that cannot be parsed.
Options options_from_environment(Options options = {});

struct System;

// Holds a stream: later work of the stream waits until the gate is open. The destructor opens it.
class Gate {
 public:
  ~Gate() { open(); }
  Gate(Gate &&) = default;
  Gate &operator=(Gate &&) = delete;
  // Lets the stream continue. Does nothing if the gate is open.
  void open() noexcept {
    if (is_open_ != nullptr) *is_open_ = true;
  }

 private:
  friend class Machine;
  explicit Gate(std::shared_ptr<std::atomic<bool>> is_open) : is_open_(std::move(is_open)) {}
  std::shared_ptr<std::atomic<bool>> is_open_;
};

// At most 16 in-process drivers (machines, mock drivers and hooked drivers together) may exist at once. The
// driver ends with its machine: later calls return CUDA_ERROR_DEINITIALIZED. Thread-safe.
class Machine {
 public:
  // Throws std::invalid_argument if the devices or the faults cannot be parsed or a library of kernels cannot
  // be used, and mock::PoolExhausted.
  explicit Machine(const Options &options = {});
  // Discards work that has not run.
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  Driver &driver() const noexcept;

  // Runs one operation that is ready; returns false if there is none. For Schedule::stepped.
  bool step();
  // Runs all work that is ready. On return, host functions and the machine's own threads have finished too,
  // except for a host function that waits for the program.
  void run();
  // Returns the number of operations that were enqueued and are not complete.
  std::size_t unfinished() const;

  // Returns the program's current virtual time.
  std::chrono::nanoseconds now() const;

  // Calls the observer for each operation from now on; null ends that. It must exist until then.
  void observe(mock::OperationObserver *observer);

  // Returns what the program has done with the machine so far, and what it has not freed.
  Usage usage() const;

  // Returns the counts of completed launches by kernel; the kernel that executed most instructions is first.
  // Empty without Options::profiles_kernels.
  std::vector<KernelProfile> kernel_profiles() const;

  // Returns the operations that ran last, in order, one on each line with its number in call order, its
  // stream and the call that enqueued it; then the operations that could run next, and what these wait for.
  std::string order() const;

  // Sets the name of a stream in reports; the default is its cuStreamGetId. The null, legacy and per-thread
  // streams are those of the calling thread's current context. Throws std::invalid_argument for an unknown
  // stream.
  void name(CUstream stream, std::string name);

  // Holds the stream. Throws as name().
  Gate gate(CUstream stream);

  // Registers a kernel in C++, by the name with which the program asks the driver for it. It replaces the PTX
  // of that name in all modules, from the next launch on; a cubin without PTX must be loaded after it. A
  // second registration replaces the first. See cushim/sim/kernel.hpp for `function`.
  template <class Function>
  void kernel(std::string name, Function function) {
    add_kernel(std::move(name), registered_kernel(std::move(function)));
  }
  void add_kernel(std::string name, RegisteredKernel kernel);

  // Makes the device of this index fail as by a kernel fault (trap: CUDA_ERROR_LAUNCH_FAILED; 700 and 719
  // are measured on driver 580.159). Pending work in its contexts never runs; all calls in them return the
  // fault, including frees and destroys. cuDevicePrimaryCtxReset revives the device; calls with the old
  // handle then return CUDA_ERROR_CONTEXT_IS_DESTROYED. Throws std::out_of_range if there is no such
  // device.
  void lose_device(int index, CUresult fault = CUDA_ERROR_ILLEGAL_ADDRESS);

 private:
  std::unique_ptr<System> system_;
};

}  // namespace cushim::sim
