// SPDX-License-Identifier: Apache-2.0
// Calls that two files compile with different default streams.
#pragma once

#include "recording_driver.hpp"

namespace cushim::test {

Calls calls_with_per_thread_default_stream();

// All operations that depend on the default stream that this file was compiled with.
inline namespace CUSHIM_DEFAULT_STREAM {
inline Calls calls_with_this_default_stream() {
  Recording recording;
  const StreamRef stream = default_stream();
  EventRef::from_handle(event_handle(0xe0)).record(stream);
  stream.synchronize();
  stream.wait_value(Word<std::uint32_t>(0x1000), geq(1));
  memop_v1::write_value(stream, Word<std::uint32_t>(0x1000), 1);
  MemOpBatch().barrier().submit(stream);
  stream.launch_host([] {});
  recording.launched.at(0)();
  int host[1] = {};
  copy(DeviceSpan<int>(DevicePtr<int>(0x1000), 1), host);
  fill(DeviceSpan<int>(DevicePtr<int>(0x1000), 1), 0, stream);
  Calls calls = recording.calls();
  for (std::string &call : calls) call.resize(call.find('('));
  return calls;
}
}  // namespace CUSHIM_DEFAULT_STREAM

}  // namespace cushim::test
