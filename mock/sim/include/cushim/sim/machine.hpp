// SPDX-License-Identifier: Apache-2.0
// A machine with simulated devices: a driver that does what the real one does, on host memory, in
// virtual time.
//
//   sim::Machine machine({.devices = "h200x2", .schedule = sim::Schedule::seeded, .seed = 7});
//   ScopedDriver scope(machine.driver());
#pragma once

#include <cushim/driver.hpp>
#include <cushim/sim/schedule.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cushim::sim {

struct Options {
  std::string devices = "h200";  // which, by name or file (cushim/sim/profile.hpp)
  int driver_version = 0;        // of the driver: 11080 is CUDA 11.8; 0 is what the devices' description says
  Schedule schedule = Schedule::eager;
  std::uint64_t seed = 1;   // of Schedule::seeded
  bool is_library = false;  // whether the machine is libcuda.so.1 itself, and no driver of one program
};

// The schedule of this name. Throws std::invalid_argument, naming those that there are.
Schedule schedule(std::string_view name);
std::string_view name_of(Schedule schedule) noexcept;

// The same options, but what CUSHIM_DEVICES, CUSHIM_DRIVER_VERSION, CUSHIM_SCHEDULE and CUSHIM_SEED say.
// Throws std::invalid_argument if one of them cannot be understood.
Options options_from_environment(Options options = {});

struct System;

// Up to 16 drivers of this kind, mock drivers and hooked drivers may live at once. Its driver ends with it:
// later calls answer CUDA_ERROR_DEINITIALIZED. All functions from any thread.
class Machine {
 public:
  // Throws std::invalid_argument if the devices cannot be understood, and mock::PoolExhausted.
  explicit Machine(const Options &options = {});
  // Work that has not run does not run.
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  Driver &driver() const noexcept;

  // Runs one operation that can run; false if there is none. For Schedule::stepped.
  bool step();
  // Runs all that can run.
  void run();
  // How many operations have been put into streams and are not complete.
  std::size_t unfinished() const;

  // The program's place in virtual time.
  std::chrono::nanoseconds now() const;

  // The operations that ran last, in their order, a line each.
  std::string order() const;

 private:
  std::unique_ptr<System> system_;
};

}  // namespace cushim::sim
