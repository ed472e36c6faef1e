// SPDX-License-Identifier: Apache-2.0
// Plays recordings on another simulated machine.
#pragma once

#include <cushim/replay/player.hpp>

#include <functional>

#include "recorded.hpp"

namespace cushim::test {

using replay::NotReplayed;
using replay::play;
using replay::Report;

inline constexpr const char *kAdd =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u32 b) {\n"
    ".reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
    "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [b];\n"
    "ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, %r1; st.global.u32 [%rd1], %r2; ret; }\n";

class Player : public Recorded {
 protected:
  // Plays on a machine that returns other handles and addresses.
  static Report play_elsewhere(const Recording &recording,
                               const std::function<void(Driver &)> &prepare = {}) {
    const sim::Machine machine;
    CUcontext context = nullptr;
    CUdeviceptr memory = 0;
    machine.driver().cuInit(0);
    machine.driver().cuDevicePrimaryCtxRetain(&context, 0);
    machine.driver().cuCtxSetCurrent(context);
    machine.driver().cuMemAlloc(&memory, 12 << 20);
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR shape{
        .Width = 8, .Height = 0, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    machine.driver().cuArrayCreate(&array, &shape);
    CUevent event = nullptr;
    for (int i = 0; i < 3; ++i) machine.driver().cuEventCreate(&event, 0);
    if (prepare) prepare(machine.driver());
    return play(recording, machine.driver());
  }

  static void expect_equal(const Recording &recording) {
    const Report report = play_elsewhere(recording);
    EXPECT_EQ(report.replayed, recording.calls().size());
    for (const auto &difference : report.differences)
      ADD_FAILURE() << cushim_entry(recording.calls()[difference.call].slot)->symbol << ": "
                    << difference.what << ": " << difference.recorded << ", now " << difference.replayed;
    for (const NotReplayed &one : report.not_replayed) ADD_FAILURE() << one.symbol << ": " << one.reason;
    EXPECT_FALSE(report.stuck);
  }
  // Records a program that begins with a current context, and plays the recording.
  void expect_equal(const Program &program) { expect_equal(recording_of(program)); }

  // Returns "result: CUDA_SUCCESS, now CUDA_ERROR_LAUNCH_FAILED".
  static std::string text_of(const replay::Difference &difference) {
    return difference.what + ": " + difference.recorded + ", now " + difference.replayed;
  }
};

}  // namespace cushim::test
