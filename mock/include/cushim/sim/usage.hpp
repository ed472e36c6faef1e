// SPDX-License-Identifier: Apache-2.0
// The calls that a program made to a machine, and the objects that it did not free.
#pragma once

#include <cushim/faults/faults.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace cushim::sim {

// A program's use of a machine.
struct Usage {
  // The memory that the program used on a device.
  struct DeviceMemory {
    std::string device;
    std::size_t peak = 0;  // bytes, in whole blocks as cuMemGetInfo counts them
  };
  // Objects of one kind that still exist.
  struct Alive {
    std::string what;  // "events", "device memory"
    std::size_t count = 0;
    std::size_t bytes = 0;  // of memory
  };

  // Machine code without PTX that the program loaded.
  struct Cubin {
    std::string ptx_from;     // who made it and left its PTX: "NVRTC", "nvJitLink", "ptxas"; empty: no PTX
    unsigned long loads = 0;  // calls that loaded it
  };

  std::map<std::string, unsigned long> calls;  // by exported symbol
  // Symbols that returned CUDA_ERROR_NOT_SUPPORTED because they are not implemented.
  std::vector<std::string> not_implemented;
  std::vector<std::string> not_found;  // names that cuGetProcAddress did not find
  unsigned long misuses = 0;           // invalid handles: undefined on the real driver, reported on stderr
  std::vector<mock::InjectedFault> faults;  // that rules injected; not findings
  std::vector<DeviceMemory> devices;
  std::map<std::string, Cubin> cubins;  // by content: hash and size
  // Launches that did nothing, by kernel: its cubin has no PTX, and it is not registered.
  std::map<std::string, unsigned long> skipped_kernels;
  // Objects that the program made and did not free. Excludes primary contexts, which few programs release,
  // and objects of the driver itself.
  std::vector<Alive> alive;

  // Returns whether the program has a defect, or requested something that is not implemented.
  bool has_findings() const {
    return !not_implemented.empty() || misuses != 0 || !alive.empty() || !skipped_kernels.empty();
  }
};

}  // namespace cushim::sim
