// SPDX-License-Identifier: Apache-2.0
// Common parts of statements about two devices.
#pragma once

#include "memory_kinds.hpp"

namespace conformance {

// A fixture in which the primary context of device 0 is current and that of device 1 is `there`. At the end
// of the test, the objects that its members create are destroyed and access between the two contexts is
// disabled.
class OnTwoDevices : public OnDevice {
 protected:
  void SetUp() override;
  void TearDown() override;

 public:
  CUdevice other_device = 1;
  CUcontext there = nullptr;

  // Returns the result of an action that runs while the context of device 1 is current.
  template <class Action>
  auto on_other(Action action) {
    return in(there, action);
  }
  CUdeviceptr memory_there(std::size_t bytes = 4096) {
    return on_other([&] { return memory(bytes); });
  }
  CUdeviceptr managed_there(std::size_t bytes = 4096) {
    return on_other([&] { return managed(bytes); });
  }
  CUdeviceptr pinned_there(std::size_t bytes = 4096) {
    return on_other([&] { return address_of(pinned(bytes)); });
  }
  CUstream stream_there(unsigned with_flags = CU_STREAM_NON_BLOCKING) {
    return on_other([&] { return stream(with_flags); });
  }
  CUevent event_there(unsigned with_flags = CU_EVENT_DISABLE_TIMING) {
    return on_other([&] { return event(with_flags); });
  }
  // Holds a stream of device 1.
  Hold held_there(CUstream work) {
    return on_other([&] { return hold(work); });
  }
};

// The same for two devices that can access each other's memory.
class OnTwoPeers : public OnTwoDevices {
 protected:
  void SetUp() override;

 public:
  // Enables access from the context of device 0 to the memory of device 1.
  void reach_over();
};

}  // namespace conformance
