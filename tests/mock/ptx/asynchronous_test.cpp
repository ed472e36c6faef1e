// SPDX-License-Identifier: Apache-2.0
// mbarrier objects, asynchronous copies and clusters.
#include <numeric>

#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

// Returns a kernel of the parameters `in` and `out` whose body has %t (thread), %c (block), %in and %out.
std::string kernel(std::string_view body) {
  std::string text{testing::header};
  text += R"(.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<16>, %t, %c; .reg .b64 %rd<16>, %in, %out;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x;
)";
  text += body;
  return text + "\n  ret;\n}\n";
}

std::vector<std::uint32_t> counted(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1u);
  return values;
}

// Runs the kernel without and with checks, and returns `count` words of its output. The checks find nothing.
std::vector<std::uint32_t> results(std::string_view body, const LaunchShape &shape, std::size_t count,
                                   bool is_checked = false) {
  if (!is_checked) static_cast<void>(results(body, shape, count, true));
  Loaded loaded(kernel(body));
  // Some kernels rely on zeros in memory that nothing has written.
  if (is_checked) loaded.enable({Check::memory, Check::races, Check::barriers});
  EXPECT_EQ(loaded.refused, "");
  const auto in = loaded.memory.add(counted(1024)), out = loaded.memory.add(count * 4);
  loaded.limits.instructions = 1'000'000;
  const LaunchResult result = loaded.run("k", shape, in, out);
  EXPECT_TRUE(result) << name(result.fault.kind) << " line " << result.fault.line << " "
                      << result.fault.message;
  EXPECT_EQ(loaded.found(), "");
  return loaded.memory.get<std::uint32_t>(out, count);
}

LaunchShape threads(std::uint32_t block, std::uint32_t grid = 1, std::uint32_t cluster = 1) {
  LaunchShape shape;
  shape.block.x = block;
  shape.grid.x = grid;
  shape.cluster.x = cluster;
  return shape;
}

TEST(Mbarrier, APhaseCompletesWhenAllThreadsHaveArrived) {
  const auto out = results(R"(
  .shared .align 8 .b64 m; .shared .b32 values[64];
  setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [m], 64; bar.sync 0;
  mov.u32 %r1, values; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %t;
  mbarrier.arrive.shared.b64 %rd1, [m];
WAIT: mbarrier.try_wait.shared.b64 %p2, [m], %rd1; @!%p2 bra WAIT;
  sub.u32 %r3, 63, %t; mad.lo.u32 %r3, %r3, 4, %r1; ld.shared.u32 %r4, [%r3];
  mad.wide.u32 %rd2, %t, 4, %out; st.global.u32 [%rd2], %r4;
)",
                           threads(64), 64);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 63 - i);
}

TEST(Mbarrier, TheParityOfAPhaseAlternates) {
  const auto out = results(R"(
  .shared .align 8 .b64 m;
  mbarrier.init.shared.b64 [m], 1;
  mbarrier.test_wait.parity.shared.b64 %p1, [m], 1; mbarrier.test_wait.parity.shared.b64 %p2, [m], 0;
  mbarrier.arrive.shared.b64 %rd1, [m]; mbarrier.test_wait.parity.shared.b64 %p3, [m], 0;
  mbarrier.arrive.shared.b64 _, [m]; mbarrier.test_wait.parity.shared.b64 %p4, [m], 0;
  selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; selp.u32 %r3, 4, 0, %p3; selp.u32 %r4, 8, 0, %p4;
  or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3; or.b32 %r1, %r1, %r4; mbarrier.pending_count.b64 %r5, %rd1;
  st.global.v2.u32 [%out], {%r1, %r5};
)",
                           threads(1), 2);
  EXPECT_EQ(out, (std::vector<std::uint32_t>{1 | 4, 1}));
}

TEST(Mbarrier, ADroppedThreadIsNotExpectedInTheNextPhase) {
  const auto out = results(R"(
  .shared .align 8 .b64 m;
  mbarrier.init.shared.b64 [m], 2; mbarrier.arrive_drop.shared.b64 %rd1, [m]; mbarrier.arrive.shared.b64 %rd1, [m];
  mbarrier.arrive.shared.b64 %rd2, [m]; mbarrier.test_wait.shared.b64 %p1, [m], %rd2; selp.u32 %r1, 1, 0, %p1;
  st.global.u32 [%out], %r1;
)",
                           threads(1), 1);
  EXPECT_EQ(out[0], 1u);
}

