// SPDX-License-Identifier: Apache-2.0
// Kernels in the hazard checker: each defect with its corrected twin.
#include "support/kernels.hpp"
#include "hazards_found.hpp"
#include "support/ptx_header.hpp"

namespace cushim::check {
namespace {

// set() writes `count` numbers from `to + first` on; copy() reads as many from `from` and writes them to
// `to`.
constexpr const char *kKernels = CUSHIM_PTX_HEADER R"(
.visible .entry set(.param .u64 to, .param .u32 first, .param .u32 value)
{
  .reg .u32 %r<4>;
  .reg .u64 %d<4>;
  ld.param.u64 %d0, [to];
  ld.param.u32 %r0, [first];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  add.u32 %r2, %r2, %r0;
  mul.wide.u32 %d1, %r2, 4;
  add.u64 %d0, %d0, %d1;
  st.global.u32 [%d0], %r1;
  ret;
}
.visible .entry copy(.param .u64 to, .param .u64 from)
{
  .reg .u32 %r<4>;
  .reg .u64 %d<4>;
  ld.param.u64 %d0, [to];
  ld.param.u64 %d1, [from];
  mov.u32 %r2, %tid.x;
  mad.wide.u32 %d0, %r2, 4, %d0;
  mad.wide.u32 %d1, %r2, 4, %d1;
  ld.global.u32 %r1, [%d1];
  st.global.u32 [%d0], %r1;
  ret;
}
)";
constexpr std::size_t kCount = 256, kSize = kCount * 4;  // of the memory that a launch uses

class KernelHazards : public HazardsFound {
 protected:
  KernelHazards() {
    const CUmodule module = test::loaded_module(kKernels);
    set_ = test::kernel_of(module, "set");
    copy_ = test::kernel_of(module, "copy");
  }
  static void launch(CUfunction kernel, CUstream stream, std::vector<void *> parameters) {
    need(driver().cuLaunchKernel(kernel, 1, 1, 1, kCount, 1, 1, 0, stream, parameters.data(), nullptr));
  }
  void set(CUdeviceptr to, CUstream stream, unsigned first = 0) const {
    unsigned value = 7;
    launch(set_, stream, {&to, &first, &value});
  }
  void copy(CUdeviceptr to, CUdeviceptr from, CUstream stream) const { launch(copy_, stream, {&to, &from}); }
  // Two kernels and a copy read the memory.
  void read_by_three_streams() const {
    copy(other, memory, a);
    copy(running.memory(), memory, b);
    need(driver().cuMemcpyDtoDAsync(running.memory(), memory, kSize, running.stream()));
  }

  CUfunction set_ = nullptr, copy_ = nullptr;
};

TEST_F(KernelHazards, A_kernel_and_a_copy_without_order_are_reported_with_both_call_stacks) {
  set(memory, a);
  need(driver().cuMemcpyDtoDAsync(other, memory, kSize, b));
  EXPECT_EQ(found(), kUnordered);
  const Finding finding = checker.finish().front();
  const std::string text = finding.to_text();
  ASSERT_EQ(finding.calls.size(), 2u);
  EXPECT_EQ(finding.calls[0].role, "written by");
  EXPECT_EQ(finding.calls[0].text.substr(0, 40), "cuLaunchKernel (kernel set) in stream 1 ") << text;
  EXPECT_EQ(finding.calls[1].role, "read by");
  for (const Finding::Call &call : finding.calls) EXPECT_FALSE(call.call_stack.frames().empty());
  EXPECT_NE(text.find(" reads memory that stream 1 ("), text.npos) << text;
  EXPECT_NE(text.find("bytes from 0x"), text.npos) << text;
}
TEST_F(KernelHazards, A_kernel_and_a_copy_in_order_are_not_reported) {
  set(memory, a);
  order(a, b);
  need(driver().cuMemcpyDtoDAsync(other, memory, kSize, b));
  EXPECT_EQ(found(), kNone);
}

#if CUDA_VERSION >= 11080
TEST_F(KernelHazards, A_kernel_and_a_copy_ordered_by_an_event_of_the_launch_are_not_reported) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  attribute.value.programmaticEvent.event = running.event(CU_EVENT_DISABLE_TIMING);
  CUlaunchConfig configuration{};
  configuration.gridDimX = configuration.gridDimY = configuration.gridDimZ = 1;
  configuration.blockDimX = kCount;
  configuration.blockDimY = configuration.blockDimZ = 1;
  configuration.hStream = a;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  CUdeviceptr to = memory;
  unsigned first = 0, value = 7;
  void *parameters[] = {&to, &first, &value};
  need(driver().cuLaunchKernelEx(&configuration, set_, parameters, nullptr));
  need(driver().cuStreamWaitEvent(b, attribute.value.programmaticEvent.event, 0));
  need(driver().cuMemcpyDtoDAsync(other, memory, kSize, b));
  EXPECT_EQ(found(), kNone);
}
#endif

