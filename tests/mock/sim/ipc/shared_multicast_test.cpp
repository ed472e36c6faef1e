// SPDX-License-Identifier: Apache-2.0
// Multicast objects of which a process that has bound memory ends.
#include <unistd.h>

#include "pair.hpp"
#include "support/mapped_memory.hpp"

#if CUDA_VERSION >= 12010

namespace cushim::processes {
namespace {

constexpr std::size_t kObjectSize = 2 << 20;

struct MappedMemory {
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr at = 0;

  // Returns exportable memory of zeros.
  static MappedMemory make() {
    MappedMemory made;
    CUmemAllocationProp properties = test::device_memory();
    properties.requestedHandleTypes = kDescriptor;
    need(driver().cuMemCreate(&made.handle, kObjectSize, &properties, 0));
    made.at = test::map(made.handle, kObjectSize);
    need(driver().cuMemsetD8(made.at, 0, kObjectSize));
    need(driver().cuCtxSynchronize());
    return made;
  }
  int first_byte() const {
    unsigned char byte = 0;
    need(driver().cuMemcpyDtoH(&byte, at, 1));
    return byte;
  }
};

CUmemGenericAllocationHandle opened_object(int file) {
  CUmemGenericAllocationHandle made = 0;
  need(import(&made, file));
  return made;
}

// Binds memory, and sends its first byte whenever it is asked.
CUSHIM_CHILD(binder) {
  begin();
  const CUmemGenericAllocationHandle object = opened_object(parent.receive<int>());
  const MappedMemory memory = MappedMemory::make();
  need(driver().cuMulticastBindMem(object, 0, memory.handle, 0, kObjectSize, 0));
  parent.send(0);
  while (parent.receive<int>() != 0) parent.send(memory.first_byte());
  need(driver().cuMemRelease(object));
  parent.send(0);
  parent.receive<int>();
}

// Returns an object of device 0.
CUmemGenericAllocationHandle exportable_object() {
  const CUmulticastObjectProp properties{
      .numDevices = 1, .size = kObjectSize, .handleTypes = kDescriptor, .flags = 0};
  CUmemGenericAllocationHandle made = 0;
  need(driver().cuMulticastCreate(&made, &properties));
  need(driver().cuMulticastAddDevice(made, 0));
  return made;
}

// A multicast object, and a process that has bound memory to it.
struct SharedObject {
  SharedObject() {
    peer.send(file);
    peer.receive<int>();
  }
  ~SharedObject() {
    if (at != 0) driver().cuMemUnmap(at, kObjectSize);
    driver().cuMemRelease(object);
    driver().cuStreamDestroy(stream);
    close(file);
  }
  CUresult bind_own() { return driver().cuMulticastBindMem(object, 0, own.handle, 0, kObjectSize, 0); }

  const CUstream stream = begin();
  const CUmemGenericAllocationHandle object = exportable_object();
  const int file = exported(object);
  Child peer{"binder"};  // inherits the file
  MappedMemory own = MappedMemory::make();
  CUdeviceptr at = 0;  // a mapping of the object that a test has made
};

TEST(AMulticastObject, Writes_to_the_memory_that_another_process_has_bound) {
  SharedObject shared;
  EXPECT_EQ(shared.bind_own(), CUDA_ERROR_INVALID_VALUE);
  shared.at = test::map(shared.object, kObjectSize);
  need(driver().cuMemsetD8(shared.at, 7, 1));
  need(driver().cuCtxSynchronize());
  shared.peer.send(1);
  EXPECT_EQ(shared.peer.receive<int>(), 7);
}

TEST(AMulticastObject, Loses_the_memory_of_a_process_that_releases_it) {
  SharedObject shared;
  shared.peer.send(0);
  shared.peer.receive<int>();
  EXPECT_EQ(shared.bind_own(), CUDA_SUCCESS);
  shared.at = test::map(shared.object, kObjectSize);
  need(driver().cuMemsetD8(shared.at, 7, 1));
  EXPECT_EQ(shared.own.first_byte(), 7);
}

TEST(AMulticastObject, Loses_the_memory_of_a_process_that_is_killed) {
  SharedObject shared;
  shared.peer.kill();
  shared.at = test::map(shared.object, kObjectSize);
  EXPECT_EQ(driver().cuMemsetD8(shared.at, 7, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(shared.bind_own(), CUDA_SUCCESS);
  need(driver().cuMemsetD8(shared.at, 7, 1));
  EXPECT_EQ(shared.own.first_byte(), 7);
}

}  // namespace
}  // namespace cushim::processes

#endif
