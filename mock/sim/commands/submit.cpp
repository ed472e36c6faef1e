// SPDX-License-Identifier: Apache-2.0
#include "commands/submit.hpp"

#include "commands/captured.hpp"
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
  if (const auto *const batch = std::get_if<BatchMemOp>(&command)) prepare(call, context, *batch);
  if (const auto *const signal = std::get_if<ExternalSignal>(&command)) prepare(call, context, *signal);
  if (const auto *const wait = std::get_if<ExternalWait>(&command)) prepare(call, context, *wait);
  if (const auto *const copy = std::get_if<Memcpy>(&command)) prepare(call, context, *copy);
  if (const auto *const set = std::get_if<Memset>(&command)) prepare(call, context, *set);
}

void capture_command(Call &call, Stream &stream, Command &&command) {
  require(stream.capture->capture->is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  const Context &of_stream = *stream.context;
  if (const auto *const set = std::get_if<Memset>(&command))
    check_captured(of_stream, *set);
  else if (const auto *const batch = std::get_if<BatchMemOp>(&command))
    for (const CUstreamBatchMemOpParams &each : batch->operations) check_captured(of_stream, each);
  else
    validate(call, *stream.context, command);
  const auto context = needs_context(command) ? reinterpret_cast<CUcontext>(stream.context->handle) : nullptr;
  capture(call, stream, std::move(command), context);
}

}  // namespace cushim::sim