TEST(BulkCopy, CompletesTheBytesThatAnMbarrierExpects) {
  const auto out = results(R"(
  .shared .align 16 .b8 tile[256]; .shared .align 8 .b64 m;
  setp.eq.u32 %p1, %t, 0; @!%p1 bra WAIT;
  mbarrier.init.shared.b64 [m], 1; fence.mbarrier_init.release.cluster; mov.u32 %r1, tile; mov.u32 %r2, m;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [m], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in], 256, [%r2];
WAIT: bar.sync 0;
LOOP: mbarrier.try_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra LOOP;
  mov.u32 %r3, tile; mad.lo.u32 %r3, %t, 4, %r3; ld.shared.u32 %r4, [%r3]; add.u32 %r4, %r4, 1;
  st.shared.u32 [%r3], %r4; fence.proxy.async.shared::cta; bar.sync 0; @!%p1 bra DONE;
  cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 128;
  add.s64 %rd3, %out, 128; add.u32 %r5, %r1, 128;
  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd3], [%r5], 128;
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
DONE:
)",
                           threads(64), 64);
  std::vector<std::uint32_t> expected = counted(65);
  expected.erase(expected.begin());
  EXPECT_EQ(out, expected);
}

TEST(BulkCopy, AMisalignedAddressIsAFault) {
  Loaded loaded(kernel(R"(
  .shared .align 16 .b8 tile[64]; .shared .align 8 .b64 m; mov.u32 %r1, tile; mov.u32 %r2, m; add.u64 %in, %in, 4;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in], 32, [%r2];
)"));
  const auto in = loaded.memory.add(64), out = loaded.memory.add(64);
  EXPECT_EQ(loaded.run("k", {}, in, out).fault.kind, FaultKind::misaligned_address);
}

TEST(AsynchronousCopy, FillsTheRestWithZeros) {
  const auto out = results(R"(
  .shared .align 16 .b8 tile[64]; mov.u32 %r1, tile; mov.u32 %r2, 8;
  cp.async.ca.shared.global [%r1], [%in], 16, %r2; cp.async.cg.shared.global [%r1+16], [%in+16], 16;
  cp.async.commit_group; cp.async.wait_group 0;
  ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1]; st.global.v4.u32 [%out], {%r3, %r4, %r5, %r6};
  ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1+16]; st.global.v4.u32 [%out+16], {%r3, %r4, %r5, %r6};
)",
                           threads(1), 8);
  EXPECT_EQ(out, (std::vector<std::uint32_t>{1, 2, 0, 0, 5, 6, 7, 8}));
}

TEST(AsynchronousCopy, IgnoresTheSourceIfAPredicateIsTrue) {
  const auto out = results(R"(
  .shared .align 16 .b8 tile[64]; mov.u32 %r1, tile; setp.eq.u32 %p1, %r1, %r1;
  cp.async.ca.shared.global [%r1], [%in], 8, %p1; cp.async.ca.shared.global [%r1+8], [%in+8], 8, !%p1;
  cp.async.commit_group; cp.async.wait_group 0;
  ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1]; st.global.v4.u32 [%out], {%r3, %r4, %r5, %r6};
)",
                           threads(1), 4);
  EXPECT_EQ(out, (std::vector<std::uint32_t>{0, 0, 3, 4}));
}

// Each block writes to the shared memory of the next block of its cluster.
constexpr std::string_view ring = R"(
  .shared .align 4 .b32 box; .shared .align 8 .b64 m;
  mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; add.u32 %r3, %r1, 1; rem.u32 %r3, %r3, %r2;
  mov.u32 %r4, box; mapa.shared::cluster.u32 %r5, %r4, %r3;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  mul.lo.u32 %r6, %c, 10; st.shared::cluster.u32 [%r5], %r6;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
  ld.shared.u32 %r7, [box]; getctarank.shared::cluster.u32 %r8, %r5; mad.lo.u32 %r7, %r8, 1000, %r7;
  mad.wide.u32 %rd1, %c, 4, %out; st.global.u32 [%rd1], %r7;
)";

TEST(Clusters, BlocksWriteToTheSharedMemoryOfOthers) {
  const auto out = results(ring, threads(32, 8, 4), 8);
  for (std::uint32_t block = 0; block < 8; ++block) {
    const std::uint32_t before = block / 4 * 4 + (block + 3) % 4, after = (block + 1) % 4;
    EXPECT_EQ(out[block], before * 10 + after * 1000) << block;
  }
}

TEST(Clusters, ALaunchWithoutClustersHasClustersOfOneBlock) {
  const auto out = results(ring, threads(32, 3), 3);
  for (std::uint32_t block = 0; block < 3; ++block) EXPECT_EQ(out[block], block * 10);
}

TEST(Clusters, AKernelMayRequireTheSizeOfItsClusters) {
  std::string text =
      kernel("mov.u32 %r1, %cluster_nctarank; mad.wide.u32 %rd1, %c, 4, %out; st.global.u32 [%rd1], %r1;");
  text.insert(text.find("{\n"), ".reqnctapercluster 2 ");
  Loaded loaded(text);
  ASSERT_EQ(loaded.refused, "");
  const auto in = loaded.memory.add(64), out = loaded.memory.add(16);
  ASSERT_TRUE(loaded.run("k", threads(1, 4), in, out));
  EXPECT_EQ(loaded.memory.get<std::uint32_t>(out, 4), (std::vector<std::uint32_t>{2, 2, 2, 2}));
}

