// SPDX-License-Identifier: Apache-2.0
#include "tour.hpp"

#include <memory>

namespace tour {

using namespace cushim;
using namespace std::chrono_literals;

void stream() {
  const Stream stream = Stream::create({.flags = StreamFlags::non_blocking, .priority = -1});
  show("created", to_text(stream));
  show("priority", std::to_string(stream.priority()));
  expect(stream.flags() == StreamFlags::non_blocking, "a stream keeps its flags");
  expect(stream.context() == ContextRef::current(), "a stream is in the current context");
  expect(stream.capture_status() == CaptureStatus::none, "nothing captures");
  stream.set_attribute(stream_attribute::synchronization_policy, CU_SYNC_POLICY_BLOCKING_SYNC);
  expect(stream.attribute(stream_attribute::synchronization_policy) == CU_SYNC_POLICY_BLOCKING_SYNC,
         "an attribute reads as it was set");

  // Accepts any callable, including one that owns its data.
  int order = 0;
  int seen[2] = {};
  stream.launch_host([&, owned = std::make_unique<int>(41)] { seen[0] = *owned + ++order; });
  stream.add_callback([&](StreamRef, CUresult result) { seen[1] = result == CUDA_SUCCESS ? ++order : -1; });
  stream.synchronize();
  expect(seen[0] == 42 && seen[1] == 2, "host functions run in order");
  show("host function and callback", "in order");

  const Stream other = Stream::create();
  other.wait(stream);
  expect(other.synchronize_for(10s), "done in time");
  expect(other.is_done() && default_stream().is_done(), "nothing is left");
  show("null stream", to_text(default_stream()));
  show("empty stream", to_text(StreamRef()));
}

}  // namespace tour
