// SPDX-License-Identifier: Apache-2.0
// The checks of running kernels: each defect with its corrected twin.
#include <numeric>

#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;
using Rules = std::vector<std::string_view>;

struct Findings {
  Rules rules;
  std::vector<KernelFinding> all;
  LaunchResult result;
  std::string text;
};

// Runs a kernel of the parameters `in` (1,024 numbers) and `out` (64 KiB, never written), with all checks.
// The body has %t (thread), %c (block), %in, %out, %addr (of the thread's word of `tile`) and %other (of the
// next thread's).
Findings found(std::string_view body, std::uint32_t threads = 64, std::uint32_t blocks = 1,
               std::uint32_t cluster = 1) {
  std::string text{testing::header};
  text += R"(.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<16>, %t, %c, %addr, %other; .reg .b64 %rd<16>, %in, %out;
  .shared .align 16 .b8 tile[4096]; .shared .align 8 .b64 bar; .local .align 4 .b8 own[16];
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x;
  mov.u32 %r1, tile; mad.lo.u32 %addr, %t, 4, %r1;
  mov.u32 %r3, %ntid.x; add.u32 %r2, %t, 1; rem.u32 %r2, %r2, %r3; mad.lo.u32 %other, %r2, 4, %r1;
)";
  text += body;
  Loaded loaded(text + "\n  ret;\n}\n");
  EXPECT_EQ(loaded.refused, "");
  loaded.enable();
  std::vector<std::uint32_t> numbers(1024);
  std::iota(numbers.begin(), numbers.end(), 1u);
  const auto in = loaded.memory.add(numbers), out = loaded.memory.add(1 << 16);
  loaded.limits.instructions = 10'000'000;
  LaunchShape shape;
  shape.block.x = threads;
  shape.grid.x = blocks;
  shape.cluster.x = cluster;
  Findings findings;
  findings.result = loaded.run("k", shape, in, out);
  findings.all = loaded.findings;
  findings.text = loaded.found();
  for (const KernelFinding &one : loaded.findings) findings.rules.push_back(one.rule);
  return findings;
}

// Returns the first finding, after the check that all are of this rule.
const KernelFinding &first_of(const Findings &findings, std::string_view rule) {
  EXPECT_EQ(findings.rules, Rules{rule}) << findings.text;
  return findings.all.at(0);
}

const Rules none;
#define EXPECT_RULES(wanted, ...)                         \
  do {                                                    \
    const Findings findings = found(__VA_ARGS__);         \
    EXPECT_EQ(findings.rules, (wanted)) << findings.text; \
  } while (false)

// ---- races in shared memory

constexpr std::string_view store_own = "st.shared.u32 [%addr], %t;\n";
constexpr std::string_view load_other = "ld.shared.u32 %r5, [%other];\n";

std::string text(std::initializer_list<std::string_view> parts) {
  return std::accumulate(parts.begin(), parts.end(), std::string(),
                         [](auto all, auto part) { return all += part; });
}

TEST(Races, AReadOfAnotherThreadsWriteWithoutBarrierIsReported) {
  const Findings findings = found(text({"mov.u32 %r5, 0;\n", "bar.sync 0;\n", store_own, load_other}), 128);
  ASSERT_EQ(findings.rules.front(), "write-read") << findings.text;
  const KernelFinding &race = findings.all.front();
  EXPECT_EQ(race.check, Check::races);
  EXPECT_EQ(race.space, MemorySpace::shared);
  EXPECT_EQ(race.bytes, 4u);
  ASSERT_EQ(race.acts.size(), 2u);
  EXPECT_EQ(race.acts[0].role, "written by");
  EXPECT_EQ(race.acts[1].role, "read by");
  EXPECT_EQ(race.acts[0].at.line + 1, race.acts[1].at.line);
  EXPECT_EQ(race.acts[0].at.kernel, "k");
  EXPECT_NE(race.acts[0].at.thread.x, race.acts[1].at.thread.x);
}
TEST(Races, ABarrierBetweenWriteAndReadIsNotReported) {
  EXPECT_RULES(none, text({store_own, "bar.sync 0;\n", load_other}), 128);
}

TEST(Races, AnOverwriteOfWhatOthersStillReadIsReported) {
  EXPECT_RULES(Rules{"read-write"},
               text({store_own, "bar.sync 0;\n", load_other, "st.shared.u32 [%addr], %r5;"}), 128);
}
TEST(Races, AnOverwriteAfterAnotherBarrierIsNotReported) {
  EXPECT_RULES(
      none, text({store_own, "bar.sync 0;\n", load_other, "bar.sync 0; st.shared.u32 [%addr], %r5;"}), 128);
}

