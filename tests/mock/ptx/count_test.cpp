// SPDX-License-Identifier: Apache-2.0
// Counts of kernels that can be counted by hand.
#include "count.hpp"

namespace cushim::ptx {
namespace {

using testing::Counted;
using testing::kWords;
using testing::Loaded;
using testing::strided;

TEST(Counts, OfALoopAreItsExecutionsAndLanes) {
  Counted counted(R"(
  ld.param.u32 %r1, [n];
  mov.u32 %r2, 0;
again:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, %r1;
  @%p1 bra again;
  ret;)");
  counted.run(3, 40, 10);  // 6 warps, of which 3 have 8 lanes
  counted.expect_executed("mov.u32", 6, 120);
  counted.expect_executed("add.u32", 60, 1200);
  EXPECT_EQ(counted.of("bra again").executions, 60u);
  EXPECT_EQ(counted.of("bra again").guarded_lanes, 1080u);  // not in the last iteration
  EXPECT_EQ(counted.of("bra again").divergent, 0u);
  EXPECT_EQ(counted.of("ret").executions, 6u);
}

TEST(Counts, OfADivergentBranchAreTheLanesOfEachSide) {
  Counted counted(R"(
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 5;
  @%p1 bra few;
  sub.u32 %r2, %r1, 1;
  bra done;
few:
  mul.lo.u32 %r2, %r1, 3;
done:
  xor.b32 %r3, %r2, 1;
  ret;)");
  counted.run(1, 64);  // the branch diverges in the first warp only
  EXPECT_EQ(counted.of("bra few").executions, 2u);
  EXPECT_EQ(counted.of("bra few").divergent, 1u);
  EXPECT_EQ(counted.of("bra few").guarded_lanes, 5u);
  counted.expect_executed("sub.u32", 2, 59);
  counted.expect_executed("mul.lo", 1, 5);
  counted.expect_executed("xor.b32", 2, 64);
}

TEST(Counts, OfAGuardedInstructionAreTheLanesOfTheGuard) {
  Counted counted(R"(
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 3;
  @!%p1 add.u32 %r2, %r1, 1;
  @%p1 st.global.u32 [%rd1], %r1;
  ret;)");
  counted.run(1, 32);
  EXPECT_EQ(counted.of("add.u32").active_lanes, 32u);
  EXPECT_EQ(counted.of("add.u32").guarded_lanes, 29u);
  EXPECT_EQ(counted.of("st.global").guarded_lanes, 3u);
  const AccessCounts stored = counted.global("st.global");
  EXPECT_EQ(stored.lanes, 3u);
  EXPECT_EQ(stored.written_bytes, 12u);
  EXPECT_EQ(stored.read_bytes, 0u);
}

TEST(Counts, OfAnIndexedBranchTellWhetherItDiverged) {
  Counted counted(R"(
  mov.u32 %r1, %tid.x;
  ld.param.u32 %r2, [n];
  and.b32 %r1, %r1, %r2;
targets: .branchtargets zero, one;
  brx.idx %r1, targets;
zero:
  sub.u32 %r3, %r1, 1;
  ret;
one:
  not.b32 %r3, %r1;
  ret;)");
  counted.run(1, 32, 1);
  EXPECT_EQ(counted.of("brx.idx").divergent, 1u);
  EXPECT_EQ(counted.of("sub.u32").active_lanes, 16u);
  EXPECT_EQ(counted.of("not.b32").active_lanes, 16u);
  counted.run(1, 32, 0);
  EXPECT_EQ(counted.of("brx.idx").divergent, 0u);
  EXPECT_EQ(counted.of("not.b32").executions, 0u);
}

TEST(Counts, OfBarriersAndCallsAreOnePerWarp) {
  Counted counted(R"(
  mov.u32 %r1, 1;
  bar.sync 0;
  call.uni twice, ();
  ret;)",
                  ".func twice() { .reg .b32 %a; mov.b32 %a, 2;\n ret; }\n");
  counted.run(2, 96);
  EXPECT_EQ(counted.of("bar.sync").executions, 6u);
  EXPECT_EQ(counted.of("mov.b32").executions, 6u);  // in the called function
}

TEST(Counts, TellTheClassOfEachInstruction) {
  const Counted counted(R"(
  ld.param.u64 %rd1, [out];
  add.s32 %r1, %r1, 1;
  fma.rn.f32 %f1, %f1, %f1, %f1;
  add.f64 %fd1, %fd1, %fd1;
  rsqrt.approx.f32 %f2, %f1;
  cvt.rn.f32.u32 %f3, %r1;
  setp.eq.s32 %p1, %r1, 0;
  ld.global.u32 %r2, [%rd1];
  red.global.add.u32 [%rd1], 1;
  bar.sync 0;
  shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;
  ret;)");
  using Class = InstructionClass;
  std::vector<Class> kinds;
  for (const InstructionInfo &info : counted.infos) kinds.push_back(info.kind);
  ASSERT_EQ(kinds, (std::vector{Class::parameter, Class::integer, Class::f32, Class::f64, Class::special,
                                Class::conversion, Class::compare, Class::load, Class::atomic, Class::barrier,
                                Class::warp, Class::control}));
  EXPECT_EQ(name(kinds[4]), "special");
}

TEST(Counts, AreTheSameForAnyNumberOfWorkers) {
  const std::string body = strided("global", "u32", 4, 2);
  Counted one(body, kWords), many(body, kWords);
  one.run(40, 64, 0, 1);
  many.run(40, 64, 0, 4);
  EXPECT_EQ(one.global("ld.global").transactions, 40u * 2 * 8);
  EXPECT_EQ(many.global("ld.global").transactions, 40u * 2 * 8);
  EXPECT_EQ(one.result.warp_instructions, many.result.warp_instructions);
}

TEST(Counts, AreTheSameIfOnlySomeBlocksAreSampled) {
  const std::string body = strided("global", "u32", 4, 8);
  Counted counted(body, kWords);
  counted.run(100, 64);
  std::vector<Diagnostic> diagnostics;
  const Program with_costs =
      compile(counted.loaded.module, {}, diagnostics, {.counts = false, .costs = true});
  const Sample sample{.program = with_costs, .clusters = 8, .l1_bytes = 1 << 17};
  const auto parameters = Counted::parameters(counted.loaded.memory.add(1 << 20), 0);
  const LaunchResult result = run(counted.loaded.program, "k", {{100}, {64}, {}}, parameters,
                                  counted.loaded.memory, {.sample = &sample});
  ASSERT_TRUE(result && result.costs);
  EXPECT_EQ(result.counts.back().executions, 200u);
  EXPECT_EQ(result.costs->blocks, 8u);
  EXPECT_EQ(result.costs->read_sectors, 8u * 64);
  // Without a sample, a program with costs only counts.
  EXPECT_EQ(run(with_costs, "k", {{100}, {64}, {}}, parameters, counted.loaded.memory).costs, nullptr);
}

TEST(Counts, ChangeNoResultAndNoNumberOfInstructions) {
  const std::string body = strided("shared", "u32", 4, 2);
  Counted counted(body, kWords);
  counted.run(2, 64);
  Loaded plain(Counted::text_of(body, kWords));
  const auto out = plain.memory.add(1 << 16);
  const LaunchResult result =
      run(plain.program, "k", {{2}, {64}, {}}, Counted::parameters(out, 0), plain.memory);
  EXPECT_TRUE(result.counts.empty());
  EXPECT_EQ(result.warp_instructions, counted.result.warp_instructions);
  std::uint64_t executions = 0;
  for (const InstructionCounts &one : counted.result.counts) executions += one.executions;
  EXPECT_EQ(executions, result.warp_instructions);
}

}  // namespace
}  // namespace cushim::ptx
