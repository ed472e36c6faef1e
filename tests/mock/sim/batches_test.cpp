// SPDX-License-Identifier: Apache-2.0
// Batches of copies, prefetches and discards: what the simulated driver does beyond the answers, which
// tests/conformance states.
#include <algorithm>
#include <cstring>
#include <vector>

#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

constexpr std::size_t kPage = 4096;

// Two managed pages of ones.
struct Pages : Running {
  explicit Pages(const Options &options = {}) : Running(options) {
    need(driver().cuMemAllocManaged(&memory, 2 * kPage, CU_MEM_ATTACH_GLOBAL));
    std::memset(bytes(), 1, 2 * kPage);
  }
  unsigned char *bytes() const { return reinterpret_cast<unsigned char *>(memory); }
  // Returns how many bytes are still 1.
  std::ptrdiff_t kept() const { return std::count(bytes(), bytes() + 2 * kPage, 1); }

  CUdeviceptr memory = 0;
  std::size_t size = kPage;
  CUmemLocation device{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  std::size_t first = 0;
};

TEST(ManagedBatch, A_discard_makes_its_bytes_indeterminate_when_the_stream_comes_to_it) {
  Pages pages;
  const CUstream stream = pages.stream();
  Gate gate = pages.machine.gate(stream);
  need(driver().cuMemDiscardBatchAsync(&pages.memory, &pages.size, 1, 0, stream));
  EXPECT_EQ(pages.kept(), 2 * kPage);
  gate.open();
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(pages.kept(), kPage);
}

TEST(ManagedBatch, A_discard_with_a_prefetch_loses_the_bytes_and_a_prefetch_keeps_them) {
  Pages pages;
  const CUstream stream = pages.stream();
  need(driver().cuMemPrefetchBatchAsync(&pages.memory, &pages.size, 1, &pages.device, &pages.first, 1, 0,
                                        stream));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(pages.kept(), 2 * kPage);
  need(driver().cuMemDiscardAndPrefetchBatchAsync(&pages.memory, &pages.size, 1, &pages.device, &pages.first,
                                                  1, 0, stream));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(pages.kept(), kPage);
}

TEST(ManagedBatch, A_free_waits_for_a_discard) {
  Pages pages({.schedule = Schedule::deferred});
  const CUstream stream = pages.stream();
  need(driver().cuMemDiscardBatchAsync(&pages.memory, &pages.size, 1, 0, stream));
  EXPECT_EQ(driver().cuMemFree(pages.memory), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_SUCCESS);
}

#if CUDA_VERSION >= 13000

// A batch of two copies of a word between words of device memory.
struct Words : Running {
  explicit Words(Schedule schedule = Schedule::deferred) : Running({.schedule = schedule}) {
    need(driver().cuMemsetD32(from, 1, 1));
    need(driver().cuMemsetD32(from + 4, 2, 1));
    need(driver().cuMemsetD32(to, 0, 2));
    need(driver().cuCtxSynchronize());
  }
  CUresult copy(CUmemcpySrcAccessOrder order) {
    CUdeviceptr targets[] = {to, to + 4}, sources[] = {from, from + 4};
    std::size_t sizes[] = {4, 4}, first[] = {0};
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = order;
    return driver().cuMemcpyBatchAsync_v2(targets, sources, sizes, 2, &attributes, first, 1, work);
  }
  std::vector<unsigned> copied() const {
    std::vector<unsigned> words(2);
    need(driver().cuStreamSynchronize(work));
    need(driver().cuMemcpyDtoH(words.data(), to, 8));
    return words;
  }

  const CUdeviceptr from = memory(), to = memory();
  const CUstream work = stream();
};

TEST(CopyBatch, In_stream_order_reads_what_earlier_work_wrote) {
  Words words;
  need(driver().cuMemsetD32Async(words.from, 9, 2, words.work));
  EXPECT_EQ(words.copy(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), CUDA_SUCCESS);
  EXPECT_EQ(words.copied(), (std::vector<unsigned>{9, 9}));
}

TEST(CopyBatch, During_the_call_waits_for_the_stream_unless_the_source_is_pageable) {
  Words words;
  need(driver().cuMemsetD32Async(words.from, 9, 2, words.work));
  EXPECT_EQ(words.copy(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamQuery(words.work), CUDA_SUCCESS);
  EXPECT_EQ(words.copied(), (std::vector<unsigned>{9, 9}));
}

TEST(CopyBatch, A_free_waits_for_all_copies) {
  Words words;
  EXPECT_EQ(words.copy(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFree(words.from), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamQuery(words.work), CUDA_SUCCESS);
  EXPECT_EQ(words.copied(), (std::vector<unsigned>{1, 2}));
}

// Measured on an H200, driver 580.
TEST(CopyBatch, Reads_memory_registered_for_reading_but_does_not_write_to_it) {
  alignas(kPage) static std::byte page[kPage];
  const Words words;
  need(driver().cuMemHostRegister(page, kPage, CU_MEMHOSTREGISTER_READ_ONLY));
  const auto copy = [&](CUdeviceptr target, CUdeviceptr source) {
    std::size_t size = 4, first = 0;
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    return driver().cuMemcpyBatchAsync_v2(&target, &source, &size, 1, &attributes, &first, 1, words.work);
  };
  const auto registered = reinterpret_cast<CUdeviceptr>(page);
  EXPECT_EQ(copy(registered, words.from), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy(words.to, registered), CUDA_SUCCESS);
  need(driver().cuStreamSynchronize(words.work));
  need(driver().cuMemHostUnregister(page));
}

#endif

}  // namespace
}  // namespace cushim::sim