TEST_F(KernelHazards, A_set_before_a_kernel_without_order_is_reported) {
  need(driver().cuMemsetD8Async(memory, 0, kSize, a));
  copy(other, memory, b);
  EXPECT_EQ(found(), kUnordered);
}
TEST_F(KernelHazards, A_set_before_a_kernel_in_order_is_not_reported) {
  need(driver().cuMemsetD8Async(memory, 0, kSize, a));
  order(a, b);
  copy(other, memory, b);
  EXPECT_EQ(found(), kNone);
}

TEST_F(KernelHazards, Two_kernels_of_which_one_writes_are_reported) {
  set(memory, a);
  copy(other, memory, b);
  EXPECT_EQ(found(), kUnordered);
}
TEST_F(KernelHazards, Two_kernels_that_only_read_the_same_memory_are_not_reported) {
  read_by_three_streams();
  EXPECT_EQ(found(), kNone);
}

// The kernels get the beginning of the memory and the number of the first element, as in many examples of
// copies that overlap with kernels.
TEST_F(KernelHazards, Streams_that_work_on_different_parts_of_one_allocation_are_not_reported) {
  for (unsigned part = 0; part < 4; ++part) {
    const CUstream stream = part % 2 == 0 ? a : b;
    const CUdeviceptr at = memory + part * kSize;
    need(driver().cuMemcpyDtoDAsync(at, other + part * kSize, kSize, stream));
    set(memory, stream, part * kCount);
    need(driver().cuMemcpyDtoDAsync(other + part * kSize, at, kSize, stream));
  }
  EXPECT_EQ(found(), kNone);
}
TEST_F(KernelHazards, Streams_that_work_on_the_same_part_of_one_allocation_are_reported) {
  set(memory, a, 2 * kCount);
  need(driver().cuMemcpyDtoDAsync(other, memory, 2 * kSize, b));
  EXPECT_EQ(rules(), kNone);
  need(driver().cuMemcpyDtoDAsync(other, memory, 3 * kSize, b));
  EXPECT_EQ(found(), kUnordered);
}

TEST_F(KernelHazards, Of_several_kernels_without_order_each_that_uses_the_memory_is_reported) {
  for (unsigned part = 0; part < 4; ++part) set(memory, a, part * kCount);
  need(driver().cuMemcpyDtoDAsync(other, memory + kSize, kSize, b));
  EXPECT_EQ(found(), kUnordered);
  EXPECT_EQ(checker.finish().front().count, 1u);
}

TEST_F(KernelHazards, A_free_in_stream_order_before_the_end_of_a_kernel_is_reported) {
  CUdeviceptr pool = 0;
  need(driver().cuMemAllocAsync(&pool, kSize, a));
  order(a, b);
  set(pool, b);
  need(driver().cuMemFreeAsync(pool, a));
  EXPECT_EQ(found(), Names{"free-while-used"});
}
TEST_F(KernelHazards, A_free_in_stream_order_after_a_kernel_is_not_reported) {
  CUdeviceptr pool = 0;
  need(driver().cuMemAllocAsync(&pool, kSize, a));
  order(a, b);
  set(pool, b);
  order(b, a);
  need(driver().cuMemFreeAsync(pool, a));
  EXPECT_EQ(found(), kNone);
}

TEST_F(KernelHazards, A_kernel_that_never_ran_is_not_reported) {
  set(memory, a);
  need(driver().cuMemcpyDtoDAsync(other, memory, kSize, b));
  EXPECT_EQ(rules(), kNone);  // the schedule is deferred
  EXPECT_EQ(found(), kUnordered);
}

// ---- Kernels of which the driver records nothing: those in C++ ----

