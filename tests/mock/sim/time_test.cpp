// SPDX-License-Identifier: Apache-2.0
#include "support/machine_fixture.hpp"
#include "support/ptx_header.hpp"

namespace cushim::sim {
namespace {

double copy_milliseconds(const Running &running, std::size_t bytes) {
  const CUstream stream = running.stream();
  const CUevent start = running.event(), end = running.event();
  const CUdeviceptr memory = running.memory(bytes);
  auto *const host = running.pinned<char>(bytes);
  need(driver().cuEventRecord(start, stream));
  need(driver().cuMemcpyHtoDAsync(memory, host, bytes, stream));
  need(driver().cuEventRecord(end, stream));
  need(driver().cuEventSynchronize(end));
  float milliseconds = 0;
  need(driver().cuEventElapsedTime(&milliseconds, start, end));
  return static_cast<double>(milliseconds);
}

TEST(VirtualTime, Is_the_same_in_every_run_and_schedule) {
  const double eager = copy_milliseconds(Running(), 1 << 20);
  EXPECT_GT(eager, 0);
  EXPECT_EQ(copy_milliseconds(Running(), 1 << 20), eager);
  EXPECT_EQ(copy_milliseconds(Running({.schedule = Schedule::deferred}), 1 << 20), eager);
}

TEST(VirtualTime, Of_twice_the_bytes_is_about_twice_as_long) {
  const Running running;
  const double once = copy_milliseconds(running, 16 << 20), twice = copy_milliseconds(running, 32 << 20);
  EXPECT_NEAR(twice / once, 2, 0.05);
}

TEST(VirtualTime, Two_copies_on_one_engine_queue_up_and_on_two_do_not) {
  constexpr std::size_t bytes = 16 << 20;
  const auto both = [](bool same_direction) {
    const Running running({.schedule = Schedule::deferred});
    const CUstream one = running.stream(), other = running.stream();
    const CUdeviceptr first = running.memory(bytes), second = running.memory(bytes);
    auto *const host = running.pinned<char>(2 * bytes);
    const auto before = running.machine.now();
    need(driver().cuMemcpyHtoDAsync(first, host, bytes, one));
    if (same_direction)
      need(driver().cuMemcpyHtoDAsync(second, host + bytes, bytes, other));
    else
      need(driver().cuMemcpyDtoHAsync(host + bytes, second, bytes, other));
    need(driver().cuCtxSynchronize());
    return static_cast<double>((running.machine.now() - before).count());
  };
  EXPECT_NEAR(both(true) / both(false), 2, 0.05);
}

// Returns the nanoseconds that a copy of `bytes` bytes from device 0 to 1 takes.
double peer_copy(const char *devices, std::size_t bytes) {
  const Running running({.devices = devices});
  const CUdeviceptr from = running.memory(bytes);
  CUcontext context = nullptr, other = nullptr;
  need(driver().cuCtxGetCurrent(&context));
  need(driver().cuDevicePrimaryCtxRetain(&other, 1));
  need(driver().cuCtxSetCurrent(other));
  const CUdeviceptr to = running.memory(bytes);
  const auto before = running.machine.now();
  need(driver().cuMemcpyPeer(to, other, from, context, bytes));
  need(driver().cuCtxSynchronize());
  return static_cast<double>((running.machine.now() - before).count());
}

TEST(VirtualTime, A_copy_between_devices_takes_its_links_time_or_goes_by_way_of_the_host) {
  constexpr std::size_t bytes = 64 << 20;
  const double nvlink = peer_copy("h200x2", bytes), pcie = peer_copy("l4x2", bytes),
               host = peer_copy("h200,l4", bytes);
  EXPECT_NEAR(pcie / nvlink, 380 / 27.6, 0.5);
  EXPECT_NEAR(host / pcie, 1, 0.05) << "the slower of the two is the L4's way to the host";
}

// Returns the nanoseconds of a launch of one block that adds 4 * `turns` numbers one after the other.
double kernel_time(const Options &options, unsigned turns) {
  constexpr const char *ptx = CUSHIM_PTX_HEADER R"(
.visible .entry turn(.param .u32 turns) {
  .reg .u32 i; .reg .f32 x; .reg .pred p;
  ld.param.u32 i, [turns];
  mov.f32 x, 0f3F800000;
again:
  fma.rn.f32 x, x, x, x; fma.rn.f32 x, x, x, x; fma.rn.f32 x, x, x, x; fma.rn.f32 x, x, x, x;
  sub.u32 i, i, 1;
  setp.ne.u32 p, i, 0;
  @p bra again;
  ret;
})";
  const Running running(options);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  need(driver().cuModuleLoadData(&module, ptx));
  need(driver().cuModuleGetFunction(&function, module, "turn"));
  const CUstream stream = running.stream();
  const CUevent start = running.event(), end = running.event();
  void *parameters[] = {&turns};
  need(driver().cuEventRecord(start, stream));
  need(driver().cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
  need(driver().cuEventRecord(end, stream));
  need(driver().cuStreamSynchronize(stream));
  float milliseconds = 0;
  need(driver().cuEventElapsedTime(&milliseconds, start, end));
  return 1e6 * static_cast<double>(milliseconds);
}

TEST(VirtualTime, Of_a_kernel_grows_with_its_work_if_it_is_modelled) {
  const Options model{.models_kernel_times = true};
  const double few = kernel_time(model, 1000), many = kernel_time(model, 9000);
  // 4 dependent operations of 4 cycles at 1.98 GHz, and at most as much for the loop
  EXPECT_GT(many - few, 8000 * 16 / 1.98);
  EXPECT_LT(many - few, 8000 * 32 / 1.98);
  EXPECT_EQ(kernel_time(model, 1000), few);
  EXPECT_EQ(kernel_time({.schedule = Schedule::deferred, .models_kernel_times = true}, 1000), few);
  EXPECT_EQ(kernel_time({.schedule = Schedule::background, .models_kernel_times = true}, 1000), few);
}

TEST(VirtualTime, Of_a_kernel_is_fixed_by_default) {
  EXPECT_EQ(kernel_time({}, 1000), kernel_time({}, 9000));
}

TEST(VirtualTime, Does_not_pass_while_the_program_does_something_else) {
  const Running running;
  const auto before = running.machine.now();
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < 1'000'000; ++i) sum = sum + i;
  EXPECT_EQ(running.machine.now(), before);
}

}  // namespace
}  // namespace cushim::sim
