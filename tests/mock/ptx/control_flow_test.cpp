// SPDX-License-Identifier: Apache-2.0
// Branches, calls, lanes and warps that wait for each other, and faults.
#include "thread_kernel.hpp"

#include <numeric>

namespace cushim::ptx::testing {
namespace {

TEST(Execution, DivergentBranchesReconverge) {
  const auto in = numbers(64);
  const auto out = computed(R"(
  and.b32 %r4, %r1, 3;
  setp.eq.u32 %p1, %r4, 0;
  @%p1 bra ZERO;
  setp.eq.u32 %p1, %r4, 1;
  @%p1 bra ONE;
  add.u32 %r3, %r2, 7;
  bra DONE;
ZERO: mul.lo.u32 %r3, %r2, 3; bra DONE;
ONE: sub.u32 %r3, %r2, 9;
DONE: activemask.b32 %r5; add.u32 %r3, %r3, %r5;
)",
                            in);
  for (std::size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(out[i], (i % 4 == 0 ? in[i] * 3 : i % 4 == 1 ? in[i] - 9 : in[i] + 7) + 0xffffffffu);
}

TEST(Execution, LoopsOfDifferentLengthReconverge) {
  const auto in = numbers(70);
  const auto out = computed(R"(
  mov.u32 %r3, 0; and.b32 %r4, %r2, 31;
LOOP: setp.eq.u32 %p1, %r4, 0; @%p1 bra DONE;
  add.u32 %r3, %r3, %r4; sub.u32 %r4, %r4, 1; bra LOOP;
DONE: activemask.b32 %r5; popc.b32 %r5, %r5; shl.b32 %r5, %r5, 16; or.b32 %r3, %r3, %r5;
)",
                            in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint32_t n = in[i] & 31, active = i < 64 ? 32 : 6;
    EXPECT_EQ(out[i], n * (n + 1) / 2 | active << 16) << i;
  }
}

TEST(Execution, LanesOfAWarpThatTakeALockInTurnGoOn) {
  const auto in = numbers(64);
  const auto out = computed(R"(
TRY: atom.global.cas.b32 %r4, [lock], 0, 1;
  setp.ne.u32 %p1, %r4, 0; @%p1 bra TRY;
  ld.global.u32 %r5, [count]; add.u32 %r6, %r5, 1; st.global.u32 [count], %r6;
  membar.gl;
  atom.global.exch.b32 %r7, [lock], 0;
  mov.u32 %r3, %r5;
)",
                            in, ".global .u32 lock; .global .u32 count;");
  std::vector<std::uint32_t> sorted = out, all(64);
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(sorted, all);
}

// Lanes that have taken the lock wait in a join, others for the lock, others for the count.
TEST(Execution, LanesOfAWarpThatWaitInSeveralLoopsGoOn) {
  const auto in = numbers(64);
  const auto out = computed(R"(
TRY: atom.global.cas.b32 %r4, [lock], 0, 1;
  setp.ne.u32 %p1, %r4, 0; @%p1 bra TRY;
  atom.global.exch.b32 %r7, [lock], 0;
  atom.global.add.u32 %r5, [count], 1;
WAIT: ld.volatile.global.u32 %r5, [count];
  setp.ne.u32 %p1, %r5, 64; @%p1 bra WAIT;
  mov.u32 %r3, %r5;
)",
                            in, ".global .u32 lock; .global .u32 count;");
  EXPECT_EQ(out, std::vector<std::uint32_t>(64, 64));
}

