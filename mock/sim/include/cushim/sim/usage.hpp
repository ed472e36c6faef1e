// SPDX-License-Identifier: Apache-2.0
// What a program did with a machine, and what it left behind.
#pragma once

#include <cushim/mock/faults.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace cushim::sim {

struct Usage {
  struct DeviceMemory {
    std::string device;
    std::size_t peak = 0;  // bytes, in whole blocks as cuMemGetInfo counts them
  };
  // Objects of one kind that are alive.
  struct Alive {
    std::string what;  // "events", "device memory"
    std::size_t count = 0;
    std::size_t bytes = 0;  // of memory
  };

  std::map<std::string, unsigned long> calls;  // by exported symbol
  std::vector<std::string> not_implemented;    // symbols that were called and answered NOT_SUPPORTED for that
  std::vector<std::string> not_found;          // names that were looked up in vain by cuGetProcAddress
  unsigned long misuses = 0;                   // of handles: undefined on the real driver, said on stderr
  std::vector<mock::InjectedFault> faults;     // that rules brought about; no findings
  std::vector<DeviceMemory> devices;
  // What the program made and did not free. Primary contexts are not counted, as few programs release them,
  // nor is what lives in the driver itself.
  std::vector<Alive> alive;

  // Whether the program has a fault, or asked for something that it did not get.
  bool has_findings() const { return !not_implemented.empty() || misuses != 0 || !alive.empty(); }
};

}  // namespace cushim::sim
