// SPDX-License-Identifier: Apache-2.0
// One stream fills a buffer; another stream copies it and must wait for the first. On a fast GPU the program
// can give the right result even without the wait. explore() finds an order in which it fails.
#include <cushim/cushim.hpp>
#include <cushim/sim/explore.hpp>

#include <cstdio>

namespace {

using namespace cushim;

bool hands_over(sim::Machine &machine, bool waits) {
  init();
  const PrimaryContext primary = PrimaryContext::retain(Device::get(0));
  const ScopedContext current(primary);
  const Stream producer = Stream::create({.flags = StreamFlags::non_blocking});
  const Stream consumer = Stream::create({.flags = StreamFlags::non_blocking});
  const auto buffer = DeviceBuffer<int>::create(1), result = DeviceBuffer<int>::create(1);
  machine.name(producer.handle(), "producer");
  machine.name(consumer.handle(), "consumer");

  fill(buffer, 42, producer);
  const Event filled = Event::recorded(producer);
  if (waits) consumer.wait(filled);
  copy(result, buffer, consumer);
  consumer.synchronize();

  int value = 0;
  copy(std::span(&value, 1), result);
  return value == 42;
}

}  // namespace

int main() {
  const auto found = sim::explore(20, [](sim::Machine &machine) { return hands_over(machine, false); });
  std::printf("without the wait: %s", found ? found->text().c_str() : "not found\n");
  const auto after = sim::explore(20, [](sim::Machine &machine) { return hands_over(machine, true); });
  std::printf("with it: %s", after ? after->text().c_str() : "no order fails\n");
  return found && !after ? 0 : 1;
}
