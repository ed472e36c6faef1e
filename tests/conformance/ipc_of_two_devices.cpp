// SPDX-License-Identifier: Apache-2.0
// Objects of one device that a process exports, and another process opens on the other device.
#include <array>

#include "ipc.hpp"
#include "two_devices.hpp"

namespace conformance {
namespace {

class IpcOfTwoDevices : public WithIpc<OnTwoDevices> {};

// Opens memory while the given device is current, and sends the device and the contents of the memory.
struct Found {
  CUresult open, read, attribute, write, close;
  int byte, device;
};
CUSHIM_CHILD(importer_on_a_device) {
  make_context(parent.receive<int>());
  const auto handle = parent.receive<CUipcMemHandle>();
  Found found{};
  CUdeviceptr at = 0;
  unsigned char byte = 0;
  found.open = driver().cuIpcOpenMemHandle(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (found.open == CUDA_SUCCESS) {
    found.attribute = driver().cuPointerGetAttribute(&found.device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at);
    found.read = driver().cuMemcpyDtoH(&byte, at, 1);
    found.byte = byte;
    found.write = driver().cuMemsetD8(at, 43, 1);
    NEED(driver().cuCtxSynchronize());
    found.close = driver().cuIpcCloseMemHandle(at);
  }
  parent.send(found);
}

struct Way {
  const char *name;
  int exported, opened;
};
const Way ways[] = {{"Memory_of_here_is_opened_there", 0, 1},
                    {"Memory_of_there_is_opened_here", 1, 0},
                    {"Memory_of_there_is_opened_there", 1, 1}};
const bool opened = [] {
  for (const Way &way : ways)
    ADD_TEST(IpcOfTwoDevices, way.name, [way](IpcOfTwoDevices &test) {
      const CUdeviceptr at = way.exported == 0 ? test.memory() : test.memory_there();
      put(Kind::device, at, std::vector<unsigned char>(16, 42));
      CUipcMemHandle handle{};
      // Also exports memory of the other device while the context of device 0 is current.
      EXPECT_ANSWER(driver().cuIpcGetMemHandle(&handle, at), CUDA_SUCCESS);
      Child child("importer_on_a_device");
      child.send(way.opened);
      child.send(handle);
      const auto found = child.receive<Found>();
      EXPECT_ANSWER(found.open, CUDA_SUCCESS);
      EXPECT_ANSWER(found.attribute, CUDA_SUCCESS);
      EXPECT_VALUE(found.device, way.opened);
      EXPECT_ANSWER(found.read, CUDA_SUCCESS);
      EXPECT_VALUE(found.byte, 42);
      EXPECT_ANSWER(found.write, CUDA_SUCCESS);
      EXPECT_ANSWER(found.close, CUDA_SUCCESS);
      EXPECT_EQ(child.wait(), 0);
      EXPECT_VALUE(static_cast<int>(take(Kind::device, at, 1)[0]), 43);
    });
  return true;
}();

// Opens an event while the given device is current, and uses it there.
using Used = std::array<CUresult, 6>;
constexpr std::array<const char *, 6> used_keys = {"found.open",        "found.query",  "found.wait",
                                                   "found.synchronize", "found.record", "found.destroy"};
CUSHIM_CHILD(event_importer_on_a_device) {
  make_context(parent.receive<int>());
  const auto handle = parent.receive<CUipcEventHandle>();
  CUevent opened = nullptr;
  CUstream work = nullptr;
  NEED(driver().cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
  Used used{driver().cuIpcOpenEventHandle(&opened, handle)};
  if (used[0] == CUDA_SUCCESS)
    used = {used[0],
            driver().cuEventQuery(opened),
            driver().cuStreamWaitEvent(work, opened, 0),
            driver().cuStreamSynchronize(work),
            driver().cuEventRecord(opened, work),
            driver().cuEventDestroy(opened)};
  parent.send(used);
}
const bool used = [] {
  for (const Way &way :
       {Way{"An_event_of_here_is_opened_there", 0, 1}, Way{"An_event_of_there_is_opened_here", 1, 0},
        Way{"An_event_of_there_is_opened_there", 1, 1}})
    ADD_TEST(IpcOfTwoDevices, way.name, [way](IpcOfTwoDevices &test) {
      const unsigned exportable = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
      const CUevent one = way.exported == 0 ? test.event(exportable) : test.event_there(exportable);
      NEED(driver().cuEventRecord(one, way.exported == 0 ? test.stream() : test.stream_there()));
      NEED(driver().cuEventSynchronize(one));
      CUipcEventHandle handle{};
      EXPECT_ANSWER(driver().cuIpcGetEventHandle(&handle, one), CUDA_SUCCESS);
      Child child("event_importer_on_a_device");
      child.send(way.opened);
      child.send(handle);
      expect_answers(used_keys, child.receive<Used>(), CUDA_SUCCESS);
      EXPECT_EQ(child.wait(), 0);
    });
  return true;
}();

}  // namespace
}  // namespace conformance
