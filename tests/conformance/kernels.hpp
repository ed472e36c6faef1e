// SPDX-License-Identifier: Apache-2.0
// Code for statements about modules, functions and launches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance.hpp"

namespace conformance {

inline const std::string kHeader = ".version 7.8\n.target sm_52\n.address_size 64\n";

// PTX with variables of each space, functions of each linkage, and kernels of each kind of parameters.
extern const std::string kCode;

// A fixture that loads a module with kCode in the primary context of device 0.
class OnModule : public OnDevice {
 protected:
  void SetUp() override;
  void TearDown() override;

 public:
  CUfunction kernel(const char *name);
  // Returns the result code of loading this text. Unloads the module if loading succeeds.
  CUresult load(const std::string &text);
  // Returns the compiler's log for this text.
  std::string log_of(const std::string &text);
  // Launches a kernel and synchronizes. Returns the code of the launch if it fails, else that of the wait.
  CUresult launch(CUfunction function, std::vector<void *> arguments = {}, unsigned grid = 1,
                  unsigned block = 1, unsigned dynamic_shared = 0);
  unsigned word(CUdeviceptr address);

  CUmodule module = nullptr;
  CUmodule module_out = nullptr;
  CUfunction function_out = nullptr;
};

#if CUDA_VERSION >= 12040
// A fixture that also loads a library with kCode.
class OnLibrary : public OnModule {
 protected:
  void SetUp() override;
  void TearDown() override;

 public:
  CUkernel kernel_of_library(const char *name);

  CUlibrary library = nullptr;
};
#endif

// A fixture that describes launches of clusters.
class OnClusters : public OnModule {
 public:
  // A launch of `grid` blocks of `block` threads in clusters of `cluster` blocks; 0: without the attribute.
  CUlaunchConfig configuration(unsigned cluster, unsigned block = 32, unsigned shared = 0,
                               unsigned grid = 1024);

 private:
  CUlaunchAttribute attribute_{};
};

// Returns a number as a part of the name of a statement: "minus_1" for -1.
std::string words(std::int64_t number);

}  // namespace conformance
