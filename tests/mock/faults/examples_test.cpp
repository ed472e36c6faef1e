// SPDX-License-Identifier: Apache-2.0
// Sweeps the parts of examples/tour and the upload of examples/gmock_test: nothing leaks, whichever driver
// call fails.
#include <gtest/gtest.h>
#include <cushim/sim/sweep.hpp>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <vector>

#include "tour.hpp"
#include "upload.hpp"

namespace tour {

void expect(bool is_so, const char *what) {
  if (!is_so) throw std::runtime_error(std::string("not so: ") + what);
}

void show(const std::string &, const std::string &) {}

namespace {

using namespace cushim;

struct Room {
  const char *name;
  void (*visit)(Device);
  bool wants_context = true;
};

void PrintTo(const Room &room, std::ostream *out) { *out << room.name; }

class SweptRoom : public ::testing::TestWithParam<Room> {};

// Discards the exceptions that destructors cannot throw.
struct Quiet {
  Quiet() : before(set_unreported_handler([](const std::exception &) noexcept {})) {}
  ~Quiet() { set_unreported_handler(before); }
  Quiet(const Quiet &) = delete;
  Quiet &operator=(const Quiet &) = delete;
  UnreportedHandler before;
};

void expect_no_leak(const std::function<void()> &body, std::uint64_t more_rounds_than) {
  const Quiet quiet;
  const auto swept =
      sim::sweep(body, {},
                 // An object that is freed in its context leaks if that context cannot be made current again.
                 {.spares = [](Entry entry) { return entry == Entry::cuCtxPushCurrent_v4000; }});
  EXPECT_TRUE(swept.is_clean()) << swept.text();
  EXPECT_GT(swept.rounds, more_rounds_than);
}

void in_primary_context(const std::function<void(Device)> &visit) {
  const Device first = Device::get(0);
  const PrimaryContext primary = PrimaryContext::retain(first);
  const ScopedContext current(primary);
  visit(first);
}

TEST_P(SweptRoom, Leaks_nothing_whichever_call_fails) {
  expect_no_leak(
      [] {
        init();
        if (!GetParam().wants_context) return GetParam().visit(Device::get(0));
        in_primary_context(GetParam().visit);
      },
      5);
}

TEST(SweptUpload, Leaks_nothing_whichever_call_fails) {
  expect_no_leak(
      [] {
        init();
        in_primary_context([](Device) {
          const Stream stream = Stream::create();
          const auto from = PinnedBuffer<std::byte>::create(1000);
          const auto to = DeviceBuffer<std::byte>::create(from.size());
          upload(to, from, 300, stream).synchronize();
        });
      },
      12);
}

#ifdef CUSHIM_TOUR
// The other process is the tour itself, on the simulated library. Calls fail only in this process.
TEST(SweptRooms, Ipc_leaks_nothing_whichever_call_of_the_exporter_fails) {
  ASSERT_EQ(setenv("LD_LIBRARY_PATH", CUSHIM_FOLDER_OF_LIBCUDA, 1), 0);
  expect_no_leak(
      [] {
        init();
        in_primary_context([](Device first) { ipc(first, CUSHIM_TOUR); });
      },
      15);
}
#endif

INSTANTIATE_TEST_SUITE_P(, SweptRoom,
                         ::testing::Values(Room{"device", &device, false}, Room{"context", &context, false},
                                           Room{"memory", &memory}, Room{"stream", [](Device) { stream(); }},
                                           Room{"event", [](Device) { event(); }}, Room{"memop", &memop},
                                           Room{"error", [](Device) { error(); }}),
                         [](const auto &info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tour
