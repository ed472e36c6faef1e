// SPDX-License-Identifier: Apache-2.0
// One stream fills a buffer; another stream copies it and must wait for the first. On a fast GPU the program
// can give the right result even without the wait. explore() finds an order in which it fails.
#include <cushim/sim/explore.hpp>

#include <cstdint>
#include <cstdio>
#include <stdexcept>

namespace {

using cushim::driver;

void need(CUresult code) {
  if (code != CUDA_SUCCESS) throw std::runtime_error("a call answered " + std::to_string(code));
}

bool hands_over(cushim::sim::Machine &machine, bool waits) {
  CUcontext context = nullptr;
  CUstream producer = nullptr, consumer = nullptr;
  CUevent filled = nullptr;
  CUdeviceptr buffer = 0, copy = 0;
  need(driver().cuInit(0));
  need(driver().cuDevicePrimaryCtxRetain(&context, 0));
  need(driver().cuCtxSetCurrent(context));
  need(driver().cuMemAlloc(&buffer, 4));
  need(driver().cuMemAlloc(&copy, 4));
  need(driver().cuStreamCreate(&producer, CU_STREAM_NON_BLOCKING));
  need(driver().cuStreamCreate(&consumer, CU_STREAM_NON_BLOCKING));
  need(driver().cuEventCreate(&filled, CU_EVENT_DISABLE_TIMING));
  machine.name(producer, "producer");
  machine.name(consumer, "consumer");

  need(driver().cuMemsetD32Async(buffer, 42, 1, producer));
  need(driver().cuEventRecord(filled, producer));
  if (waits) need(driver().cuStreamWaitEvent(consumer, filled, 0));
  need(driver().cuMemcpyDtoDAsync(copy, buffer, 4, consumer));
  need(driver().cuStreamSynchronize(consumer));

  std::uint32_t result = 0;
  need(driver().cuMemcpyDtoH(&result, copy, 4));
  return result == 42;
}

}  // namespace

int main() {
  using cushim::sim::Machine;
  const auto found = cushim::sim::explore(20, [](Machine &machine) { return hands_over(machine, false); });
  std::printf("without the wait: %s", found ? found->text().c_str() : "not found\n");
  const auto after = cushim::sim::explore(20, [](Machine &machine) { return hands_over(machine, true); });
  std::printf("with it: %s", after ? after->text().c_str() : "no order fails\n");
  return found && !after ? 0 : 1;
}
