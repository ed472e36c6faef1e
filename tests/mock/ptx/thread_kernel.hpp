// SPDX-License-Identifier: Apache-2.0
// Kernels of one block in which each thread computes one value.
#pragma once

#include "execute.hpp"

namespace cushim::ptx::testing {

inline std::string with_header(std::string_view text) { return std::string{header} + std::string{text}; }

// Returns a kernel of one block in which each thread reads in[tid] and writes a 32-bit result to out[tid].
inline std::string thread_kernel(std::string_view body, std::string_view before = {}) {
  return with_header(before) + R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
)" + std::string{registers} +
         R"(  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd1, %rd1, %rd3;
  add.s64 %rd2, %rd2, %rd3;
  ld.global.u32 %r2, [%rd1];
)" + std::string{body} +
         "\n  st.global.u32 [%rd2], %r3;\n  ret;\n}\n";
}

inline std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u + 12345);
  return values;
}

// Runs thread_kernel() in one block of this number of threads, which read numbers().
inline LaunchResult run_threads(Loaded &loaded, std::uint32_t threads) {
  const auto in = loaded.memory.add(numbers(threads)), out = loaded.memory.add(4 * threads);
  LaunchShape shape;
  shape.block.x = threads;
  return loaded.run("k", shape, in, out);
}

// Returns the results of thread_kernel() for `in`, one thread per value.
inline std::vector<std::uint32_t> computed(std::string_view body, const std::vector<std::uint32_t> &in,
                                           std::string_view before = {}) {
  Loaded loaded(thread_kernel(body, before));
  const auto from = loaded.memory.add(in);
  const auto to = loaded.memory.add(in.size() * 4);
  LaunchShape shape;
  shape.block.x = static_cast<std::uint32_t>(in.size());
  const LaunchResult result = loaded.run("k", shape, from, to);
  EXPECT_TRUE(result) << name(result.fault.kind) << " line " << result.fault.line << result.fault.message;
  return loaded.memory.get<std::uint32_t>(to, in.size());
}

}  // namespace cushim::ptx::testing