TEST(Races, TwoThreadsThatWriteDifferentValuesAreReported) {
  EXPECT_RULES(Rules{"write-write"}, "st.shared.u32 [tile], %t;");
}
TEST(Races, ThreadsThatWriteTheSameValueAreNotReported) {
  EXPECT_RULES(none, "mov.u32 %r5, 7; st.shared.u32 [tile], %r5;");
}

TEST(Races, NeighboringBytesOfAWordAreNotReported) {
  EXPECT_RULES(none, "add.u32 %r5, %r1, %t; cvt.u16.u32 %h1, %t; st.shared.u8 [%r5], %h1;");
}

TEST(Races, LanesOfAWarpWithoutWarpBarrierAreReported) {
  EXPECT_RULES(Rules{"write-read"}, text({store_own, load_other}), 32);
}
TEST(Races, AWarpBarrierOrdersTheLanesThatItNames) {
  EXPECT_RULES(none, text({store_own, "bar.warp.sync -1;\n", load_other}), 32);
}
TEST(Races, AWarpBarrierDoesNotOrderOtherLanes) {
  EXPECT_RULES(Rules{"write-read"},
               text({store_own,
                     "setp.lt.u32 %p1, %t, 16; mov.u32 %r6, 0xffff0000;\n"
                     "selp.b32 %r6, 0x0000ffff, %r6, %p1; bar.warp.sync %r6;\n",
                     load_other}),
               32);
}
TEST(Races, AShuffleOrdersNoMemory) {
  EXPECT_RULES(Rules{"write-read"}, text({store_own, "shfl.sync.bfly.b32 %r6, %t, 1, 31, -1;\n", load_other}),
               32);
}

TEST(Races, NamedBarriersOrderTheWarpsThatTakePart) {
  const auto producer = [](std::string_view consumer) {
    return text({"setp.ge.u32 %p1, %t, 32; @%p1 bra CONSUME;\n", store_own,
                 "bar.arrive 1, 64; bra DONE;\nCONSUME: ", consumer,
                 "sub.u32 %r5, %addr, 128; ld.shared.u32 %r6, [%r5];\nDONE:"});
  };
  EXPECT_RULES(none, producer("bar.sync 1, 64;\n"));
  EXPECT_RULES(Rules{"write-read"}, text({"setp.ge.u32 %p1, %t, 32; @%p1 bra CONSUME;\n", store_own,
                                          "bra DONE;\nCONSUME: sub.u32 %r5, %addr, 128; ld.shared.u32 %r6, "
                                          "[%r5];\nDONE: bar.sync 0;"}));
}

// ---- atomics, flags and fences

TEST(Races, AtomicOperationsAreNotReported) {
  EXPECT_RULES(none,
               "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [tile], 0; bar.sync 0; atom.shared.add.u32 %r5, "
               "[tile], 1;");
}
TEST(Races, AnAtomicOperationAndAPlainReadAreReported) {
  EXPECT_RULES(
      Rules{"read-write"},
      "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [tile], 0; bar.sync 0; atom.shared.add.u32 %r5, [tile], "
      "1; ld.shared.u32 %r6, [tile];");
}

// The first block writes a number and sets a flag, for which the second one waits.
std::string flag(std::string_view fence) {
  return text({R"(setp.eq.u32 %p1, %c, 0; @!%p1 bra WAIT;
  st.global.u32 [%out], 7;
)",
               fence, R"(
  atom.global.exch.b32 %r5, [%in], 1000; bra DONE;
WAIT: ld.volatile.global.u32 %r6, [%in]; setp.ne.u32 %p2, %r6, 1000; @%p2 bra WAIT;
)",
               fence, R"(
  ld.global.u32 %r7, [%out];
DONE:)"});
}
TEST(Races, AFlagWithFencesOrdersTwoBlocks) { EXPECT_RULES(none, flag("membar.gl;"), 1, 2); }
TEST(Races, AFlagWithoutFenceIsReported) { EXPECT_RULES(Rules{"write-read"}, flag(""), 1, 2); }
TEST(Races, AReleaseNeedsNoFence) {
  EXPECT_RULES(none, R"(setp.eq.u32 %p1, %c, 0; @!%p1 bra WAIT;
  st.global.u32 [%out], 7; st.release.gpu.global.u32 [%in], 1000; bra DONE;
WAIT: ld.acquire.gpu.global.u32 %r6, [%in]; setp.ne.u32 %p2, %r6, 1000; @%p2 bra WAIT;
  ld.global.u32 %r7, [%out];
DONE:)",
               1, 2);
}

