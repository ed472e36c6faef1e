// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_launch_calls(Calls &calls) {
  CALL(cuLaunchKernel, o.function(), Grid{1}, Grid{1}, Grid{1}, 1U, 1U, 1U, 0U, o.stream(), nullptr, nullptr);
  CALL(cuLaunchCooperativeKernel, o.function(), Grid{1}, Grid{1}, Grid{1}, 1U, 1U, 1U, 0U, o.stream(),
       nullptr);
  CALL(cuLaunchKernelEx, o.in(launch(o)), o.function(), nullptr, nullptr)
      // There are no attributes, and 2^31-1 blocks take seconds.
      .without({"config.numAttrs*", "config.gridDimX=2147483647", "config.hStream*"});
  for (int id = 0; id < 20; ++id) {
    // Their values are handles.
    if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
      continue;
    for (const int value : {-6, -1, 0, 1, 2, 3, 8, 50, 101}) {
      CUlaunchAttribute attribute{};
      attribute.id = static_cast<CUlaunchAttributeID>(id);
      attribute.value.priority = value;
      CALL_AS(std::to_string(id) + "," + std::to_string(value), cuLaunchKernelEx,
              fixed(o.in(launch(o, attribute)).value), fixed(o.function()), nullptr, nullptr);
    }
  }
  for (const int dimension : {0, 1, 2})
    for (const unsigned size : {0U, 1U, 2U, 4U, 16U}) {
      CUlaunchAttribute cluster{};
      cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      cluster.value.clusterDim = {1, 1, 1};
      (dimension == 0   ? cluster.value.clusterDim.x
       : dimension == 1 ? cluster.value.clusterDim.y
                        : cluster.value.clusterDim.z) = size;
      const auto config = [cluster](Objects &o) {
        CUlaunchConfig made = launch(o, cluster);
        made.gridDimX = 16;
        return made;
      };
      const std::string tag = std::string("cluster_") + "xyz"[dimension] + "=" + std::to_string(size);
      CALL_AS(tag, cuLaunchKernelEx, fixed(o.in(config(o)).value), fixed(o.function()), nullptr, nullptr);
      CALL_AS(tag, cuOccupancyMaxActiveClusters, o.out<int>(), fixed(o.function()),
              fixed(o.in(config(o)).value));
    }
  CALL(cuLaunchHostFunc, o.stream(), fixed<CUhostFn>(do_nothing), nullptr);
  CALL(cuParamSetSize, o.function("add"), 12U);
  // The real driver crashes with an offset of -1.
  CALL(cuParamSeti, o.function("add"), 8, 1U).without({"offset=-1"});
  CALL(cuParamSetf, o.function("add"), 8, 1.0F).without({"offset=-1"});
  CALL(cuParamSetv, o.function("add"), 0, o.list({o.memory().value}), Count{8}).without({"offset=-1"});
  CALL(cuParamSetTexRef, o.function(), 0, o.texture_reference());
  CALL(cuLaunch, o.function());
  CALL(cuLaunchGrid, o.function(), 1, 1).without({"grid_width=2147483647"});
  CALL(cuLaunchGridAsync, o.function(), 1, 1, o.stream()).without({"grid_width=2147483647"});
}

}  // namespace arguments
