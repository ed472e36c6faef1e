// SPDX-License-Identifier: Apache-2.0
// Instructions that need sm_100.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

std::string kernel(std::string_view body) {
  std::string text = ".version 9.0\n.target sm_100\n.address_size 64\n";
  text += R"(.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<16>, %t; .reg .b64 %rd<8>, %in, %out; .reg .b128 %q;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;
)";
  return text.append(body) + "\n  ret;\n}\n";
}

LaunchShape threads(std::uint32_t block, Dim3 grid = {}, Dim3 cluster = {}) {
  LaunchShape shape;
  shape.block.x = block;
  shape.grid = grid;
  shape.cluster = cluster;
  return shape;
}

TEST(Redux, ReducesFloats) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> inputs{{3, -7, 5, 0.5f}, {0.0f, -0.0f}, {nan, 2, -9}, {nan, nan}};
  for (const std::string operation : {"min", "max"})
    for (const bool absolute : {false, true})
      for (const bool propagates : {false, true})
        for (const auto &some : inputs) {
          std::vector<float> in;
          for (std::size_t i = 0; i < 32; ++i) in.push_back(some[i % some.size()]);
          float expected = nan;
          for (float value : in) {
            if (absolute) value = std::fabs(value);
            const bool smaller = value < expected || (value == expected && std::signbit(value));
            const bool larger = value > expected || (value == expected && !std::signbit(value));
            if (std::isnan(expected) || (operation == "min" ? smaller : larger)) expected = value;
          }
          if (propagates && std::any_of(in.begin(), in.end(), [](float one) { return std::isnan(one); }))
            expected = nan;
          const std::string name =
              "redux.sync." + operation + (absolute ? ".abs" : "") + (propagates ? ".NaN" : "") + ".f32";
          SCOPED_TRACE(name);
          Loaded loaded(
              kernel(".reg .f32 %f<2>; mad.wide.u32 %rd1, %t, 4, %in; ld.global.f32 %f0, [%rd1]; " + name +
                     " %f1, %f0, 0xffffffff; mad.wide.u32 %rd2, %t, 4, %out; st.global.f32 [%rd2], %f1;"));
          ASSERT_EQ(loaded.refused, "");
          const auto from = loaded.memory.add(in), to = loaded.memory.add(128);
          ASSERT_TRUE(loaded.run("k", threads(32), from, to));
          const std::uint32_t bits =
              std::isnan(expected) ? 0x7fffffff : std::bit_cast<std::uint32_t>(expected);
          EXPECT_EQ(loaded.memory.get<std::uint32_t>(to, 32), std::vector<std::uint32_t>(32, bits));
        }
}

TEST(BulkCopy, CopiesTheBytesOfAMask) {
  Loaded loaded(kernel(R"(
  .shared .align 16 .b8 tile[32]; mov.u32 %r1, tile; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%in];
  st.shared.v4.u32 [%r1], {%r2, %r3, %r4, %r5}; st.shared.v4.u32 [%r1+16], {%r2, %r3, %r4, %r5}; mov.u16 %h1, 0x8105;
  cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%out], [%r1], 32, %h1;
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;)"));
  ASSERT_EQ(loaded.refused, "");
  std::vector<std::uint8_t> in, expected;
  for (std::uint8_t i = 0; i < 16; ++i) in.push_back(static_cast<std::uint8_t>(i + 1));
  for (std::size_t i = 0; i < 32; ++i)
    expected.push_back(i % 16 == 0 || i % 16 == 2 || i % 16 == 8 || i % 16 == 15 ? in[i % 16] : 99);
  const auto from = loaded.memory.add(in), to = loaded.memory.add(std::vector<std::uint8_t>(32, 99));
  ASSERT_TRUE(loaded.run("k", threads(1), from, to));
  EXPECT_EQ(loaded.memory.get<std::uint8_t>(to, 32), expected);
}

// Each block, and each canceled one that it takes over, counts at its own position.
constexpr std::string_view take_over = R"(
  .shared .align 16 .b8 answer[16]; .shared .align 8 .b64 m; mov.u32 %r1, answer; mov.u32 %r2, m;
  mbarrier.init.shared.b64 [%r2], 1; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r8, 0;
NEXT: mov.u32 %r5, %nctaid.x; mad.lo.u32 %r5, %r4, %r5, %r3; mad.wide.u32 %rd1, %r5, 4, %out;
  atom.global.add.u32 %r6, [%rd1], 1;
  mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r2], 16;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [%r2], %r8; @!%p1 bra WAIT; xor.b32 %r8, %r8, 1;
  ld.shared.b128 %q, [%r1];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q; @!%p2 bra DONE;
  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r3, %r4, %r9, _}, %q;
  clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r4, %q;
  bra NEXT;
DONE:)";

TEST(ClusterLaunchControl, ABlockTakesOverTheClustersThatHaveNotStarted) {
  for (const unsigned workers : {1u, 3u}) {
    Loaded loaded(kernel(take_over));
    ASSERT_EQ(loaded.refused, "");
    loaded.limits.workers = workers;
    const auto out = loaded.memory.add(4 * 15);
    const LaunchResult result = loaded.run("k", threads(1, {5, 3, 1}), out, out);
    ASSERT_TRUE(result) << name(result.fault.kind) << " " << result.fault.message;
    EXPECT_EQ(loaded.memory.get<std::uint32_t>(out, 15), std::vector<std::uint32_t>(15, 1));
  }
}

TEST(ClusterLaunchControl, AMisalignedResponseIsAFault) {
  Loaded loaded(kernel(R"(.shared .align 16 .b8 answer[32]; .shared .align 8 .b64 m; mov.u32 %r1, answer;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1+8], [m];)"));
  ASSERT_EQ(loaded.refused, "");
  EXPECT_EQ(loaded.run("k", threads(1), std::uint64_t{0}, std::uint64_t{0}).fault.kind,
            FaultKind::misaligned_address);
}

}  // namespace
}  // namespace cushim::ptx