TEST(Races, BlocksThatWriteTheSameWordAreReported) {
  const Findings findings = found(
      "add.u32 %r5, %c, %t; mul.wide.u32 %rd1, %r5, 4; add.s64 %rd1, %out, %rd1; "
      "st.global.u32 [%rd1], %c;",
      32, 3);
  EXPECT_EQ(findings.rules, Rules{"write-write"}) << findings.text;
  ASSERT_FALSE(findings.all.empty());
  EXPECT_EQ(findings.all[0].acts[0].at.block.x, 0u);
  EXPECT_EQ(findings.all[0].acts[1].at.block.x, 1u);
  EXPECT_GT(findings.all[0].count, 30u);
}
TEST(Races, BlocksThatWriteWordsOfTheirOwnAreNotReported) {
  EXPECT_RULES(none,
               "mad.lo.u32 %r5, %c, 32, %t; mul.wide.u32 %rd1, %r5, 4; add.s64 %rd1, %out, %rd1; "
               "st.global.u32 [%rd1], %c;",
               32, 3);
}

// The last block sums what all blocks wrote, as the sample threadFenceReduction does.
std::string last_block(std::string_view fence) {
  return text({R"(mul.wide.u32 %rd1, %c, 4; add.s64 %rd1, %out, %rd1; st.global.u32 [%rd1], %c;
)",
               fence, R"(
  atom.global.inc.u32 %r5, [%in], 1000; add.u32 %r5, %r5, 1; mov.u32 %r6, %nctaid.x; add.u32 %r6, %r6, 1;
  setp.ne.u32 %p1, %r5, %r6; @%p1 bra DONE;
  mov.u32 %r7, 0;
SUM: mul.wide.u32 %rd1, %r7, 4; add.s64 %rd1, %out, %rd1; ld.global.u32 %r8, [%rd1]; add.u32 %r7, %r7, 1;
  setp.lt.u32 %p2, %r7, 40; @%p2 bra SUM;
DONE:)"});
}
TEST(Races, TheLastOfManyBlocksMayReadWhatAllHaveReleased) {
  EXPECT_RULES(none, last_block("membar.gl;"), 1, 40);
}
TEST(Races, TheLastOfManyBlocksNeedsTheirFences) { EXPECT_RULES(Rules{"write-read"}, last_block(""), 1, 40); }

// ---- asynchronous copies, mbarrier objects and clusters

TEST(Races, ACopyThatAnMbarrierCompletesIsOrdered) {
  constexpr std::string_view copy =
      R"(setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [bar], 1; bar.sync 0;
  @!%p1 bra WAIT; mbarrier.arrive.expect_tx.shared.b64 %rd1, [bar], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 256, [bar];
WAIT:)";
  EXPECT_RULES(
      none, text({copy, "mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra WAIT;\n", load_other}));
  EXPECT_RULES(Rules{"write-read"}, text({copy, "bar.warp.sync -1;\n", load_other, "bar.sync 0;"}));
}

TEST(Races, AnAsynchronousCopyAndABarrierAreOrdered) {
  constexpr std::string_view copy =
      "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %in, %rd1; cp.async.ca.shared.global [%addr], [%rd1], 4;\n"
      "cp.async.commit_group; cp.async.wait_group 0;\n";
  EXPECT_RULES(none, text({copy, "bar.sync 0;\n", load_other}));
  EXPECT_RULES(Rules{"write-read"}, text({copy, load_other}), 32);
}

TEST(Races, AClusterBarrierOrdersItsBlocks) {
  constexpr std::string_view exchange = R"(mapa.u32 %r5, %addr, 1;
  setp.eq.u32 %p1, %c, 0; @%p1 st.shared::cluster.u32 [%r5], %t;
)",
                             read = "@!%p1 ld.shared.u32 %r6, [%addr];\n",
                             meet = "barrier.cluster.arrive; barrier.cluster.wait;\n";
  EXPECT_RULES(none, text({exchange, meet, read, meet}), 64, 2, 2);
  EXPECT_RULES(Rules{"write-read"}, text({exchange, read, meet}), 64, 2, 2);
}

// Threads 0 to 63 overwrite a matrix in shared memory after the product of their warpgroup.
TEST(Races, AWarpgroupMayOverwriteWhatItsProductHasRead) {
  constexpr std::string_view product = R"(setp.lt.u32 %p1, %t, 64; @%p1 st.shared.u32 [%addr], 1; bar.sync 0;
  mov.u64 %rd1, tile; shr.u64 %rd1, %rd1, 4; or.b64 %rd1, %rd1, 0x80000; setp.ne.u32 %p2, %t, %t; mov.u32 %r9, 0;
  wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r5, %r6, %r7, %r8}, {%r9, %r9, %r9, %r9}, %rd1, %p2;
  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
)";
  EXPECT_RULES(none, text({product, "@%p1 st.shared.u32 [%addr], 0;"}), 128);
  EXPECT_RULES(Rules{"read-write"}, text({product, "@%p1 st.shared.u32 [%addr], 0;"}), 256);
  EXPECT_RULES(none, text({product, "bar.sync 0; @%p1 st.shared.u32 [%addr], 0;"}), 256);
}

