// SPDX-License-Identifier: Apache-2.0
// Tests the report of a replay, which lists the calls that differ and those that were not replayed.
#include <gmock/gmock.h>
#include <unistd.h>
#include <cushim/exact.hpp>
#include <cushim/mock/hook.hpp>
#include <cushim/replay/player.hpp>
#include <cushim/sim/external_semaphore.hpp>

#include <thread>

#include "played.hpp"
#include "support/structures.hpp"

namespace cushim::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(Player, Imports_of_external_semaphores_are_reported_with_the_calls_that_need_them) {
  const Recording recording = recording_of([](Driver &driver) {
    const sim::ExternalSemaphore timeline(sim::ExternalSemaphore::Type::timeline);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    description.handle.fd = timeline.new_descriptor();
    CUexternalSemaphore semaphore = nullptr;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
    signal.params.fence.value = 1;
    EXPECT_EQ(driver.cuImportExternalSemaphore(&semaphore, &description), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  const Report report = play_elsewhere(recording);
  EXPECT_THAT(report.differences, IsEmpty());
  ASSERT_EQ(report.not_replayed.size(), 2U);
  EXPECT_EQ(report.not_replayed[0].symbol, "cuImportExternalSemaphore");
  EXPECT_EQ(report.not_replayed[0].reason, "it needs a file descriptor of another interface");
  EXPECT_EQ(report.not_replayed[1].symbol, "cuSignalExternalSemaphoresAsync");
  EXPECT_THAT(report.not_replayed[1].reason, HasSubstr("is unknown"));
}

TEST_F(Player, Imports_of_a_descriptor_of_another_process_are_reported) {
  const Recording recording = recording_of([](Driver &driver) {
    const sim::Machine other;
    const CUmemPoolProps properties = pool_of_device(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemoryPool pool = nullptr, imported = nullptr;
    int descriptor = -1;
    make_context(other.driver());
    EXPECT_EQ(other.driver().cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    EXPECT_EQ(other.driver().cuMemPoolExportToShareableHandle(&descriptor, pool,
                                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    driver.cuMemPoolImportFromShareableHandle(
        &imported, reinterpret_cast<void *>(static_cast<std::intptr_t>(descriptor)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    close(descriptor);
  });
  const Report report = play_elsewhere(recording);
  EXPECT_THAT(report.differences, IsEmpty());
  ASSERT_EQ(report.not_replayed.size(), 1U);
  EXPECT_EQ(report.not_replayed[0].symbol, "cuMemPoolImportFromShareableHandle");
}

TEST_F(Player, The_first_call_with_another_result_is_named) {
  const Recording recording = recording_of([](Driver &driver) {
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 64);
    driver.cuMemsetD8(memory, 1, 64);
    driver.cuMemFree(memory);
  });
  const sim::Machine machine;
  auto fails = hook::replace<&cuMemsetD8>(
      machine.driver(), [](CUdeviceptr, unsigned char, std::size_t) { return CUDA_ERROR_LAUNCH_FAILED; });
  const Report report = play(recording, machine.driver());
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_EQ(report.differences[0].call, 4U);
  EXPECT_EQ(text_of(report.differences[0]), "result: CUDA_SUCCESS, now CUDA_ERROR_LAUNCH_FAILED");
}

TEST_F(Player, A_value_and_a_byte_that_differ_are_named) {
  const Recording recording = recording_of([](Driver &driver) {
    CUdeviceptr memory = 0;
    int count = 0;
    char bytes[8] = {};
    driver.cuDeviceGetCount(&count);
    driver.cuMemAlloc(&memory, 8);
    driver.cuMemsetD8(memory, 5, 8);
    driver.cuMemcpyDtoH(bytes, memory, 8);
  });
  const sim::Machine machine;
  auto counts = hook::after<&cuDeviceGetCount>(machine.driver(), [](CUresult result, int *count) {
    *count = 7;
    return result;
  });
  auto copies =
      hook::after<&cuMemcpyDtoH>(machine.driver(), [](CUresult result, void *to, CUdeviceptr, std::size_t) {
        static_cast<char *>(to)[3] = 6;
        return result;
      });
  const Report report = play(recording, machine.driver());
  ASSERT_EQ(report.differences.size(), 2U);
  EXPECT_EQ(text_of(report.differences[0]), "count: 1, now 7");
  EXPECT_EQ(report.differences[1].recorded, "byte 3 is 5");
  EXPECT_EQ(report.differences[1].replayed, "6");
  EXPECT_THAT(play(recording, machine.driver(), {.ignored = {"cuDeviceGet*", "cuMemcpyDtoH"}}).differences,
              IsEmpty());
}

TEST_F(Player, Calls_whose_memory_was_not_recorded_are_listed_with_the_reason) {
  const Report report = play_elsewhere(recording_of(
      [](Driver &driver) {
        CUdeviceptr memory = 0;
        char bytes[8] = {};
        driver.cuMemAlloc(&memory, 8);
        for (int i = 0; i < 3; ++i) driver.cuMemcpyHtoD(memory, bytes, 8);
        driver.cuMemsetD8(memory, 5, 8);
        driver.cuMemcpyDtoH(bytes, memory, 8);
      },
      RecordData::hashes));
  EXPECT_THAT(report.differences, IsEmpty()) << "the hash of the bytes that were read";
  ASSERT_EQ(report.not_replayed.size(), 1U);
  EXPECT_EQ(report.not_replayed[0].symbol, "cuMemcpyHtoD_v2");
  EXPECT_EQ(report.not_replayed[0].count, 3U);
  EXPECT_THAT(report.not_replayed[0].reason, HasSubstr("not recorded"));
}

TEST_F(Player, A_handle_of_a_call_that_failed_here_is_unknown) {
  const Recording recording = recording_of([](Driver &driver) {
    CUevent event = nullptr;
    driver.cuEventCreate(&event, 0);
    driver.cuEventRecord(event, nullptr);
  });
  const sim::Machine machine;
  auto fails = hook::replace<&cuEventCreate>(machine.driver(),
                                             [](CUevent *, unsigned) { return CUDA_ERROR_OUT_OF_MEMORY; });
  const Report report = play(recording, machine.driver());
  EXPECT_EQ(report.differences.size(), 1U);
  ASSERT_EQ(report.not_replayed.size(), 1U);
  EXPECT_EQ(report.not_replayed[0].reason, "its event is unknown");
}

TEST_F(Player, A_context_that_a_function_of_an_export_table_made_current_is_made_current) {
  {
    const sim::Machine machine;
    Driver &driver = machine.driver();
    CUcontext context = nullptr, current = nullptr;
    const void *table = nullptr;
    // Installed before the recorder, so the recorder does not see the calls inside.
    auto finds =
        hook::replace<&cuGetExportTable>(driver, [](const void **, const CUuuid *) { return CUDA_SUCCESS; });
    auto hidden = hook::before<&cuDeviceGetCount>(driver, [&](int *) { driver.cuCtxSetCurrent(context); });
    const replay::Recorder recorder(driver, file_);
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuGetExportTable(&table, nullptr);
    int count = 0;
    driver.cuDeviceGetCount(&count);
    driver.cuCtxGetCurrent(&current);
    EXPECT_EQ(current, context);
    std::thread([&] {
      driver.cuDeviceGetCount(&count);
      CUdeviceptr memory = 0;
      EXPECT_EQ(driver.cuMemAlloc(&memory, 64), CUDA_SUCCESS);
    }).join();
  }
  const Recording recording = Recording::read(file_);
  const sim::Machine machine;
  const Report report = play(recording, machine.driver());
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_STREQ(cushim_entry(recording.calls()[report.differences[0].call].slot)->symbol, "cuGetExportTable");
}

}  // namespace
}  // namespace cushim::test
