// SPDX-License-Identifier: Apache-2.0
// Attributes of streams.
#include <cushim/stream.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

class StreamAttributes : public OnDevice {
 public:
  CUstreamAttrValue value{};
};

// The result of each attribute number for a new stream. Launch attributes that do not apply to streams return
// CUDA_ERROR_INVALID_VALUE.
struct Attribute {
  int number;
  const char *name;
  bool is_for_streams;
};
const Attribute attributes[] = {
    {0, "Ignore", false},
    {1, "Access_policy_window", true},
    {2, "Cooperative", false},
    {3, "Synchronization_policy", true},
    {4, "Cluster_dimension", false},
    {5, "Cluster_scheduling_policy_preference", false},
    {6, "Programmatic_stream_serialization", false},
    {7, "Programmatic_event", false},
    {8, "Priority", true},
    {9, "Memory_synchronization_domain_map", true},
    {10, "Memory_synchronization_domain", true},
    {11, "Preferred_cluster_dimension", false},
    {12, "Launch_completion_event", false},
    {13, "Device_updatable_kernel_node", false},
    {14, "Preferred_shared_memory_carveout", false},
    {15, "Number_15", false},
    {16, "NVLink_utilization_centric_scheduling", false},
    {17, "Number_17", false},
    {1000, "Number_1000", false},
    {-1, "Number_minus_1", false},
};

[[maybe_unused]] const bool attributes_added = [] {
  for (const Attribute &row : attributes) {
    const auto attribute = static_cast<CUstreamAttrID>(row.number);
    const CUresult expected = row.is_for_streams ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    const std::string is = row.is_for_streams ? "_is_" : "_is_not_";
    ADD_TEST(StreamAttributes, row.name + is + "read", [=](StreamAttributes &t) {
      EXPECT_ANSWER(driver().cuStreamGetAttribute(t.stream(), attribute, &t.value), expected);
    });
    ADD_TEST(StreamAttributes, row.name + is + "read_of_the_null_stream", [=](StreamAttributes &t) {
      EXPECT_ANSWER(driver().cuStreamGetAttribute(nullptr, attribute, &t.value), expected);
    });
    ADD_TEST(StreamAttributes, row.name + is + "read_of_the_per_thread_stream", [=](StreamAttributes &t) {
      EXPECT_ANSWER(driver().cuStreamGetAttribute(per_thread(), attribute, &t.value), expected);
    });
    ADD_TEST(StreamAttributes, row.name + is + "set_as_it_was_read", [=](StreamAttributes &t) {
      const CUstream work = t.stream();
      driver().cuStreamGetAttribute(work, attribute, &t.value);
      // The policy of a new stream cannot be set.
      EXPECT_ANSWER(
          driver().cuStreamSetAttribute(work, attribute, &t.value),
          row.number == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ? CUDA_ERROR_INVALID_VALUE : expected);
    });
    ADD_TEST(StreamAttributes, row.name + std::string("_needs_a_place"), [=](StreamAttributes &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(driver().cuStreamGetAttribute(t.stream(), attribute, nullptr), CUDA_ERROR_INVALID_VALUE);
    });
  }
  return true;
}();

// No header defines the policy -1; it cannot be set.
TEST_F(StreamAttributes, A_new_stream_waits_as_its_context_says) {
  NEED(driver().cuStreamGetAttribute(stream(), CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  EXPECT_VALUE(static_cast<int>(value.syncPolicy), -1);
}

[[maybe_unused]] const bool policies_added = [] {
  const struct {
    const char *name;
    int policy;
    CUresult code;
  } rows[] = {{"Auto_is_kept", CU_SYNC_POLICY_AUTO, CUDA_SUCCESS},
              {"Spin_is_kept", CU_SYNC_POLICY_SPIN, CUDA_SUCCESS},
              {"Yield_is_kept", CU_SYNC_POLICY_YIELD, CUDA_SUCCESS},
              {"Blocking_is_kept", CU_SYNC_POLICY_BLOCKING_SYNC, CUDA_SUCCESS},
              {"The_number_0_is_refused", 0, CUDA_ERROR_INVALID_VALUE},
              {"The_number_5_is_refused", 5, CUDA_ERROR_INVALID_VALUE},
              {"The_number_minus_1_is_refused", -1, CUDA_ERROR_INVALID_VALUE}};
  for (const auto &row : rows)
    ADD_TEST(StreamAttributes, std::string("Of_the_synchronization_policies_") + row.name,
             [=](StreamAttributes &t) {
               const CUstream work = t.stream();
               t.value.syncPolicy = static_cast<CUsynchronizationPolicy>(row.policy);
               EXPECT_ANSWER(
                   driver().cuStreamSetAttribute(work, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &t.value),
                   row.code);
               t.value = {};
               EXPECT_ANSWER(
                   driver().cuStreamGetAttribute(work, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &t.value),
                   CUDA_SUCCESS);
               EXPECT_VALUE(static_cast<int>(t.value.syncPolicy), row.code == CUDA_SUCCESS ? row.policy : -1);
             });
  return true;
}();

TEST_F(StreamAttributes, The_priority_can_be_changed) {
  const CUstream work = stream();
  int least = 0, greatest = 0;
  NEED(driver().cuCtxGetStreamPriorityRange(&least, &greatest));
  value.priority = greatest;
  EXPECT_ANSWER(driver().cuStreamSetAttribute(work, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamGetPriority(work, &number), CUDA_SUCCESS);
  EXPECT_VALUE(number == greatest, true);
}

TEST_F(StreamAttributes, Are_copied) {
  const CUstream from = stream(), to = stream();
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  NEED(driver().cuStreamSetAttribute(from, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  EXPECT_ANSWER(driver().cuStreamCopyAttributes(to, from), CUDA_SUCCESS);
  value = {};
  NEED(driver().cuStreamGetAttribute(to, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  EXPECT_VALUE(static_cast<int>(value.syncPolicy), int(CU_SYNC_POLICY_YIELD));
}

TEST_F(StreamAttributes, Are_copied_with_the_priority) {
  int least = 0, greatest = 0;
  NEED(driver().cuCtxGetStreamPriorityRange(&least, &greatest));
  const CUstream from = stream(), to = stream();
  value.priority = greatest;
  NEED(driver().cuStreamSetAttribute(from, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
  EXPECT_ANSWER(driver().cuStreamCopyAttributes(to, from), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamGetPriority(to, &number), CUDA_SUCCESS);
  EXPECT_VALUE(number == greatest, true);
}

STATEMENT(StreamAttributes, Are_copied_to_the_stream_itself,
          driver().cuStreamCopyAttributes(per_thread(), per_thread()), CUDA_SUCCESS)
STATEMENT(StreamAttributes, Are_copied_from_the_null_stream,
          driver().cuStreamCopyAttributes(stream(), nullptr), CUDA_SUCCESS)
STATEMENT(StreamAttributes, Are_copied_to_the_null_stream, driver().cuStreamCopyAttributes(nullptr, stream()),
          CUDA_SUCCESS)
STATEMENT(StreamAttributes, Are_not_copied_between_contexts,
          driver().cuStreamCopyAttributes(stream(), in_other_context([this] { return stream(); })),
          CUDA_ERROR_INVALID_VALUE)

}  // namespace
}  // namespace conformance
