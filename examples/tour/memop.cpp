// SPDX-License-Identifier: Apache-2.0
#include "tour.hpp"

#include <algorithm>

namespace tour {

using namespace cushim;

namespace {

// On destruction writes the values that the streams below wait for. Otherwise an exception would leave a
// stream waiting forever, and its memory could never be freed.
struct LetGo {
  explicit LetGo(std::uint32_t *flags) : flags(flags) {}
  ~LetGo() {
    __atomic_store_n(&flags[0], 5u, __ATOMIC_RELEASE);
    __atomic_store_n(&flags[2], 1u, __ATOMIC_RELEASE);
  }
  LetGo(const LetGo &) = delete;
  LetGo &operator=(const LetGo &) = delete;
  std::uint32_t *const flags;
};

}  // namespace

void memop(Device device) {
  const MemOpSupport support = mem_op_support(device);
  show("64 bits, nor, flush", std::string(support.bits_64 ? "yes, " : "no, ") +
                                  (support.nor ? "yes, " : "no, ") + (support.flush ? "yes" : "no"));

  const Stream waiting = Stream::create({.flags = StreamFlags::non_blocking});
  const Stream writing = Stream::create({.flags = StreamFlags::non_blocking});
  const auto flags = PinnedBuffer<std::uint32_t>::create(4, PinnedFlags::device_map);
  std::fill(flags.begin(), flags.end(), 0u);
  const LetGo let_go(flags.data());
  const DeviceSpan<std::uint32_t> words = flags.device_span();

  waiting.wait_value(words[0], geq(5));
  waiting.write_value(words[1], 1);
  expect(!waiting.is_done(), "a stream waits for its word");
  writing.write_value(words[0], 5);
  waiting.synchronize();
  expect(flags[1] == 1, "and goes on when the word is there");
  show("one stream waits for a word of another", "5, as it was to be");

  // A stream waits for a write by the host.
  waiting.wait_value(flags.device_ptr(2), equal(1));
  __atomic_store_n(&flags[2], 1u, __ATOMIC_RELEASE);
  waiting.synchronize();
  show("a stream waits for the host", "done");

  MemOpBatch batch;
  batch.wait_value(words[0], any_bit(4)).barrier().write_value(words[3], 7).write_value(words[0], 0);
  batch.submit(waiting);
  waiting.synchronize();
  expect(flags[3] == 7 && flags[0] == 0, "a batch is done in order");
  show("a batch of " + std::to_string(batch.size()), "done in order");

  if (support.bits_64) {
    const auto wide = PinnedBuffer<std::uint64_t>::create(1, PinnedFlags::device_map);
    wide[0] = 0;
    waiting.write_value(wide.device_span()[0], std::uint64_t{1} << 40);
    waiting.wait_value(wide.device_span()[0], geq(std::uint64_t{1} << 40));
    waiting.synchronize();
    expect(wide[0] == std::uint64_t{1} << 40, "64 bits are written");
    show("64 bits", "written and waited for");
  }
}

}  // namespace tour
