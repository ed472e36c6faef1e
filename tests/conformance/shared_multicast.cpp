// SPDX-License-Identifier: Apache-2.0
// Multicast objects that are exported as file descriptors. The expected answers follow the documentation:
// none has been recorded.
#include <fcntl.h>

#include "multicast.hpp"
#include "support/structures.hpp"

#if CUDA_VERSION >= 12010

namespace conformance {
namespace {

class SharedMulticastObjects : public MulticastObjects {};

TEST_F(SharedMulticastObjects, Are_exported_and_imported) {
  const Handle handle = exportable();
  int file = -1;
  EXPECT_ANSWER(driver().cuMemExportToShareableHandle(&file, handle, handle_type(kFileDescriptor), 0),
                CUDA_SUCCESS);
  kept(file);
  EXPECT_ANSWER(
      driver().cuMemImportFromShareableHandle(&handle_out, os_handle(file), handle_type(kFileDescriptor)),
      CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMulticastAddDevice(handle_out, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMulticastAddDevice(handle, 0), CUDA_ERROR_INVALID_VALUE);
}
STATEMENT(SharedMulticastObjects, Are_not_exported_as_a_win32_handle,
          driver().cuMemExportToShareableHandle(&number, exportable(), handle_type(2), 0),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(SharedMulticastObjects, Imported_have_the_memory_that_was_bound_before) {
  const Handle handle = exportable(), memory = physical(2 * kGranule, kFileDescriptor);
  NEED(driver().cuMulticastAddDevice(handle, 0));
  NEED(driver().cuMulticastBindMem(handle, 0, memory, 0, 2 * kGranule, 0));
  const Handle opened = imported(exported(handle));
  const CUdeviceptr own = grant(map(range(2 * kGranule), 2 * kGranule, memory), 2 * kGranule);
  const CUdeviceptr at = grant(map(range(2 * kGranule), 2 * kGranule, opened), 2 * kGranule);
  EXPECT_ANSWER(driver().cuMemsetD8(at, 7, kGranule), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(take_device(own, 1)[0]), 7);
}
TEST_F(SharedMulticastObjects, Imported_bind_exportable_memory_only) {
  const Handle opened = imported(exported(exportable()));
  NEED(driver().cuMulticastAddDevice(opened, 0));
  EXPECT_ANSWER(driver().cuMulticastBindMem(opened, 0, physical(), 0, kGranule, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuMulticastBindMem(opened, 0, physical(kGranule, kFileDescriptor), 0, kGranule, 0),
                CUDA_SUCCESS);
}

// ---- Two processes, each with one device of the team ----

struct Joined {
  CUresult import, add, bind, map, set;
};
// Joins the team with device 1, binds memory of it, and writes to the object. Sends its own memory's first
// byte before and after the parent's writes.
CUSHIM_CHILD(multicast_peer) {
  make_context(1);
  const int file = parent.receive<int>();
  constexpr std::size_t kSize = 2 * kGranule;
  CUmemAllocationProp properties = plain_properties(kFileDescriptor);
  properties.location.id = 1;
  const CUmemAccessDesc access = cushim::test::full_access(1);
  Joined joined{};
  CUmemGenericAllocationHandle object = 0, memory = 0;
  CUdeviceptr own = 0, at = 0;
  unsigned char byte = 0;
  NEED(driver().cuMemCreate(&memory, kSize, &properties, 0));
  NEED(driver().cuMemAddressReserve(&own, kSize, 0, 0, 0));
  NEED(driver().cuMemAddressReserve(&at, kSize, 0, 0, 0));
  NEED(driver().cuMemMap(own, kSize, 0, memory, 0));
  NEED(driver().cuMemSetAccess(own, kSize, &access, 1));
  NEED(driver().cuMemsetD8(own, 1, kSize));
  NEED(driver().cuCtxSynchronize());
  joined.import = driver().cuMemImportFromShareableHandle(&object, MulticastObjects::os_handle(file),
                                                          handle_type(kFileDescriptor));
  joined.add = driver().cuMulticastAddDevice(object, 1);
  joined.bind = driver().cuMulticastBindMem(object, 0, memory, 0, kSize, 0);
  joined.map = driver().cuMemMap(at, kSize, 0, object, 0);
  NEED(driver().cuMemSetAccess(at, kSize, &access, 1));
  parent.send(joined);
  parent.receive<int>();  // the parent has bound and written
  NEED(driver().cuMemcpyDtoH(&byte, own, 1));
  parent.send(int{byte});
  joined.set = driver().cuMemsetD8(at + 1, 6, 1);
  NEED(driver().cuCtxSynchronize());
  parent.send(joined);
  parent.receive<int>();
}

TEST_F(SharedMulticastObjects, Take_a_device_and_memory_of_another_process) {
  CUSHIM_NEEDS(gpus(2));
  properties.numDevices = 2;
  const Handle handle = exportable(), memory = physical(2 * kGranule, kFileDescriptor);
  const CUdeviceptr own = grant(map(range(2 * kGranule), 2 * kGranule, memory), 2 * kGranule);
  const int file = exported(handle);
  fcntl(file, F_SETFD, 0);  // for exec
  Child peer("multicast_peer");
  peer.send(file);
  // Waits for the device of the other process.
  NEED(driver().cuMulticastAddDevice(handle, 0));
  EXPECT_ANSWER(driver().cuMulticastBindMem(handle, 0, memory, 0, 2 * kGranule, 0), CUDA_SUCCESS);
  const CUdeviceptr at = grant(map(range(2 * kGranule), 2 * kGranule, handle), 2 * kGranule);
  auto joined = peer.receive<Joined>();
  EXPECT_ANSWER(joined.import, CUDA_SUCCESS);
  EXPECT_ANSWER(joined.add, CUDA_SUCCESS);
  EXPECT_ANSWER(joined.bind, CUDA_SUCCESS);
  EXPECT_ANSWER(joined.map, CUDA_SUCCESS);
  put_device(at, {5, 5});
  EXPECT_VALUE(static_cast<int>(take_device(own, 1)[0]), 5);
  peer.send(0);
  EXPECT_VALUE(peer.receive<int>(), 5);
  joined = peer.receive<Joined>();
  EXPECT_ANSWER(joined.set, CUDA_SUCCESS);
  EXPECT_VALUE(take_device(own, 2) == (std::vector<unsigned char>{5, 6}), true);
  peer.send(0);
  EXPECT_EQ(peer.wait(), 0);
}

}  // namespace
}  // namespace conformance

#endif