TEST(Clusters, GenericAddressesReachTheSharedMemoryOfOthers) {
  const auto out = results(R"(
  .shared .align 4 .b32 box; mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;
  mov.u64 %rd1, box; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd2, %rd1, %r2;
  barrier.cluster.arrive; barrier.cluster.wait;
  atom.add.u32 %r3, [%rd2], %t;
  barrier.cluster.arrive; barrier.cluster.wait;
  setp.ne.u32 %p1, %t, 0; @%p1 ret;
  ld.u32 %r4, [%rd1]; mad.wide.u32 %rd3, %c, 4, %out; st.global.u32 [%rd3], %r4;
)",
                           threads(64, 2, 2), 2);
  EXPECT_EQ(out, (std::vector<std::uint32_t>{64 * 63 / 2, 64 * 63 / 2}));
}

TEST(Clusters, AMulticastCopyReachesEveryBlockOfItsMask) {
  const auto out = results(R"(
  .shared .align 16 .b8 tile[64]; .shared .align 8 .b64 m; mov.u32 %r1, tile; mov.u32 %r2, m;
  mbarrier.init.shared.b64 [m], 1; mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [m], 16;
  barrier.cluster.arrive; barrier.cluster.wait;
  mov.u32 %r3, %cluster_ctarank; setp.ne.u32 %p1, %r3, 0; mov.u16 %h1, 3;
  @!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%in], 16, [%r2], %h1;
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra WAIT;
  ld.shared.u32 %r4, [tile+12]; mad.wide.u32 %rd3, %c, 4, %out; st.global.u32 [%rd3], %r4;
)",
                           threads(1, 4, 2), 4);
  EXPECT_EQ(out, (std::vector<std::uint32_t>{4, 4, 4, 4}));
}

TEST(Clusters, AnAddressBeyondTheClusterIsAFault) {
  Loaded loaded(kernel(R"(
  .shared .align 4 .b32 box; mov.u32 %r1, box; mov.u32 %r2, 2; mapa.shared::cluster.u32 %r3, %r1, %r2;
  st.shared::cluster.u32 [%r3], %r2;
)"));
  const auto in = loaded.memory.add(64), out = loaded.memory.add(64);
  EXPECT_EQ(loaded.run("k", threads(1, 2, 2), in, out).fault.kind, FaultKind::illegal_address);
}

TEST(Clusters, AGridThatItsClustersDoNotDivideIsRefused) {
  Loaded loaded(kernel(""));
  const auto in = loaded.memory.add(64), out = loaded.memory.add(64);
  EXPECT_EQ(loaded.run("k", threads(1, 3, 2), in, out).fault.message, "no such cluster");
}

TEST(Stack, AllocaGivesEachThreadItsOwnMemory) {
  const auto out = results(R"(
  stacksave.u64 %rd5; mov.u64 %rd1, 64; alloca.u64 %rd2, %rd1, 16; alloca.u64 %rd3, %rd1;
  st.local.u32 [%rd2], %t; st.local.u32 [%rd3+60], 7; ld.local.u32 %r1, [%rd2]; ld.local.u32 %r2, [%rd3+60];
  add.u32 %r1, %r1, %r2; stackrestore.u64 %rd5; alloca.u64 %rd4, %rd1, 16; setp.ne.u64 %p1, %rd2, %rd4;
  @%p1 mov.u32 %r1, 0; mad.wide.u32 %rd6, %t, 4, %out; st.global.u32 [%rd6], %r1;
)",
                           threads(32), 32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i + 7);
}

TEST(Arithmetic, PairsOfFloatsAreAddedHalfByHalf) {
  std::string text = kernel(R"(
  ld.global.u64 %rd1, [%in]; ld.global.u64 %rd2, [%in+8]; fma.rn.f32x2 %rd3, %rd1, %rd2, %rd1;
  add.rz.ftz.f32x2 %rd3, %rd3, %rd2; st.global.u64 [%out], %rd3;
)");
  text.replace(text.find("sm_90a"), 6, "sm_100");
  Loaded loaded(text);
  ASSERT_EQ(loaded.refused, "");
  const auto in = loaded.memory.add(std::vector<float>{1.5f, -2, 4, 0.25f}), out = loaded.memory.add(16);
  ASSERT_TRUE(loaded.run("k", {}, in, out));
  EXPECT_EQ(loaded.memory.get<float>(out, 2),
            (std::vector<float>{1.5f * 4 + 1.5f + 4, -2 * 0.25f - 2 + 0.25f}));
}

}  // namespace
}  // namespace cushim::ptx
