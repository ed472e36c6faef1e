// SPDX-License-Identifier: Apache-2.0
// Statements about the reuse of memory that one stream has freed by an allocation in another stream.
#include "pools.hpp"

namespace conformance {
namespace {

// Which frees an allocation may reuse.
struct Policies {
  int follow_events, opportunistic, internal;
};

class PoolReuse : public OnPools {
 public:
  void set_policies(CUmemoryPool pool, const Policies &policies) {
    const int values[] = {policies.follow_events, policies.opportunistic, policies.internal};
    for (int i = 0; i < 3; ++i) {
      int value = values[i];
      NEED(driver().cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(1 + i), &value));
    }
  }
  // Creates a pool with these policies that keeps all of its memory.
  CUmemoryPool pool_with(const Policies &policies) {
    const CUmemoryPool made = pool();
    keep_all(made);
    set_policies(made, policies);
    return made;
  }
  // Allocates 20 MiB in a stream, and synchronizes the stream.
  static CUdeviceptr settled_from(CUmemoryPool pool, CUstream work) {
    const CUdeviceptr made = from(pool, 20 * kMiB, work);
    NEED(driver().cuStreamSynchronize(work));
    return made;
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
  Act act;
  bool is_reused, waits;  // the second allocation has the first one's address; its stream waits
};
struct Reuses {
  const char *name;
  Policies policies;
  std::vector<Reuse> frees;
};
const Reuses reuses[] = {
    {"Without_policies",
     {0, 0, 0},
     {{"that_is_pending", true, nothing, false, false},
      {"that_is_waited_for", true, wait_for_event, false, true},
      {"that_is_synchronized", false, synchronize, true, false},
      {"that_is_queried", false, query, false, false},
      {"that_a_third_stream_synchronizes", false, synchronize_a_third_stream, true, false}}},
    {"By_events",
     {1, 0, 0},
     {{"that_is_pending", true, nothing, false, false},
      {"that_is_waited_for", true, wait_for_event, true, true},
      {"that_is_waited_for_through_a_third_stream", true, wait_for_a_third_stream, true, true},
      {"that_a_third_stream_synchronizes", false, synchronize_a_third_stream, true, false}}},
    {"By_opportunity",
     {0, 1, 0},
     {{"that_is_pending", true, nothing, false, false},
      {"that_is_waited_for", true, wait_for_event, false, true},
      {"that_a_third_stream_synchronizes", false, synchronize_a_third_stream, true, false}}},
    {"By_internal_dependencies",
     {0, 0, 1},
     {{"that_is_pending", true, nothing, false, false},
      {"that_is_waited_for", true, wait_for_event, false, true}}},
    {"By_all_policies", {1, 1, 1}, {{"that_is_pending", true, nothing, false, false}}},
};
const bool reused = [] {
  for (const Reuses &set : reuses)
    for (const Reuse &each : set.frees)
      ADD_TEST(PoolReuse, std::string(set.name) + "_a_free_" + each.name, [=](PoolReuse &test) {
        const CUmemoryPool pool = test.pool_with(set.policies);
        const CUstream freed_in = test.stream(), wanted_in = test.stream();
        const CUdeviceptr first = test.settled_from(pool, freed_in);
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
  const CUmemoryPool pool = pool_with({1, 0, 0});
  const CUstream freed_in = stream(), wanted_in = stream();
  const CUdeviceptr first = settled_from(pool, freed_in);
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
               test.set_policies(pool, {0, 0, internal});
               const CUstream freed_in = test.stream(), wanted_in = test.stream();
               const CUdeviceptr first = test.settled_from(pool, freed_in);
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
  const CUmemoryPool pool = pool_with({0, 0, 0});
  const CUstream work = stream();
  const CUdeviceptr first = settled_from(pool, work);
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
