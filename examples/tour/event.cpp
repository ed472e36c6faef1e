// SPDX-License-Identifier: Apache-2.0
#include "tour.hpp"

#include <cstdio>
#include <memory>

namespace tour {

using namespace cushim;

void event() {
  const Stream stream = Stream::create();
  const Stream other = Stream::create();
  const auto from = DeviceBuffer<char>::create(64 << 20);
  const auto to = DeviceBuffer<char>::create(64 << 20);

  const TimedEvent start = TimedEvent::create();
  const TimedEvent end = TimedEvent::create(EventFlags::blocking_sync);
  start.record(stream);
  copy(to, from, stream);
  end.record(stream);
  end.synchronize();
  const Milliseconds time = end - start;
  expect(time.count() > 0, "copying takes time");
  char text[64];
  std::snprintf(text, sizeof text, "%.0f GB/s read and written",
                2 * 64 / 1024.0 / (time.count() / 1000) * 1.073741824);
  show("64 MiB from device to device", text);

  // Ordering streams by an event needs neither timing nor the host.
  const Event copied = Event::recorded(stream);
  other.wait(copied);
  other.synchronize();
  expect(copied.is_done(), "what was waited for is done");
  expect(copied.context() == stream.context() && copied.device() == stream.context().device(),
         "an event knows where it is");

  try {
    const TimedEvent never = TimedEvent::create();
    never - start;
    expect(false, "an event that was not recorded has no time");
  } catch (const Error &error) {
    show("an event that was not recorded", error.what());
  }

  auto shared = std::make_shared<Event>(Event::create());
  const std::shared_ptr<Event> second_owner = shared;
  shared.reset();
  second_owner->record(stream);
  expect(second_owner->synchronize_for(std::chrono::seconds(10)), "done in time");
  show("shared by two owners", "destroyed with the last");
}

}  // namespace tour
