// SPDX-License-Identifier: Apache-2.0
// Creating, querying, configuring and destroying contexts. context_stack.cpp tests which context is current.
#include <cushim/exact.hpp>
#include <thread>

#include "contexts.hpp"

namespace conformance {
namespace {

namespace exact = cushim::exact;

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
  const CUcontext made = own_context();
  EXPECT_ANSWER(driver().cuCtxDestroy(made), CUDA_SUCCESS);
  EXPECT_VALUE(current() == context, true);
}

TEST_F(Contexts, One_made_here_can_be_destroyed_by_another_thread) {
  const CUcontext made = own_context();
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

}  // namespace
}  // namespace conformance
