// SPDX-License-Identifier: Apache-2.0
// The operations that a simulated machine runs, for timelines.
#pragma once

#include <chrono>

namespace cushim::mock {

// The hardware unit that copies between the host and a device.
enum class CopyEngine : unsigned char { none, to_device, to_host };

// An operation of a stream that ran. Times are virtual, since the machine was created.
struct OperationRun {
  unsigned long number = 0;  // in order of submission, from 1
  unsigned long stream = 0;  // the number of the stream in Machine::order()
  const char *call = "";     // the symbol of the entry point that enqueued it
  std::chrono::nanoseconds begin{}, end{};
  CopyEngine copy_engine = CopyEngine::none;  // the one that it used
  int device = 0;                             // of the copy engine
};

// Called by a machine, under its lock: must not call the driver or the machine.
class OperationObserver {
 public:
  // Called on the thread whose call enqueues an operation, inside the call.
  virtual void submitted(unsigned long number) = 0;
  // Called on any thread. Operations that a context discards do not run.
  virtual void ran(const OperationRun &run) = 0;

 protected:
  ~OperationObserver() = default;
};

}  // namespace cushim::mock
