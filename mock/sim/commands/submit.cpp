// SPDX-License-Identifier: Apache-2.0
#include "commands/submit.hpp"

#include "graphs/capturing.hpp"

namespace cushim::sim {

namespace {

// The context in which a node runs: that of its memory; null if only the launch determines it.
bool needs_context(const Command &command) {
  return std::holds_alternative<Memcpy>(command) || std::holds_alternative<Memset>(command) ||
         std::holds_alternative<KernelLaunch>(command) || std::holds_alternative<BatchMemOp>(command);
}

}  // namespace

void validate(Call &call, Context &context, const Command &command) {
  if (const auto *const batch = std::get_if<BatchMemOp>(&command))
    for (const CUstreamBatchMemOpParams &operation : batch->operations) prepare(call, context, operation);
  if (const auto *const copy = std::get_if<Memcpy>(&command)) prepare(call, context, *copy);
  if (const auto *const set = std::get_if<Memset>(&command)) prepare(call, context, *set);
}

void capture_command(Call &call, Stream &stream, Command &&command) {
  require(stream.capture->capture->is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  // A memset is captured even if it exceeds its allocation. Measured, driver 580.
  if (!std::holds_alternative<Memset>(command)) validate(call, *stream.context, command);
  const auto context = needs_context(command) ? reinterpret_cast<CUcontext>(stream.context->handle) : nullptr;
  capture(call, stream, std::move(command), context);
}

}  // namespace cushim::sim
