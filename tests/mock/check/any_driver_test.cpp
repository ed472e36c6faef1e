// SPDX-License-Identifier: Apache-2.0
// Checkers on a driver that is not the simulated one. It reuses handles, and a misuse must not reach it.
#include <cushim/check/leaks.hpp>
#include <cushim/check/misuse.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>

#include "fixture.hpp"

namespace cushim::check {
namespace {

// ---- A driver of a few functions with at most one event, at an address that the test chooses ----

std::atomic<int> event_calls{0};
int refused_ends = 0;
std::uintptr_t address = 0;
CUevent the_event() { return reinterpret_cast<CUevent>(address); }

CUresult create(CUevent *out, unsigned) {
  ++event_calls;
  *out = the_event();
  return CUDA_SUCCESS;
}
CUresult use(CUevent) {
  ++event_calls;
  return CUDA_SUCCESS;
}
CUresult destroy(CUevent) {
  ++event_calls;
  return refused_ends-- > 0 ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
}
CUresult create_stream(CUstream *out, unsigned) {
  *out = reinterpret_cast<CUstream>(the_event());
  return CUDA_SUCCESS;
}
CUresult use_stream(CUstream) { return CUDA_SUCCESS; }
CUresult open_memory(CUdeviceptr *out, CUipcMemHandle, unsigned) {
  *out = 0x10000;
  return CUDA_SUCCESS;
}
CUresult close_memory(CUdeviceptr) { return refused_ends-- > 0 ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS; }
CUresult current(CUcontext *out) {
  *out = reinterpret_cast<CUcontext>(std::uintptr_t{0x1000});
  return CUDA_SUCCESS;
}
CUresult version(int *out) {
  *out = 13000;
  return CUDA_SUCCESS;
}

void (*resolve(void *, const char *symbol))() {
  const auto any = [](auto function) { return reinterpret_cast<void (*)()>(function); };
  static const std::map<std::string, void (*)()> functions = {
      {"cuCtxGetCurrent", any(&current)},
      {"cuDriverGetVersion", any(&version)},
      {"cuEventCreate", any(&create)},
      {"cuEventDestroy_v2", any(&destroy)},
      {"cuEventQuery", any(&use)},
      {"cuEventSynchronize", any(&use)},
      {"cuIpcCloseMemHandle", any(&close_memory)},
      {"cuIpcOpenMemHandle_v2", any(&open_memory)},
      {"cuStreamCreate", any(&create_stream)},
      {"cuStreamQuery", any(&use_stream)},
  };
  const auto found = functions.find(symbol);
  return found == functions.end() ? nullptr : found->second;
}

class OnAnyDriver : public ::testing::Test {
 protected:
  OnAnyDriver() { address = kFirst; }
  static Driver &fake() {
    static Driver &driver = Driver::from_functions("of tests", 13000, &resolve);
    return driver;
  }
  CUevent event() {
    CUevent made = nullptr;
    EXPECT_EQ(driver_.cuEventCreate(&made, 0), CUDA_SUCCESS);
    return made;
  }
  // Makes and destroys `events` events, each at its own address.
  void make_and_destroy(int events) {
    for (int i = 0; i < events; ++i) {
      address += 16;
      EXPECT_EQ(driver_.cuEventDestroy(event()), CUDA_SUCCESS);
    }
  }
  static constexpr std::uintptr_t kFirst = 0x7f10;
  Driver &driver_ = fake();
};

TEST_F(OnAnyDriver, A_misuse_does_not_reach_the_driver) {
  Misuse misuse(driver_);
  const CUevent used = event();
  EXPECT_EQ(driver_.cuEventDestroy(used), CUDA_SUCCESS);
  event_calls = 0;
  EXPECT_EQ(driver_.cuEventQuery(used), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver_.cuEventDestroy(used), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(event_calls, 0);
  EXPECT_EQ(misuse.finish().size(), 2u) << words_of(misuse.findings());
}

TEST_F(OnAnyDriver, A_handle_that_the_driver_reuses_is_alive_again) {
  Misuse misuse(driver_);
  Leaks leaks(driver_);
  for (int i = 0; i < 3; ++i) {
    const CUevent again = event();
    EXPECT_EQ(driver_.cuEventQuery(again), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuEventDestroy(again), CUDA_SUCCESS);
  }
  EXPECT_TRUE(is_clean(misuse.finish()));
  EXPECT_TRUE(is_clean(leaks.finish()));
}

TEST_F(OnAnyDriver, The_last_1024_destroyed_objects_are_remembered) {
  Misuse misuse(driver_);
  const CUevent first = event();
  EXPECT_EQ(driver_.cuEventDestroy(first), CUDA_SUCCESS);
  make_and_destroy(1023);
  EXPECT_EQ(driver_.cuEventQuery(first), CUDA_ERROR_INVALID_HANDLE);
  make_and_destroy(1);
  EXPECT_EQ(driver_.cuEventQuery(first), CUDA_SUCCESS);
  EXPECT_EQ(misuse.finish().size(), 1u) << words_of(misuse.findings());
}

TEST_F(OnAnyDriver, A_living_object_is_not_forgotten_with_a_destroyed_one_of_its_handle) {
  Misuse misuse(driver_);
  Leaks leaks(driver_);
  EXPECT_EQ(driver_.cuEventDestroy(event()), CUDA_SUCCESS);
  const CUevent again = event();
  make_and_destroy(3000);
  EXPECT_TRUE(is_only(leaks.finish(), "never-destroyed"));
  EXPECT_EQ(driver_.cuEventDestroy(again), CUDA_SUCCESS);
  EXPECT_TRUE(is_clean(misuse.finish()));
  EXPECT_EQ(driver_.cuEventQuery(again), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(OnAnyDriver, A_reused_handle_may_be_of_another_kind) {
  Misuse misuse(driver_);
  EXPECT_EQ(driver_.cuEventDestroy(event()), CUDA_SUCCESS);
  CUstream stream = nullptr;
  EXPECT_EQ(driver_.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuStreamQuery(stream), CUDA_SUCCESS);
  EXPECT_TRUE(is_clean(misuse.finish()));
  EXPECT_EQ(driver_.cuEventQuery(the_event()), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_TRUE(is_only(misuse.finish(), "wrong-kind"));
}

TEST_F(OnAnyDriver, An_object_whose_destruction_fails_is_alive) {
  Misuse misuse(driver_);
  Leaks leaks(driver_);
  const CUevent kept = event();
  refused_ends = 1;
  EXPECT_EQ(driver_.cuEventDestroy(kept), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver_.cuEventQuery(kept), CUDA_SUCCESS);
  EXPECT_TRUE(is_clean(misuse.finish()));
  EXPECT_TRUE(is_only(leaks.finish(), "never-destroyed"));
}

TEST_F(OnAnyDriver, Memory_whose_close_fails_keeps_its_open_count) {
  Misuse misuse(driver_);
  Leaks leaks(driver_);
  CUdeviceptr opened = 0;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(driver_.cuIpcOpenMemHandle(&opened, {}, 0), CUDA_SUCCESS);
  for (int left = 2; left > 0; --left) {
    refused_ends = 1;
    EXPECT_EQ(driver_.cuIpcCloseMemHandle(opened), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(driver_.cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
  }
  EXPECT_TRUE(is_clean(misuse.finish()));
  EXPECT_TRUE(is_clean(leaks.finish()));
  EXPECT_EQ(driver_.cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
  EXPECT_TRUE(is_only(misuse.finish(), "double-free"));
}

TEST_F(OnAnyDriver, Objects_older_than_the_checker_may_be_used_and_destroyed) {
  const CUevent before = event();
  Misuse misuse(driver_);
  EXPECT_EQ(driver_.cuEventQuery(before), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuEventDestroy(before), CUDA_SUCCESS);
  EXPECT_TRUE(is_clean(misuse.finish()));
}

// ---- Entries that no checker hooks stay unchanged ----

// Returns the targets of all entries of the driver's table.
std::vector<void *> entries_of(Driver &driver) {
  std::vector<void *> entries(CUSHIM_ENTRY_COUNT);
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
    driver.supports(static_cast<Entry>(slot));  // looks up the entry
  const char *const table = reinterpret_cast<const char *>(static_cast<const CushimDriver *>(&driver));
  std::memcpy(entries.data(), table + 2 * sizeof(void *), entries.size() * sizeof entries[0]);
  return entries;
}

class Table : public OnAnyDriver {
 protected:
  void *entry(Entry entry) { return entries_of(driver_)[static_cast<std::size_t>(entry)]; }
};

TEST_F(Table, Contains_the_driver_s_functions_once_no_checker_is_enabled) {
  const std::vector<void *> before = entries_of(driver_);
  {
    const Leaks leaks(driver_);
    const Misuse misuse(driver_);
    EXPECT_NE(entries_of(driver_), before);
  }
  EXPECT_EQ(entries_of(driver_), before);
  EXPECT_EQ(entry(Entry::cuEventQuery), reinterpret_cast<void *>(&use));
}

TEST_F(Table, Contains_the_driver_s_functions_where_no_checker_needs_a_hook) {
  const Leaks leaks(driver_);
  EXPECT_EQ(entry(Entry::cuEventQuery), reinterpret_cast<void *>(&use));
  EXPECT_EQ(entry(Entry::cuCtxGetCurrent), reinterpret_cast<void *>(&current));
  EXPECT_NE(entry(Entry::cuEventDestroy_v2), reinterpret_cast<void *>(&destroy));
  const Misuse misuse(driver_);
  EXPECT_EQ(entry(Entry::cuDriverGetVersion), reinterpret_cast<void *>(&version));
  EXPECT_NE(entry(Entry::cuEventQuery), reinterpret_cast<void *>(&use));
}

}  // namespace
}  // namespace cushim::check
