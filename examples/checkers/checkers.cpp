// SPDX-License-Identifier: Apache-2.0
// A program with two defects: it waits for an event after destroying it, and it never frees its device
// memory. Prints what the checkers find.
#include <cushim/check/checkers.hpp>
#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <iostream>

using cushim::driver;

// The functions are noinline so that they appear in the call stacks.
class Frame {
 public:
  [[gnu::noinline]] Frame() {
    driver().cuMemAlloc(&pixels_, 4096);
    driver().cuEventCreate(&done_, CU_EVENT_DISABLE_TIMING);
  }
  [[gnu::noinline]] void draw() {
    driver().cuMemsetD8Async(pixels_, 255, 4096, CU_STREAM_LEGACY);
    driver().cuEventRecord(done_, CU_STREAM_LEGACY);
  }
  [[gnu::noinline]] void finish() {
    driver().cuEventDestroy(done_);
    is_finished_ = true;
  }
  [[gnu::noinline]] void wait() {
    driver().cuEventSynchronize(done_);
    is_drawn_ = true;
  }

 private:
  CUdeviceptr pixels_ = 0;
  CUevent done_ = nullptr;
  bool is_finished_ = false, is_drawn_ = false;
};

int main() {
  const cushim::sim::Machine machine;
  const cushim::ScopedDriver scope(machine.driver());
  cushim::check::Checkers checkers(machine.driver(), "leaks,misuse");
  CUcontext context = nullptr;
  driver().cuInit(0);
  driver().cuDevicePrimaryCtxRetain(&context, 0);
  driver().cuCtxSetCurrent(context);

  Frame frame;
  frame.draw();
  frame.finish();
  frame.wait();  // error: finish() has destroyed the event

  for (const cushim::check::Finding &finding : checkers.finish())
    // the process keeps its primary context until exit
    if (finding.rule != "never-released") std::cout << finding;
}
