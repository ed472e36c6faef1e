// SPDX-License-Identifier: Apache-2.0
// The list of all operations of the wrappers. Each creates the objects that it needs, and destroys them.
#pragma once

#include <cctype>
#include <functional>
#include <ostream>
#include <string>

#include "sample_objects.hpp"

namespace cushim::test {

struct Operation {
  const char *name;
  std::function<void()> run;  // from creation to destruction
};

// Returns the operation's name in the form of a test name.
inline std::string name_of_test(const Operation &operation) {
  std::string name = operation.name;
  for (char &letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

inline void PrintTo(const Operation &operation, std::ostream *out) { *out << operation.name; }

inline const Operation kOperations[] = {
    {"init", [] { init(); }},
    {"get a device", [] { Device::get(0); }},
    {"find a device", [] { Device::by_pci_bus_id("0000:3b:00.0"); }},
    {"all devices", [] { Device::all(); }},
    {"device questions",
     [] {
       device().name();
       device().uuid();
       device().pci_bus_id();
       device().total_memory();
       device().can_access(device());
       device().peer_attribute(peer_attribute::access_supported, device());
       device().attribute(attribute::warp_size);
       mem_op_support(device());
     }},
    {"context questions",
     [] {
       context().device();
       context().flags();
       context().api_version();
       context().id();
       context().limit(ContextLimit::stack_size);
       context().cache_preference();
       context().stream_priorities();
       context().is_primary();
       context().memory();
     }},
    {"context settings",
     [] {
       context().set_limit(ContextLimit::stack_size, 1);
       context().set_cache_preference(CachePreference::l1);
       context().synchronize();
       context().make_current();
       context().push();
       ContextRef::pop();
     }},
    {"scoped context", [] { ScopedContext scope(context()); }},
    {"restored context", [] { RestoredContext scope; }},
    {"primary context", [] { PrimaryContext::retain(device()); }},
    {"primary context, closed", [] { PrimaryContext::retain(device()).close(); }},
    {"primary context settings",
     [] {
       PrimaryContext::set_flags(device(), ContextFlags::spin);
       PrimaryContext::state(device());
       PrimaryContext::reset(device());
     }},
    {"context of its own", [] { Context::create(device()); }},
    {"context of its own, left current",
     [] {
       const Context context = Context::create_and_push(device());
       ContextRef::pop();
     }},
    {"context of its own, closed", [] { Context::create(device()).close(); }},
    {"peer access", [] { PeerAccess access(context(), ContextRef::from_handle(kPrimary)); }},
    {"event", [] { Event::create(); }},
    {"event, closed", [] { Event::create().close(); }},
    {"event in a context", [] { Event::create(context()); }},
    {"event on a device", [] { Event::create(device()); }},
    {"event on a device, closed", [] { Event::create(device()).close(); }},
    {"recorded event", [] { TimedEvent::recorded(stream()); }},
    {"record", [] { event().record(stream()); }},
    {"record with flags", [] { event().record(stream(), RecordFlags::external); }},
    {"query and synchronize",
     [] {
       event().is_done();
       event().synchronize();
       event().synchronize_for(std::chrono::seconds(0));
       stream().is_done();
       stream().synchronize();
       stream().synchronize_for(std::chrono::seconds(0));
     }},
    {"elapsed time",
     [] {
       const auto timed = TimedEventRef::from_handle(event_handle(0xe0));
       elapsed(timed, timed);
     }},
    {"stream", [] { Stream::create(); }},
    {"stream, closed", [] { Stream::create({.priority = -1}).close(); }},
    {"stream in a context", [] { Stream::create(context()); }},
    {"stream on a device", [] { Stream::create(device()); }},
    {"stream on a device, closed", [] { Stream::create(device()).close(); }},
    {"stream questions",
     [] {
       stream().device();
       stream().id();
       stream().context();
       stream().priority();
       stream().flags();
       stream().capture_status();
       stream().attribute(stream_attribute::priority);
     }},
    {"stream settings",
     [] {
       stream().set_attribute(stream_attribute::priority, 1);
       stream().copy_attributes(default_stream());
       stream().attach(0x1000);
     }},
    {"wait for an event", [] { stream().wait(event()); }},
    {"wait for a stream", [] { stream().wait(default_stream()); }},
    {"memory operations",
     [] {
       stream().wait_value(Word<std::uint32_t>(0x1000), geq(1));
       stream().wait_value(Word<std::uint64_t>(0x1000), geq(1));
       stream().write_value(Word<std::uint32_t>(0x1000), 1);
       stream().write_value(Word<std::uint64_t>(0x1000), 1);
       MemOpBatch().barrier().submit(stream());
       MemOpBatch().barrier().submit_split(stream());
     }},
    {"memory operations, first generation",
     [] {
       memop_v1::wait_value(stream(), Word<std::uint32_t>(0x1000), geq(1));
       memop_v1::wait_value(stream(), Word<std::uint64_t>(0x1000), geq(1));
       memop_v1::write_value(stream(), Word<std::uint32_t>(0x1000), 1);
       memop_v1::write_value(stream(), Word<std::uint64_t>(0x1000), 1);
       memop_v1::MemOpBatch().flush_remote_writes().submit(stream());
     }},
    {"device memory", [] { DeviceBuffer<int>::create(4); }},
    {"device memory, closed", [] { DeviceBuffer<int>::create(4).close(); }},
    {"device memory in a context", [] { DeviceBuffer<int>::create(context(), 4); }},
    {"device memory in a context, closed", [] { DeviceBuffer<int>::create(context(), 4).close(); }},
    {"device memory on a device", [] { DeviceBuffer<int>::create(device(), 4); }},
    {"device memory on a device, closed", [] { DeviceBuffer<int>::create(device(), 4).close(); }},
    {"pinned memory",
     [] {
       const auto buffer = PinnedBuffer<int>::create(4);
       buffer.device_span();
       buffer.device_ptr(3);
       buffer.flags();
     }},
    {"pinned memory in a context, closed", [] { PinnedBuffer<int>::create(context(), 4).close(); }},
    {"registered memory", [] { RegisteredBuffer<int>::create(host).device_span(); }},
    {"registered memory, closed", [] { RegisteredBuffer<int>::create(host).close(); }},
    {"managed memory", [] { ManagedBuffer<int>::create(4); }},
    {"managed memory in a context", [] { ManagedBuffer<int>::create(context(), 4); }},
    {"pitched memory", [] { PitchedBuffer<int>::create(4, 4).close(); }},
    {"pitched memory on a device", [] { PitchedBuffer<int>::create(device(), 4, 4); }},
    {"ordered memory", [] { StreamBuffer<int>::create(stream(), 4); }},
    {"ordered memory, closed", [] { StreamBuffer<int>::create(stream(), 4).close(); }},
    {"memory pool", [] { MemoryPool::create(device()); }},
    {"memory pool, closed", [] { MemoryPool::create_on_host().close(); }},
    {"memory of a pool",
     [] {
       const auto pool = MemoryPool::create_on_host_node(0, {.max_size = 1 << 20});
       pool.set_access(device(), MemoryAccess::read_write);
       StreamBuffer<int>::create(pool, stream(), 4).close();
       pool.trim_to(0);
     }},
    {"memory pool questions",
     [] {
       const MemoryPoolRef pool = MemoryPoolRef::default_of(device());
       pool.access(device());
       pool.attribute(pool_attribute::used_current);
       pool.set(pool_attribute::release_threshold, 1);
       pool.reset(pool_attribute::used_high);
       MemoryPoolRef::current_of(device());
       set_current_pool(device(), pool);
     }},
    {"physical memory", [] { PhysicalMemory::create(device(), 0x1000); }},
    {"physical memory, closed", [] { PhysicalMemory::create_on_host_node(0, 0x1000).close(); }},
    {"physical memory questions",
     [] {
       PhysicalMemory::granularity(device());
       PhysicalMemory::retain(DevicePtr<int>(0x1000)).properties();
     }},
    {"shared physical memory",
     [] {
       ShareablePhysicalMemory::create(device(), 0x1000).export_fd();
       ShareablePhysicalMemory::import(SharedMemoryFd()).close();
     }},
    {"addresses and a mapping",
     [] {
       const auto reservation = AddressReservation::create(0x1000);
       const auto mapping = Mapping::create(reservation.range(), PhysicalMemoryRef::from_handle(1));
       mapping.set_access(device(), MemoryAccess::read);
       mapping.access(device());
     }},
    {"addresses and a mapping, closed",
     [] {
       auto reservation = AddressReservation::create(0x1000);
       Mapping::create(reservation.range(), PhysicalMemoryRef::from_handle(1)).close();
       reservation.close();
     }},
    {"virtual buffer",
     [] {
       auto buffer = VirtualBuffer<int>::create(device(), 3000);
       buffer.resize(1000);
       buffer.add_access(Device::from_handle(4));
       buffer.resize(3000);
       buffer.resize(1000);
     }},
    {"virtual buffer, closed",
     [] {
       auto buffer = VirtualBuffer<int>::create(device(), 3000);
       buffer.resize(1);
       buffer.close();
     }},
    {"memory resources",
     [] {
       DeviceMemoryResource device_memory;
       device_memory.deallocate_sync(device_memory.allocate_sync(4), 4);
       ManagedMemoryResource managed(context());
       managed.deallocate(managed.allocate(4), 4);
       PinnedMemoryResource pinned;
       pinned.deallocate(pinned.allocate(4), 4);
     }},
    {"memory resource of a pool",
     [] {
       PoolMemoryResource resource(MemoryPoolRef::from_handle(reinterpret_cast<CUmemoryPool>(0x70)));
       resource.deallocate(stream(), resource.allocate(stream(), 4), 4);
       resource.deallocate_sync(resource.allocate_sync(4), 4);
     }},
    {"module",
     [] {
       const auto module = Module::load("");
       module.function("f");
       module.functions();
       module.global<int[16]>("g");
     }},
    {"module in a context, closed", [] { Module::load(context(), "").close(); }},
    {"module on a device", [] { Module::load(device(), ""); }},
    {"module of a file", [] { Module::load_file("file"); }},
    {"function questions",
     [] {
       function().attribute(function_attribute::num_regs);
       function().set(function_attribute::max_dynamic_shared_size_bytes, 1);
       function().set_cache_preference(CachePreference::shared);
       function().name();
     }},
    {"library",
     [] {
       const auto library = Library::load("");
       library.kernel("k");
       library.kernels();
       library.global<int[16]>("g");
       library.managed<int[16]>("g");
     }},
    {"library of a file, closed", [] { Library::load_file("file").close(); }},
    {"kernel questions",
     [] {
       kernel().attribute(function_attribute::num_regs, device());
       kernel().set(function_attribute::max_dynamic_shared_size_bytes, 1, device());
       kernel().set_cache_preference(CachePreference::shared, device());
       kernel().name();
       kernel().function();
     }},
    {"linker",
     [] {
       auto linker = Linker::create();
       linker.add("");
       linker.add_file(LinkInput::library, "file");
       linker.complete();
     }},
    {"linker, closed", [] { Linker::create().close(); }},
    {"linker on a device, closed", [] { Linker::create(device()).close(); }},
    {"texture on a device", [] { TextureObject::create(device(), array()).options(); }},
    {"surface in a context, closed", [] { SurfaceObject::create(context(), array()).close(); }},
    {"launches",
     [] {
       launch(function(), {}, stream(), 1);
       launch(kernel(), {.cooperative = true}, stream());
     }},
    {"graph", [] { Graph::create().clone(); }},
    {"graph, closed", [] { Graph::create().close(); }},
    {"graph with nodes",
     [] {
       const Graph built = Graph::create();
       const auto load = built.add_copy(kDevice, PinnedSpan<int>(std::span(host)));
       const auto clear = built.add_memset(kDevice, 0);
       built.after(load, clear).add_kernel(function(), {.cooperative = true}, 1);
       built.after(load).add_child(graph());
       built.add_empty();
       built.after(built.add_wait(event())).add_record(event());
       const auto memory = built.add_allocation<int>(device(), 4);
       built.after(memory.node).add_free(memory.memory);
     }},
    {"graph with host functions",
     [] {
       const Graph built = Graph::create();
       built.add_host([] {});
       built.keep(std::string("kept"));
     }},
    {"graph questions",
     [] {
       graph().nodes();
       graph().root_nodes();
       graph().edges();
       graph().find(node());
       graph().write_dot("file");
       graph().add_edge(node(), node());
       graph().remove_edge(node(), node());
       graph().remove(node());
       node().type();
       node().dependencies();
       node().dependent_nodes();
       graph_of(node<ChildNode>());
     }},
    {"capture", [] { capture(stream(), [] { fill(kDevice, 1, stream()); }); }},
    {"executable graph", [] { GraphExec::instantiate(graph()); }},
    {"executable graph, closed", [] { GraphExec::instantiate(graph()).close(); }},
    {"executable graph changes",
     [] {
       static_cast<void>(exec().update(graph()));
       exec().set_kernel(node<KernelNode>(), function(), {}, 1);
       exec().set_copy(node<CopyNode>(), kDevice, kDevice);
       exec().set_memset(node<MemsetNode>(), kDevice, 1);
       exec().set_host(
           node<HostNode>(), [](void *) {}, nullptr);
       exec().set_child(node<ChildNode>(), graph());
       exec().set_event(node<EventRecordNode>(), event());
       exec().set_event(node<EventWaitNode>(), event());
       exec().set_enabled(node<KernelNode>(), false);
       exec().is_enabled(node<KernelNode>());
       exec().flags();
       exec().upload(stream());
       exec().launch(stream());
     }},
    {"occupancy",
     [] {
       max_active_blocks(function(), 32);
       max_potential_block_size(function());
       available_shared_memory(function(), 1, 32);
       max_active_clusters(function(), {});
       max_potential_cluster_size(function(), {});
     }},
    {"copies",
     [] {
       copy(kDevice, host);
       copy(host, kDevice);
       copy(kDevice, kDevice);
       copy_pageable(kDevice, host, stream());
       copy_pageable(host, kDevice, stream());
       copy(kDevice, kDevice, stream());
       copy(kRows, kRows);
       copy(kRows, kRows, stream());
       copy(kSlices, kSlices);
       copy(kSlices, kSlices, stream());
     }},
    {"sets",
     [] {
       fill(kDevice, 1);
       fill(kDevice, 1, stream());
       fill(kRows, 1);
       fill(kRows, 1, stream());
       fill(kSlices, 1, stream());
       fill(kDevice.reinterpret<double>(), 1.0, stream());
     }},
    {"addresses",
     [] {
       attribute_of(0x1000, pointer_attribute::is_managed);
       set_sync_memops(0x1000, true);
       describe_pointer(0x1000);
       address_range(0x1000);
     }},
    {"export an event", [] { IpcEvent::create().ipc_descriptor(); }},
    {"import an event on a device", [] { event::ipc::import(device(), event::ipc::handle_t{}); }},
    {"import an event in a context, closed",
     [] { event::ipc::import(context(), event::ipc::handle_t{}).close(); }},
    {"export memory", [] { memory::ipc::export_(0x1000); }},
    {"import memory", [] { memory::ipc::import(memory::ipc::handle_t{}); }},
    {"import memory in a context", [] { memory::ipc::import(context(), memory::ipc::handle_t{}); }},
    {"import memory on a device", [] { memory::ipc::import(device(), memory::ipc::handle_t{}); }},
    {"import memory on a device, closed",
     [] { memory::ipc::import(device(), memory::ipc::handle_t{}).close(); }},
};

}  // namespace cushim::test
