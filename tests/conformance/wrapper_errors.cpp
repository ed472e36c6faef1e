// SPDX-License-Identifier: Apache-2.0
// The errors that the typed wrappers throw: the driver's result code and the routine that returned it. Also
// the values that they return where the raw call returns an error code.
#include <cushim/cushim.hpp>

#include "ipc.hpp"
#include "memory_kinds.hpp"

namespace conformance {
namespace {

void leave_context() { NEED(driver().cuCtxSetCurrent(nullptr)); }

#define THROWS(suite, name, error, ...)                   \
  TEST_F(suite, name) {                                   \
    EXPECT_VALUE(thrown_by([&] { __VA_ARGS__; }), error); \
  }

// ---- Devices ----

class DeviceWrappers : public OnDevice {};

THROWS(DeviceWrappers, Refuse_an_ordinal_that_is_not_there, "cuDeviceGet: 101", cushim::Device::get(1000))
THROWS(DeviceWrappers, Refuse_an_ordinal_below_zero, "cuDeviceGet: 101", cushim::Device::get(-1))
THROWS(DeviceWrappers, Refuse_a_PCI_address_that_is_none, "cuDeviceGetByPCIBusId: 1",
       cushim::Device::by_pci_bus_id("none"))
THROWS(DeviceWrappers, Refuse_a_PCI_address_without_a_device, "cuDeviceGetByPCIBusId: 101",
       cushim::Device::by_pci_bus_id("ffff:ff:1f.0"))
THROWS(DeviceWrappers, Refuse_the_name_of_no_device, "cuDeviceGetName: 101",
       cushim::Device::from_handle(1000).name())
THROWS(DeviceWrappers, Refuse_the_memory_of_no_device, "cuDeviceTotalMem: 101",
       cushim::Device::from_handle(1000).total_memory())
THROWS(DeviceWrappers, Refuse_the_UUID_of_no_device, "cuDeviceGetUuid: 101",
       cushim::Device::from_handle(1000).uuid())
THROWS(DeviceWrappers, Refuse_an_attribute_that_is_not_there, "cuDeviceGetAttribute: 1",
       cushim::Device::get(0).attribute(cushim::DeviceAttribute<int>{100000}))
THROWS(DeviceWrappers, Refuse_a_peer_that_is_not_there, "cuDeviceCanAccessPeer: 101",
       cushim::Device::get(0).can_access(cushim::Device::from_handle(1000)))
TEST_F(DeviceWrappers, Find_each_device_by_its_PCI_address) {
  for (const cushim::Device &one : cushim::Device::all())
    EXPECT_VALUE(cushim::Device::by_pci_bus_id(one.pci_bus_id()) == one, true);
}
TEST_F(DeviceWrappers, Count_what_they_list) {
  EXPECT_VALUE(cushim::Device::count() == static_cast<int>(cushim::Device::all().size()), true);
}
TEST_F(DeviceWrappers, Are_not_their_own_peers) {
  const auto one = cushim::Device::get(0);
  EXPECT_VALUE(one.can_access(one), false);
}

// ---- Contexts ----

class ContextWrapperErrors : public OnDevice {};

THROWS(ContextWrapperErrors, Make_none_on_no_device, "cuCtxCreate: 101",
       cushim::Context::create(cushim::Device::from_handle(1000)))
THROWS(ContextWrapperErrors, Retain_none_on_no_device, "cuDevicePrimaryCtxRetain: 101",
       cushim::PrimaryContext::retain(cushim::Device::from_handle(1000)))
THROWS(ContextWrapperErrors, Refuse_a_limit_that_is_not_there, "cuCtxGetLimit: 1",
       cushim::ContextRef::current().limit(static_cast<cushim::ContextLimit>(1000)))
THROWS(ContextWrapperErrors, Refuse_the_version_of_no_context, "cuCtxGetApiVersion: 201", leave_context();
       cushim::ContextRef::from_handle(nullptr).api_version())
THROWS(ContextWrapperErrors, Do_not_reach_themselves_as_peers, "cuCtxEnablePeerAccess: 217",
       cushim::PeerAccess(cushim::ContextRef::current(), cushim::ContextRef::current()))
THROWS(ContextWrapperErrors, Close_once, "nothing",
       auto made = cushim::Context::create(cushim::Device::get(0));
       made.close(); made.close())
TEST_F(ContextWrapperErrors, Know_their_device) {
  EXPECT_VALUE(cushim::ContextRef::current().device() == cushim::Device::get(0), true);
}
TEST_F(ContextWrapperErrors, Read_and_set_a_limit) {
  const auto here = cushim::ContextRef::from_handle(other_context());
  const std::size_t before = here.limit(cushim::ContextLimit::stack_size);
  here.set_limit(cushim::ContextLimit::stack_size, before * 2);
  EXPECT_VALUE(here.limit(cushim::ContextLimit::stack_size) == before * 2, true);
}

// ---- Events ----

class EventWrappers : public OnDevice {};

THROWS(EventWrappers, Refuse_bad_flags, "cuEventCreate: 1",
       cushim::Event::create(static_cast<cushim::EventFlags>(64)))
THROWS(EventWrappers, Are_not_made_without_a_context, "cuEventCreate: 201", leave_context();
       cushim::Event::create())
THROWS(EventWrappers, Are_not_recorded_in_a_stream_of_another_context, "cuEventRecord: 400",
       const auto made = cushim::Event::create();
       made.record(cushim::StreamRef::from_handle(in_other_context([&] { return stream(); }))))
THROWS(EventWrappers, Are_not_recorded_externally, "cuEventRecordWithFlags: 401",
       cushim::Event::create().record(cushim::StreamRef::from_handle(stream()),
                                      cushim::RecordFlags::external))
THROWS(EventWrappers, Of_null_are_not_queried, "cuEventQuery: 400",
       static_cast<void>(cushim::EventRef::from_handle(nullptr).is_done()))
THROWS(EventWrappers, Of_null_are_not_waited_for, "cuEventSynchronize: 400",
       cushim::EventRef::from_handle(nullptr).synchronize())
THROWS(EventWrappers, Of_null_hold_no_stream, "cuStreamWaitEvent: 400",
       cushim::StreamRef::from_handle(stream()).wait(cushim::EventRef::from_handle(nullptr)))
THROWS(EventWrappers, Not_recorded_have_no_time, "cuEventElapsedTime: 400",
       const auto start = cushim::TimedEvent::create();
       const auto end = cushim::TimedEvent::create(); static_cast<void>(end - start))
THROWS(EventWrappers, Close_once, "nothing", auto made = cushim::Event::create(); made.close(); made.close())
TEST_F(EventWrappers, Not_recorded_are_done) { EXPECT_VALUE(cushim::Event::create().is_done(), true); }
TEST_F(EventWrappers, Behind_held_work_are_not_done) {
  const auto work = cushim::Stream::create({.flags = cushim::StreamFlags::non_blocking});
  Hold held = hold(work.handle());
  const auto mark = cushim::Event::recorded(work);
  expect_done_after(held, mark, "mark");
}
TEST_F(EventWrappers, Unfinished_have_no_time_yet) {
  const auto work = cushim::Stream::create({.flags = cushim::StreamFlags::non_blocking});
  const auto start = cushim::TimedEvent::recorded(work);
  Hold held = hold(work.handle());
  const auto end = cushim::TimedEvent::recorded(work);
  EXPECT_VALUE(thrown_by([&] { static_cast<void>(end - start); }), "cuEventElapsedTime: 600");
  held.release();
  end.synchronize();
  EXPECT_VALUE((end - start).count() >= 0, true);
}
TEST_F(EventWrappers, Of_two_contexts_have_no_time) {
  const auto here = cushim::Stream::create();
  const auto there = cushim::Stream::create(cushim::ContextRef::from_handle(other_context()));
  const auto start = cushim::TimedEvent::recorded(here), end = cushim::TimedEvent::recorded(there);
  start.synchronize();
  end.synchronize();
  EXPECT_VALUE(thrown_by([&] { static_cast<void>(end - start); }), "cuEventElapsedTime: 400");
}

// ---- Streams ----

class StreamWrapperErrors : public OnDevice {};

THROWS(StreamWrapperErrors, Do_not_wait_externally, "cuStreamWaitEvent: 401",
       cushim::StreamRef::from_handle(stream()).wait(cushim::Event::create(), cushim::WaitFlags::external))
THROWS(StreamWrapperErrors, The_null_stream_is_not_asked_without_a_context, "cuStreamQuery: 201",
       leave_context();
       static_cast<void>(cushim::legacy_stream().is_done()))
THROWS(StreamWrapperErrors, The_null_stream_is_not_waited_for_without_a_context, "cuStreamSynchronize: 201",
       leave_context();
       cushim::legacy_stream().synchronize())
THROWS(StreamWrapperErrors, Close_once, "nothing", auto made = cushim::Stream::create(); made.close();
       made.close())

// ---- Memory ----

// For 0 elements the wrappers make no call, because the raw calls return an error.
class MemoryWrappers : public OnDevice {
 public:
  CUdeviceptr address = 0;
};

THROWS(MemoryWrappers, Give_no_petabyte, "cuMemAlloc: 2",
       cushim::DeviceBuffer<char>::create(std::size_t{1} << 50))
THROWS(MemoryWrappers, Give_no_device_memory_of_no_bytes, "cuMemAlloc: 1",
       cushim::check_result(driver().cuMemAlloc(&address, 0), "cuMemAlloc"))
THROWS(MemoryWrappers, Give_no_device_memory_without_a_context, "cuMemAlloc: 201", leave_context();
       cushim::DeviceBuffer<char>::create(1))
THROWS(MemoryWrappers, Give_no_pinned_memory_with_bad_flags, "cuMemHostAlloc: 1",
       cushim::PinnedBuffer<char>::create(1, static_cast<cushim::PinnedFlags>(64)))
THROWS(MemoryWrappers, Give_no_pinned_memory_without_a_context, "cuMemHostAlloc: 201", leave_context();
       cushim::PinnedBuffer<char>::create(1))
THROWS(MemoryWrappers, Give_no_managed_memory_of_no_bytes, "cuMemAllocManaged: 1",
       cushim::check_result(driver().cuMemAllocManaged(&address, 0, CU_MEM_ATTACH_GLOBAL),
                            "cuMemAllocManaged"))
THROWS(MemoryWrappers, Register_no_null_memory, "cuMemHostRegister: 1",
       cushim::check_result(driver().cuMemHostRegister(nullptr, 0, 0), "cuMemHostRegister"))
THROWS(MemoryWrappers, Register_memory_once, "cuMemHostRegister: 712",
       cushim::RegisteredBuffer<char>::create(std::span(static_cast<char *>(registered()), 4096)))
THROWS(MemoryWrappers, Give_pitched_memory_of_no_rows_never, "cuMemAllocPitch: 1", std::size_t pitch = 0;
       cushim::check_result(driver().cuMemAllocPitch(&address, &pitch, 64, 0, 4), "cuMemAllocPitch"))
THROWS(MemoryWrappers, Close_once, "nothing", auto made = cushim::DeviceBuffer<char>::create(1); made.close();
       made.close())
TEST_F(MemoryWrappers, In_another_context_are_closed_from_here) {
  auto made = cushim::DeviceBuffer<char>::create(cushim::ContextRef::from_handle(other_context()), 64);
  EXPECT_VALUE(cushim::describe_pointer(made.data().address()).context.handle() == other_context(), true);
  made.close();
  EXPECT_VALUE(cushim::ContextRef::current().handle() == context, true);
}

// ---- Addresses ----

class PointerWrappers : public OnDevice {};

THROWS(PointerWrappers, Tell_no_attribute_of_pageable_memory, "cuPointerGetAttribute: 1",
       cushim::attribute_of(address_of(&number), cushim::pointer_attribute::memory_type))
THROWS(PointerWrappers, Tell_no_attribute_that_is_not_there, "cuPointerGetAttribute: 1",
       cushim::attribute_of(memory(), cushim::PointerAttribute<int>{1000}))
THROWS(PointerWrappers, Tell_no_host_pointer_of_device_memory, "cuPointerGetAttribute: 1",
       cushim::attribute_of(memory(), cushim::pointer_attribute::host_pointer))
THROWS(PointerWrappers, Tell_no_range_of_pageable_memory, "cuMemGetAddressRange: 500",
       cushim::address_range(address_of(&number)))
THROWS(PointerWrappers, Do_not_make_pageable_memory_synchronous, "cuPointerSetAttribute: 1",
       cushim::set_sync_memops(address_of(&number), true))
TEST_F(PointerWrappers, Make_memory_synchronous) {
  const CUdeviceptr at = memory();
  EXPECT_VALUE(bool(cushim::attribute_of(at, cushim::pointer_attribute::sync_memops)), false);
  cushim::set_sync_memops(at, true);
  EXPECT_VALUE(bool(cushim::attribute_of(at, cushim::pointer_attribute::sync_memops)), true);
}
TEST_F(PointerWrappers, Tell_the_range_of_an_interior_address) {
  const CUdeviceptr at = memory(5000);
  const auto range = cushim::address_range(at + 100);
  EXPECT_VALUE(range.base == at, true);
  EXPECT_VALUE(range.size, std::size_t{5000});
}

// ---- Stream memory operations ----

class MemOpWrappers : public OnDevice {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(mem_ops);
    OnDevice::SetUp();
  }

