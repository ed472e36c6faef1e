// SPDX-License-Identifier: Apache-2.0
// Launching kernels.
#include "kernels.hpp"

namespace conformance {
namespace {

class Launches : public OnModule {};

// ---- Dimensions ----

struct Shape {
  const char *name;
  unsigned grid[3], block[3];
  CUresult code;
};
const bool shapes_checked = [] {
  for (const Shape &one : std::initializer_list<Shape>{
           {"one_thread", {1, 1, 1}, {1, 1, 1}, CUDA_SUCCESS},
           {"no_grid_x", {0, 1, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
           {"no_grid_y", {1, 0, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
           {"no_grid_z", {1, 1, 0}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
           {"no_block_x", {1, 1, 1}, {0, 1, 1}, CUDA_ERROR_INVALID_VALUE},
           {"no_block_z", {1, 1, 1}, {1, 1, 0}, CUDA_ERROR_INVALID_VALUE},
           {"the_largest_block", {1, 1, 1}, {1024, 1, 1}, CUDA_SUCCESS},
           {"a_larger_block", {1, 1, 1}, {1025, 1, 1}, CUDA_ERROR_INVALID_VALUE},
           {"a_product_that_is_too_large", {1, 1, 1}, {32, 32, 2}, CUDA_ERROR_INVALID_VALUE},
           {"a_deep_block", {1, 1, 1}, {1, 1, 64}, CUDA_SUCCESS},
           {"a_deeper_block", {1, 1, 1}, {1, 1, 65}, CUDA_ERROR_INVALID_VALUE},
           {"a_high_block", {1, 1, 1}, {1, 1025, 1}, CUDA_ERROR_INVALID_VALUE},
           {"a_high_grid", {1, 65535, 1}, {1, 1, 1}, CUDA_SUCCESS},
           {"a_higher_grid", {1, 65536, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
           {"a_deeper_grid", {1, 1, 65536}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
           {"a_wider_grid", {0x80000000u, 1, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE}})
    ADD_TEST(Launches, std::string("Of_") + one.name, [one](Launches &test) {
      EXPECT_ANSWER(
          driver().cuLaunchKernel(test.kernel("empty"), one.grid[0], one.grid[1], one.grid[2], one.block[0],
                                  one.block[1], one.block[2], 0, nullptr, nullptr, nullptr),
          one.code);
      EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
    });
  for (const auto &[block_x, block_y, code] :
       std::initializer_list<std::tuple<unsigned, unsigned, CUresult>>{{64, 2, CUDA_SUCCESS},
                                                                       {128, 1, CUDA_SUCCESS},
                                                                       {32, 4, CUDA_SUCCESS},
                                                                       {129, 1, CUDA_ERROR_INVALID_VALUE}})
    ADD_TEST(Launches,
             "Of_a_bounded_kernel_with_" + std::to_string(block_x) + "_by_" + std::to_string(block_y),
             [block_x = block_x, block_y = block_y, code = code](Launches &test) {
               CUdeviceptr to = test.memory();
               void *arguments[] = {&to};
               EXPECT_ANSWER(driver().cuLaunchKernel(test.kernel("bounded"), 1, 1, 1, block_x, block_y, 1, 0,
                                                     nullptr, arguments, nullptr),
                             code);
               EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
             });
  for (const auto &[block, code] : std::initializer_list<std::pair<unsigned, CUresult>>{
           {16, CUDA_ERROR_INVALID_VALUE}, {32, CUDA_SUCCESS}, {64, CUDA_ERROR_INVALID_VALUE}})
    ADD_TEST(Launches, "Of_an_exact_kernel_with_" + std::to_string(block),
             [block = block, code = code](Launches &test) {
               char structure[20] = {}, character = 0;
               CUdeviceptr last = 0;
               void *arguments[] = {structure, &character, &last};
               EXPECT_ANSWER(driver().cuLaunchKernel(test.kernel("exact"), 1, 1, 1, block, 1, 1, 0, nullptr,
                                                     arguments, nullptr),
                             code);
               EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
             });
  for (const auto &[bytes, code] :
       std::initializer_list<std::pair<unsigned, CUresult>>{{0, CUDA_SUCCESS},
                                                            {49152, CUDA_SUCCESS},
                                                            {49153, CUDA_ERROR_INVALID_VALUE},
                                                            {~0u, CUDA_ERROR_INVALID_VALUE}})
    ADD_TEST(Launches, "With_" + std::to_string(bytes) + "_bytes_of_dynamic_shared_memory",
             [bytes = bytes, code = code](Launches &test) {
               EXPECT_ANSWER(driver().cuLaunchKernel(test.kernel("empty"), 1, 1, 1, 1, 1, 1, bytes, nullptr,
                                                     nullptr, nullptr),
                             code);
               EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
             });
  return true;
}();

TEST_F(Launches, Tell_the_kernel_its_dynamic_shared_memory) {
  CUdeviceptr to = memory();
  EXPECT_ANSWER(launch(kernel("dynamic_size"), {&to}, 1, 1, 1000), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 1000u);
}

TEST_F(Launches, Need_a_whole_cluster_if_the_program_requires_one) {
  const CUfunction empty = kernel("empty");
  EXPECT_ANSWER(driver().cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, -1),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2),
                CUDA_SUCCESS);
  EXPECT_ANSWER(launch(empty, {}, 2), CUDA_ERROR_INVALID_CLUSTER_SIZE);  // of no height and depth
}

// The calls of CUDA 3: the function keeps the block's size and the parameters.
TEST_F(Launches, Of_the_first_releases_take_what_the_function_keeps) {
  CUdeviceptr to = memory();
  const CUfunction write = kernel("write");
  EXPECT_ANSWER(driver().cuFuncSetBlockShape(write, 1025, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuFuncSetBlockShape(write, 1, 1, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuFuncSetSharedSize(write, 49153), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuFuncSetSharedSize(write, 49152), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuParamSetv(write, 0, &to, sizeof to), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuParamSeti(write, sizeof to, 31), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuParamSetSize(write, 32765), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuParamSetSize(write, 32764), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuLaunch(write), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_ANSWER(driver().cuParamSetSize(write, 12), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuLaunch(write), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 31u);
}

// ---- Functions and streams ----

STATEMENT(Launches, Need_a_function,
          driver().cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
          CUDA_ERROR_INVALID_HANDLE)

TEST_F(Launches, Need_a_context) {
  const CUfunction empty = kernel("empty");
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
                CUDA_ERROR_INVALID_CONTEXT);
  NEED(driver().cuCtxSetCurrent(context));
}

TEST_F(Launches, Run_in_the_order_of_the_stream) {
  CUdeviceptr to = memory();
  const CUstream work = stream();
  const CUfunction write = kernel("write");
  for (unsigned value = 1; value <= 10; ++value) {
    void *arguments[] = {&to, &value};
    NEED(driver().cuLaunchKernel(write, 1, 1, 1, 1, 1, 1, 0, work, arguments, nullptr));
  }
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_VALUE(word(to), 10u);
}

TEST_F(Launches, Come_after_what_holds_the_stream) {
  CUdeviceptr to = memory();
  NEED(driver().cuMemsetD32(to, 0, 1));
  NEED(driver().cuCtxSynchronize());  // the stream does not wait for the null stream
  const CUstream work = stream();
  Hold held = hold(work);
  unsigned value = 5;
  void *arguments[] = {&to, &value};
  EXPECT_ANSWER(driver().cuLaunchKernel(kernel("write"), 1, 1, 1, 1, 1, 1, 0, work, arguments, nullptr),
                CUDA_SUCCESS);
  value = 6;  // the call has already copied the arguments
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 5u);
}

TEST_F(Launches, Run_each_thread_once) {
  CUdeviceptr to = memory();
  NEED(driver().cuMemsetD32(to, 0, 1));
  EXPECT_ANSWER(launch(kernel("count_threads"), {&to}, 100, 96), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 9600u);
}

TEST_F(Launches, See_the_variables_of_the_module) {
  CUdeviceptr to = memory();
  EXPECT_ANSWER(launch(kernel("read_variables"), {&to}), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 7u + 11u + 5u);
  NEED(driver().cuModuleGetGlobal(&pointer, &size, module, "number"));
  NEED(driver().cuMemsetD32(pointer, 100, 1));
  EXPECT_ANSWER(launch(kernel("read_variables"), {&to}), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 100u + 11u + 5u);
}

TEST_F(Launches, Write_to_pinned_memory) {
  auto *const host_word = static_cast<volatile unsigned *>(pinned());
  CUdeviceptr to = address_of(const_cast<unsigned *>(host_word));
  unsigned value = 77;
  EXPECT_ANSWER(launch(kernel("write"), {&to, &value}), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<unsigned>(*host_word), 77u);
}

// ---- Arguments ----

TEST_F(Launches, Need_arguments_if_the_kernel_has_parameters) {
  EXPECT_ANSWER(driver().cuLaunchKernel(kernel("write"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}

class LaunchesWithBuffer : public OnModule {
 public:
  struct Buffer {
    CUdeviceptr to;
    unsigned value;
  };
  CUresult launch_with(std::size_t bytes, void *first = CU_LAUNCH_PARAM_BUFFER_POINTER,
                       void **pointers = nullptr) {
    Buffer buffer{memory(), 9};
    void *extra[] = {first, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    to = buffer.to;
    const CUresult code =
        driver().cuLaunchKernel(kernel("write"), 1, 1, 1, 1, 1, 1, 0, nullptr, pointers, extra);
    NEED(driver().cuCtxSynchronize());
    return code;
  }
  CUdeviceptr to = 0;
};

TEST_F(LaunchesWithBuffer, Take_the_arguments_from_it) {
  EXPECT_ANSWER(launch_with(12), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 9u);
}
STATEMENT(LaunchesWithBuffer, May_give_less_than_the_parameters, launch_with(11), CUDA_SUCCESS)
STATEMENT(LaunchesWithBuffer, Give_no_more_than_the_parameters, launch_with(20),
          CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
STATEMENT(LaunchesWithBuffer, Know_its_keys, launch_with(12, reinterpret_cast<void *>(7)),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(LaunchesWithBuffer, Take_no_pointers_besides) {
  void *pointers[] = {&to, &to};
  EXPECT_ANSWER(launch_with(12, CU_LAUNCH_PARAM_BUFFER_POINTER, pointers), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(LaunchesWithBuffer, Need_one_if_the_kernel_has_parameters) {
  void *extra[] = {CU_LAUNCH_PARAM_END};
  EXPECT_ANSWER(driver().cuLaunchKernel(kernel("write"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuLaunchKernel(kernel("empty"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
                CUDA_SUCCESS);
}

// ---- Cooperative launches ----

TEST_F(Launches, Of_blocks_that_fit_are_cooperative) {
  EXPECT_ANSWER(driver().cuLaunchCooperativeKernel(kernel("empty"), 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr),
                CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(Launches, On_several_devices_are_cooperative) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  CUDA_LAUNCH_PARAMS one{};
  one.function = kernel("empty");
  one.gridDimX = one.gridDimY = one.gridDimZ = 1;
  one.blockDimX = one.blockDimY = one.blockDimZ = 1;
  one.hStream = stream();
  EXPECT_ANSWER(driver().cuLaunchCooperativeKernelMultiDevice(&one, 1, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuLaunchCooperativeKernelMultiDevice(&one, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuLaunchCooperativeKernelMultiDevice(&one, 1, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuLaunchCooperativeKernelMultiDevice(nullptr, 1, 0), CUDA_ERROR_INVALID_VALUE);
  one.hStream = nullptr;
  EXPECT_ANSWER(driver().cuLaunchCooperativeKernelMultiDevice(&one, 1, 0), CUDA_ERROR_INVALID_HANDLE);
}
// The barrier of a grid as cooperative_groups of the CUDA headers makes it, but with atomic loads: the thread
// sanitizer reports volatile loads of a kernel beside atomic operations.
TEST_F(Launches, That_are_cooperative_have_a_barrier_of_the_grid) {
  const std::string code = kHeader + R"(.visible .entry meet(.param .u64 to) {
  .reg .pred p; .reg .u32 n, old, now, block, blocks; .reg .u64 a, at, low, high;
  mov.u32 n, %envreg2; cvt.u64.u32 low, n;
  mov.u32 n, %envreg1; cvt.u64.u32 high, n;
  bfi.b64 at, high, low, 32, 32;
  setp.ne.u64 p, at, 0; @p bra there; trap;
there:
  ld.param.u64 a, [to];
  atom.global.add.u32 n, [a], 1;
  mov.u32 block, %ctaid.x; mov.u32 blocks, %nctaid.x;
  setp.eq.u32 p, block, 0;
  sub.u32 n, 0x80000001, blocks;
  selp.b32 n, n, 1, p;
  membar.gl;
  atom.add.u32 old, [at+4], n;
again:
  atom.or.b32 now, [at+4], 0;
  xor.b32 now, now, old;
  setp.gt.s32 p, now, -1; @p bra again;
  atom.global.or.b32 n, [a], 0;
  setp.eq.u32 p, n, blocks; @p bra all;
  trap;
all: ret; })";
  CUfunction meet = nullptr;
  NEED(driver().cuModuleLoadData(&module_out, code.c_str()));
  NEED(driver().cuModuleGetFunction(&meet, module_out, "meet"));
  CUdeviceptr to = memory();
  NEED(driver().cuMemsetD8(to, 0, 4));
  void *arguments[] = {&to};
  EXPECT_ANSWER(driver().cuLaunchCooperativeKernel(meet, 4, 1, 1, 1, 1, 1, 0, nullptr, arguments),
                CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  driver().cuModuleUnload(module_out);
}

TEST_F(Launches, Of_more_blocks_than_fit_are_not_cooperative) {
  EXPECT_ANSWER(
      driver().cuLaunchCooperativeKernel(kernel("empty"), 100000, 1, 1, 32, 1, 1, 0, nullptr, nullptr),
      CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

// ---- Faults: each in a new process, whose context is lost ----

TEST_F(Launches, Beyond_memory_lose_the_context) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(
      driver().cuLaunchKernel(kernel("beyond_memory"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
      CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_ANSWER(driver().cuModuleUnload(module), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_ANSWER(driver().cuModuleLoadData(&module_out, kHeader.c_str()), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_ANSWER(driver().cuModuleGetFunction(&function_out, module, "empty"), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(Launches, That_are_misaligned_lose_the_context) {
  CUSHIM_IN_A_FRESH_PROCESS();
  CUdeviceptr to = memory();
  const CUfunction empty = kernel("empty");
  EXPECT_ANSWER(launch(kernel("misaligned"), {&to}), CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_ANSWER(launch(empty), CUDA_ERROR_MISALIGNED_ADDRESS);
}

TEST_F(Launches, That_trap_lose_the_context) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUfunction empty = kernel("empty");
  EXPECT_ANSWER(launch(kernel("traps")), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_ANSWER(launch(empty), CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace
}  // namespace conformance
