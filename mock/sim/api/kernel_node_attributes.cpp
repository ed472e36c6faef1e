// SPDX-License-Identifier: Apache-2.0
// Attributes of kernel nodes.
#include <cstring>

#include "api/graph_objects.hpp"
#include "api/launch_attributes.hpp"
#include "commands/submit.hpp"

namespace cushim::sim {
namespace {

// Sets whether the launch is cooperative, and its cluster. Returns the errors of cuLaunchKernelEx.
void set_shape(Call &call, KernelLaunch &launch, bool is_cooperative, const ptx::Dim3 &cluster) {
  LaunchOptions options{launch.shape, is_cooperative};
  if (cluster.count() != 1) options.cluster = cluster;
  options.shape.cluster = {};
  std::size_t size = launch.parameters.size();
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, launch.parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &size, CU_LAUNCH_PARAM_END};
  const auto attributes = launch.attributes;
  const bool is_captured = launch.is_captured;
  launch = describe_launch(call, call.function(launch.function), options, nullptr, extra);
  launch.attributes = attributes;
  launch.is_captured = is_captured;
}

}  // namespace

void keep_attributes(Call &call, const KernelLaunch &before, KernelLaunch &after) {
  if (before.is_cooperative || before.shape.cluster.count() != 1)
    set_shape(call, after, before.is_cooperative, before.shape.cluster);
  after.attributes = before.attributes;
  after.is_captured = before.is_captured;
}

namespace {

CUresult get_attribute(Call &call, CUgraphNode handle, CUkernelNodeAttrID attribute,
                       CUkernelNodeAttrValue *out) {
  const auto &launch = command_of<KernelLaunch>(node_of(call, handle));
  require(out != nullptr);
  if (static_cast<int>(attribute) == launch_attribute::updatable_node) {  // no node is
    const int is_updatable = 0;
    const void *const device_node = nullptr;
    std::memcpy(out, &is_updatable, sizeof is_updatable);
    std::memcpy(reinterpret_cast<char *>(out) + sizeof device_node, &device_node, sizeof device_node);
    return CUDA_SUCCESS;
  }
  require(launch_attribute::is_of_nodes(attribute));
  CUlaunchAttributeValue initial = launch_attribute::initial_value(attribute);
  if (launch.is_captured && attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
    initial.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
  const bool is_set = launch.attributes != nullptr && launch.attributes->contains(attribute);
  const ptx::Dim3 &cluster = launch.shape.cluster;
  if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && !is_set) {
    out->cooperative = launch.is_cooperative ? 1 : 0;
  } else if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && cluster.count() != 1) {
    out->clusterDim.x = cluster.x;
    out->clusterDim.y = cluster.y;
    out->clusterDim.z = cluster.z;
  } else {
    const CUlaunchAttributeValue &value = is_set ? launch.attributes->at(attribute) : initial;
    std::memcpy(out, &value, launch_attribute::size_of(attribute));
  }
  return CUDA_SUCCESS;
}

// Returns whether all dimensions of a cluster are 0, which are those of a launch without cluster.
bool is_without_cluster(const CUlaunchAttributeValue &value) {
  return value.clusterDim.x == 0 && value.clusterDim.y == 0 && value.clusterDim.z == 0;
}

// Measured on an H200, driver 580. A node also takes the scheduling of links, which cannot be read.
void check_attribute(int attribute, const CUlaunchAttributeValue &value) {
  if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && is_without_cluster(value)) return;
  require(attribute == launch_attribute::link_scheduling || launch_attribute::is_of_nodes(attribute));
  unsigned word = 0;
  std::memcpy(&word, &value, sizeof word);
  if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
    require(value.clusterDim.x != 0 && value.clusterDim.y != 0 && value.clusterDim.z != 0,
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  if (attribute == launch_attribute::memory_domain || attribute == launch_attribute::link_scheduling)
    require(word <= 1);
  if (attribute == launch_attribute::memory_domain_map) check_domains(value);
  if (attribute == launch_attribute::shared_memory_carveout) require(word <= 100);
}

CUresult set_attribute(Call &call, CUgraphNode handle, CUkernelNodeAttrID attribute,
                       const CUkernelNodeAttrValue *value) {
  GraphNode &node = node_of(call, handle);
  auto &launch = command_of<KernelLaunch>(node);
  require(value != nullptr);
  if (static_cast<int>(attribute) == launch_attribute::updatable_node) {
    int is_updatable = 0;
    std::memcpy(&is_updatable, value, sizeof is_updatable);
    require(is_updatable == 0);  // updates by kernels are not simulated
    return CUDA_SUCCESS;
  }
  check_attribute(attribute, *value);
  const bool has_no_cluster =
      attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && is_without_cluster(*value);
  if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
    set_shape(call, launch, value->cooperative != 0, launch.shape.cluster);
  else if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
    set_shape(call, launch, launch.is_cooperative,
              has_no_cluster ? ptx::Dim3{}
                             : ptx::Dim3{value->clusterDim.x, value->clusterDim.y, value->clusterDim.z});
  auto attributes = launch.attributes == nullptr ? NodeAttributes() : NodeAttributes(*launch.attributes);
  attributes[attribute] = *value;
  if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY)
    attributes[attribute].priority =
        launch_attribute::clamped_priority(*call.context(node.context).device, value->priority);
  launch.attributes = std::make_shared<const NodeAttributes>(std::move(attributes));
  return CUDA_SUCCESS;
}

CUresult copy_attributes(Call &call, CUgraphNode to, CUgraphNode from) {
  GraphNode &destination = node_of(call, to), &source = node_of(call, from);
  auto &launch = command_of<KernelLaunch>(destination);
  const auto &like = command_of<KernelLaunch>(source);
  require(destination.context == source.context);
  set_shape(call, launch, like.is_cooperative, like.shape.cluster);
  launch.attributes = like.attributes;
  launch.is_captured = like.is_captured;
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_kernel_node_attributes = {
    entry<"cuGraphKernelNodeGetAttribute", get_attribute>,
    entry<"cuGraphKernelNodeSetAttribute", set_attribute>,
    entry<"cuGraphKernelNodeCopyAttributes", copy_attributes>,
};

}  // namespace cushim::sim