 public:
  using Word32 = cushim::Word<std::uint32_t>;
  cushim::StreamRef work() { return cushim::StreamRef::from_handle(stream()); }
};

THROWS(MemOpWrappers, Refuse_the_null_word, "cuStreamWaitValue32: 1",
       work().wait_value(Word32(CUdeviceptr{0}), cushim::geq(0u)))
THROWS(MemOpWrappers, Refuse_a_word_at_an_odd_address, "cuStreamWaitValue32: 1",
       work().wait_value(Word32(memory() + 2), cushim::geq(0u)))
THROWS(MemOpWrappers, Refuse_a_wide_word_at_half_its_size, "cuStreamWaitValue64: 1",
       work().wait_value(cushim::Word<std::uint64_t>(memory() + 4), cushim::geq(0ull)))
THROWS(MemOpWrappers, Write_no_pageable_word, "cuStreamWriteValue32: 1",
       work().write_value(Word32(memory_of(*this, Kind::pageable)), 1))
THROWS(MemOpWrappers, Write_no_managed_word, "cuStreamWriteValue32: 1",
       work().write_value(Word32(managed()), 1))
THROWS(MemOpWrappers, Wait_for_no_pageable_word, "cuStreamWaitValue32: 1",
       work().wait_value(Word32(memory_of(*this, Kind::pageable)), cushim::geq(0u)))
THROWS(MemOpWrappers, Flush_no_remote_writes, "cuStreamWaitValue32: 801",
       work().wait_value(Word32(address_of(pinned())), cushim::geq(0u), cushim::RemoteWrites::flush))
THROWS(MemOpWrappers, Flush_no_remote_writes_in_a_batch, "cuStreamBatchMemOp: 801",
       cushim::MemOpBatch().flush_remote_writes().submit(work()))
THROWS(MemOpWrappers, Of_the_first_ABI_are_switched_off, "cuStreamWriteValue32: 801",
       cushim::memop_v1::write_value(work(), Word32(memory()), 1))
THROWS(MemOpWrappers, Of_the_first_ABI_are_switched_off_in_a_batch, "cuStreamBatchMemOp: 801",
       cushim::memop_v1::MemOpBatch().write_value(Word32(memory()), 1).submit(work()))
THROWS(MemOpWrappers, Submit_no_batch_of_256, "cuStreamBatchMemOp: 1", cushim::MemOpBatch batch;
       for (int i = 0; i < 256; ++i) batch.write_value(Word32(memory()), 1); batch.submit(work()))
TEST_F(MemOpWrappers, Split_a_batch_of_300) {
  auto *const words = static_cast<unsigned *>(pinned());
  cushim::MemOpBatch batch;
  for (std::uint32_t i = 0; i < 300; ++i) batch.write_value(Word32(address_of(words + i)), i + 1);
  const auto in = work();
  batch.submit_split(in);
  in.synchronize();
  EXPECT_VALUE(words[0], 1u);
  EXPECT_VALUE(words[254], 255u);
  EXPECT_VALUE(words[299], 300u);
}
TEST_F(MemOpWrappers, Do_nothing_for_an_empty_batch) {
  EXPECT_VALUE(thrown_by([&] { cushim::MemOpBatch().submit(work()); }), "nothing");
}
TEST_F(MemOpWrappers, Say_what_the_device_supports) {
  const auto second = cushim::mem_op_support(cushim::Device::get(0));
  const auto first = cushim::mem_op_support<cushim::MemOpAbi::v1>(cushim::Device::get(0));
  EXPECT_VALUE(second.any && second.bits_64 && second.nor, true);
  EXPECT_VALUE(bool(second.flush), false);
  EXPECT_VALUE(first.any || first.bits_64 || first.nor, false);
}

// ---- Interprocess communication ----

class IpcWrappers : public WithIpc<OnDevice> {};

THROWS(IpcWrappers, Open_no_event_in_its_own_process, "cuIpcOpenEventHandle: 201",
       const auto made = cushim::IpcEvent::create();
       cushim::IpcEvent::from_ipc_descriptor(cushim::ContextRef::current(), made.ipc_descriptor()))
THROWS(IpcWrappers, Open_no_event_of_zeros, "cuIpcOpenEventHandle: 205",
       cushim::IpcEvent::from_ipc_descriptor(cushim::ContextRef::current(), cushim::event::ipc::handle_t{}))
THROWS(IpcWrappers, Open_no_memory_in_its_own_process, "cuIpcOpenMemHandle: 201",
       cushim::memory::ipc::import(cushim::memory::ipc::export_(memory())))
THROWS(IpcWrappers, Open_no_memory_of_zeros, "cuIpcOpenMemHandle: 1",
       cushim::memory::ipc::import(cushim::memory::ipc::handle_t{}))
THROWS(IpcWrappers, Export_no_pageable_memory, "cuMemGetAddressRange: 500",
       cushim::memory::ipc::export_(address_of(&number)))
THROWS(IpcWrappers, Export_no_pinned_memory, "cuIpcGetMemHandle: 1",
       cushim::memory::ipc::export_(address_of(pinned())))

// Opens an event and memory with the wrappers, and sends the value that it read.
CUSHIM_CHILD(importer_by_wrappers) {
  cushim::init();
  const auto device = cushim::Device::get(0);
  const auto event_handle = parent.receive<cushim::event::ipc::handle_t>();
  const auto memory_handle = parent.receive<cushim::memory::ipc::handle_t>();
  const auto context = cushim::PrimaryContext::retain(device);
  const cushim::ScopedContext scope(context);
  auto event = cushim::IpcEvent::from_ipc_descriptor(device, event_handle);
  event.synchronize();
  auto mapping = cushim::memory::ipc::import(device, memory_handle);
  std::vector<int> read(mapping.size_bytes() / sizeof(int));
  cushim::copy(read, mapping.span<int>());
  parent.send(static_cast<int>(read.size()));
  parent.send(read.empty() ? -1 : read.back());
  mapping.close();
  event.close();
}
TEST_F(IpcWrappers, Share_an_event_and_memory_with_another_process) {
  auto buffer = cushim::DeviceBuffer<int>::create(3);
  cushim::copy(buffer, std::vector<int>{4, 5, 6});
  const auto done = cushim::IpcEvent::recorded(cushim::StreamRef::from_handle(stream()));
  Child child("importer_by_wrappers");
  child.send(done.ipc_descriptor());
  child.send(cushim::memory::ipc::export_(buffer.data()));
  EXPECT_VALUE(child.receive<int>(), 3);
  EXPECT_VALUE(child.receive<int>(), 6);
  EXPECT_EQ(child.wait(), 0);
}

// ---- Copies and fills ----

class CopyWrappers : public OnDevice {};

THROWS(CopyWrappers, Of_two_sizes_are_refused, "cuMemcpyHtoD: 1",
       auto buffer = cushim::DeviceBuffer<int>::create(3);
       cushim::copy(buffer, std::vector<int>{1, 2}))
THROWS(CopyWrappers, From_a_null_address_are_refused, "cuMemcpyDtoH: 1", std::vector<int> to(2);
       cushim::copy(to, cushim::DeviceSpan<int>(cushim::DevicePtr<int>(CUdeviceptr{0}), 2)))

}  // namespace
}  // namespace conformance