TEST(Execution, RecursionGoesAsDeepAsEachLaneNeeds) {
  const auto in = numbers(40);
  const auto out = computed(R"(
  { .param .b32 p0; .param .b32 r0; and.b32 %r4, %r1, 15; st.param.b32 [p0], %r4;
  call.uni (r0), fib, (p0); ld.param.b32 %r3, [r0]; }
)",
                            in, R"(.func (.param .b32 r) fib(.param .b32 n) {
  .reg .pred %p<2>; .reg .b32 %r<8>;
  ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 2; @%p1 bra SMALL;
  sub.u32 %r2, %r1, 1;
  { .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %r2; call (r0), fib, (p0); ld.param.b32 %r3, [r0]; }
  sub.u32 %r2, %r1, 2;
  { .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %r2; call (r0), fib, (p0); ld.param.b32 %r4, [r0]; }
  add.u32 %r5, %r3, %r4; st.param.b32 [r], %r5; ret;
SMALL: st.param.b32 [r], %r1; ret;
})");
  std::uint32_t fib[16] = {0, 1};
  for (int i = 2; i < 16; ++i) fib[i] = fib[i - 1] + fib[i - 2];
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], fib[i & 15]);
}

TEST(Execution, FunctionPointersCallWhatEachLaneNames) {
  const auto in = numbers(64);
  const auto out = computed(R"(
  { .param .b32 p0; .param .b32 r0; mov.u64 %rd4, functions; and.b32 %r4, %r1, 1; mul.wide.u32 %rd5, %r4, 8;
  add.s64 %rd4, %rd4, %rd5; ld.global.u64 %rd6, [%rd4]; st.param.b32 [p0], %r2;
  prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
  call (r0), %rd6, (p0), prototype; ld.param.b32 %r3, [r0]; }
)",
                            in, R"(
.func (.param .b32 r) twice(.param .b32 n) { .reg .b32 %r<3>; ld.param.u32 %r1, [n]; shl.b32 %r2, %r1, 1;
  st.param.b32 [r], %r2; ret; }
.func (.param .b32 r) next(.param .b32 n) { .reg .b32 %r<3>; ld.param.u32 %r1, [n]; add.u32 %r2, %r1, 1;
  st.param.b32 [r], %r2; ret; }
.global .align 8 .u64 functions[2] = {twice, next};)");
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], i % 2 == 0 ? in[i] * 2 : in[i] + 1);
}

TEST(Execution, ShufflesReduceAWarp) {
  const auto in = numbers(64);
  const auto out = computed(R"(
  mov.u32 %r3, %r2;
  shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1; add.u32 %r3, %r3, %r4;
  shfl.sync.bfly.b32 %r4, %r3, 8, 31, -1; add.u32 %r3, %r3, %r4;
  shfl.sync.bfly.b32 %r4, %r3, 4, 31, -1; add.u32 %r3, %r3, %r4;
  shfl.sync.bfly.b32 %r4, %r3, 2, 31, -1; add.u32 %r3, %r3, %r4;
  shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1; add.u32 %r3, %r3, %r4;
)",
                            in);
  for (std::size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(out[i], std::accumulate(in.begin() + (i & 32), in.begin() + (i & 32) + 32, 0u));
}

// Tiles of 8 lanes, as cooperative groups vote: each lane names the lanes of its tile.
TEST(Execution, LanesThatNameDifferentMembersVoteInGroups) {
  const auto in = numbers(64);
  const auto out = computed(R"(
  and.b32 %r4, %r1, 24; mov.u32 %r5, 255; shl.b32 %r5, %r5, %r4;
  and.b32 %r6, %r2, 4; setp.ne.u32 %p1, %r6, 0;
  vote.sync.ballot.b32 %r3, %p1, %r5;
)",
                            in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::uint32_t votes = 0;
    for (std::size_t lane = i / 8 * 8; lane < i / 8 * 8 + 8; ++lane)
      votes |= (in[lane] >> 2 & 1) << lane % 32;
    EXPECT_EQ(out[i], votes) << i;
  }
}

TEST(Execution, LanesMeetInShufflesOfDivergentPaths) {
  const auto in = numbers(32);
  const auto out = computed(R"(
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra LOW;
  vote.sync.ballot.b32 %r3, 1, 0xffff0000;
  bra DONE;
LOW: vote.sync.ballot.b32 %r3, 1, 0xffff;
DONE: vote.sync.any.pred %p2, %p1, -1; selp.u32 %r4, 1, 0, %p2; xor.b32 %r3, %r3, %r4;
)",
                            in);
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], (i < 16 ? 0xffffu : 0xffff0000u) ^ 1);
}