class CppKernels : public KernelHazards {
 protected:
  void register_set() {
    running.machine.kernel("set",
                           [](const sim::Launch &, unsigned *to, unsigned, unsigned value) { *to = value; });
    running.machine.kernel("copy",
                           [](const sim::Launch &, unsigned *to, const unsigned *from) { *to = *from; });
  }
};

TEST_F(CppKernels, A_pointer_that_is_not_to_const_is_a_write) {
  register_set();
  copy(other, memory, a);
  need(driver().cuMemcpyDtoDAsync(running.memory(), other, kSize, b));
  EXPECT_EQ(rules(), kUnordered);
  EXPECT_NE(words().find(" reads memory that stream 1 ("), std::string::npos) << words();
  EXPECT_NE(words().find("an address that the kernel gets"), std::string::npos) << words();
}
TEST_F(CppKernels, A_pointer_to_const_is_a_read) {
  register_set();
  read_by_three_streams();
  EXPECT_EQ(rules(), kNone);
}
TEST_F(CppKernels, A_kernel_and_the_work_before_it_give_one_finding) {
  register_set();
  need(driver().cuMemsetD8Async(memory, 0, kSize, a));
  set(memory, a);
  need(driver().cuMemcpyDtoDAsync(other, memory, kSize, b));
  EXPECT_EQ(rules(), kUnordered);
  EXPECT_NE(words().find("kernel set"), std::string::npos) << words();
}

// Numbers that are addresses: the checker does not know what the kernels do with them.
class UnknownKernels : public KernelHazards {
 protected:
  UnknownKernels() {
    running.machine.kernel("set", [](const sim::Launch &, CUdeviceptr, unsigned, unsigned) {});
    running.machine.kernel("copy", [](const sim::Launch &, CUdeviceptr, CUdeviceptr) {});
  }
  CUdeviceptr one_ = 0, two_ = 0;
};

TEST_F(UnknownKernels, Conflict_with_copies_and_sets) {
  set(memory, a);
  need(driver().cuMemcpyDtoDAsync(other, memory, kSize, b));
  EXPECT_EQ(rules(), kUnordered);
  EXPECT_NE(words().find(" reads memory that stream 1 ("), std::string::npos) << words();
  EXPECT_NE(words().find(" uses: 0x"), std::string::npos) << words();
}
TEST_F(UnknownKernels, Do_not_conflict_with_ordered_copies) {
  set(memory, a);
  order(a, b);
  need(driver().cuMemcpyDtoDAsync(other, memory, kSize, b));
  EXPECT_EQ(rules(), kNone);
}
TEST_F(UnknownKernels, Do_not_conflict_with_each_other) {
  set(memory, a);
  set(memory, b);
  EXPECT_EQ(rules(), kNone);
}
TEST_F(UnknownKernels, Conflict_with_copies_after_another_kernel) {
  set(memory, a);
  set(memory, b);
  need(driver().cuMemsetD8Async(memory, 0, kSize, running.stream()));
  EXPECT_EQ(rules().size(), 1u);
}

TEST_F(UnknownKernels, That_are_described_conflict_as_described) {
  const CUdeviceptr third = running.memory();
  const auto rules_with = [&](HazardOptions options, const std::function<void()> &work) {
    Hazards described(driver(), std::move(options));
    for (CUdeviceptr *const each : {&one_, &two_}) need(driver().cuMemAlloc(each, kSize));
    work();
    Names names;
    for (const Finding &finding : described.finish()) names.push_back(finding.rule);
    need(driver().cuCtxSynchronize());
    return names;
  };
  const HazardOptions copies{.kernels = {{"copy", {.reads = {1}, .writes = {0}}}}};
  EXPECT_EQ(rules_with(copies, [&] { copy(one_, two_, a), copy(third, one_, b); }), kUnordered);
  EXPECT_EQ(rules_with(copies, [&] { copy(one_, two_, a), copy(third, two_, b); }), kNone);
  const auto read_twice = [&] {
    copy(one_, two_, a);
    need(driver().cuMemcpyDtoDAsync(third, two_, kSize, b));
  };
  EXPECT_EQ(rules_with(copies, read_twice), kNone);
  EXPECT_EQ(rules_with({}, read_twice), kUnordered);
  EXPECT_EQ(rules_with({.checks_kernels = false}, read_twice), kNone);
}

}  // namespace
}  // namespace cushim::check
