// SPDX-License-Identifier: Apache-2.0
// From commands to operations of streams.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "api/call.hpp"
#include "api/launch_options.hpp"
#include "commands/command.hpp"
#include "copy/copy_endpoint.hpp"

namespace cushim::sim {

// A command that is ready to be added to the engine: validated against the memory that exists now.
struct PreparedCommand {
  Operation operation{};
  std::array<CopyEndpoint, 2> uses{};  // the memory that it accesses
};

// Return the operation of a command in a context. INVALID_VALUE, or the error of the command's entry point,
// if its memory or its objects do not exist, or if the context may not access them.
PreparedCommand prepare(Call &call, Context &context, const Memcpy &command);
PreparedCommand prepare(Call &call, Context &context, const Memset &command);
PreparedCommand prepare(Call &call, Context &context, KernelLaunch &&command);
PreparedCommand prepare(Call &call, Context &context, const HostFunction &command);
PreparedCommand prepare(Call &call, Context &context, const CUstreamBatchMemOpParams &command);
PreparedCommand prepare(Call &call, Context &context, const EventWait &command);
PreparedCommand prepare(Call &call, Context &context, CUexternalSemaphore semaphore,
                        const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS &parameters);
PreparedCommand prepare(Call &call, Context &context, CUexternalSemaphore semaphore,
                        const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS &parameters);
// Prepares each member of a list.
template <class Parameters>
std::vector<PreparedCommand> prepare(Call &call, Context &context, const SemaphoreList<Parameters> &command) {
  std::vector<PreparedCommand> prepared;
  for (std::size_t i = 0; i < command.semaphores.size(); ++i)
    prepared.push_back(prepare(call, context, command.semaphores[i], command.parameters[i]));
  return prepared;
}
inline std::vector<PreparedCommand> prepare(Call &call, Context &context, const BatchMemOp &command) {
  std::vector<PreparedCommand> prepared;
  for (const CUstreamBatchMemOpParams &each : command.operations)
    prepared.push_back(prepare(call, context, each));
  return prepared;
}

// Describes a launch. Returns the errors of cuLaunchKernel. `pointers` and `extra` are its last two
// arguments.
KernelLaunch describe_launch(Call &call, const Function &function, LaunchOptions launch, void **pointers,
                             void **extra);

// Returns the command of an entry point that submits one memory operation.
inline Command command_of(const CUstreamBatchMemOpParams &operation) { return BatchMemOp{{operation}}; }
inline Command command_of(Command &&command) { return std::move(command); }

// Throws the error of the command's entry point unless its memory exists and the context may access it.
void validate(Call &call, Context &context, const Command &command);
// Validates a command and adds it to the graph that the stream captures into.
void capture_command(Call &call, Stream &stream, Command &&command);

// Adds a prepared command to a stream and to the users of its memory. Call::start() must follow.
inline Work add(Call &call, Stream &stream, PreparedCommand &&command) {
  for (const CopyEndpoint &used : command.uses) reserve_users(call.system.memory, used);
  Work work = call.add(stream, std::move(command.operation));
  for (const CopyEndpoint &used : command.uses) add_users(call.system.memory, used, work);
  return work;
}

// Submits a command to a stream. Returns its work; null if the stream captures.
template <class OneCommand>
Work submit(Call &call, Stream &stream, OneCommand &&command) {
  if (stream.capture != nullptr) [[unlikely]] {
    capture_command(call, stream, command_of(std::forward<OneCommand>(command)));
    return nullptr;
  }
  Work work = add(call, stream, prepare(call, *stream.context, std::forward<OneCommand>(command)));
  call.start(work);
  return work;
}

}  // namespace cushim::sim