// ---- memory

TEST(Bounds, AnAccessBehindAnAllocationIsReportedWithItsSize) {
  const Findings findings = found("st.global.v2.u32 [%out+65536], {%t, %t};");
  const KernelFinding &first = first_of(findings, "out-of-bounds");
  EXPECT_EQ(first.space, MemorySpace::global);
  EXPECT_EQ(first.bytes, 4u);
  EXPECT_EQ(first.acts[0].role, "written by");
  EXPECT_EQ(findings.result.fault.kind, FaultKind::illegal_address);
}
TEST(Bounds, AnAccessAtTheEndOfAnAllocationIsNotReported) {
  EXPECT_RULES(none, "st.global.u32 [%out+65532], 7;");
}

TEST(Bounds, SharedMemoryEndsWithItsLastVariable) {
  EXPECT_RULES(Rules{"out-of-bounds"}, "st.shared.u32 [tile+4104], 7;");  // tile and an mbarrier: 4104 bytes
  EXPECT_RULES(none, "st.shared.u32 [tile+4100], 7;");
  const Findings findings = found("mov.u32 %r5, tile; add.u32 %r5, %r5, 4104; ld.shared.u32 %r6, [%r5];");
  EXPECT_EQ(findings.text.substr(0, 70),
            "out-of-bounds: 4 bytes at 0x1408 of shared memory are outside of the b")
      << findings.text;
}
TEST(Bounds, LocalMemoryEndsWithItsLastVariable) {
  EXPECT_RULES(Rules{"out-of-bounds"}, "mov.u64 %rd1, own; st.local.u32 [%rd1+16], %t;");
  EXPECT_RULES(none, "mov.u64 %rd1, own; st.local.u32 [%rd1+12], %t;");
}
TEST(Bounds, AMisalignedAccessIsReported) {
  EXPECT_RULES(Rules{"misaligned"}, "ld.global.u32 %r5, [%in+2];");
  EXPECT_RULES(none, "ld.global.u32 %r5, [%in+4];");
}

// ---- uninitialized memory

TEST(Initialization, AReadOfGlobalMemoryThatWasNeverWrittenIsReported) {
  const Findings findings = found("ld.global.u32 %r5, [%out];");
  const KernelFinding &first = first_of(findings, "uninitialized-read");
  EXPECT_EQ(first.check, Check::init);
  EXPECT_EQ(first.count, 64u);
}
TEST(Initialization, AReadOfWhatTheThreadWroteIsNotReported) {
  EXPECT_RULES(none,
               "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1; st.global.u32 [%rd1], %t; ld.global.u32 "
               "%r5, [%rd1];");
}
TEST(Initialization, AReadThatIsWrittenInPartIsReported) {
  EXPECT_RULES(Rules{"uninitialized-read"}, "st.shared.u32 [tile], 7; ld.shared.u64 %rd1, [tile];", 1);
  EXPECT_RULES(none, "st.shared.v2.u32 [tile], {%t, %t}; ld.shared.u64 %rd1, [tile];", 1);
}
TEST(Initialization, SharedMemoryIsNotInitializedByAnEarlierBlock) {
  EXPECT_RULES(Rules{"uninitialized-read"},
               "setp.eq.u32 %p1, %c, 0; @%p1 st.shared.u32 [tile], 7; ld.shared.u32 %r5, [tile];", 1, 2);
}
TEST(Initialization, AnAtomicSumReadsAndAnExchangeDoesNot) {
  EXPECT_RULES(Rules{"uninitialized-read"}, "atom.global.add.u32 %r5, [%out], 1;", 1);
  EXPECT_RULES(none, "atom.global.exch.b32 %r5, [%out], 1; atom.global.add.u32 %r5, [%out], 1;", 1);
}

// ---- barriers