TEST(Execution, BarriersOrderSharedMemoryOfABlock) {
  const auto in = numbers(256);
  const auto out = computed(R"(
  mov.u32 %r4, tile; shl.b32 %r5, %r1, 2; add.u32 %r6, %r4, %r5;
  st.shared.u32 [%r6], %r2;
  bar.sync 0;
  sub.u32 %r7, 1020, %r5; add.u32 %r7, %r4, %r7;
  ld.shared.u32 %r3, [%r7];
)",
                            in, ".shared .align 4 .b8 tile[1024];");
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], in[255 - i]);
}

TEST(Execution, ABarrierReducesPredicates) {
  const auto in = numbers(128);
  const auto out = computed(R"(
  setp.lt.u32 %p1, %r1, 100;
  barrier.cta.red.popc.u32 %r3, 0, %p1;
  barrier.cta.red.and.pred %p2, 1, %p1; barrier.cta.red.or.pred %p3, 1, %p1;
  selp.u32 %r4, 256, 0, %p2; selp.u32 %r5, 512, 0, %p3; or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5;
)",
                            in);
  for (const auto one : out) EXPECT_EQ(one, 100u | 512u);
}

TEST(Execution, BlocksThatWaitForALaterBlockGoOn) {
  if (kFindsRaces) GTEST_SKIP() << "blocks wait for plain stores of others";
  Loaded loaded(with_header(R"(
.visible .entry k(.param .u64 count) {
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [count]; mov.u32 %r1, %nctaid.x;
  atom.global.add.u32 %r2, [%rd1], 1;
WAIT: ld.volatile.global.u32 %r3, [%rd1]; setp.lt.u32 %p1, %r3, %r1; @%p1 bra WAIT;
  add.s64 %rd2, %rd1, 4; red.global.add.u32 [%rd2], %r3;
  ret;
})"));
  for (const unsigned workers : {1u, 2u}) {
    loaded.limits.workers = workers;
    const auto count = loaded.memory.add(std::vector<std::uint32_t>(2));
    LaunchShape shape;
    shape.grid.x = 300;
    const LaunchResult result = loaded.run("k", shape, count);
    ASSERT_TRUE(result) << name(result.fault.kind);
    EXPECT_EQ(loaded.memory.get<std::uint32_t>(count, 2), (std::vector<std::uint32_t>{300, 300 * 300}));
  }
}

TEST(Execution, AWarpWaitsForAnotherWarpOfItsBlock) {
  const auto in = numbers(64);
  const auto out = computed(R"(
  setp.lt.u32 %p1, %r1, 32; @!%p1 bra WRITE;
WAIT: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p2, %r3, 0; @%p2 bra WAIT; bra DONE;
WRITE: mov.u32 %r3, 5; st.volatile.shared.u32 [flag], %r3;
DONE:
)",
                            in, ".shared .align 4 .u32 flag;");
  for (const auto one : out) EXPECT_EQ(one, 5u);
}

TEST(Execution, ABlockMayAccessAllSharedMemoryThatItGets) {
  const auto fault_at = [](unsigned offset) {
    Loaded loaded(thread_kernel("st.shared.u32 [word+" + std::to_string(offset) + "], %r1; mov.u32 %r3, 1;",
                                ".shared .align 4 .u32 word;"));
    const auto in = loaded.memory.add(numbers(1)), out = loaded.memory.add(4);
    return loaded.run("k", {}, in, out).fault.kind;
  };
  EXPECT_EQ(fault_at(124), FaultKind::none) << "it gets a multiple of 128 bytes";
  EXPECT_EQ(fault_at(128), FaultKind::illegal_address);
}

