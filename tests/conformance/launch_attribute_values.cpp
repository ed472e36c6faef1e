// SPDX-License-Identifier: Apache-2.0
// Each attribute of launches with valid and invalid values: of launches and of kernel nodes.
#include <cstring>

#include "kernels.hpp"

#if CUDA_VERSION >= 13000

namespace conformance {
namespace {

class LaunchAttributeValues : public OnModule {
 protected:
  void TearDown() override {
    if (graph != nullptr) driver().cuGraphDestroy(graph);
    OnModule::TearDown();
  }

 public:
  // Launches 16 blocks. Returns the code of the launch if it fails, else that of the wait.
  CUresult launch(std::vector<CUlaunchAttribute> attributes) {
    CUlaunchConfig config{};
    config.gridDimX = 16;
    config.blockDimX = 32;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned>(attributes.size());
    const CUresult code = driver().cuLaunchKernelEx(&config, kernel("empty"), nullptr, nullptr);
    const CUresult after = driver().cuCtxSynchronize();
    return code != CUDA_SUCCESS ? code : after;
  }
  // Sets the attribute of a kernel node, reads it, and makes the graph executable.
  void record_node(const CUlaunchAttribute &attribute) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    parameters.func = kernel("empty");
    parameters.gridDimX = 16;
    parameters.blockDimX = 32;
    parameters.gridDimY = parameters.gridDimZ = parameters.blockDimY = parameters.blockDimZ = 1;
    CUgraphNode node = nullptr;
    NEED(driver().cuGraphCreate(&graph, 0));
    NEED(driver().cuGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
    answer("cuGraphKernelNodeSetAttribute",
           driver().cuGraphKernelNodeSetAttribute(node, attribute.id, &attribute.value));
    CUlaunchAttributeValue read{};
    answer("cuGraphKernelNodeGetAttribute",
           driver().cuGraphKernelNodeGetAttribute(node, attribute.id, &read));
    int first[4] = {};
    std::memcpy(first, &read, sizeof first);
    for (const int one : first) answer("word", one);
    CUgraphExec made = nullptr;
    answer("cuGraphInstantiate", driver().cuGraphInstantiate(&made, graph, 0));
    if (made != nullptr) driver().cuGraphExecDestroy(made);
  }

