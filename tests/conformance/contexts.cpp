// SPDX-License-Identifier: Apache-2.0
// Creating, querying, configuring and destroying contexts. context_stack.cpp tests which context is current.
#include <cushim/context.hpp>
#include <cushim/exact.hpp>
#include <thread>

#include "conformance.hpp"

namespace conformance {
namespace {

namespace exact = cushim::exact;

// A context in context_out is destroyed at the end of the test.
class Contexts : public OnDevice {
 protected:
  void TearDown() override {
    if (context_out != nullptr) driver().cuCtxDestroy(context_out);
    OnDevice::TearDown();
  }

 public:
  CUcontext current() {
    CUcontext current = nullptr;
    NEED(driver().cuCtxGetCurrent(&current));
    return current;
  }
  CUctxCreateParams parameters = {};
  CUexecAffinityParam affinity = {};
};

// ---- Creating ----

TEST_F(Contexts, Become_current_when_made) {
  EXPECT_ANSWER(driver().cuCtxCreate_v2(&context_out, 0, 0), CUDA_SUCCESS);
  EXPECT_VALUE(current() == context_out, true);
  EXPECT_VALUE(context_out != context, true);
}

TEST_F(Contexts, Are_put_above_the_current_one_when_made) {
  NEED(driver().cuCtxCreate_v2(&context_out, 0, 0));
  CUcontext popped = nullptr;
  EXPECT_ANSWER(driver().cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_VALUE(popped == context_out, true);
  EXPECT_VALUE(current() == context, true);
}

// The addresses of this ABI have 32 bits: it returns an error for a device with more memory than they can
// address.
STATEMENT(Contexts, Are_not_made_by_the_first_ABI_on_a_device_with_much_memory,
          exact::cuCtxCreate_v2000(driver())(&context_out, 0, 0), CUDA_ERROR_OUT_OF_MEMORY)
STATEMENT(Contexts, Are_made_by_the_ABI_of_11040,
          exact::cuCtxCreate_v11040(driver())(&context_out, nullptr, 0, 0, 0), CUDA_SUCCESS)
STATEMENT(Contexts, Are_made_by_the_ABI_of_12050_without_parameters,
          exact::cuCtxCreate_v12050(driver())(&context_out, nullptr, 0, 0), CUDA_SUCCESS)
STATEMENT(Contexts, Are_made_by_the_ABI_of_12050_with_empty_parameters,
          exact::cuCtxCreate_v12050(driver())(&context_out, &parameters, 0, 0), CUDA_SUCCESS)

STATEMENT(Contexts, Need_a_place, driver().cuCtxCreate_v2(nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Contexts, By_the_ABI_of_11040_need_a_place,
          exact::cuCtxCreate_v11040(driver())(nullptr, nullptr, 0, 0, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Contexts, By_the_ABI_of_12050_need_a_place,
          exact::cuCtxCreate_v12050(driver())(nullptr, nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Contexts, Need_a_device, driver().cuCtxCreate_v2(&context_out, 0, 99), CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Contexts, Need_a_device_that_is_not_negative, driver().cuCtxCreate_v2(&context_out, 0, -1),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Contexts, By_the_ABI_of_11040_need_a_device,
          exact::cuCtxCreate_v11040(driver())(&context_out, nullptr, 0, 0, 99), CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Contexts, By_the_ABI_of_12050_need_a_device,
          exact::cuCtxCreate_v12050(driver())(&context_out, nullptr, 0, 99), CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Contexts, Need_a_device_before_a_place, driver().cuCtxCreate_v2(nullptr, 0, 99),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Contexts, Need_a_device_before_good_flags, driver().cuCtxCreate_v2(&context_out, ~0u, 99),
          CUDA_ERROR_INVALID_DEVICE)

// The valid flags of a context, and the flags that reading them returns. The flag for core dumps by users
// (0x40) reads back as the flag for all core dumps (0x20).
struct Flags {
  const char *name;
  unsigned flags;
  CUresult code;
  unsigned read;
};
const Flags flags[] = {
    {"Without_flags", 0, CUDA_SUCCESS, 0},
    {"To_spin", CU_CTX_SCHED_SPIN, CUDA_SUCCESS, 0x1},
    {"To_yield", CU_CTX_SCHED_YIELD, CUDA_SUCCESS, 0x2},
    {"To_spin_and_to_yield", 3, CUDA_ERROR_INVALID_VALUE, 0},
    {"To_block", CU_CTX_BLOCKING_SYNC, CUDA_SUCCESS, 0x4},
    {"To_block_and_to_spin", 5, CUDA_ERROR_INVALID_VALUE, 0},
    {"To_block_and_to_yield", 6, CUDA_ERROR_INVALID_VALUE, 0},
    {"To_block_spin_and_yield", 7, CUDA_ERROR_INVALID_VALUE, 0},
    {"Mapping_host_memory", CU_CTX_MAP_HOST, CUDA_SUCCESS, 0x8},
    {"Keeping_local_memory", CU_CTX_LMEM_RESIZE_TO_MAX, CUDA_SUCCESS, 0x10},
    {"With_the_flag_for_core_dumps", 0x20, CUDA_SUCCESS, 0x20},
    {"With_the_flag_for_core_dumps_by_users", 0x40, CUDA_SUCCESS, 0x20},
    {"With_synchronous_memory_operations", 0x80, CUDA_SUCCESS, 0x80},
    {"With_the_flag_256", 0x100, CUDA_ERROR_INVALID_VALUE, 0},
    {"With_the_flag_512", 0x200, CUDA_ERROR_INVALID_VALUE, 0},
    {"With_the_highest_flag", 0x80000000u, CUDA_ERROR_INVALID_VALUE, 0},
    {"With_all_flags", ~0u, CUDA_ERROR_INVALID_VALUE, 0},
};

[[maybe_unused]] const bool flags_added = [] {
  for (const Flags &row : flags) {
    ADD_TEST(Contexts, std::string(row.name) + (row.code == CUDA_SUCCESS ? "_are_made" : "_are_refused"),
             [row](Contexts &t) {
               EXPECT_ANSWER(driver().cuCtxCreate_v2(&t.context_out, row.flags, 0), row.code);
               if (t.context_out == nullptr) return;
               EXPECT_ANSWER(driver().cuCtxGetFlags(&t.flags), CUDA_SUCCESS);
               EXPECT_VALUE(t.flags, row.read);
             });
    if (row.code == CUDA_SUCCESS) continue;
    ADD_TEST(Contexts, std::string("By_the_ABI_of_12050_") + row.name + "_are_refused", [row](Contexts &t) {
      EXPECT_ANSWER(exact::cuCtxCreate_v12050(driver())(&t.context_out, nullptr, row.flags, 0), row.code);
    });
  }
  return true;
}();

TEST_F(Contexts, Leave_the_place_alone_if_refused) {
  CUcontext made = reinterpret_cast<CUcontext>(0x1234);
  EXPECT_ANSWER(driver().cuCtxCreate_v2(&made, ~0u, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(made == reinterpret_cast<CUcontext>(0x1234), true);
  EXPECT_VALUE(current() == context, true);
}

// ---- Destroying ----

STATEMENT(Contexts, A_null_context_cannot_be_destroyed, driver().cuCtxDestroy(nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Contexts, A_null_context_cannot_be_destroyed_by_the_first_ABI,
          exact::cuCtxDestroy_v2000(driver())(nullptr), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Contexts, A_primary_context_cannot_be_destroyed, driver().cuCtxDestroy(context),
          CUDA_ERROR_INVALID_CONTEXT)
STATEMENT(Contexts, A_primary_context_cannot_be_destroyed_by_the_first_ABI,
          exact::cuCtxDestroy_v2000(driver())(context), CUDA_ERROR_INVALID_CONTEXT)

TEST_F(Contexts, The_current_one_destroyed_leaves_the_one_below_current) {
  CUcontext made = nullptr;
  NEED(driver().cuCtxCreate_v2(&made, 0, 0));
  EXPECT_ANSWER(driver().cuCtxDestroy(made), CUDA_SUCCESS);
  EXPECT_VALUE(current() == context, true);
}

TEST_F(Contexts, One_that_is_not_current_can_be_destroyed) {
  CUcontext made = nullptr, popped = nullptr;
  NEED(driver().cuCtxCreate_v2(&made, 0, 0));
  NEED(driver().cuCtxPopCurrent(&popped));
  EXPECT_ANSWER(driver().cuCtxDestroy(made), CUDA_SUCCESS);
  EXPECT_VALUE(current() == context, true);
}

TEST_F(Contexts, One_made_here_can_be_destroyed_by_another_thread) {
  CUcontext made = nullptr, popped = nullptr;
  NEED(driver().cuCtxCreate_v2(&made, 0, 0));
  NEED(driver().cuCtxPopCurrent(&popped));
  CUresult there = CUDA_ERROR_UNKNOWN;
  std::thread([&] { there = driver().cuCtxDestroy(made); }).join();
  EXPECT_ANSWER(there, CUDA_SUCCESS);
}

TEST_F(Contexts, One_with_a_stream_and_memory_can_be_destroyed) {
  CUcontext made = nullptr;
  CUstream inside = nullptr;
  CUdeviceptr words = 0;
  NEED(driver().cuCtxCreate_v2(&made, 0, 0));
  NEED(driver().cuStreamCreate(&inside, 0));
  NEED(driver().cuMemAlloc(&words, 4096));
  NEED(driver().cuMemsetD8Async(words, 1, 4096, inside));
  EXPECT_ANSWER(driver().cuCtxDestroy(made), CUDA_SUCCESS);
}

// ---- Querying ----

class ContextQueries : public Contexts {
 public:
  CUdevice found = -1;
  unsigned long long id = 0;
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
  CUsharedconfig shared = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
  int least = 1, greatest = 1;
};

// Calls that act in the current context.
struct Call {
  const char *name;
  CUresult (*call)(ContextQueries &t);
  CUresult with = CUDA_SUCCESS;
  CUresult without = CUDA_ERROR_INVALID_CONTEXT;
};
constexpr CUresult invalid = CUDA_ERROR_INVALID_VALUE;
const Call calls[] = {
    {"cuCtxGetDevice", [](auto &t) { return exact::cuCtxGetDevice_v2000(driver())(&t.found); }},
    {"cuCtxGetDevice_without_a_place", [](auto &) { return exact::cuCtxGetDevice_v2000(driver())(nullptr); },
     invalid, invalid},
    {"cuCtxGetFlags", [](auto &t) { return driver().cuCtxGetFlags(&t.flags); }},
    {"cuCtxGetFlags_without_a_place", [](auto &) { return driver().cuCtxGetFlags(nullptr); }, invalid,
     invalid},
    {"cuCtxSynchronize", [](auto &) { return exact::cuCtxSynchronize_v2000(driver())(); }},
    {"cuCtxGetCacheConfig", [](auto &t) { return driver().cuCtxGetCacheConfig(&t.cache); }},
    {"cuCtxGetCacheConfig_without_a_place", [](auto &) { return driver().cuCtxGetCacheConfig(nullptr); },
     invalid},
    {"cuCtxSetCacheConfig", [](auto &t) { return driver().cuCtxSetCacheConfig(t.cache); }},
    {"cuCtxGetSharedMemConfig", [](auto &t) { return driver().cuCtxGetSharedMemConfig(&t.shared); }},
    {"cuCtxGetSharedMemConfig_without_a_place",
     [](auto &) { return driver().cuCtxGetSharedMemConfig(nullptr); }, invalid},
    {"cuCtxSetSharedMemConfig", [](auto &t) { return driver().cuCtxSetSharedMemConfig(t.shared); }},
    {"cuCtxGetLimit", [](auto &t) { return driver().cuCtxGetLimit(&t.size, CU_LIMIT_STACK_SIZE); }},
    {"cuCtxGetLimit_without_a_place",
     [](auto &) { return driver().cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE); }, invalid},
    {"cuCtxSetLimit", [](auto &) { return driver().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024); }},
    {"cuCtxGetStreamPriorityRange",
     [](auto &t) { return driver().cuCtxGetStreamPriorityRange(&t.least, &t.greatest); }},
    {"cuCtxGetStreamPriorityRange_of_the_least_alone",
     [](auto &t) { return driver().cuCtxGetStreamPriorityRange(&t.least, nullptr); }},
    {"cuCtxGetStreamPriorityRange_of_the_greatest_alone",
     [](auto &t) { return driver().cuCtxGetStreamPriorityRange(nullptr, &t.greatest); }},
    {"cuCtxGetStreamPriorityRange_of_neither",
     [](auto &) { return driver().cuCtxGetStreamPriorityRange(nullptr, nullptr); }},
    {"cuCtxGetApiVersion_of_the_current",
     [](auto &t) { return driver().cuCtxGetApiVersion(nullptr, &t.flags); }},
    {"cuCtxGetApiVersion_without_a_place",
     [](auto &) { return driver().cuCtxGetApiVersion(nullptr, nullptr); }, invalid},
    {"cuCtxGetId_of_the_current", [](auto &t) { return driver().cuCtxGetId(nullptr, &t.id); }},
    {"cuCtxGetId_without_a_place", [](auto &) { return driver().cuCtxGetId(nullptr, nullptr); }, invalid,
     invalid},
    {"cuCtxResetPersistingL2Cache", [](auto &) { return driver().cuCtxResetPersistingL2Cache(); }},
    {"cuCtxSetFlags_as_they_are", [](auto &) { return driver().cuCtxSetFlags(0); }},
    {"cuCtxSetFlags_to_all", [](auto &) { return driver().cuCtxSetFlags(~0u); }, invalid},
    {"cuCtxGetCurrent_without_a_place", [](auto &) { return driver().cuCtxGetCurrent(nullptr); }, invalid,
     invalid},
    {"cuCtxPushCurrent_of_null", [](auto &) { return driver().cuCtxPushCurrent(nullptr); }, invalid, invalid},
    {"cuCtxGetDevice_of_13000_of_the_current",
     [](auto &t) { return exact::cuCtxGetDevice_v13000(driver())(&t.found, nullptr); }},
    {"cuCtxSynchronize_of_13000_of_the_current",
     [](auto &) { return exact::cuCtxSynchronize_v13000(driver())(nullptr); }},
    {"cuMemGetInfo_without_places", [](auto &) { return driver().cuMemGetInfo(nullptr, nullptr); }},
    {"cuCtxDetach_of_null", [](auto &) { return driver().cuCtxDetach(nullptr); }, CUDA_ERROR_INVALID_CONTEXT},
};

[[maybe_unused]] const bool calls_added = [] {
  for (const Call &row : calls) {
    ADD_TEST(ContextQueries, row.name, [row](ContextQueries &t) { EXPECT_ANSWER(row.call(t), row.with); });
    ADD_TEST(ContextQueries, row.name + std::string("_and_no_context"), [row](ContextQueries &t) {
      NEED(driver().cuCtxSetCurrent(nullptr));
      EXPECT_ANSWER(row.call(t), row.without);
    });
    ADD_TEST(ContextQueries, row.name + std::string("_in_a_thread_without_a_context"),
             [row](ContextQueries &t) {
               CUresult there = CUDA_ERROR_UNKNOWN;
               std::thread([&] { there = row.call(t); }).join();
               EXPECT_ANSWER(there, row.without);
             });
  }
  return true;
}();

TEST_F(ContextQueries, The_device_is_the_one_it_was_made_on) {
  NEED(driver().cuCtxGetDevice(&found));
  EXPECT_VALUE(found, 0);
}

TEST_F(ContextQueries, The_number_of_a_context_is_its_own) {
  unsigned long long here = 0, there = 0, again = 0;
  EXPECT_ANSWER(driver().cuCtxGetId(context, &here), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxGetId(other_context(), &there), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxGetId(nullptr, &again), CUDA_SUCCESS);
  EXPECT_VALUE(here != there, true);
  EXPECT_VALUE(here == again, true);
}

TEST_F(ContextQueries, The_version_of_a_context_is_that_of_the_ABI_that_made_it) {
  NEED(driver().cuCtxGetApiVersion(context, &flags));
  RECORD_VALUE(flags);
  EXPECT_VALUE(flags >= 3010, true);
  NEED(driver().cuCtxGetApiVersion(other_context(), &flags));
  RECORD_VALUE(flags);
}

TEST_F(ContextQueries, Priorities_are_lower_the_more_urgent) {
  NEED(driver().cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_VALUE(least, 0);
  EXPECT_VALUE(greatest <= least, true);
  RECORD_VALUE(greatest);
}

TEST_F(ContextQueries, The_current_primary_context_maps_host_memory_though_its_state_does_not_say_so) {
  EXPECT_ANSWER(driver().cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_VALUE(flags, unsigned(CU_CTX_MAP_HOST));
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxGetState(0, &flags, &number), CUDA_SUCCESS);
  EXPECT_VALUE(flags, 0u);
}

TEST_F(ContextQueries, Flags_can_be_changed_later) {
  NEED(driver().cuCtxCreate_v2(&context_out, 0, 0));
  EXPECT_ANSWER(driver().cuCtxSetFlags(CU_CTX_SCHED_YIELD), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_VALUE(flags, unsigned(CU_CTX_SCHED_YIELD));
}

// ---- Limits ----

class Limits : public Contexts {};

struct Limit {
  const char *name;
  int number;
  CUresult read, set;
};
const Limit limits[] = {
    {"The_stack_size", CU_LIMIT_STACK_SIZE, CUDA_SUCCESS, CUDA_SUCCESS},
    {"The_printf_buffer", CU_LIMIT_PRINTF_FIFO_SIZE, CUDA_SUCCESS, CUDA_SUCCESS},
    {"The_malloc_heap", CU_LIMIT_MALLOC_HEAP_SIZE, CUDA_SUCCESS, CUDA_SUCCESS},
    {"The_depth_of_device_synchronization", CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, CUDA_ERROR_UNSUPPORTED_LIMIT,
     CUDA_ERROR_UNSUPPORTED_LIMIT},
    {"The_number_of_pending_launches", CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, CUDA_SUCCESS, CUDA_SUCCESS},
    {"The_L2_fetch_granularity", CU_LIMIT_MAX_L2_FETCH_GRANULARITY, CUDA_SUCCESS, CUDA_SUCCESS},
    {"The_persisting_L2_cache", CU_LIMIT_PERSISTING_L2_CACHE_SIZE, CUDA_SUCCESS, CUDA_SUCCESS},
    {"The_number_1000", 1000, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE},
    {"The_number_minus_1", -1, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE},
};

[[maybe_unused]] const bool limits_added = [] {
  for (const Limit &row : limits) {
    const auto limit = static_cast<CUlimit>(row.number);
    ADD_TEST(Limits, row.name + std::string("_is_read"), [=](Limits &t) {
      EXPECT_ANSWER(driver().cuCtxGetLimit(&t.size, limit), row.read);
      RECORD_VALUE(t.size);
    });
    ADD_TEST(Limits, row.name + std::string("_is_set_as_it_is"), [=](Limits &t) {
      driver().cuCtxGetLimit(&t.size, limit);
      EXPECT_ANSWER(driver().cuCtxSetLimit(limit, t.size), row.set);
    });
    ADD_TEST(Limits, row.name + std::string("_is_not_read_without_a_place"), [=](Limits &) {
      EXPECT_ANSWER(driver().cuCtxGetLimit(nullptr, limit), CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(Limits, row.name + std::string("_is_not_read_without_a_context"), [=](Limits &t) {
      NEED(driver().cuCtxSetCurrent(nullptr));
      EXPECT_ANSWER(driver().cuCtxGetLimit(&t.size, limit), CUDA_ERROR_INVALID_CONTEXT);
      EXPECT_ANSWER(driver().cuCtxSetLimit(limit, 1024), CUDA_ERROR_INVALID_CONTEXT);
    });
  }
  return true;
}();

// Requested limits and the resulting ones; the requests run in order.
struct Wish {
  std::size_t value;
  CUresult code;
  std::size_t read;
};
struct Wishes {
  const char *name;
  int limit;
  std::vector<Wish> wishes;
};
const Wishes wishes[] = {
    {"The_stack_size",
     CU_LIMIT_STACK_SIZE,
     {{0, CUDA_SUCCESS, 0},
      {1, CUDA_SUCCESS, 16},
      {15, CUDA_SUCCESS, 15},
      {16, CUDA_SUCCESS, 16},
      {17, CUDA_SUCCESS, 32},
      {1000, CUDA_SUCCESS, 1008},
      {1024, CUDA_SUCCESS, 1024},
      {4097, CUDA_SUCCESS, 4112},
      {1'048'576, CUDA_ERROR_INVALID_VALUE, 4112},
      {5'000'000, CUDA_ERROR_INVALID_VALUE, 4112}}},
    {"The_printf_buffer",
     CU_LIMIT_PRINTF_FIFO_SIZE,
     {{0, CUDA_SUCCESS, 524288},
      {1, CUDA_SUCCESS, 524288},
      {16, CUDA_SUCCESS, 524288},
      {1024, CUDA_SUCCESS, 524288},
      {524'288, CUDA_SUCCESS, 524288},
      {524'289, CUDA_SUCCESS, 524544},
      {1'048'576, CUDA_SUCCESS, 1048576},
      {5'000'000, CUDA_SUCCESS, 5000192}}},
    {"The_malloc_heap",
     CU_LIMIT_MALLOC_HEAP_SIZE,
     {{0, CUDA_SUCCESS, 4194304},
      {1, CUDA_SUCCESS, 4194304},
      {1024, CUDA_SUCCESS, 4194304},
      {1'048'576, CUDA_SUCCESS, 4194304},
      {4'194'304, CUDA_SUCCESS, 4194304},
      {4'194'305, CUDA_SUCCESS, 4259840},
      {8'388'608, CUDA_SUCCESS, 8388608},
      {8'388'609, CUDA_SUCCESS, 8454144},
      {20'000'000, CUDA_SUCCESS, 20054016}}},
    {"The_number_of_pending_launches",
     CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
     {{0, CUDA_SUCCESS, 32},
      {1, CUDA_SUCCESS, 32},
      {16, CUDA_SUCCESS, 32},
      {1024, CUDA_SUCCESS, 1024},
      {2048, CUDA_SUCCESS, 2048},
      {2049, CUDA_SUCCESS, 2049},
      {5000, CUDA_SUCCESS, 5000}}},
    {"The_L2_fetch_granularity",
     CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
     {{0, CUDA_SUCCESS, 0},
      {1, CUDA_SUCCESS, 1},
      {16, CUDA_SUCCESS, 16},
      {32, CUDA_SUCCESS, 32},
      {33, CUDA_SUCCESS, 33},
      {64, CUDA_SUCCESS, 64},
      {100, CUDA_SUCCESS, 100},
      {128, CUDA_SUCCESS, 128},
      {129, CUDA_ERROR_INVALID_VALUE, 128},
      {1024, CUDA_ERROR_INVALID_VALUE, 128}}},
    {"The_persisting_L2_cache",
     CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
     {{0, CUDA_SUCCESS, 0},
      {1, CUDA_SUCCESS, 3932160},
      {1024, CUDA_SUCCESS, 3932160},
      {1'048'576, CUDA_SUCCESS, 3932160},
      {5'000'000, CUDA_SUCCESS, 7864320},
      {33'554'432, CUDA_SUCCESS, 35389440},
      {39'321'600, CUDA_SUCCESS, 39321600},
      {1'000'000'000, CUDA_ERROR_INVALID_VALUE, 39321600}}},
    {"The_number_7",
     7,
     {{0, CUDA_ERROR_NOT_PERMITTED, 232448},
      {1, CUDA_ERROR_NOT_PERMITTED, 232448},
      {1024, CUDA_ERROR_NOT_PERMITTED, 232448}}},
    {"The_number_8",
     8,
     {{0, CUDA_ERROR_NOT_PERMITTED, 0},
      {1, CUDA_ERROR_NOT_PERMITTED, 0},
      {1024, CUDA_ERROR_NOT_PERMITTED, 0}}},
    {"The_number_9",
     9,
     {{0, CUDA_ERROR_UNSUPPORTED_LIMIT, 0},
      {1, CUDA_ERROR_UNSUPPORTED_LIMIT, 0},
      {1024, CUDA_ERROR_UNSUPPORTED_LIMIT, 0}}},
    {"The_number_10",
     10,
     {{0, CUDA_ERROR_INVALID_VALUE, 0},
      {1, CUDA_ERROR_INVALID_VALUE, 0},
      {1024, CUDA_ERROR_INVALID_VALUE, 0}}},
};
[[maybe_unused]] const bool wishes_added = [] {
  for (const Wishes &row : wishes)
    ADD_TEST(Limits, row.name + std::string("_follows_wishes"), [&row](Limits &t) {
      NEED(driver().cuCtxCreate_v2(&t.context_out, 0, 0));
      const auto limit = static_cast<CUlimit>(row.limit);
      for (const Wish &wish : row.wishes) {
        SCOPED_TRACE(wish.value);
        t.size = 0;
        EXPECT_ANSWER(driver().cuCtxSetLimit(limit, wish.value), wish.code);
        driver().cuCtxGetLimit(&t.size, limit);
        EXPECT_VALUE(t.size, wish.read);
      }
    });
  return true;
}();

// ---- Preferences ----

[[maybe_unused]] const bool preferences_added = [] {
  for (const int preference : {0, 1, 2, 3, 4, 1000})
    ADD_TEST(Contexts, "The_cache_preference_" + std::to_string(preference), [preference](Contexts &t) {
      NEED(driver().cuCtxPushCurrent(t.other_context()));
      EXPECT_ANSWER(driver().cuCtxSetCacheConfig(static_cast<CUfunc_cache>(preference)),
                    preference <= 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
      CUfunc_cache read{};
      EXPECT_ANSWER(driver().cuCtxGetCacheConfig(&read), CUDA_SUCCESS);
      EXPECT_VALUE(static_cast<int>(read), preference <= 3 ? preference : 0);
      CUcontext popped = nullptr;
      NEED(driver().cuCtxPopCurrent(&popped));
    });
  return true;
}();

// ---- Synchronizing ----

TEST_F(Contexts, Are_synchronized_by_13000_from_another_context) {
  EXPECT_ANSWER(exact::cuCtxSynchronize_v13000(driver())(other_context()), CUDA_SUCCESS);
  EXPECT_VALUE(current() == context, true);
}

TEST_F(Contexts, Do_not_wait_for_another_context) {
  const CUstream there = in_other_context([this] { return stream(); });
  NEED(driver().cuCtxPushCurrent(other_context()));
  Hold held = hold(there);
  CUcontext popped = nullptr;
  NEED(driver().cuCtxPopCurrent(&popped));
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(there), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(there), CUDA_SUCCESS);
}

// ---- Wrappers ----

class ContextWrappers : public OnDevice {};

TEST_F(ContextWrappers, Leave_the_current_context_alone_when_they_make_one) {
  const auto made = cushim::Context::create(cushim::Device::get(0));
  EXPECT_VALUE(cushim::ContextRef::current().handle() == context, true);
  EXPECT_VALUE(made.handle() != context, true);
  EXPECT_VALUE(made.device().handle(), 0);
  EXPECT_VALUE(int(made.flags()), 0);
}

TEST_F(ContextWrappers, Make_a_context_current_for_a_scope) {
  {
    cushim::ScopedContext scope(cushim::ContextRef::from_handle(other_context()));
    EXPECT_VALUE(cushim::ContextRef::current().handle() == other_context(), true);
  }
  EXPECT_VALUE(cushim::ContextRef::current().handle() == context, true);
}

TEST_F(ContextWrappers, Restore_the_current_context) {
  {
    cushim::RestoredContext before;
    NEED(driver().cuCtxSetCurrent(nullptr));
    EXPECT_VALUE(cushim::ContextRef::current().handle() == nullptr, true);
  }
  EXPECT_VALUE(cushim::ContextRef::current().handle() == context, true);
}

TEST_F(ContextWrappers, Refuse_bad_flags) {
  CUresult code = CUDA_SUCCESS;
  try {
    cushim::Context::create(cushim::Device::get(0), static_cast<cushim::ContextFlags>(~0u));
  } catch (const cushim::Error &error) {
    code = static_cast<CUresult>(error.code().value());
  }
  EXPECT_ANSWER(code, CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ContextWrappers, Ask_about_a_context_that_is_not_current) {
  const auto there = cushim::ContextRef::from_handle(other_context());
  EXPECT_VALUE(there.device().handle(), 0);
  EXPECT_VALUE(there.stream_priorities().least, 0);
  EXPECT_VALUE(int(there.cache_preference()), 0);
  EXPECT_VALUE(there.memory().total > 0, true);
  EXPECT_VALUE(there.id() != cushim::ContextRef::current().id(), true);
  there.synchronize();
  EXPECT_VALUE(cushim::ContextRef::current().handle() == context, true);
}

}  // namespace
}  // namespace conformance
