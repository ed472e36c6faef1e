// SPDX-License-Identifier: Apache-2.0
// Counts of accesses to memory that can be counted by hand, and of patterns measured on an H200.
#include "count.hpp"

#include <array>
#include <cmath>
#include <fstream>
#include <sstream>

namespace cushim::ptx {
namespace {

using testing::Counted;
using testing::kWords;
using testing::strided;

struct CountedAccess {
  const char *type;
  unsigned bytes, stride, offset;
  std::uint64_t transactions, ideal;
};

TEST(Counts, OfGlobalAccessesAreSectorsOf32BytesBesideTheIdeal) {
  for (const CountedAccess &one : {
           CountedAccess{"u32", 4, 0, 0, 1, 1},    // all lanes at one address
           CountedAccess{"u32", 4, 1, 0, 4, 4},    // 128 consecutive bytes
           CountedAccess{"u32", 4, 1, 1, 5, 4},    // the same, not aligned to a sector
           CountedAccess{"u32", 4, 2, 0, 8, 4},    //
           CountedAccess{"u32", 4, 8, 0, 32, 4},   // a sector for each lane
           CountedAccess{"u32", 4, 32, 0, 32, 4},  //
           CountedAccess{"u8", 1, 1, 0, 1, 1},     //
           CountedAccess{"u16", 2, 1, 0, 2, 2},    //
           CountedAccess{"u64", 8, 1, 0, 8, 8},    //
           CountedAccess{"u64", 8, 4, 0, 32, 8},   //
       }) {
    Counted counted(strided("global", one.type, one.bytes, one.stride, one.offset), kWords);
    counted.run(2, 32);
    const AccessCounts counts = counted.global("ld.global");
    EXPECT_EQ(counts.requests, 2u);
    EXPECT_EQ(counts.lanes, 64u);
    EXPECT_EQ(counts.read_bytes, 64u * one.bytes);
    EXPECT_EQ(counts.transactions, 2 * one.transactions) << one.type << " stride " << one.stride;
    EXPECT_EQ(counts.ideal, 2 * one.ideal) << one.type << " stride " << one.stride;
  }
}

TEST(Counts, OfSharedAccessesAreThePassesOverTheBanks) {
  for (const CountedAccess &one : {
           CountedAccess{"u32", 4, 0, 0, 1, 1},    // broadcast
           CountedAccess{"u32", 4, 1, 0, 1, 1},    //
           CountedAccess{"u32", 4, 2, 0, 2, 1},    // conflict of 2
           CountedAccess{"u32", 4, 3, 0, 1, 1},    // an odd stride meets each bank once
           CountedAccess{"u32", 4, 4, 0, 4, 1},    // conflict of 4
           CountedAccess{"u32", 4, 32, 0, 32, 1},  // conflict of 32
           CountedAccess{"u32", 4, 33, 0, 1, 1},   // the padding that avoids it
           CountedAccess{"u8", 1, 1, 0, 1, 1},     // 4 lanes share a word
           CountedAccess{"u64", 8, 1, 0, 2, 2},    // 256 bytes
           CountedAccess{"u64", 8, 2, 0, 4, 2},    //
       }) {
    Counted counted(strided("shared", one.type, one.bytes, one.stride, one.offset), kWords);
    counted.run(1, 64);  // a block of 2 warps
    const AccessCounts counts = counted.shared("ld.shared");
    EXPECT_EQ(counts.requests, 2u);
    EXPECT_EQ(counts.read_bytes, 64u * one.bytes);
    EXPECT_EQ(counts.transactions, 2 * one.transactions) << one.type << " stride " << one.stride;
    EXPECT_EQ(counts.ideal, 2 * one.ideal) << one.type << " stride " << one.stride;
    EXPECT_EQ(counted.global("ld.shared").requests, 0u);
  }
}

// Returns the passes of an instruction whose lanes access words[offsets[lane]]. %r1: the address, %r2: words.
std::uint64_t passes_of(const std::string &instruction, const std::vector<std::uint32_t> &offsets) {
  Counted counted(R"(
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r1, [%rd1];
  mov.u32 %r2, words;
  add.u32 %r1, %r1, %r2;
  )" + instruction + "\n ret;",
                  kWords);
  counted.run_on(counted.loaded.memory.add(offsets), 1, 32);
  return counted.shared("[%r1]").transactions;
}

// Compares the passes of instructions that access 4, 8 and 16 bytes of a lane with the recorded patterns. One
// more pass takes an H200 one more cycle; `alone` is what an access takes besides.
void expect_recorded_passes(const char *name, double alone, const std::array<const char *, 3> &instructions) {
  std::ifstream file(std::string(CUSHIM_PTX_COMPILED) + "/" + name);
  unsigned patterns = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    unsigned bytes = 0;
    std::string pattern;
    double cycles = 0;
    words >> bytes >> pattern >> cycles;
    std::vector<std::uint32_t> offsets(32);
    for (std::uint32_t &one : offsets) {
      words >> one;
      words.ignore(1);
    }
    const char *const instruction = instructions[bytes == 4 ? 0 : bytes == 8 ? 1 : 2];
    EXPECT_EQ(passes_of(instruction, offsets), static_cast<std::uint64_t>(std::lround(cycles - alone)))
        << bytes << " bytes, " << pattern;
    ++patterns;
  }
  EXPECT_EQ(patterns, 135u);
}

