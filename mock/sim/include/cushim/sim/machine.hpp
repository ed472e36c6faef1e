// SPDX-License-Identifier: Apache-2.0
// A machine with simulated devices: a driver that does what the real one does, on host memory, in
// virtual time.
//
//   sim::Machine machine({.devices = "h200x2", .schedule = sim::Schedule::seeded, .seed = 7});
//   ScopedDriver scope(machine.driver());
#pragma once

#include <cushim/driver.hpp>
#include <cushim/sim/schedule.hpp>
#include <cushim/sim/usage.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cushim::sim {

struct Options {
  std::string devices = "h200";  // which, by name or file (cushim/sim/profile.hpp)
  int driver_version = 0;        // of the driver: 11080 is CUDA 11.8; 0 is what the devices' description says
  Schedule schedule = Schedule::eager;
  std::uint64_t seed = 1;  // of Schedule::seeded
  // What is to go wrong: rules, or the file of them after an @ (cushim/mock/fault_rules.hpp, docs/faults.md).
  std::string faults{};
  // After how long a call that still waits for the host or another process is reported; it waits on.
  std::chrono::milliseconds patience{10'000};
  // Told what the machine has to report; stderr if empty. It must not call the driver or the machine.
  std::function<void(const std::string &)> report{};
  bool is_library = false;  // whether the machine is libcuda.so.1 itself, and no driver of one program
};

// The schedule of this name. Throws std::invalid_argument, naming those that there are.
Schedule schedule(std::string_view name);
std::string_view name_of(Schedule schedule) noexcept;

// The same options, but what CUSHIM_DEVICES, CUSHIM_DRIVER_VERSION, CUSHIM_SCHEDULE, CUSHIM_SEED,
// CUSHIM_PATIENCE (milliseconds) and CUSHIM_FAULTS say. Throws std::invalid_argument if one of them cannot be
// understood.
Options options_from_environment(Options options = {});

struct System;

// A stream held where it is: what comes after runs when the gate is open. Not opened, it opens at its end.
class Gate {
 public:
  ~Gate() { open(); }
  Gate(Gate &&) = default;
  Gate &operator=(Gate &&) = delete;
  void open() noexcept {
    if (is_open_ != nullptr) *is_open_ = true;
  }

 private:
  friend class Machine;
  explicit Gate(std::shared_ptr<std::atomic<bool>> is_open) : is_open_(std::move(is_open)) {}
  std::shared_ptr<std::atomic<bool>> is_open_;
};

// Up to 16 drivers of this kind, mock drivers and hooked drivers may live at once. Its driver ends with it:
// later calls answer CUDA_ERROR_DEINITIALIZED. All functions from any thread.
class Machine {
 public:
  // Throws std::invalid_argument if the devices or the faults cannot be understood, and mock::PoolExhausted.
  explicit Machine(const Options &options = {});
  // Work that has not run does not run.
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  Driver &driver() const noexcept;

  // Runs one operation that can run; false if there is none. For Schedule::stepped.
  bool step();
  // Runs all that can run. What host functions and the machine's own threads do has ended, too, but for a
  // function that waits for the program.
  void run();
  // How many operations have been put into streams and are not complete.
  std::size_t unfinished() const;

  // The program's place in virtual time.
  std::chrono::nanoseconds now() const;

  // What the program has done with it so far, and what it has not freed.
  Usage usage() const;

  // The operations that ran last, in their order, a line each with its number in order of the calls, its
  // stream and the call that it came from; then what could run next, and what that waits for.
  std::string order() const;

  // What reports call this stream, which else is known by its cuStreamGetId. The null stream and its like are
  // those of the calling thread's current context. Throws std::invalid_argument if it is no stream.
  void name(CUstream stream, std::string name);

  // Holds the stream. Throws as name().
  Gate gate(CUstream stream);

  // The device of this index fails as by a kernel's fault (trap: CUDA_ERROR_LAUNCH_FAILED; 700 and 719 are
  // measured on driver 580.159). Work in its contexts that has not run never runs; all calls in them answer
  // the fault, frees and destroys too. cuDevicePrimaryCtxReset revives the device; the old handle then
  // answers CUDA_ERROR_CONTEXT_IS_DESTROYED. Throws std::out_of_range if there is no such device.
  void lose_device(int index, CUresult fault = CUDA_ERROR_ILLEGAL_ADDRESS);

 private:
  std::unique_ptr<System> system_;
};

}  // namespace cushim::sim
