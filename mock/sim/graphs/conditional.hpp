// SPDX-License-Identifier: Apache-2.0
// Conditional nodes of a launch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "copy/copy_endpoint.hpp"
#include "graphs/executable.hpp"

namespace cushim::sim {

struct Call;

// A conditional node whose bodies are ready to be added to the engine any number of times.
struct PreparedConditional;

// Prepares a conditional node for one launch. Throws the error of a node of its bodies whose memory or
// objects do not exist. Appends the memory that the bodies use to `uses`.
std::shared_ptr<PreparedConditional> prepare(Call &call, const Conditional &command,
                                             std::span<const FlatGraph> bodies,
                                             std::vector<CopyEndpoint> &uses);

// The operations that the engine has for a conditional node from its launch on.
struct ConditionalWorks {
  Work first, last;
};

// Adds a conditional node to the engine; Call::start() must follow for both works. `first` is the operation
// that evaluates the condition, without its function. The bodies run when it has evaluated it, and the last
// operation follows them.
ConditionalWorks add(std::shared_ptr<PreparedConditional> node, Operation &&first);

}  // namespace cushim::sim
