// SPDX-License-Identifier: Apache-2.0
// The configuration of a launch and its checks, for launches and for occupancy of clusters. Codes and their
// order are those of driver 580 on an H200.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "api/call.hpp"
#include "commands/command.hpp"

namespace cushim::sim {

struct LaunchOptions {
  ptx::LaunchShape shape;
  bool is_cooperative = false;
  bool is_programmatic = false;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
  std::optional<ptx::Dim3> cluster{}, preferred_cluster{};  // of the launch's attributes
  struct RecordedEvent {
    CUevent event;
    int port;  // of the kernel's node, during stream capture
  };
  std::vector<RecordedEvent> events{};
  NodeAttributes node_attributes{};  // that a captured launch gives its node
};

// Takes the attributes of a launch in a context, in their order.
void take_attributes(Call &call, const Context &context, std::span<const CUlaunchAttribute> attributes,
                     bool is_captured, LaunchOptions &launch);
// Throws INVALID_VALUE if a memory synchronization domain of an attribute does not exist.
void check_domains(const CUlaunchAttributeValue &value);

// Records the events of a launch after it. The end of the kernel is a legal time for each of them. During
// stream capture an event is a port of the kernel's node, as documented.
void record_events(Call &call, Stream &stream, const LaunchOptions &launch);

// Checks the limits of the device for a grid and for a block.
void check_grid(const Device &device, const ptx::Dim3 &grid);
void check_block(const Device &device, const ptx::Dim3 &block);

// Returns the largest cluster that a kernel may have, in blocks.
unsigned largest_cluster(const Function &function);

// Sets the cluster of the shape to that of the attributes or that which the kernel requires, and checks it.
// Leaves one block without either.
void set_cluster(const Function &function, LaunchOptions &launch);

}  // namespace cushim::sim
