// SPDX-License-Identifier: Apache-2.0
// Kernels that are counted.
#pragma once

#include "cushim/ptx/costs.hpp"
#include "execute.hpp"

namespace cushim::ptx::testing {

// The counts of a launch, by the text of the instruction.
struct Counted {
  Loaded loaded;
  std::vector<InstructionInfo> infos;
  std::vector<std::string> lines;
  LaunchResult result;

  // Loads `body` as a kernel k(out, n).
  explicit Counted(std::string_view body, std::string_view before = {})
      : loaded(text_of(body, before), {.counts = true}) {
    if (!loaded.program) {
      ADD_FAILURE() << loaded.refused;
      return;
    }
    infos = instructions(loaded.program);
    std::istringstream text(text_of(body, before));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  }
  static std::string text_of(std::string_view body, std::string_view before) {
    return std::string{header} + std::string{before} + R"(
.visible .entry k(.param .u64 out, .param .u32 n) {
)" + std::string{registers} +
           std::string{body} + "\n}\n";
  }
  void run(std::uint32_t blocks, std::uint32_t threads, std::uint32_t n = 0, unsigned workers = 0) {
    run_on(loaded.memory.add(1 << 20), blocks, threads, n, workers);
  }
  void run_on(std::uint64_t out, std::uint32_t blocks, std::uint32_t threads, std::uint32_t n = 0,
              unsigned workers = 0) {
    result = ptx::run(loaded.program, "k", {{blocks}, {threads}, {}}, parameters(out, n), loaded.memory,
                      {.limits = {.workers = workers}});
    EXPECT_TRUE(result) << name(result.fault.kind) << " line " << result.fault.line;
    EXPECT_EQ(result.counts.size(), infos.size());
  }
  static std::vector<std::byte> parameters(std::uint64_t out, std::uint32_t n) {
    std::vector<std::byte> bytes(12);
    std::memcpy(bytes.data(), &out, 8);
    std::memcpy(bytes.data() + 8, &n, 4);
    return bytes;
  }
  // Returns the counts of the only instruction whose line contains the text.
  InstructionCounts of(std::string_view part) const {
    std::size_t found = infos.size();
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (lines.at(infos[i].line - 1).find(part) == std::string::npos) continue;
      EXPECT_EQ(found, infos.size()) << "several lines contain " << part;
      found = i;
    }
    EXPECT_NE(found, infos.size()) << "no line contains " << part;
    return found < result.counts.size() ? result.counts[found] : InstructionCounts{};
  }
  // Expects that the instruction was executed by this number of warps, with this number of active lanes in
  // all.
  void expect_executed(std::string_view part, std::uint64_t warps, std::uint64_t lanes) const {
    const InstructionCounts counts = of(part);
    EXPECT_EQ(counts.executions, warps) << part;
    EXPECT_EQ(counts.active_lanes, lanes) << part;
  }
  AccessCounts global(std::string_view part) const { return of(part)[CountedSpace::global]; }
  AccessCounts shared(std::string_view part) const { return of(part)[CountedSpace::shared]; }
};

// Each thread loads words[tid * stride + offset] of the space, in elements of `type`.
inline std::string strided(const char *space, const char *type, unsigned bytes, unsigned stride,
                           unsigned offset = 0) {
  const std::string t = type;
  const bool wide = t.find("64") != std::string::npos;
  return "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n mul.lo.u32 %r1, %r1, " +
         std::to_string(stride * bytes) + ";\n add.u32 %r1, %r1, " + std::to_string(offset * bytes) +
         ";\n mov.u32 %r2, words; add.u32 %r2, %r2, %r1;\n cvt.u64.u32 %rd2, %r1; add.u64 %rd1, %rd1, "
         "%rd2;\n" +
         "ld." + space + "." + t + (wide ? " %rd3, [" : " %r3, [") +
         (std::string(space) == "shared" ? "%r2" : "%rd1") + "];\nret;";
}
constexpr const char *kWords = ".shared .align 16 .b8 words[32768];\n";

}  // namespace cushim::ptx::testing
