// SPDX-License-Identifier: Apache-2.0
// Statements about the reuse of memory that one stream has freed by an allocation in another stream.
#include "pools.hpp"

namespace conformance {
namespace {

class PoolReuse : public OnPools {
 public:
  void set_policies(CUmemoryPool pool, int follow_events, int opportunistic, int internal) {
    const int values[] = {follow_events, opportunistic, internal};
    for (int i = 0; i < 3; ++i) {
      int value = values[i];
      NEED(driver().cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(1 + i), &value));
    }
  }
  // Returns whether the stream completes its work. Queries it, since a wait may be for a held stream.
  static bool becomes_idle(CUstream work) {
    for (int queries = 0; queries < 10'000; ++queries)
      if (driver().cuStreamQuery(work) == CUDA_SUCCESS) return true;
    return false;
  }
  void wait(CUstream waiting, CUevent recorded) {
    NEED(driver().cuStreamWaitEvent(waiting, recorded, CU_EVENT_WAIT_DEFAULT));
  }
};

// The calls between the free in one stream and the allocation in another.
using Act = void (*)(PoolReuse &test, CUstream freed_in, CUstream wanted_in);
void nothing(PoolReuse &, CUstream, CUstream) {}
void wait_for_event(PoolReuse &test, CUstream freed_in, CUstream wanted_in) {
  const CUevent event = test.event();
  NEED(driver().cuEventRecord(event, freed_in));
  test.wait(wanted_in, event);
}
void wait_for_a_third_stream(PoolReuse &test, CUstream freed_in, CUstream wanted_in) {
  const CUstream between = test.stream();
  wait_for_event(test, freed_in, between);
  wait_for_event(test, between, wanted_in);
}
void synchronize(PoolReuse &, CUstream freed_in, CUstream) { NEED(driver().cuStreamSynchronize(freed_in)); }
void synchronize_a_third_stream(PoolReuse &test, CUstream freed_in, CUstream) {
  const CUstream third = test.stream();
  wait_for_event(test, freed_in, third);
  NEED(driver().cuStreamSynchronize(third));
}
void query(PoolReuse &, CUstream freed_in, CUstream) {
  while (driver().cuStreamQuery(freed_in) == CUDA_ERROR_NOT_READY) {
  }
}

struct Reuse {
  const char *name;
  bool is_held;  // the stream that frees does not reach the free until the end
  int follow_events, opportunistic, internal;
  Act act;
  bool is_reused, waits;  // the second allocation has the first one's address; its stream waits
};
const Reuse reuses[] = {
    {"Without_policies_a_free_that_is_pending", true, 0, 0, 0, nothing, false, false},
    {"Without_policies_a_free_that_is_waited_for", true, 0, 0, 0, wait_for_event, false, true},
    {"Without_policies_a_free_that_is_synchronized", false, 0, 0, 0, synchronize, true, false},
    {"Without_policies_a_free_that_is_queried", false, 0, 0, 0, query, false, false},
    {"Without_policies_a_free_that_a_third_stream_synchronizes", false, 0, 0, 0, synchronize_a_third_stream,
     true, false},
    {"By_events_a_free_that_is_pending", true, 1, 0, 0, nothing, false, false},
    {"By_events_a_free_that_is_waited_for", true, 1, 0, 0, wait_for_event, true, true},
    {"By_events_a_free_that_is_waited_for_through_a_third_stream", true, 1, 0, 0, wait_for_a_third_stream,
     true, true},
    {"By_events_a_free_that_a_third_stream_synchronizes", false, 1, 0, 0, synchronize_a_third_stream, true,
     false},
    {"By_opportunity_a_free_that_is_pending", true, 0, 1, 0, nothing, false, false},
    {"By_opportunity_a_free_that_is_waited_for", true, 0, 1, 0, wait_for_event, false, true},
    {"By_opportunity_a_free_that_a_third_stream_synchronizes", false, 0, 1, 0, synchronize_a_third_stream,
     true, false},
    {"By_internal_dependencies_a_free_that_is_pending", true, 0, 0, 1, nothing, false, false},
    {"By_internal_dependencies_a_free_that_is_waited_for", true, 0, 0, 1, wait_for_event, false, true},
    {"By_all_policies_a_free_that_is_pending", true, 1, 1, 1, nothing, false, false},
};
const bool reused = [] {
  for (const Reuse &each : reuses)
    ADD_TEST(PoolReuse, each.name, [=](PoolReuse &test) {
      const CUmemoryPool pool = test.pool();
      test.keep_all(pool);
      test.set_policies(pool, each.follow_events, each.opportunistic, each.internal);
      const CUstream freed_in = test.stream(), wanted_in = test.stream();
      const CUdeviceptr first = test.from(pool, 20 * kMiB, freed_in);
      NEED(driver().cuStreamSynchronize(freed_in));
      Hold held = hold(freed_in);
      if (!each.is_held) held.release();
      NEED(driver().cuMemFreeAsync(first, freed_in));
      each.act(test, freed_in, wanted_in);
      const CUdeviceptr second = test.from(pool, 20 * kMiB, wanted_in);
      EXPECT_VALUE(second == first, each.is_reused);
      EXPECT_VALUE(test.reserved(pool), (each.is_reused ? 32 : 64) * kMiB);
      if (each.is_held) {
        EXPECT_VALUE(test.becomes_idle(wanted_in), !each.waits);
      }
      held.release();
      NEED(driver().cuStreamSynchronize(freed_in));
      NEED(driver().cuStreamSynchronize(wanted_in));
      NEED(driver().cuMemFree(second));
    });
  return true;
}();

TEST_F(PoolReuse, An_event_before_the_free_does_not_count) {
  const CUmemoryPool pool = this->pool();
  keep_all(pool);
  set_policies(pool, 1, 0, 0);
  const CUstream freed_in = stream(), wanted_in = stream();
  const CUdeviceptr first = from(pool, 20 * kMiB, freed_in);
  NEED(driver().cuStreamSynchronize(freed_in));
  Hold held = hold(freed_in);
  const CUevent before = event();
  NEED(driver().cuEventRecord(before, freed_in));
  NEED(driver().cuMemFreeAsync(first, freed_in));
  wait(wanted_in, before);
  const CUdeviceptr second = from(pool, 20 * kMiB, wanted_in);
  EXPECT_VALUE(second == first, false);
  held.release();
  NEED(driver().cuStreamSynchronize(wanted_in));
  NEED(driver().cuMemFree(second));
}
// A pool that cannot grow, whose memory another stream frees later.
const bool full = [] {
  for (const int internal : {0, 1})
    ADD_TEST(PoolReuse, "Of_a_full_pool_with_internal_dependencies_set_to_" + std::to_string(internal),
             [=](PoolReuse &test) {
               const CUmemoryPool pool = test.pool_of_at_most(32 * kMiB);
               test.keep_all(pool);
               test.set_policies(pool, 0, 0, internal);
               const CUstream freed_in = test.stream(), wanted_in = test.stream();
               const CUdeviceptr first = test.from(pool, 20 * kMiB, freed_in);
               NEED(driver().cuStreamSynchronize(freed_in));
               Hold held = hold(freed_in);
               NEED(driver().cuMemFreeAsync(first, freed_in));
               CUdeviceptr second = 0;
               EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&second, 20 * kMiB, pool, wanted_in),
                             internal != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
               EXPECT_VALUE(second == first, internal != 0);
               EXPECT_VALUE(test.becomes_idle(wanted_in), internal == 0);
               held.release();
               NEED(driver().cuStreamSynchronize(freed_in));
               if (second != 0) NEED(driver().cuMemFreeAsync(second, wanted_in));
               NEED(driver().cuStreamSynchronize(wanted_in));
             });
  return true;
}();
TEST_F(PoolReuse, In_the_same_stream_needs_no_policy) {
  const CUmemoryPool pool = this->pool();
  keep_all(pool);
  set_policies(pool, 0, 0, 0);
  const CUstream work = stream();
  const CUdeviceptr first = from(pool, 20 * kMiB, work);
  NEED(driver().cuStreamSynchronize(work));
  Hold held = hold(work);
  NEED(driver().cuMemFreeAsync(first, work));
  const CUdeviceptr second = from(pool, 20 * kMiB, work);
  EXPECT_VALUE(second == first, true);
  EXPECT_VALUE(reserved(pool), 32 * kMiB);
  NEED(driver().cuMemFreeAsync(second, work));
  held.release();
  NEED(driver().cuStreamSynchronize(work));
}
TEST_F(PoolReuse, Of_smaller_memory_comes_from_the_same_block) {
  const CUmemoryPool pool = this->pool();
  keep_all(pool);
  const CUstream work = stream();
  const CUdeviceptr first = from(pool, 20 * kMiB, work);
  NEED(driver().cuMemFreeAsync(first, work));
  from(pool, 10 * kMiB, work);
  from(pool, 10 * kMiB, work);
  from(pool, 10 * kMiB, work);
  EXPECT_VALUE(reserved(pool), 32 * kMiB);
}

}  // namespace
}  // namespace conformance
