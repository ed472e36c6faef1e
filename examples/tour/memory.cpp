// SPDX-License-Identifier: Apache-2.0
#include "tour.hpp"

#include <numeric>
#include <vector>

namespace tour {

using namespace cushim;

namespace {

std::vector<int> numbers(std::size_t count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void copies() {
  const std::vector<int> in = numbers(1000);
  std::vector<int> out(1000);
  const auto first = DeviceBuffer<int>::create(1000);
  const auto second = DeviceBuffer<int>::create(1000);
  copy(first, in);
  copy(second, first);
  copy(out, second);
  expect(in == out, "host to device to device to host gives the same");
  fill(second.first(500), 7);
  copy(out, second);
  expect(out[499] == 7 && out[500] == 500, "a fill stops at its end");
  show("copies and fills, synchronous", "1000 numbers, the same again");
}

void rows() {
  const std::vector<int> in = numbers(10 * 20);
  std::vector<int> out(10 * 20);
  const auto pitched = PitchedBuffer<int>::create(10, 20);
  copy(pitched, HostSpan2D<const int>{in.data(), 10, 20});
  copy(HostSpan2D<int>{out.data(), 10, 20}, pitched);
  expect(in == out, "rows come back as they went");
  show("pitched: rows of 10 numbers, pitch", std::to_string(pitched.pitch()) + " bytes");
}

void slices() {
  const std::vector<int> in = numbers(3 * 4 * 5);
  std::vector<int> out(3 * 4 * 5);
  const auto memory = DeviceBuffer<int>::create(in.size());
  const DeviceSpan3D<int> device{memory.data(), 3, 4, 5, 3 * sizeof(int)};
  copy(device, HostSpan3D<const int>{in.data(), 3, 4, 5});
  copy(HostSpan3D<int>{out.data(), 3, 4, 5}, device);
  expect(in == out, "slices come back as they went");
  show("slices", "3 x 4 x 5, the same again");
}

void fills() {
  const auto doubles = DeviceBuffer<double>::create(100);
  fill(doubles, 1.5);
  std::vector<double> out(100);
  copy(out, doubles);
  expect(out == std::vector<double>(100, 1.5), "elements of 8 bytes are filled");
  const auto pinned = PinnedBuffer<int>::create(100);
  const auto managed = ManagedBuffer<int>::create(100);
  const Stream stream = Stream::create();
  fill(pinned, 6, stream);
  fill(managed, 7, stream);
  stream.synchronize();
  expect(pinned[99] == 6 && managed[99] == 7, "pinned and managed memory is filled in stream order");
  const auto slices = DeviceBuffer<int>::create(2 * 4 * 3);
  fill(slices, 0);
  fill(DeviceSpan3D<int>{slices.data(), 3, 2, 2, 3 * sizeof(int), 4}, 1);  // 2 of 4 rows in each slice
  std::vector<int> rows(slices.size());
  copy(rows, slices);
  expect(std::accumulate(rows.begin(), rows.end(), 0) == 3 * 2 * 2 && rows[5] == 1 && rows[6] == 0,
         "a fill of slices leaves the rows between them alone");
  show("fills", "elements of 8 bytes, pinned and managed memory, slices");
}

void host_memory() {
  const auto pinned = PinnedBuffer<int>::create(100, PinnedFlags::portable);
  std::vector<int> ordinary = numbers(100);
  const auto registered = RegisteredBuffer<int>::create(ordinary);
  const auto managed = ManagedBuffer<int>::create(100);
  const Stream stream = Stream::create();
  copy(managed, registered, stream);
  copy(pinned, managed, stream);
  stream.synchronize();
  expect(pinned[99] == 99 && managed[99] == 99, "registered to managed to pinned");
  show("pinned, registered, managed", "copied in stream order");
  show("the driver says of pinned memory",
       describe_pointer(pinned.device_span().data().address()).memory_type == CU_MEMORYTYPE_HOST
           ? "on the host"
           : "elsewhere");
  expect(describe_pointer(managed.device_span().data().address()).is_managed, "managed memory is managed");
  int local = 0;
  expect(!describe_pointer(reinterpret_cast<CUdeviceptr>(&local)).memory_type,
         "a local variable is unknown to it");
}

void in_stream_order() {
  const Stream stream = Stream::create();
  std::vector<int> out(100);
  {
    const auto buffer = StreamBuffer<int>::create(stream, 100);
    fill(buffer, 5, stream);
    copy_pageable(out, buffer, stream);
  }
  stream.synchronize();
  expect(out == std::vector<int>(100, 5), "allocated, filled, copied and freed in order");
  show("from the pool, in stream order", "allocated, filled, copied, freed");
}

}  // namespace

void memory(Device device) {
  copies();
  rows();
  slices();
  fills();
  host_memory();
  if (device.attribute(attribute::memory_pools_supported)) in_stream_order();
  const auto buffer = DeviceBuffer<char>::create(1 << 20);
  const AddressRange range = address_range(buffer[1000].address());
  expect(range.base == buffer.data().address() && range.size == 1 << 20, "the range of an interior address");
}

}  // namespace tour
