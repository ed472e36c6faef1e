// SPDX-License-Identifier: Apache-2.0
#include "tour.hpp"

namespace tour {

using namespace cushim;

void error() {
  try {
    Device::get(1000);
    expect(false, "there is no device with ordinal 1000");
  } catch (const Error &error) {
    show("routine", error.routine());
    show("name", std::string(error.name()));
    show("text", error.text());
    show("all of it", error.what());
    expect(error.code() == std::errc::no_such_device, "results compare with std::errc");
  }
  try {
    DeviceBuffer<char>::create(std::size_t{1} << 50);
    expect(false, "no device has a petabyte of memory");
  } catch (const std::system_error &error) {
    expect(error.code() == std::errc::not_enough_memory, "out of memory");
    show("a petabyte", error.what());
  }
  try {
    MemOpBatch batch;
    for (int i = 0; i < 256; ++i) batch.barrier();
    batch.submit(default_stream());
    expect(false, "a batch has at most 255 operations");
  } catch (const Error &error) {
    show("a batch of 256", error.what());
  }
  try {
    Event event = Event::create();
    const Event moved = std::move(event);
    event.record();  // NOLINT(bugprone-use-after-move): deliberate
    expect(false, "a moved-from event is empty");
  } catch (const Error &error) {
    show("a moved-from event", error.what());
  }
}

}  // namespace tour