// Measured on an H200, driver 580.159.
TEST(Execution, AnAccessToTheSharedMemoryOfAnotherBlockWithoutAClusterIsAnIllegalInstruction) {
  const auto fault_at = [](const std::string &address, std::string_view access) {
    Loaded loaded(thread_kernel("mov.u32 %r4, " + address +
                                    "; cvt.u64.u32 %rd4, %r4; cvta.shared.u64 %rd4, %rd4; " +
                                    std::string{access} + " mov.u32 %r3, 1;",
                                ".shared .align 4 .u32 word;"));
    const auto in = loaded.memory.add(numbers(1)), out = loaded.memory.add(4);
    return loaded.run("k", {}, in, out).fault.kind;
  };
  for (const std::string_view access : {"st.volatile.shared.u32 [%r4], %r1;", "ld.shared.u32 %r5, [%r4];",
                                        "atom.shared.add.u32 %r5, [%r4], 1;", "st.u32 [%rd4], %r1;"}) {
    for (const char *const address : {"0x01fffffc", "0x02000400", "0xdeca1fe8"})
      EXPECT_EQ(fault_at(address, access), FaultKind::illegal_instruction) << access << address;
    for (const char *const address : {"0x00039000", "0x00040000", "0x00100000"})
      EXPECT_EQ(fault_at(address, access), FaultKind::illegal_address) << access << address;
  }
}

TEST(Execution, AnAccessOutOfBoundsNamesThreadAndLine) {
  Loaded loaded(
      thread_kernel("mov.u64 %rd4, 64;\n @%p1 ld.global.u32 %r4, [%rd4];\n setp.eq.u32 %p1, %r1, 5;\n"
                    "@%p1 ld.global.u32 %r3, [%rd4];"));
  const LaunchResult result = run_threads(loaded, 64);
  EXPECT_EQ(result.fault.kind, FaultKind::illegal_address);
  EXPECT_EQ(result.fault.thread.x, 5u);
  EXPECT_EQ(result.fault.address, 64u);
  EXPECT_EQ(result.fault.kernel, "k");
  EXPECT_NE(result.fault.line, 0u);
}

TEST(Execution, AMisalignedAccessIsAFault) {
  Loaded loaded(thread_kernel("ld.global.u32 %r3, [%rd1+2];"));
  const auto in = loaded.memory.add(numbers(64)), out = loaded.memory.add(256);
  EXPECT_EQ(loaded.run("k", {}, in, out).fault.kind, FaultKind::misaligned_address);
}

TEST(Execution, ATrapIsAFault) {
  Loaded loaded(thread_kernel("setp.eq.u32 %p1, %r1, 3; @%p1 trap; mov.u32 %r3, 0;"));
  const LaunchResult result = run_threads(loaded, 64);
  EXPECT_EQ(result.fault.kind, FaultKind::trap);
  EXPECT_EQ(result.fault.thread.x, 3u);
}

TEST(Execution, AnEndlessLoopEndsWithItsBudget) {
  Loaded loaded(thread_kernel("L: bra L;\n mov.u32 %r3, 0;"));
  loaded.limits.instructions = 100000;
  const auto in = loaded.memory.add(numbers(64)), out = loaded.memory.add(256);
  EXPECT_EQ(loaded.run("k", {}, in, out).fault.kind, FaultKind::instruction_budget);
}

TEST(Execution, EndlessRecursionOverflowsTheStack) {
  Loaded loaded(thread_kernel("call f; mov.u32 %r3, 0;", ".func f() { call f; ret; }"));
  const auto in = loaded.memory.add(numbers(64)), out = loaded.memory.add(256);
  EXPECT_EQ(loaded.run("k", {}, in, out).fault.kind, FaultKind::stack_overflow);
}

TEST(Execution, AnUnknownInstructionIsRefusedWithItsLine) {
  Loaded loaded(thread_kernel("multimem.red.add.e4m3x4 [%rd1], %r1;\n mov.u32 %r3, 0;"));
  EXPECT_FALSE(loaded.program);
  EXPECT_NE(loaded.refused.find("multimem.red"), std::string::npos) << loaded.refused;
}

}  // namespace
}  // namespace cushim::ptx::testing
