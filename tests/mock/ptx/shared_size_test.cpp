// SPDX-License-Identifier: Apache-2.0
// The size of static shared memory: laid out as by ptxas 13.0, and reported as by an H200 (driver
// 580.159.04).
#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::header;
using testing::Loaded;

// Returns a kernel that uses the variables a to e, of which d in a function, whose bits are set, and stores
// %aggr_smem_size and %total_smem_size.
std::string kernel_using(unsigned variables) {
  std::string text{header};
  text += R"(.shared .align 4 .b8 a[12]; .shared .align 16 .b8 b[40]; .shared .align 1 .b8 c[3];
.shared .align 8 .b64 d; .shared .align 128 .b8 e[200];
.func (.param .b32 r) f() { .reg .b32 x; mov.u32 x, d; st.param.b32 [r], x; ret; }
.visible .entry k(.param .u64 to) {
  .reg .b64 %o; .reg .b32 %r, %s; ld.param.u64 %o, [to];
  mov.u32 %r, %aggr_smem_size; mov.u32 %s, %total_smem_size; st.global.v2.u32 [%o], {%r, %s};
)";
  for (unsigned i = 0; i < 5; ++i) {
    if ((variables >> i & 1) == 0) continue;
    if (i == 3)
      text += "{.param .b32 q; call (q), f; ld.param.b32 %r, [q];}\n";
    else
      text += std::string("mov.u32 %r, ") + "abcde"[i] + ";\n";
  }
  return text + "ret; }\n";
}

using Sizes = std::vector<std::uint32_t>;

// Returns what the kernel k of the module stores.
Sizes sizes_in(const std::string &text, std::uint32_t dynamic = 0) {
  Loaded loaded(text);
  const auto to = loaded.memory.add(16);
  LaunchShape shape;
  shape.dynamic_shared_bytes = dynamic;
  EXPECT_TRUE(loaded.run("k", shape, to));
  return loaded.memory.get<std::uint32_t>(to, 2);
}

TEST(SharedSize, HasTheVariablesAtModuleScopeThatTheKernelUses) {
  constexpr std::uint32_t kSizes[] = {0, 12, 40, 56, 3, 15, 43, 59, 8, 24, 48, 64, 16, 24, 56, 72, 200, 328};
  for (unsigned used = 0; used < std::size(kSizes); ++used) {
    const std::uint32_t total = (kSizes[used] + 127) / 128 * 128;
    EXPECT_EQ(sizes_in(kernel_using(used)), (Sizes{1024 + kSizes[used], total})) << used;
  }
}

TEST(SharedSize, HasAllVariablesOfTheKernelAndTheDynamicPart) {
  const std::string text = std::string{header} + R"(.visible .entry k(.param .u64 to) {
  .shared .align 1 .b8 own[3]; .shared .align 1 .b8 unused[33];
  .reg .b64 %o; .reg .b32 %r, %s; ld.param.u64 %o, [to];
  mov.u32 %r, %aggr_smem_size; mov.u32 %s, %total_smem_size; st.global.v2.u32 [%o], {%r, %s}; ret; })";
  EXPECT_EQ(sizes_in(text), (Sizes{1060, 128}));
  EXPECT_EQ(sizes_in(text, 100), (Sizes{1160, 256}));
  std::string with_dynamic = text;
  with_dynamic.insert(with_dynamic.find(".visible"), ".extern .shared .align 4 .b8 dynamic[];\n");
  EXPECT_EQ(sizes_in(with_dynamic, 100), (Sizes{1172, 256}));
}

// Recorded on an H200.
TEST(SharedSize, FollowsAReservedPartThatAKernelCanAccess) {
  Loaded loaded(std::string{header} + R"(.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 to) {
  .shared .align 4 .b8 own[100];
  .reg .b64 %o; .reg .b32 %r<8>; ld.param.u64 %o, [to];
  mov.u32 %r0, %reserved_smem_offset_begin; mov.u32 %r1, %reserved_smem_offset_end;
  mov.u32 %r2, %reserved_smem_offset_cap; mov.u32 %r3, %reserved_smem_offset_0;
  st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3};
  mov.u32 %r0, %reserved_smem_offset_1; mov.u32 %r1, own; mov.u32 %r2, dynamic;
  st.shared.u32 [%r0+284], 77; ld.shared.u32 %r3, [%r0+284];
  st.global.v4.u32 [%o+16], {%r0, %r1, %r2, %r3};
  ret; })");
  const auto to = loaded.memory.add(32);
  LaunchShape shape;
  shape.dynamic_shared_bytes = 3000;
  EXPECT_TRUE(loaded.run("k", shape, to));
  EXPECT_EQ(loaded.memory.get<std::uint32_t>(to, 8), (Sizes{0, 288, 1024, 0, 0, 1024, 1136, 77}));
}

}  // namespace
}  // namespace cushim::ptx
