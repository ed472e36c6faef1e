// SPDX-License-Identifier: Apache-2.0
// Wrong uses of the wrappers, which must not compile; see CMakeLists.txt.
#include <cushim/cushim.hpp>

#include <string>
#include <vector>

using namespace cushim;

void use(StreamRef stream, Event &event, TimedEvent &timed, IpcEvent &shared, DeviceBuffer<int> &buffer,
         std::vector<int> &host, Stream &owner, PinnedBuffer<int> &pinned, PitchedBuffer<int> &rows,
         const TypedKernel<void(int, float, DevicePtr<int>)> &kernel, const Function &function,
         const Graph &graph, const GraphExec &exec) {
  // Correct uses, so that the lines below fail only for their own reason.
  timed - timed;
  shared.ipc_descriptor();
  copy(buffer, host);
  copy(buffer, pinned, stream);
  copy_pageable(buffer, host, stream);
  fill(buffer, 1);
  static_cast<void>(owner == stream);
  stream.wait_value(DevicePtr<std::uint32_t>(4), geq(1));
  event.record(stream);
  launch(kernel, {.grid = 4}, stream, 1, 2.0f, buffer);
  launch(function, {.grid = 4}, stream, 1, 2.0f, buffer.data());
  const CopyNode copying = graph.add_copy(buffer, pinned);
  exec.set_copy(copying, buffer, pinned);
  exec.set_enabled(copying, false);
  const auto clear = graph.add_memset(rows, 1);
  const auto work = graph.after(copying, clear).add_kernel(kernel, {.grid = 4}, 1, 2.0f, buffer);
  exec.set_kernel(work, kernel, {.grid = 4}, 1, 2.0f, buffer);
  graph.keep(std::string());
  capture(stream, [] {});

#if defined(DIFFERENCE_OF_UNTIMED_EVENTS)
  event - event;
#elif defined(DIFFERENCE_OF_IPC_EVENTS)
  shared - shared;
#elif defined(ELAPSED_OF_AN_EVENT_REFERENCE)
  elapsed(EventRef(timed), timed);
#elif defined(EXPORT_OF_A_LOCAL_EVENT)
  event::ipc::export_(event);
#elif defined(COPY_OF_AN_EVENT)
  Event copy(event);
#elif defined(COPY_OF_A_BUFFER)
  DeviceBuffer<int> copy(buffer);
#elif defined(STREAM_FROM_NULLPTR)
  event.record(StreamRef(nullptr));
#elif defined(STREAM_FROM_ZERO)
  event.record(StreamRef(0));
#elif defined(EVENT_FROM_NULLPTR)
  stream.wait(EventRef(nullptr));
#elif defined(STREAM_COMPARED_WITH_NULLPTR)
  static_cast<void>(stream == nullptr);
#elif defined(STREAM_COMPARED_WITH_AN_EVENT)
  static_cast<void>(stream == event);
#elif defined(STREAM_AS_A_REFERENCE_TO_ASSIGN)
  StreamRef &reference = owner;
#elif defined(STREAM_ASSIGNED_THROUGH_ITS_BASE)
  StreamCalls<Stream> &base = owner;
  base = owner;
#elif defined(TIMED_EVENT_AS_AN_EVENT_TO_ASSIGN)
  Event &reference = timed;
#elif defined(BUFFER_AS_A_SPAN_TO_ASSIGN)
  DeviceSpan<int> &reference = buffer;
#elif defined(WAIT_FOR_A_VALUE_WIDER_THAN_ITS_WORD)
  stream.wait_value(DevicePtr<std::uint32_t>(4), geq(std::uint64_t{5}));
#elif defined(WRITE_OF_A_VALUE_WIDER_THAN_ITS_WORD)
  stream.write_value(DevicePtr<std::uint32_t>(4), (1ull << 32) + 5);
#elif defined(WRITE_OF_A_WIDER_VALUE_IN_A_BATCH)
  MemOpBatch().write_value(DevicePtr<std::uint32_t>(4), (1ull << 32) + 5);
#elif defined(WRITE_OF_A_WIDER_VALUE_IN_THE_FIRST_GENERATION)
  memop_v1::write_value(stream, DevicePtr<std::uint32_t>(4), (1ull << 32) + 5);
#elif defined(WRITE_OF_A_FRACTION)
  stream.write_value(DevicePtr<std::uint32_t>(4), 1.5);
#elif defined(WORD_OF_16_BITS)
  Word<std::uint16_t> word(4);
#elif defined(BARRIER_IN_THE_FIRST_GENERATION)
  memop_v1::MemOpBatch().barrier();
#elif defined(NO_BARRIER_IN_THE_SECOND_GENERATION)
  MemOpBatch().write_value_without_barrier(Word<std::uint32_t>(4), 1);
#elif defined(READ_OF_DEVICE_MEMORY)
  *buffer.data();
#elif defined(COPY_OF_OTHER_ELEMENTS)
  copy(buffer, std::vector<float>(4));
#elif defined(COPY_INTO_CONST)
  copy(DeviceSpan<const int>(buffer), host);
#elif defined(COPY_FROM_HOST_TO_HOST)
  copy(HostSpan2D<int>{host.data(), 1, 1}, HostSpan2D<int>{host.data(), 1, 1});
#elif defined(COPY_FROM_PINNED_TO_PINNED)
  copy(pinned, pinned, stream);
#elif defined(COPY_FROM_1D_TO_ROWS)
  copy(rows, host);
#elif defined(COPY_TO_A_POINTER)
  int number = 0;
  copy(&number, buffer);
#elif defined(COPY_FROM_A_POINTER)
  int number = 0;
  copy(buffer, &number);
#elif defined(COPY_FROM_A_NUMBER)
  copy(buffer, 1);
#elif defined(COPY_TO_A_TEMPORARY)
  copy(std::vector<int>(4), buffer);
#elif defined(COPY_OF_STRINGS)
  copy(DeviceSpan<std::string>(), std::vector<std::string>());
#elif defined(COPY_OF_PAGEABLE_MEMORY_IN_A_STREAM)
  copy(host, buffer, stream);
#elif defined(COPY_OF_PAGEABLE_ROWS_IN_A_STREAM)
  copy(rows, HostSpan2D<int>{host.data(), 1, 1}, stream);
#elif defined(FILL_OF_PAGEABLE_MEMORY)
  fill(host, 1);
#elif defined(FILL_OF_A_POINTER)
  fill(host.data(), 1);
#elif defined(FILL_OF_CONST)
  fill(DeviceSpan<const int>(buffer), 1);
#elif defined(FILL_OF_16_BYTES)
  struct Wide {
    double values[2];
  };
  fill(DeviceSpan<Wide>(), Wide());
#elif defined(BUFFER_OF_STRINGS)
  DeviceBuffer<std::string>::create(4);
#elif defined(FLAGS_OF_ANOTHER_CALL)
  Event::create(RecordFlags::external);
#elif defined(HOST_FUNCTION_WITH_ARGUMENTS)
  stream.launch_host([](int) {});
#elif defined(EXPORT_OF_MEMORY_THAT_STAYS_IN_THIS_PROCESS)
  PhysicalMemory().export_fd();
#elif defined(COPY_TO_RESERVED_ADDRESSES)
  copy(AddressReservation(), host);
#elif defined(MAPPING_OF_AN_ALLOCATION)
  Mapping::create(buffer.span(), PhysicalMemory());
#elif defined(SURFACE_OF_A_MIPMAPPED_ARRAY)
  SurfaceObject::create(Device(), MipmappedArrayRef());
#elif defined(LINKER_IN_A_STREAM)
  Linker::create(stream);
#elif defined(ORDERED_MEMORY_ON_A_DEVICE)
  StreamBuffer<int>::create(Device(), 4);
#elif defined(LIBRARY_IN_A_CONTEXT)
  Library::load(ContextRef(), "");
#elif defined(SETTING_A_FUNCTION_ATTRIBUTE_THAT_IS_FIXED)
  function.set(function_attribute::num_regs, 4);
#elif defined(CODE_WITHOUT_AN_END)
  Module::load(std::string_view("ptx"));
#elif defined(LAUNCH_WITH_A_WIDER_NUMBER)
  launch(kernel, {}, stream, host.size(), 2.0f, buffer);
#elif defined(LAUNCH_WITH_A_NUMBER_OF_ANOTHER_KIND)
  launch(kernel, {}, stream, 1, 2, buffer);
#elif defined(LAUNCH_WITH_OTHER_ELEMENTS)
  launch(kernel, {}, stream, 1, 2.0f, DevicePtr<float>());
#elif defined(LAUNCH_WITH_A_HOST_POINTER)
  launch(kernel, {}, stream, 1, 2.0f, host.data());
#elif defined(LAUNCH_WITH_TOO_FEW_ARGUMENTS)
  launch(kernel, {}, stream, 1, 2.0f);
#elif defined(LAUNCH_WITH_A_WHOLE_BUFFER)
  launch(function, {}, stream, buffer);
#elif defined(LAUNCH_WITH_A_RANGE)
  launch(function, {}, stream, buffer.span());
#elif defined(CHANGE_OF_A_NODE_OF_ANOTHER_TYPE)
  exec.set_copy(clear, buffer, pinned);
#elif defined(CHANGE_OF_A_NODE_OF_ANY_TYPE)
  exec.set_copy(graph.nodes().front(), buffer, pinned);
#elif defined(CHANGE_OF_ATTRIBUTES_OF_A_LAUNCH)
  exec.set_kernel(work, kernel, {.grid = 4, .cooperative = true}, 1, 2.0f, buffer);
#elif defined(DISABLING_A_HOST_NODE)
  exec.set_enabled(graph.add_host([] {}), false);
#elif defined(CALLABLE_FOR_A_HOST_NODE_OF_AN_EXECUTABLE_GRAPH)
  exec.set_host(
      graph.add_host([] {}), [&buffer](void *) { buffer.size(); }, nullptr);
#elif defined(LAUNCH_OF_A_GRAPH_THAT_IS_NOT_EXECUTABLE)
  graph.launch(stream);
#elif defined(COPY_NODE_OF_PAGEABLE_MEMORY)
  graph.add_copy(buffer, host);
#elif defined(COPY_NODE_OF_OTHER_ELEMENTS)
  graph.add_copy(DeviceSpan<float>(), pinned);
#elif defined(MEMSET_NODE_OF_SLICES)
  graph.add_memset(DeviceSpan3D<int>(), 1);
#elif defined(KERNEL_NODE_WITH_A_WIDER_NUMBER)
  graph.add_kernel(kernel, {}, host.size(), 2.0f, buffer);
#elif defined(BUFFER_KEPT_BY_A_GRAPH)
  graph.keep(std::move(buffer));
#elif defined(CAPTURE_OF_A_FUNCTION_WITH_ARGUMENTS)
  capture(stream, [](StreamRef) {});
#elif defined(COPY_OF_A_GRAPH)
  Graph second(graph);
#elif defined(ENTRY_THAT_NO_DRIVER_HAS)
  driver().cuEventRecordTwice(nullptr, nullptr);
#endif
}
