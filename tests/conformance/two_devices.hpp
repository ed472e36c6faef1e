// SPDX-License-Identifier: Apache-2.0
// What statements about two devices share.
#pragma once

#include "memory_kinds.hpp"

namespace conformance {

// The primary context of device 0 is current, that of device 1 is `there`. What the members make is
// destroyed at the end of the test, and access between the two contexts is given up.
class OnTwoDevices : public OnDevice {
 protected:
  void SetUp() override;
  void TearDown() override;

 public:
  CUdevice other_device = 1;
  CUcontext there = nullptr;

  // What an action returns, done while the context of device 1 is current.
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
  // Held, in whichever context the stream is.
  Hold held_there(CUstream work) {
    return on_other([&] { return hold(work); });
  }
};

// The same, where the two devices reach each other's memory.
class OnTwoPeers : public OnTwoDevices {
 protected:
  void SetUp() override;

 public:
  // Lets the context of device 0 use the memory of device 1.
  void reach_over();
};

}  // namespace conformance
