// SPDX-License-Identifier: Apache-2.0
// Multimem instructions, as the PTX manual describes them.
#include "thread_kernel.hpp"

namespace cushim::ptx::testing {
namespace {

using Words = std::vector<std::uint32_t>;

// A kernel of one thread, with a multicast object for two memories of four words.
struct Multicast {
  Multicast(std::string_view body, const Words &first, const Words &second)
      : loaded(with_header(std::string(".visible .entry k(.param .u64 at, .param .u64 out) {\n") +
                           ".reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .f32 %f<8>; .reg .b16 %h<8>;\n" +
                           "ld.param.u64 %rd1, [at]; ld.param.u64 %rd2, [out];\n" + std::string(body) +
                           "\nret;\n}\n")),
        memory{loaded.memory.add(first), loaded.memory.add(second)},
        out(loaded.memory.add(Words(4))) {
    object = loaded.memory.add_multicast({memory[0], memory[1]});
  }

  LaunchResult run(std::uint64_t offset = 0) { return loaded.run("k", {}, object + offset, out); }
  Words words(unsigned number) { return loaded.memory.get<std::uint32_t>(memory[number], 4); }
  // Runs the kernel, and returns the words that it stores to `out`.
  Words results() {
    EXPECT_TRUE(run());
    return loaded.memory.get<std::uint32_t>(out, 4);
  }

  Loaded loaded;
  std::uint64_t memory[2], out, object = 0;
};

TEST(Multimem, AStoreWritesToEachMemory) {
  Multicast one("mov.u32 %r1, 7; multimem.st.weak.global.u32 [%rd1+4], %r1;", {1, 2, 3, 4}, {5, 6, 7, 8});
  ASSERT_TRUE(one.run());
  EXPECT_EQ(one.words(0), (Words{1, 7, 3, 4}));
  EXPECT_EQ(one.words(1), (Words{5, 7, 7, 8}));
}

TEST(Multimem, AReductionCombinesTheValueWithEachMemory) {
  Multicast one("mov.u32 %r1, 10; multimem.red.release.sys.global.add.u32 [%rd1], %r1;", {1, 2, 3, 4},
                {5, 6, 7, 8});
  ASSERT_TRUE(one.run());
  EXPECT_EQ(one.words(0), (Words{11, 2, 3, 4}));
  EXPECT_EQ(one.words(1), (Words{15, 6, 7, 8}));
}

TEST(Multimem, ALoadReducesTheValuesOfAllMemories) {
  Multicast one(
      "multimem.ld_reduce.acquire.sys.global.add.u32 %r1, [%rd1];\n"
      "multimem.ld_reduce.weak.global.min.s32 %r2, [%rd1+4];\n"
      "multimem.ld_reduce.weak.global.or.b32 %r3, [%rd1+8];\n"
      "multimem.ld_reduce.weak.global.max.u32 %r4, [%rd1+12];\n"
      "st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};",
      {1, 2, 0x11, 4}, {5, 0xffffffff, 0x30, 8});
  EXPECT_EQ(one.results(), (Words{6, 0xffffffff, 0x31, 8}));
  EXPECT_EQ(one.words(0), (Words{1, 2, 0x11, 4}));
}

TEST(Multimem, VectorsHaveAnElementForEachRegister) {
  Multicast one(
      "multimem.ld_reduce.weak.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n"
      "st.global.v4.f32 [%rd2], {%f1, %f2, %f3, %f4};\n"
      "multimem.st.weak.global.v2.f32 [%rd1], {%f3, %f4};",
      {0x3f800000, 0x40000000, 0, 0x3f800000}, {0x3f800000, 0x3f800000, 0x3f000000, 0x40400000});
  EXPECT_EQ(one.results(), (Words{0x40000000, 0x40400000, 0x3f000000, 0x40800000}));
  for (const unsigned number : {0U, 1U}) {
    EXPECT_EQ(one.words(number)[0], 0x3f000000U);
    EXPECT_EQ(one.words(number)[1], 0x40800000U);
  }
}

TEST(Multimem, PairsOfHalvesAreSummedInF32IfAsked) {
  // 1 and 2, 3 and 4; as f16
  EXPECT_EQ(Multicast("multimem.ld_reduce.weak.global.add.f16x2 %r1, [%rd1];\n"
                      "multimem.ld_reduce.weak.global.add.acc::f32.f16x2 %r2, [%rd1];\n"
                      "multimem.ld_reduce.weak.global.max.f16x2 %r3, [%rd1];\n"
                      "st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r3};",
                      {0x40003c00, 0, 0, 0}, {0x44004200, 0, 0, 0})
                .results(),
            (Words{0x46004400, 0x46004400, 0x44004200, 0x44004200}));
}

TEST(Multimem, AnAddressThatIsNotOfAMulticastObjectIsIllegal) {
  Multicast one("mov.u32 %r1, 7; multimem.st.weak.global.u32 [%rd2], %r1;", {1, 2, 3, 4}, {5, 6, 7, 8});
  EXPECT_EQ(one.run().fault.kind, FaultKind::illegal_address);
  Multicast behind("mov.u32 %r1, 7; multimem.st.weak.global.u32 [%rd1], %r1;", {1, 2, 3, 4}, {5, 6, 7, 8});
  EXPECT_EQ(behind.run(16).fault.kind, FaultKind::illegal_address);
}

TEST(Multimem, AMisalignedAddressIsAFault) {
  Multicast one("multimem.ld_reduce.weak.global.add.v2.f32 {%f1, %f2}, [%rd1+4];", {1, 2, 3, 4},
                {5, 6, 7, 8});
  EXPECT_EQ(one.run().fault.kind, FaultKind::misaligned_address);
}

}  // namespace
}  // namespace cushim::ptx::testing
