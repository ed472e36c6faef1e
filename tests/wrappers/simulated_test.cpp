// SPDX-License-Identifier: Apache-2.0
// Runs wrappers of virtual memory, modules and kernels on the simulated driver.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "simulated_device.hpp"
#include "support/ptx_header.hpp"

namespace cushim::test {
namespace {

using testing::Each;
using testing::HasSubstr;

// scale(data, factor, count): data[i] *= factor * whole, where whole is a variable, 1 at first.
constexpr const char *kScale = CUSHIM_PTX_HEADER R"(
.visible .global .align 4 .f32 whole = 0f3F800000;
.visible .entry scale(.param .u64 data, .param .f32 factor, .param .u32 count) {
  .reg .pred %p;
  .reg .b32 %thread, %i, %n;
  .reg .f32 %f<4>;
  .reg .b64 %d;
  ld.param.u64 %d, [data];
  ld.param.f32 %f1, [factor];
  ld.param.u32 %n, [count];
  mov.u32 %thread, %tid.x;
  mov.u32 %i, %ctaid.x;
  mad.lo.u32 %i, %i, %ntid.x, %thread;
  setp.lt.u32 %p, %i, %n;
  mad.wide.u32 %d, %i, 4, %d;
  ld.global.f32 %f2, [whole];
  mul.f32 %f1, %f1, %f2;
  @%p ld.global.f32 %f3, [%d];
  mul.f32 %f3, %f3, %f1;
  @%p st.global.f32 [%d], %f3;
  ret;
}
)";
using Scale = TypedKernel<void(DevicePtr<float>, float, unsigned)>;

class OnSimulatedDriver : public SimulatedDevice {
 public:
  Stream stream = Stream::create();

  template <class Range>
  std::vector<float> read(const Range &range) {
    std::vector<float> values(range.size());
    copy(values, range);
    return values;
  }
};

TEST_F(OnSimulatedDriver, Virtual_buffers_keep_their_elements_and_addresses) {
  auto buffer = VirtualBuffer<float>::create(device, 10'000'000);
  buffer.resize(1000);
  const DevicePtr<float> first = buffer.data();
  fill(buffer, 3.0f);
  buffer.resize(2'000'000);
  EXPECT_EQ(buffer.data(), first);
  EXPECT_THAT(read(buffer.first(1000)), Each(3.0f));
  fill(buffer.last(1), 4.0f);
  const std::size_t before = ContextRef::current().memory().free;
  buffer.resize(1);
  EXPECT_GT(ContextRef::current().memory().free, before);
  EXPECT_THAT(read(buffer), Each(3.0f));
}

TEST_F(OnSimulatedDriver, Two_mappings_of_one_memory_show_the_same_bytes) {
  const std::size_t size = ShareablePhysicalMemory::granularity(device);
  const auto reservation = AddressReservation::create(2 * size);
  auto memory = ShareablePhysicalMemory::create(device, size);
  const auto again = ShareablePhysicalMemory::import(memory.export_fd());
  const auto left = Mapping::create(reservation.subrange(0, size), memory);
  const auto right = Mapping::create(reservation.subrange(size, size), again);
  memory.close();  // the mappings keep it
  EXPECT_EQ(left.access(device), MemoryAccess::none);
  const Device all[] = {device};
  set_access(reservation.range(), all, MemoryAccess::read_write);
  EXPECT_EQ(right.access(device), MemoryAccess::read_write);
  fill(left.span<float>(), 5.0f);
  EXPECT_THAT(read(right.span<float>().last(100)), Each(5.0f));
  EXPECT_EQ(PhysicalMemory::retain(left.span<float>().data()).properties().location.id, 0);
}

TEST_F(OnSimulatedDriver, A_typed_kernel_of_a_library_runs_in_virtual_memory) {
  const Library library = Library::load(kScale);
  const Scale scale(library.kernel("scale"));
  auto buffer = VirtualBuffer<float>::create(device, 10'000);
  buffer.resize(1000);
  fill(buffer, 3.0f, stream);
  launch(scale, {.grid = 4, .block = 256}, stream, buffer, 2.0f, 999);
  stream.synchronize();
  EXPECT_THAT(read(buffer.first(999)), Each(6.0f));
  EXPECT_THAT(read(buffer.last(1)), Each(3.0f));
}

TEST_F(OnSimulatedDriver, A_function_of_a_module_runs_with_the_modules_variables) {
  const Module module = Module::load(kScale);
  const Function function = module.function("scale");
  const auto buffer = DeviceBuffer<float>::create(100);
  fill(buffer, 3.0f, stream);
  fill(module.global<float>("whole"), 10.0f, stream);
  launch(function, {.block = 100, .cooperative = true}, stream, buffer.data(), 2.0f, 100u);
  stream.synchronize();
  EXPECT_THAT(read(buffer), Each(60.0f));
  EXPECT_EQ(function.name(), "scale");
  EXPECT_EQ(function.parameter(1), (KernelParameter{8, 4}));
  EXPECT_EQ(module.functions().size(), 1u);
  EXPECT_EQ(function.attribute(function_attribute::max_threads_per_block), 1024);
  EXPECT_EQ(max_active_blocks(function, 1024), 2);
}

TEST_F(OnSimulatedDriver, A_signature_that_is_not_the_kernels_is_refused) {
  const Library library = Library::load(kScale);
  EXPECT_THROW((TypedKernel<void(DevicePtr<float>, double, unsigned)>(library.kernel("scale"))), Error);
  EXPECT_THROW((TypedKernel<void(DevicePtr<float>, float)>(library.kernel("scale"))), Error);
  EXPECT_THROW((TypedKernel<void(DevicePtr<float>, float, unsigned, int)>(library.kernel("scale"))), Error);
}

TEST_F(OnSimulatedDriver, Code_with_an_error_is_reported_with_its_line) {
  try {
    Module::load(".version 7.8\n.target sm_52\n.address_size 64\n.visible .entry k() { frob.u32; }\n");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const JitError &error) {
    EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_PTX);
    EXPECT_THAT(error.log(), HasSubstr("line 4"));
  }
}

TEST_F(OnSimulatedDriver, A_linked_image_is_loaded_as_a_module) {
  Linker linker = Linker::create();
  linker.add(kScale, "scale.ptx");
  const Module module = Module::load(linker.complete());
  EXPECT_EQ(module.function("scale").name(), "scale");
}

}  // namespace
}  // namespace cushim::test