TEST(Counts, OfSharedStoresAreThePassesOfAnH200) {
  expect_recorded_passes(
      "shared_stores.tsv", 0.15,
      {"st.shared.u32 [%r1], %r2;", "st.shared.u64 [%r1], %rd1;", "st.shared.v2.u64 [%r1], {%rd1, %rd1};"});
}

TEST(Counts, OfSharedLoadsAreThePassesOfAnH200) {
  expect_recorded_passes(
      "shared_loads.tsv", 0.01,
      {"ld.shared.u32 %r2, [%r1];", "ld.shared.u64 %rd1, [%r1];", "ld.shared.v2.u64 {%rd1, %rd2}, [%r1];"});
}

// %rd1: the address of the thread's 16 bytes, at the offset %rd2. %r1: the thread.
const std::string kOwn16Bytes = R"(
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 16;
  add.u64 %rd1, %rd1, %rd2;
)";

TEST(Counts, OfAVectorAccessAreThoseOfAllItsElements) {
  Counted counted(kOwn16Bytes + R"(  st.global.v4.u32 [%rd1], {%r1, %r1, %r1, %r1};
  ret;)");
  counted.run(1, 32);
  const AccessCounts counts = counted.global("st.global");
  EXPECT_EQ(counts.requests, 1u);
  EXPECT_EQ(counts.written_bytes, 512u);
  EXPECT_EQ(counts.transactions, 16u);
  EXPECT_EQ(counts.ideal, 16u);
}

TEST(Counts, OfGenericAccessesAreThoseOfTheSpacesThatTheLanesReach) {
  Counted counted(R"(
  .local .align 4 .b8 own[64];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 16;
  setp.lt.u32 %p2, %r1, 24;
  cvta.shared.u64 %rd2, words;
  mov.u64 %rd4, own;
  cvta.local.u64 %rd3, %rd4;
  selp.b64 %rd5, %rd2, %rd3, %p2;
  selp.b64 %rd6, %rd1, %rd5, %p1;
  st.u32 [%rd6], %r1;
  ret;)",
                  kWords);
  counted.run(1, 32);
  const InstructionCounts counts = counted.of("st.u32 [%rd6]");
  EXPECT_EQ(counts[CountedSpace::global].lanes, 16u);
  EXPECT_EQ(counts[CountedSpace::shared].lanes, 8u);
  EXPECT_EQ(counts[CountedSpace::local].lanes, 8u);
  EXPECT_EQ(counts[CountedSpace::local].written_bytes, 32u);
  EXPECT_EQ(counts[CountedSpace::local].transactions, 1u);  // 8 lanes of one word: interleaved
  EXPECT_EQ(counts[CountedSpace::global].transactions, 1u);
}

TEST(Counts, OfAtomicsAreTheLanesThatCollide) {
  Counted counted(R"(
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 3;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd3, %rd1, %rd2;
  red.global.add.u32 [%rd3], 1;
  atom.global.add.u32 %r3, [%rd1+64], 1;
  ret;)");
  counted.run(1, 32);
  EXPECT_EQ(counted.global("red.global").collisions, 28u);  // 4 addresses
  EXPECT_EQ(counted.global("atom.global").collisions, 31u);
  EXPECT_EQ(counted.global("atom.global").read_bytes, 128u);
  EXPECT_EQ(counted.global("atom.global").written_bytes, 128u);
  EXPECT_EQ(counted.global("atom.global").transactions, 1u);
}

TEST(Counts, OfConstantsAreTheDistinctAddresses) {
  Counted counted(R"(
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 1;
  mul.wide.u32 %rd2, %r2, 4;
  mov.u64 %rd1, table;
  add.u64 %rd3, %rd1, %rd2;
  ld.const.u32 %r4, [%rd1];
  ld.const.u32 %r3, [%rd3];
  ret;)",
                  ".const .align 4 .b8 table[64];\n");
  counted.run(1, 32);
  EXPECT_EQ(counted.of("%r4")[CountedSpace::constant].transactions, 1u);
  EXPECT_EQ(counted.of("%r3, [%rd3]")[CountedSpace::constant].transactions, 2u);
  EXPECT_EQ(counted.of("%r3, [%rd3]")[CountedSpace::constant].read_bytes, 128u);
}

TEST(Counts, OfACopyToSharedMemoryAreInBothSpaces) {
  Counted counted(kOwn16Bytes + R"(  mov.u32 %r2, words;
  cvt.u32.u64 %r3, %rd2;
  add.u32 %r2, %r2, %r3;
  cp.async.cg.shared.global [%r2], [%rd1], 16;
  cp.async.wait_all;
  ret;)",
                  kWords);
  counted.run(1, 32);
  EXPECT_EQ(counted.global("cp.async.cg").read_bytes, 512u);
  EXPECT_EQ(counted.global("cp.async.cg").transactions, 16u);
  EXPECT_EQ(counted.shared("cp.async.cg").written_bytes, 512u);
  EXPECT_EQ(counted.shared("cp.async.cg").transactions, 4u);
  EXPECT_EQ(counted.of("cp.async.wait_all").executions, 1u);
}

}  // namespace
}  // namespace cushim::ptx
