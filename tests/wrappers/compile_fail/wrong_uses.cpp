// SPDX-License-Identifier: Apache-2.0
// Wrong uses of the wrappers, none of which must compile; see CMakeLists.txt.
#include <cushim/cushim.hpp>

#include <string>
#include <vector>

using namespace cushim;

void use(StreamRef stream, Event &event, TimedEvent &timed, IpcEvent &shared, DeviceBuffer<int> &buffer,
         std::vector<int> &host) {
  // Right uses, so that what follows is wrong for its own reason.
  timed - timed;
  shared.ipc_descriptor();
  copy(buffer, host);
  stream.wait_value(DevicePtr<std::uint32_t>(4), geq(1));
  event.record(stream);

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
#elif defined(NARROW_WORD_FOR_A_WIDE_VALUE)
  stream.wait_value(DevicePtr<std::uint32_t>(4), geq(std::uint64_t{5}));
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
#elif defined(FILL_OF_8_BYTES)
  fill(DeviceSpan<double>(), 1.0);
#elif defined(BUFFER_OF_STRINGS)
  DeviceBuffer<std::string>::create(4);
#elif defined(FLAGS_OF_ANOTHER_CALL)
  Event::create(RecordFlags::external);
#elif defined(HOST_FUNCTION_WITH_ARGUMENTS)
  stream.launch_host([](int) {});
#elif defined(ENTRY_THAT_NO_DRIVER_HAS)
  driver().cuEventRecordTwice(nullptr, nullptr);
#endif
}
