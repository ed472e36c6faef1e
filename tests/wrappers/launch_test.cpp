// SPDX-License-Identifier: Apache-2.0
// Tests launches and occupancy: the exact driver calls, and the arguments that reach the driver.
#include <gmock/gmock.h>

#include <cstring>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

StreamRef stream() { return StreamRef(stream_handle(0x50)); }
Function function() { return Function::from_handle(reinterpret_cast<CUfunction>(0xf0)); }
Kernel kernel() { return Kernel::from_handle(reinterpret_cast<CUkernel>(0xf8)); }

using Saxpy = TypedKernel<void(int, float, DevicePtr<const float>, DevicePtr<float>)>;

// Makes the driver tell parameters of these sizes.
void tell_parameters(Recording &recording, std::vector<std::size_t> sizes) {
  const auto tell = [sizes](std::size_t index, std::size_t *offset, std::size_t *size) {
    if (index >= sizes.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = 0;
    *size = sizes[index];
    return CUDA_SUCCESS;
  };
  recording.on<Entry::cuFuncGetParamInfo_v12040>(
      [tell](CUfunction, std::size_t index, std::size_t *offset, std::size_t *size) {
        return tell(index, offset, size);
      });
  recording.on<Entry::cuKernelGetParamInfo_v12040>(
      [tell](CUkernel, std::size_t index, std::size_t *offset, std::size_t *size) {
        return tell(index, offset, size);
      });
}

// Makes cuLaunchKernel call read(arguments).
template <class Read>
void on_launch(Recording &recording, Read read) {
  recording.on<Entry::cuLaunchKernel_v4000>([read](CUfunction, unsigned, unsigned, unsigned, unsigned,
                                                   unsigned, unsigned, unsigned, CUstream, void **arguments,
                                                   void **) {
    read(arguments);
    return CUDA_SUCCESS;
  });
}

template <class T>
T argument(void **arguments, int index) {
  T value;
  std::memcpy(&value, arguments[index], sizeof value);
  return value;
}

TEST(Launch, Is_one_call) {
  Recording recording;
  launch(function(), {.grid = 4, .block = {32, 2}, .shared = 100}, stream(), 1);
  launch(kernel(), {.grid = {4, 5, 6}}, default_stream());
  EXPECT_THAT(recording.calls(), ElementsAre("cuLaunchKernel(0xf0, 4, 1, 1, 32, 2, 1, 100, 0x50, &, null)",
                                             "cuLaunchKernel(0xf8, 4, 5, 6, 1, 1, 1, 0, null, &, null)"));
}

TEST(Launch, Passes_the_addresses_of_the_arguments) {
  Recording recording;
  int seen = 0;
  double precise = 0;
  CUdeviceptr address = 0;
  on_launch(recording, [&](void **arguments) {
    seen = argument<int>(arguments, 0);
    precise = argument<double>(arguments, 1);
    address = argument<CUdeviceptr>(arguments, 2);
  });
  launch(function(), {}, stream(), 7, 2.5, DevicePtr<int>(0x8000));
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(precise, 2.5);
  EXPECT_EQ(address, 0x8000u);
}

TEST(Launch, With_attributes_is_one_call_that_has_them) {
  Recording recording;
  std::vector<CUlaunchAttribute> given;
  CUlaunchConfig config{};
  recording.on<Entry::cuLaunchKernelEx_v11060>(
      [&](const CUlaunchConfig *launched, CUfunction, void **, void **) {
        config = *launched;
        given.assign(launched->attrs, launched->attrs + launched->numAttrs);
        return CUDA_SUCCESS;
      });
  const CUlaunchAttribute more[] = {launch_attribute::priority(-2),
                                    launch_attribute::programmatic_stream_serialization(true)};
  launch(function(),
         {.grid = 8, .block = 64, .shared = 5, .cluster = 4, .cooperative = true, .attributes = more},
         stream());
  ASSERT_EQ(given.size(), 4u);
  EXPECT_EQ(given[0].value.priority, -2);
  EXPECT_EQ(given[1].value.programmaticStreamSerializationAllowed, 1);
  EXPECT_EQ(given[2].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(given[2].value.clusterDim.x, 4u);
  EXPECT_EQ(given[2].value.clusterDim.z, 1u);
  EXPECT_EQ(given[3].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(config.gridDimX, 8u);
  EXPECT_EQ(config.blockDimX, 64u);
  EXPECT_EQ(config.sharedMemBytes, 5u);
  EXPECT_EQ(config.hStream, stream().handle());
  EXPECT_THAT(recording.calls(), ElementsAre("cuLaunchKernelEx(&, 0xf0, &, null)"));
}

TEST(Launch, Errors_name_the_kernel_the_sizes_and_the_call_site) {
  Recording recording;
  recording.answer(Entry::cuLaunchKernel, CUDA_ERROR_INVALID_VALUE);
  const Error error = error_of([] { launch(function(), {.grid = 4, .block = 2000}, stream()); });
  EXPECT_THAT(error.what(),
              HasSubstr("stream 0x50, kernel 0xf0, grid 4 x 1 x 1, block 2000 x 1 x 1, shared 0"));
  EXPECT_THAT(error.where().file_name(), HasSubstr("launch_test.cpp"));
  EXPECT_EQ(error_of([] { launch(Function(), {}, stream()); }).result(), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(error_of([] { launch(function(), {}, StreamRef()); }).result(), CUDA_ERROR_INVALID_HANDLE);
  const std::vector<CUlaunchAttribute> many(31);
  EXPECT_EQ(error_of([&] { launch(function(), {.attributes = many}, stream()); }).result(),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(Launch, Compares_its_arguments_with_the_kernels_parameters_if_asked_to) {
  Recording recording;
  tell_parameters(recording, {4, 8});
  launch(function(), {.checked = true}, stream(), 1, 2.5);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuFuncGetParamInfo(0xf0, 0, &, &)", "cuFuncGetParamInfo(0xf0, 1, &, &)",
                          "cuFuncGetParamInfo(0xf0, 2, &, &)",
                          "cuLaunchKernel(0xf0, 1, 1, 1, 1, 1, 1, 0, 0x50, &, null)"));
  launch(LaunchTarget(kernel()), {.checked = true}, stream(), 1, 2.5);
  const Error wider = error_of([] { launch(kernel(), {.checked = true}, stream(), 1L, 2.5); });
  EXPECT_EQ(wider.result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(wider.what(),
              HasSubstr("kernel 0xf8, parameter 0, bytes in the kernel 4, bytes of the argument 8"));
  EXPECT_THAT(error_of([] { launch(function(), {.checked = true}, stream(), 1); }).what(),
              HasSubstr("parameter 1, bytes in the kernel 8, bytes of the argument 0"));
  EXPECT_EQ(error_of([] { launch(Function(), {.checked = true}, stream()); }).result(),
            CUDA_ERROR_INVALID_HANDLE);
  recording.answer(Entry::cuFuncGetParamInfo, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
  EXPECT_NO_THROW(launch(function(), {.checked = true}, stream(), 1));
}

TEST(TypedKernel, Is_compared_with_the_kernels_parameters_once) {
  Recording recording;
  tell_parameters(recording, {4, 4, 8, 8});
  const Saxpy saxpy(function());
  const Saxpy of_library(kernel());
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuFuncGetParamInfo(0xf0, 0, &, &)", "cuFuncGetParamInfo(0xf0, 1, &, &)",
                          "cuFuncGetParamInfo(0xf0, 2, &, &)", "cuFuncGetParamInfo(0xf0, 3, &, &)",
                          "cuFuncGetParamInfo(0xf0, 4, &, &)", "cuKernelGetParamInfo(0xf8, 0, &, &)",
                          "cuKernelGetParamInfo(0xf8, 1, &, &)", "cuKernelGetParamInfo(0xf8, 2, &, &)",
                          "cuKernelGetParamInfo(0xf8, 3, &, &)", "cuKernelGetParamInfo(0xf8, 4, &, &)"));
  launch(saxpy, {.grid = 2}, stream(), 1, 2.0f, DevicePtr<float>(0x8000), DevicePtr<float>(0x9000));
  EXPECT_THAT(recording.calls(), ElementsAre("cuLaunchKernel(0xf0, 2, 1, 1, 1, 1, 1, 0, 0x50, &, null)"));
}

TEST(TypedKernel, Refuses_a_kernel_with_other_parameters) {
  Recording recording;
  tell_parameters(recording, {4, 8, 8, 8});
  const Error error = error_of([] { Saxpy{function()}; });
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error.what(), HasSubstr("parameter 1, bytes in the kernel 8, bytes in the signature 4"));
  tell_parameters(recording, {4, 4, 8, 8, 4});
  EXPECT_THAT(error_of([] { Saxpy{kernel()}; }).what(),
              HasSubstr("kernel 0xf8, parameter 4, bytes in the kernel 4, bytes in the signature 0"));
  tell_parameters(recording, {4, 4, 8});
  EXPECT_THAT(error_of([] { Saxpy{function()}; }).what(), HasSubstr("parameter 3, bytes in the kernel 0"));
}

TEST(TypedKernel, Is_not_compared_if_the_driver_cannot_tell) {
  Recording recording;
  recording.answer(Entry::cuFuncGetParamInfo, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
  EXPECT_EQ(Saxpy(function()).handle(), function().handle());
  recording.answer(Entry::cuFuncGetParamInfo, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(error_of([] { Saxpy{function()}; }).result(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST(TypedKernel, Converts_the_arguments_to_the_parameters) {
  Recording recording;
  tell_parameters(recording, {8, 8, 8, 8, 4});
  struct Seen {
    long long number;
    double precise;
    CUdeviceptr in, out;
    unsigned flags;
  } seen{};
  on_launch(recording, [&](void **arguments) {
    seen = {argument<long long>(arguments, 0), argument<double>(arguments, 1),
            argument<CUdeviceptr>(arguments, 2), argument<CUdeviceptr>(arguments, 3),
            argument<unsigned>(arguments, 4)};
  });
  const TypedKernel<void(long long, double, DevicePtr<const int>, DevicePtr<int>, unsigned)> typed(
      function());
  const auto buffer = DeviceBuffer<int>::create(4);
  launch(typed, {}, stream(), -1, 2.5f, buffer, buffer.subspan(1), 7);
  EXPECT_EQ(seen.number, -1);
  EXPECT_EQ(seen.precise, 2.5);
  EXPECT_EQ(seen.in, buffer.data().address());
  EXPECT_EQ(seen.out, buffer.data().address() + 4);
  EXPECT_EQ(seen.flags, 7u);
}

TEST(Occupancy, Questions_are_one_call_each) {
  Recording recording;
  max_active_blocks(function(), 128, 64);
  max_potential_block_size(kernel(), 64, 512);
  available_shared_memory(function(), 2, 128);
  max_active_clusters(function(), {.cluster = 4});
  max_potential_cluster_size(function(), {});
  EXPECT_THAT(recording.calls(), ElementsAre("cuOccupancyMaxActiveBlocksPerMultiprocessor(&, 0xf0, 128, 64)",
                                             "cuOccupancyMaxPotentialBlockSize(&, &, 0xf8, null, 64, 512)",
                                             "cuOccupancyAvailableDynamicSMemPerBlock(&, 0xf0, 2, 128)",
                                             "cuOccupancyMaxActiveClusters(&, 0xf0, &)",
                                             "cuOccupancyMaxPotentialClusterSize(&, 0xf0, &)"));
}

}  // namespace
}  // namespace cushim::test
