// SPDX-License-Identifier: Apache-2.0
#include "api/launch_options.hpp"

#include <array>
#include <cstring>

#include "api/event_calls.hpp"
#include "api/launch_attributes.hpp"
#include "graphs/capture.hpp"

namespace cushim::sim {
namespace {

unsigned first_word(const CUlaunchAttributeValue &value) {
  unsigned word = 0;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

ptx::Dim3 dimensions_of(const CUlaunchAttributeValue &value) {
  return {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
}

bool is_zero(const ptx::Dim3 &size) { return (size.x | size.y | size.z) == 0; }

void require_cluster(bool is_valid) { require(is_valid, CUDA_ERROR_INVALID_CLUSTER_SIZE); }

// Returns the cluster of an attribute; nullopt for {0, 0, 0}. Measured, driver 580.
std::optional<ptx::Dim3> cluster_of(const CUlaunchAttributeValue &value) {
  const ptx::Dim3 cluster = dimensions_of(value);
  if (is_zero(cluster)) return std::nullopt;
  require_cluster(cluster.count() != 0);
  return cluster;
}

// Measured, driver 580: the properties are not checked otherwise.
void check_window(const Device &device, const CUaccessPolicyWindow &window) {
  const int largest = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
  require(window.num_bytes <= static_cast<std::size_t>(largest));
  require(window.hitRatio >= 0 && window.hitRatio <= 1);
  require(window.missProp != CU_ACCESS_PROPERTY_PERSISTING);
}

// Checks an event that a launch records. Measured on an H200, driver 580; outside of captures, the refusal of
// an INTERPROCESS event is documented.
CUevent recorded_event(Call &call, const Context &context, CUevent handle, int flags, bool is_captured) {
  const Event &event = call.event(handle);
  require((static_cast<unsigned>(flags) & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) == 0);
  require(flags == 0, is_captured ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_ILLEGAL_STATE);
  require(event.context == &context, CUDA_ERROR_INVALID_HANDLE);
  require(!event.is_timed(), CUDA_ERROR_NOT_SUPPORTED);
  require(!event.is_interprocess(),
          is_captured ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_ERROR_NOT_SUPPORTED);
  return handle;
}

// Keeps an attribute for the node of a captured launch. Measured on an H200, driver 580: the node has the
// policy CU_CLUSTER_SCHEDULING_POLICY_SPREAD for the default policy.
void keep_for_node(const Device &device, const CUlaunchAttribute &attribute, NodeAttributes &kept) {
  const int id = static_cast<int>(attribute.id);
  const bool is_default_policy = id == launch_attribute::scheduling_policy &&
                                 first_word(attribute.value) == CU_CLUSTER_SCHEDULING_POLICY_DEFAULT;
  // KernelLaunch::is_cooperative has that attribute.
  if (!launch_attribute::is_of_nodes(id) || id == launch_attribute::cooperative || is_default_policy) return;
  CUlaunchAttributeValue value = attribute.value;
  if (id == launch_attribute::priority)
    value.priority = launch_attribute::clamped_priority(device, value.priority);
  kept[id] = value;
}

void require_divides(const ptx::Dim3 &part, const ptx::Dim3 &whole) {
  require_cluster(whole.x % part.x == 0 && whole.y % part.y == 0 && whole.z % part.z == 0);
}

unsigned limit(const Device &device, CUdevice_attribute attribute) {
  return static_cast<unsigned>(device.attribute(attribute));
}

// Each dimension must be from 1 to the device's attribute for it.
void require_dimensions(const Device &device, const ptx::Dim3 &size,
                        const std::array<CUdevice_attribute, 3> &largest) {
  require(size.x != 0 && size.y != 0 && size.z != 0);
  require(size.x <= limit(device, largest[0]) && size.y <= limit(device, largest[1]) &&
          size.z <= limit(device, largest[2]));
}

int attribute_of(const Function &function, CUfunction_attribute attribute) {
  int value = 0;
  sim::attribute_of(*function.entry, *function.module->code, *function.module->context->device, function.set,
                    attribute, value);
  return value;
}

// Returns the cluster that the kernel's PTX or the program requires; {0, 0, 0} if they require none.
ptx::Dim3 required_cluster(const Function &function) {
  const auto required = [&](CUfunction_attribute attribute) {
    return static_cast<unsigned>(attribute_of(function, attribute));
  };
  return {required(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
          required(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
          required(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)};
}

}  // namespace

// The default and the remote domain, a byte each, are below the number of domains. Measured, driver 580.
void check_domains(const CUlaunchAttributeValue &value) {
  constexpr unsigned char kDomains = 4;
  unsigned char domains[2] = {};
  std::memcpy(domains, &value, sizeof domains);
  require(domains[0] < kDomains && domains[1] < kDomains);
}

void take_attributes(Call &call, const Context &context, std::span<const CUlaunchAttribute> attributes,
                     bool is_captured, LaunchOptions &launch) {
  for (const CUlaunchAttribute &attribute : attributes) {
    const auto &[id, padding, value] = attribute;
    // A synchronization policy is an attribute of streams only. Measured on an H200, driver 580.
    require(static_cast<int>(id) >= 0 && static_cast<int>(id) <= launch_attribute::last &&
            static_cast<int>(id) != launch_attribute::reserved &&
            id != CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY);
    // A launch has no node outside of captures. Measured on an H200, driver 580, for any value.
    require(static_cast<int>(id) != launch_attribute::updatable_node,
            is_captured ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED);
    const unsigned word = first_word(value);
    if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      launch.cluster = cluster_of(value);
    } else if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      launch.is_cooperative = value.cooperative != 0;
    } else if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      launch.is_programmatic = word != 0;
    } else if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE) {
      require(word <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
    } else if (static_cast<int>(id) == launch_attribute::memory_domain ||
               static_cast<int>(id) == launch_attribute::link_scheduling) {
      require(word <= 1);
    } else if (static_cast<int>(id) == launch_attribute::shared_memory_carveout) {
      require(word <= 100);
    } else if (static_cast<int>(id) == launch_attribute::memory_domain_map) {
      check_domains(value);
    } else if (id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) {
      check_window(*context.device, value.accessPolicyWindow);
    } else if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) {
      const auto &[event, flags, triggers_at_start] = value.programmaticEvent;
      launch.events.push_back({recorded_event(call, context, event, flags, is_captured), 1});
    } else if (static_cast<int>(id) == launch_attribute::completion_event) {
      CUevent event = nullptr;  // older headers lack the member of the union
      int flags = 0;
      std::memcpy(&event, &value, sizeof event);
      std::memcpy(&flags, reinterpret_cast<const char *>(&value) + sizeof event, sizeof flags);
      launch.events.push_back({recorded_event(call, context, event, flags, is_captured), 2});
      // Measured on an H200, driver 580: not for CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT.
      require(!is_captured || !call.event(event).is_blocking_sync(), CUDA_ERROR_NOT_SUPPORTED);
    } else if (static_cast<int>(id) == launch_attribute::preferred_cluster) {
      launch.preferred_cluster = cluster_of(value);  // of the same layout
    }
    if (is_captured) keep_for_node(*context.device, attribute, launch.node_attributes);
  }
}

void check_grid(const Device &device, const ptx::Dim3 &grid) {
  require_dimensions(device, grid,
                     {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                      CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z});
}

void check_block(const Device &device, const ptx::Dim3 &block) {
  require_dimensions(device, block,
                     {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                      CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z});
  require(block.count() <= limit(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
}

unsigned largest_cluster(const Function &function) {
  constexpr unsigned kPortable = 8, kLargest = 16;
  return attribute_of(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) != 0 ? kLargest
                                                                                          : kPortable;
}

void set_cluster(const Function &function, LaunchOptions &launch) {
  std::optional<ptx::Dim3> cluster = launch.cluster;
  if (const ptx::Dim3 required = required_cluster(function); !is_zero(required)) {
    require_cluster(required.count() != 0);
    require_cluster(!cluster ||
                    (cluster->x == required.x && cluster->y == required.y && cluster->z == required.z));
    cluster = required;
  }
  require_cluster(cluster || !launch.preferred_cluster);
  if (!cluster) return;
  require_divides(*cluster, launch.shape.grid);
  require_cluster(cluster->count() <= largest_cluster(function));
  if (launch.preferred_cluster) {
    require_divides(*cluster, *launch.preferred_cluster);
    require_divides(*launch.preferred_cluster, launch.shape.grid);
    require(!launch.is_cooperative, CUDA_ERROR_NOT_SUPPORTED);  // measured on an H200, driver 580
  }
  launch.shape.cluster = *cluster;
}

void record_events(Call &call, Stream &stream, const LaunchOptions &launch) {
  for (const auto &[handle, port] : launch.events) {
    Event &event = call.event(handle);
    if (stream.capture == nullptr) {
      record_outside_of_captures(call, event, stream);
      continue;
    }
    event.captured = std::make_unique<CapturePoint>(*stream.capture);
    for (EdgeData &edge : event.captured->edges)
      edge = {.from_port = static_cast<unsigned char>(port), .to_port = 0, .type = 1};
  }
}

}  // namespace cushim::sim
