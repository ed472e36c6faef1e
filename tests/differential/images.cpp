// SPDX-License-Identifier: Apache-2.0
// The images that walks load, and options of their compilation.
#include "images.hpp"

namespace differential {

const std::array<const char *, 10> kernel_names{"write", "sum",   "few",   "exact",  "shared",
                                                "none",  "mixed", "scale", "paired", "missing"};

#define HEAD ".version 7.8\n.target sm_52\n.address_size 64\n"
#define WRITE                                                                            \
  "{ .reg .b64 %rd<3>; .reg .b32 %r<3>; ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [b]; " \
  "cvta.to.global.u64 %rd2, %rd1; st.global.u32 [%rd2], %r1; ret; }\n"
const std::array<const char *, 10> images{
    HEAD
    ".visible .global .align 4 .u32 word = 7;\n.visible .global .align 8 .b8 table[64];\n"
    ".visible .const .align 4 .u32 factor = 3;\n"
    ".visible .entry write(.param .u64 a, .param .u32 b) " WRITE
    ".visible .entry sum(.param .u64 a, .param .u32 b) "
    "{ .reg .b64 %rd<3>; .reg .b32 %r<3>; ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [b]; "
    "cvta.to.global.u64 %rd2, %rd1; red.global.add.u32 [%rd2], %r1; ret; }\n"
    ".visible .entry few(.param .u64 a, .param .u32 b) .maxntid 64, 1, 1 " WRITE
    ".visible .entry exact(.param .u64 a, .param .u32 b) .reqntid 32, 1, 1 " WRITE
    ".visible .entry scale(.param .u64 a) { .reg .b64 %rd<3>; .reg .b32 %r<4>; ld.param.u64 %rd1, [a]; "
    "cvta.to.global.u64 %rd2, %rd1; ld.global.u32 %r1, [word]; ld.const.u32 %r2, [factor]; "
    "mul.lo.u32 %r3, %r1, %r2; st.global.u32 [%rd2], %r3; ret; }\n",
    HEAD
    ".visible .global .align 8 .u64 other = 9;\n"
    ".visible .entry write(.param .u64 a, .param .u32 b) " WRITE
    ".visible .entry shared(.param .u64 a, .param .u32 b) { .reg .b64 %rd<3>; .reg .b32 %r<4>; "
    ".shared .align 4 .b8 room[1024]; ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [b]; "
    "cvta.to.global.u64 %rd2, %rd1; st.volatile.shared.u32 [room], %r1; bar.sync 0; "
    "ld.volatile.shared.u32 %r2, [room]; st.global.u32 [%rd2], %r2; ret; }\n"
    ".visible .entry none() { ret; }\n"
    ".visible .entry mixed(.param .u8 c, .param .u64 a, .param .align 8 .b8 s[16], .param .f32 x) "
    "{ .reg .b64 %rd<4>; .reg .b32 %r<5>; ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1; "
    "ld.param.u8 %r1, [c]; ld.param.u32 %r2, [s+8]; ld.param.b32 %r3, [x]; add.u32 %r1, %r1, %r2; "
    "add.u32 %r1, %r1, %r3; st.global.u32 [%rd2], %r1; ret; }\n",
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry paired(.param .u64 a, .param .u32 b) .explicitcluster .reqnctapercluster 2, 1, 1 " WRITE
    ".visible .entry sum(.param .u64 a, .param .u32 b) " WRITE,
    HEAD ".visible .entry write(.param .u64 a) { this is not PTX; }\n",
    HEAD ".extern .func absent;\n.visible .entry write() { call absent; ret; }\n",
    ".version 99.9\n.target sm_52\n.address_size 64\n.visible .entry write() { ret; }\n",
    ".version 7.8\n.target sm_999\n.address_size 64\n.visible .entry write() { ret; }\n",
    "",
    HEAD ".func helper(.param .u64 a) { ret; }\n",
    HEAD
    ".visible .func (.param .b32 out) given() { .reg .b32 %r1; mov.u32 %r1, 4; st.param.b32 [out], %r1; "
    "ret; }\n"};

unsigned an_image(Walk &w) {
  return w.dice.once_in(5) ? 3 + w.dice.below(static_cast<unsigned>(images.size()) - 3)
                           : w.dice.one_of({0U, 0U, 0U, 1U, 1U, 1U, 1U, 2U});
}
Argument<const void *> image_of(unsigned number) {
  return argument<const void *>(images[number], fmt::format("images[{}]", number));
}

// The options whose values are numbers from 0 on, and how many numbers.
constexpr std::pair<CUjit_option, unsigned> kSmallOptions[] = {
    {},
    {CU_JIT_OPTIMIZATION_LEVEL, 7},
    {},
    {},
    {CU_JIT_FALLBACK_STRATEGY, 3},
    {CU_JIT_GENERATE_DEBUG_INFO, 2},
    {CU_JIT_LOG_VERBOSE, 2},
    {CU_JIT_GENERATE_LINE_INFO, 2},
    {CU_JIT_CACHE_MODE, 4},
};

void choose_options(Walk &w, JitOptions &jit) {
  const unsigned count = w.dice.below(4);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned kind = w.dice.below(11);
    switch (kind) {
      case 0:
        jit.add(CU_JIT_MAX_REGISTERS, w.dice.one_of({16U, 32U, 64U, 0U, 1000U}));
        break;
      case 2:
        jit.add(CU_JIT_TARGET_FROM_CUCONTEXT, 0);
        break;
      case 3:
        jit.add(CU_JIT_TARGET, w.dice.one_of({90U, 80U, 52U, 100U, 7U}));
        break;
      case 9:
        jit.add(CU_JIT_ERROR_LOG_BUFFER, reinterpret_cast<std::uintptr_t>(jit.log.data()));
        jit.add(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, jit.log.size());
        break;
      case 10:
        jit.add(static_cast<CUjit_option>(w.dice.one_of({26U, 27U, 33U, 40U, 99U})), 0);
        break;
      default: {
        const auto &[option, count_of_values] = kSmallOptions[kind];
        jit.add(option, w.dice.below(count_of_values));
      }
    }
  }
}
unsigned a_name(Walk &w, unsigned image) {
  if (w.dice.once_in(12)) return w.dice.below(10);
  switch (image) {
    case 0:
      return w.dice.one_of({0U, 1U, 2U, 3U, 7U});
    case 1:
      return w.dice.one_of({0U, 4U, 5U, 6U});
    case 2:
      return w.dice.one_of({8U, 1U, 8U});
    default:
      return w.dice.below(10);
  }
}

}  // namespace differential
