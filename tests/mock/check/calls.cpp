// SPDX-License-Identifier: Apache-2.0
// Driver calls whose machine code same_jump_test.py reads. The program is never run.
#include <cushim/cushim.hpp>

int main() {
  const auto &driver = cushim::driver();
  CUcontext context = nullptr;
  CUdevice device = 0;
  CUdeviceptr address = 0;
  CUevent event = nullptr;
  CUstream stream = nullptr;
  int number = 0;
  std::size_t size = 0;
  driver.cuInit(0);
  driver.cuDriverGetVersion(&number);
  driver.cuDeviceGet(&device, 0);
  driver.cuDeviceGetCount(&number);
  driver.cuCtxGetCurrent(&context);
  driver.cuCtxSetCurrent(context);
  driver.cuCtxPushCurrent(context);
  driver.cuCtxPopCurrent(&context);
  driver.cuMemAlloc(&address, 1);
  driver.cuMemFree(address);
  driver.cuMemGetInfo(&size, &size);
  driver.cuEventCreate(&event, 0);
  driver.cuEventRecord(event, stream);
  driver.cuEventSynchronize(event);
  driver.cuEventDestroy(event);
  driver.cuStreamCreate(&stream, 0);
  driver.cuStreamWaitEvent(stream, event, 0);
  driver.cuStreamSynchronize(stream);
  driver.cuStreamDestroy(stream);
}
