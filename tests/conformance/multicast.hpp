// SPDX-License-Identifier: Apache-2.0
// The fixture of statements about multicast objects.
#pragma once

#include <unistd.h>

#include <vector>

#include "virtual_memory.hpp"

#if CUDA_VERSION >= 12010

namespace conformance {

// Closes the file descriptors that its members return.
class MulticastObjects : public WithVirtualMemory {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(WithVirtualMemory::SetUp());
    if (IsSkipped()) return;
    // A multicast object can put the GPUs of a machine that others share out of service.
    if (::access("/dev/nvidiactl", F_OK) == 0) GTEST_SKIP() << "not run on a machine with a GPU";
    NEED(driver().cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
    if (number == 0) GTEST_SKIP() << "the device has no multicast objects";
  }
  void TearDown() override {
    for (const int file : files_) close(file);
    WithVirtualMemory::TearDown();
  }

 public:
  CUmulticastObjectProp properties{.numDevices = 1, .size = kGranule, .handleTypes = 0, .flags = 0};
  std::size_t granularity = 0;
  // Returns an object of two granules for a team of device 0 alone.
  Handle object() {
    properties.size = 2 * kGranule;
    Handle made = 0;
    NEED(driver().cuMulticastCreate(&made, &properties));
    own(made);
    return made;
  }
  Handle complete() {
    const Handle made = object();
    NEED(driver().cuMulticastAddDevice(made, 0));
    return made;
  }
  Handle exportable() {
    properties.handleTypes = kFileDescriptor;
    return object();
  }

  int kept(int file) {
    files_.push_back(file);
    return file;
  }
  int exported(Handle object) {
    int file = -1;
    NEED(driver().cuMemExportToShareableHandle(&file, object, handle_type(kFileDescriptor), 0));
    return kept(file);
  }
  static void *os_handle(int file) { return reinterpret_cast<void *>(static_cast<std::intptr_t>(file)); }
  Handle imported(int file) {
    Handle made = 0;
    NEED(driver().cuMemImportFromShareableHandle(&made, os_handle(file), handle_type(kFileDescriptor)));
    own(made);
    return made;
  }

 private:
  std::vector<int> files_;
};

}  // namespace conformance

#endif