  CUgraph graph = nullptr;
};

struct Choice {
  int id;
  std::vector<std::vector<int>> values;  // the first words of each
};
const Choice choices[] = {
    {0, {{0}, {1}}},
    {2, {{0}, {1}, {2}, {-1}}},
    {3, {{0}, {1}, {2}, {3}, {4}, {5}, {-1}}},
    {4,
     {{1, 1, 1},
      {2, 1, 1},
      {4, 1, 1},
      {8, 1, 1},
      {16, 1, 1},
      {3, 1, 1},
      {1, 2, 1},
      {1, 1, 2},
      {32, 1, 1},
      {0, 1, 1},
      {1, 0, 1},
      {1, 1, 0},
      {-1, 1, 1}}},
    {5, {{0}, {1}, {2}, {4}, {-1}}},
    {6, {{0}, {1}, {2}, {-1}}},
    {7, {{0, 0, 0, 0}, {0, 0, 1, 0}}},
    {8, {{-100}, {-6}, {-5}, {-4}, {-1}, {0}, {1}, {100}}},
    // Maps of two bytes: the default domain, and the remote one.
    {9, {{0x0000}, {0x0100}, {0x0001}, {0x0101}, {0x0202}, {0x0303}, {0x0400}, {0x0004}, {0xffff}}},
    {10, {{0}, {1}, {3}, {-1}}},
    {11, {{1, 1, 1}, {2, 1, 1}, {0, 0, 0}, {0, 1, 1}}},
    {12, {{0, 0, 0}, {0, 0, 1}}},
    {13, {{0}, {1}, {2}, {-1}}},
    {14, {{-2}, {-1}, {0}, {1}, {50}, {100}, {101}}},
    {15, {{0}, {1}}},
    {16, {{0}, {1}, {2}, {-1}}},
    {17, {{0}, {1}}},
    {18, {{0}}},
    {99, {{0}}},
    {-1, {{0}}},
};

CUlaunchAttribute attribute_of(int id, const std::vector<int> &first) {
  CUlaunchAttribute made{};
  made.id = static_cast<CUlaunchAttributeID>(id);
  std::memcpy(&made.value, first.data(), first.size() * sizeof(int));
  return made;
}

std::string name_of(int id, const std::vector<int> &first) {
  std::string name = "Number_" + words(id) + "_as";
  for (const int word : first) name += "_" + words(word);
  return name;
}

[[maybe_unused]] const bool choices_added = [] {
  for (const auto &[id, values] : choices)
    for (const std::vector<int> &first : values) {
      const CUlaunchAttribute attribute = attribute_of(id, first);
      ADD_TEST(LaunchAttributeValues, name_of(id, first) + "_of_a_launch",
               [=](LaunchAttributeValues &t) { answer("cuLaunchKernelEx", t.launch({attribute})); });
      // The value of a node that the device can update has an address.
      if (id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) continue;
      ADD_TEST(LaunchAttributeValues, name_of(id, first) + "_of_a_node",
               [=](LaunchAttributeValues &t) { t.record_node(attribute); });
    }
  return true;
}();

// ---- Windows of the access policy ----

struct Window {
  std::size_t bytes;
  int percent, hit, miss;
};
const Window windows[] = {
    {0, 0, 0, 0},      {4096, 0, 0, 0},    {4096, 50, 1, 0},    {4096, 100, 2, 1},
    {4096, 100, 2, 2}, {4096, 100, 3, 0},  {4096, 100, 0, 3},   {4096, 101, 1, 0},
    {4096, -1, 1, 0},  {4096, 100, -1, 0}, {1 << 27, 50, 2, 1}, {std::size_t{1} << 40, 50, 2, 1},
};
[[maybe_unused]] const bool windows_added = [] {
  for (const auto &[bytes, percent, hit, miss] : windows) {
    const auto value = [bytes = bytes, percent = percent, hit = hit, miss = miss](CUdeviceptr base) {
      CUlaunchAttribute made{};
      made.id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
      made.value.accessPolicyWindow = {reinterpret_cast<void *>(base), bytes,
                                       static_cast<float>(percent) / 100, static_cast<CUaccessProperty>(hit),
                                       static_cast<CUaccessProperty>(miss)};
      return made;
    };
    const std::string name = "Window_of_bytes_" + std::to_string(bytes) + "_percent_" + words(percent) +
                             "_hit_" + words(hit) + "_miss_" + words(miss);
    ADD_TEST(LaunchAttributeValues, name + "_of_a_launch",
             [=](LaunchAttributeValues &t) { answer("cuLaunchKernelEx", t.launch({value(t.memory())})); });
    ADD_TEST(LaunchAttributeValues, name + "_without_memory",
             [=](LaunchAttributeValues &t) { answer("cuLaunchKernelEx", t.launch({value(0)})); });
  }
  return true;
}();

// ---- Pairs ----

[[maybe_unused]] const bool pairs_added = [] {
  const std::vector<int> clusters[] = {{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {8, 1, 1}};
  const std::vector<int> preferred[] = {{1, 1, 1},  {2, 1, 1}, {4, 1, 1}, {8, 1, 1},
                                        {16, 1, 1}, {3, 1, 1}, {0, 0, 0}};
  for (const auto &first : clusters) {
    for (const auto &second : preferred)
      ADD_TEST(LaunchAttributeValues,
               "A_cluster_of_" + words(first[0]) + "_with_preferred_" + words(second[0]),
               [=](LaunchAttributeValues &t) {
                 answer("cuLaunchKernelEx", t.launch({attribute_of(4, first), attribute_of(11, second)}));
               });
    for (const int cooperative : {0, 1})
      ADD_TEST(
          LaunchAttributeValues,
          "A_cluster_of_" + words(first[0]) + "_with_cooperative_" + words(cooperative),
          [=](LaunchAttributeValues &t) {
            answer("cuLaunchKernelEx", t.launch({attribute_of(4, first), attribute_of(2, {cooperative})}));
          });
  }
  return true;
}();

// Events of a launch: with timing, without, and flags.
[[maybe_unused]] const bool events_added = [] {
  for (const unsigned kind : {unsigned{CU_EVENT_DEFAULT}, unsigned{CU_EVENT_DISABLE_TIMING}})
    for (const int given : {0, 1, 2})
      for (const int trigger : {0, 1}) {
        const std::string name = "An_event_of_kind_" + std::to_string(kind) + "_with_flags_" + words(given);
        ADD_TEST(LaunchAttributeValues, name + "_triggered_" + words(trigger), [=](LaunchAttributeValues &t) {
          CUlaunchAttribute attribute{};
          attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
          attribute.value.programmaticEvent = {t.event(kind), given, trigger};
          answer("cuLaunchKernelEx", t.launch({attribute}));
        });
        if (trigger != 0) continue;
        ADD_TEST(LaunchAttributeValues, name + "_at_completion", [=](LaunchAttributeValues &t) {
          CUlaunchAttribute attribute{};
          attribute.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
          attribute.value.launchCompletionEvent = {t.event(kind), given};
          answer("cuLaunchKernelEx", t.launch({attribute}));
        });
      }
  return true;
}();

}  // namespace
}  // namespace conformance

#endif