TEST(Barriers, ThreadsThatExitBeforeABarrierAreReported) {
  const Findings findings = found("setp.ge.u32 %p1, %t, 40; @%p1 exit;\nbar.sync 0;");
  EXPECT_EQ(first_of(findings, "exited-threads").acts[1].at.thread.x, 40u);
  EXPECT_NE(findings.text.find("24 of 64"), std::string::npos) << findings.text;
}
TEST(Barriers, ThreadsThatExitAfterABarrierAreNotReported) {
  EXPECT_RULES(none, "bar.sync 0; setp.ge.u32 %p1, %t, 40; @%p1 exit;");
}
TEST(Barriers, WarpsThatANamedBarrierDoesNotCountMayExit) {
  EXPECT_RULES(none, "setp.ge.u32 %p1, %t, 32; @%p1 exit; bar.sync 1, 32;");
}

TEST(Barriers, BranchesOfAWarpWithBarriersOfTheirOwnAreReported) {
  constexpr std::string_view branch = "setp.lt.u32 %p1, %t, 16; @%p1 bra LOW;\n";
  EXPECT_RULES(Rules{"different-instructions"},
               text({branch, "bar.sync 0; bra DONE;\nLOW: bar.sync 0;\nDONE:"}));
  EXPECT_RULES(none, text({branch, "barrier.sync 0; bra DONE;\nLOW: barrier.sync 0;\nDONE:"}));
  EXPECT_RULES(none, text({branch, "bra DONE;\nLOW: mov.u32 %r5, 1;\nDONE: bar.sync 0;"}));
}

TEST(Barriers, ThreadsThatWaitAtDifferentBarriersForeverAreReported) {
  const Findings findings = found(R"(setp.lt.u32 %p1, %t, 32; @%p1 bra LOW;
  bar.sync 1; bra DONE;
LOW: bar.sync 2;
DONE:)");
  EXPECT_EQ(first_of(findings, "never-completes").acts.size(), 2u);
  EXPECT_FALSE(findings.result);
}

TEST(Barriers, AClusterBarrierThatOneWarpDoesNotReachIsReported) {
  constexpr std::string_view meet = "barrier.cluster.arrive; barrier.cluster.wait;\n";
  const Findings findings =
      found(text({"setp.ge.u32 %p1, %t, 32; @%p1 bra HIGH;\n", meet, "bra DONE;\nHIGH: bar.sync 1;\nDONE:"}),
            64, 2, 2);
  EXPECT_EQ(findings.rules, Rules{"never-completes"}) << findings.text;
  EXPECT_NE(findings.text.find("barrier of the cluster, waited at by"), std::string::npos) << findings.text;
  EXPECT_RULES(none, text({meet, "bar.sync 1;"}), 64, 2, 2);
}

TEST(Barriers, ALaneThatItsMaskDoesNotNameIsReported) {
  EXPECT_RULES(Rules{"not-in-mask"}, "bar.warp.sync 0x7fffffff;", 32);
  EXPECT_RULES(none, "bar.warp.sync -1;", 20);
}
TEST(Barriers, LanesThatMeetWithDifferentMasksAreReported) {
  const auto with = [](std::string_view high) {
    return text({"setp.lt.u32 %p1, %t, 16; mov.u32 %r6, ", high,
                 "; selp.b32 %r6, 0x0000ffff, %r6, %p1; "
                 "shfl.sync.idx.b32 %r5, %t, 0, 31, %r6;"});
  };
  EXPECT_RULES(Rules{"different-masks"}, with("0xffffffff"), 32);
  EXPECT_RULES(none, with("0xffff0000"), 32);
}
TEST(Barriers, AMaskThatNamesALaneAtAnotherBarrierIsReported) {
  EXPECT_RULES(Rules{"never-completes"}, R"(setp.lt.u32 %p1, %t, 16; @%p1 bra LOW;
  bar.sync 0; bra DONE;
LOW: shfl.sync.idx.b32 %r5, %t, 0, 31, -1; bar.sync 0;
DONE:)",
               32);
  EXPECT_RULES(none, R"(setp.lt.u32 %p1, %t, 16; @%p1 bra LOW;
  bra DONE;
LOW: shfl.sync.idx.b32 %r5, %t, 0, 31, 0xffff;
DONE: bar.sync 0;)",
               32);
}

TEST(Checks, OnlyThoseThatAreOnReport) {
  Loaded loaded(std::string{testing::header} + R"(.visible .entry k(.param .u64 out) {
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; ld.global.u32 %r2, [%rd1+4]; st.global.u32 [%rd1], %r1; ret;
})");
  loaded.enable({Check::init});
  ASSERT_TRUE(loaded.run("k", {{1}, {64}, {}}, loaded.memory.add(64)));
  ASSERT_EQ(loaded.findings.size(), 1u) << loaded.found();
  EXPECT_EQ(loaded.findings[0].check, Check::init);
}

}  // namespace
}  // namespace cushim::ptx
