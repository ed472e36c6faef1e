// SPDX-License-Identifier: Apache-2.0
// One-dimensional copies.
#include <cushim/copy.hpp>
#include <cushim/memory.hpp>

#include "memory_kinds.hpp"

namespace conformance {
namespace {

class Copies : public OnDevice {};

struct CopyCall {
  const char *name;
  CUresult (*call)(OnDevice &test, CUdeviceptr to, CUdeviceptr from, std::size_t bytes);
};

void *host_of(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

const CopyCall copy_calls[] = {
    {"cuMemcpy", [](OnDevice &, CUdeviceptr to, CUdeviceptr from,
                    std::size_t bytes) { return driver().cuMemcpy(to, from, bytes); }},
    {"cuMemcpyAsync",
     [](OnDevice &test, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
       return driver().cuMemcpyAsync(to, from, bytes, test.stream());
     }},
    {"cuMemcpyHtoD", [](OnDevice &, CUdeviceptr to, CUdeviceptr from,
                        std::size_t bytes) { return driver().cuMemcpyHtoD(to, host_of(from), bytes); }},
    {"cuMemcpyHtoDAsync",
     [](OnDevice &test, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
       return driver().cuMemcpyHtoDAsync(to, host_of(from), bytes, test.stream());
     }},
    {"cuMemcpyDtoH", [](OnDevice &, CUdeviceptr to, CUdeviceptr from,
                        std::size_t bytes) { return driver().cuMemcpyDtoH(host_of(to), from, bytes); }},
    {"cuMemcpyDtoHAsync",
     [](OnDevice &test, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
       return driver().cuMemcpyDtoHAsync(host_of(to), from, bytes, test.stream());
     }},
    {"cuMemcpyDtoD", [](OnDevice &, CUdeviceptr to, CUdeviceptr from,
                        std::size_t bytes) { return driver().cuMemcpyDtoD(to, from, bytes); }},
    {"cuMemcpyDtoDAsync",
     [](OnDevice &test, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
       return driver().cuMemcpyDtoDAsync(to, from, bytes, test.stream());
     }},
};

// Every call between every two kinds of memory: from each kind (rows) to device, managed, pinned, registered,
// pageable (columns).
const std::vector<std::vector<Row>> between_kinds = {
    {
        {"cuMemcpy from device", {0, 0, 0, 0, 0}},
        {"cuMemcpy from managed", {0, 0, 0, 0, 0}},
        {"cuMemcpy from pinned", {0, 0, 0, 0, 0}},
        {"cuMemcpy from registered", {0, 0, 0, 0, 0}},
        {"cuMemcpy from pageable", {0, 0, 0, 0, 0}},
    },
    {
        {"cuMemcpyAsync from device", {0, 0, 0, 0, 0}},
        {"cuMemcpyAsync from managed", {0, 0, 0, 0, 0}},
        {"cuMemcpyAsync from pinned", {0, 0, 0, 0, 0}},
        {"cuMemcpyAsync from registered", {0, 0, 0, 0, 0}},
        {"cuMemcpyAsync from pageable", {0, 0, 0, 0, 0}},
    },
    {
        {"cuMemcpyHtoD from device", {0, 0, 0, 0, 1}},
        {"cuMemcpyHtoD from managed", {0, 0, 0, 0, 1}},
        {"cuMemcpyHtoD from pinned", {0, 0, 0, 0, 1}},
        {"cuMemcpyHtoD from registered", {0, 0, 0, 0, 1}},
        {"cuMemcpyHtoD from pageable", {0, 0, 0, 0, 1}},
    },
    {
        {"cuMemcpyHtoDAsync from device", {0, 0, 0, 0, 1}},
        {"cuMemcpyHtoDAsync from managed", {0, 0, 0, 0, 1}},
        {"cuMemcpyHtoDAsync from pinned", {0, 0, 0, 0, 1}},
        {"cuMemcpyHtoDAsync from registered", {0, 0, 0, 0, 1}},
        {"cuMemcpyHtoDAsync from pageable", {0, 0, 0, 0, 1}},
    },
    {
        {"cuMemcpyDtoH from device", {0, 0, 0, 0, 0}},
        {"cuMemcpyDtoH from managed", {0, 0, 0, 0, 0}},
        {"cuMemcpyDtoH from pinned", {0, 0, 0, 0, 0}},
        {"cuMemcpyDtoH from registered", {0, 0, 0, 0, 0}},
        {"cuMemcpyDtoH from pageable", {1, 1, 1, 1, 1}},
    },
    {
        {"cuMemcpyDtoHAsync from device", {0, 0, 0, 0, 0}},
        {"cuMemcpyDtoHAsync from managed", {0, 0, 0, 0, 0}},
        {"cuMemcpyDtoHAsync from pinned", {0, 0, 0, 0, 0}},
        {"cuMemcpyDtoHAsync from registered", {0, 0, 0, 0, 0}},
        {"cuMemcpyDtoHAsync from pageable", {1, 1, 1, 1, 1}},
    },
    {
        {"cuMemcpyDtoD from device", {0, 0, 0, 0, 1}},
        {"cuMemcpyDtoD from managed", {0, 0, 0, 0, 1}},
        {"cuMemcpyDtoD from pinned", {0, 0, 0, 0, 1}},
        {"cuMemcpyDtoD from registered", {0, 0, 0, 0, 1}},
        {"cuMemcpyDtoD from pageable", {1, 1, 1, 1, 1}},
    },
    {
        {"cuMemcpyDtoDAsync from device", {0, 0, 0, 0, 1}},
        {"cuMemcpyDtoDAsync from managed", {0, 0, 0, 0, 1}},
        {"cuMemcpyDtoDAsync from pinned", {0, 0, 0, 0, 1}},
        {"cuMemcpyDtoDAsync from registered", {0, 0, 0, 0, 1}},
        {"cuMemcpyDtoDAsync from pageable", {1, 1, 1, 1, 1}},
    },

};

const bool between = [] {
  for (std::size_t c = 0; c < std::size(copy_calls); ++c)
    for (std::size_t f = 0; f < kinds.size(); ++f)
      for (std::size_t t = 0; t < kinds.size(); ++t) {
        const CopyCall call = copy_calls[c];
        const Kind from_kind = kinds[f], to_kind = kinds[t];
        const CUresult expected = code(c < between_kinds.size() ? between_kinds[c][f].codes[t] : 0);
        ADD_TEST(
            Copies,
            std::string(call.name) + "_takes_" + name_of(from_kind) + "_to_" + name_of(to_kind) + "_memory",
            [=](OnDevice &test) {
              const CUdeviceptr from = memory_of(test, from_kind), to = memory_of(test, to_kind);
              const auto bytes = pattern(4096), before = pattern(4096, 100);
              put(from_kind, from, bytes);
              put(to_kind, to, before);
              expect_answer(__FILE__, __LINE__, std::string(call.name) + "(to, from, 4096)",
                            call.call(test, to, from, 4096), expected);
              EXPECT_VALUE(take(to_kind, to, 4096) == (expected == CUDA_SUCCESS ? bytes : before), true);
            });
      }
  return true;
}();

// Every call with invalid addresses and sizes.
struct WrongCopy {
  const char *name;
  bool no_target, no_source;
  std::size_t bytes;
  bool no_context;
};
const WrongCopy wrong_copies[] = {
    {"of_nothing", false, false, 0, false},          {"of_nothing_to_null", true, false, 0, false},
    {"of_nothing_from_null", false, true, 0, false}, {"of_nothing_between_nulls", true, true, 0, false},
    {"without_a_context", false, false, 16, true},   {"of_nothing_without_a_context", false, false, 0, true},
    {"of_one_byte", false, false, 1, false},         {"of_all_bytes", false, false, 4096, false},
};
const std::vector<Row> of_wrong_copies = {
    {"cuMemcpy", {0, 0, 0, 0, 201, 201, 0, 0}},     {"cuMemcpyAsync", {0, 0, 0, 0, 0, 0, 0, 0}},
    {"cuMemcpyHtoD", {0, 0, 0, 0, 201, 201, 0, 0}}, {"cuMemcpyHtoDAsync", {0, 0, 0, 0, 0, 0, 0, 0}},
    {"cuMemcpyDtoH", {0, 0, 0, 0, 201, 201, 0, 0}}, {"cuMemcpyDtoHAsync", {0, 0, 0, 0, 0, 0, 0, 0}},
    {"cuMemcpyDtoD", {0, 0, 0, 0, 201, 201, 0, 0}}, {"cuMemcpyDtoDAsync", {0, 0, 0, 0, 0, 0, 0, 0}},

};

const bool wrong = [] {
  for_each_row(of_wrong_copies, copy_calls, wrong_copies,
               [](const CopyCall &call, const WrongCopy &use, CUresult expected) {
                 ADD_TEST(Copies, std::string(call.name) + "_" + use.name, [=](OnDevice &test) {
                   const std::string name = call.name;
                   const Kind from_kind = name.find("HtoD") != name.npos ? Kind::pinned : Kind::device;
                   const Kind to_kind = name.find("DtoH") != name.npos ? Kind::pinned : Kind::device;
                   const CUdeviceptr from = use.no_source ? 0 : memory_of(test, from_kind);
                   const CUdeviceptr to = use.no_target ? 0 : memory_of(test, to_kind);
                   if (use.no_context) {
                     if (name.find("Async") != name.npos) {
                       test.stream_out = nullptr;
                       NEED(driver().cuStreamCreate(&test.stream_out, CU_STREAM_NON_BLOCKING));
                     }
                     NEED(driver().cuCtxSetCurrent(nullptr));
                   }
                   // Without a context, an asynchronous copy uses a stream by its handle.
                   const bool by_handle = use.no_context && name.find("Async") != name.npos;
                   CUresult answered;
                   if (by_handle && name == "cuMemcpyAsync")
                     answered = driver().cuMemcpyAsync(to, from, use.bytes, test.stream_out);
                   else if (by_handle && name == "cuMemcpyHtoDAsync")
                     answered = driver().cuMemcpyHtoDAsync(to, host_of(from), use.bytes, test.stream_out);
                   else if (by_handle && name == "cuMemcpyDtoHAsync")
                     answered = driver().cuMemcpyDtoHAsync(host_of(to), from, use.bytes, test.stream_out);
                   else if (by_handle)
                     answered = driver().cuMemcpyDtoDAsync(to, from, use.bytes, test.stream_out);
                   else
                     answered = call.call(test, to, from, use.bytes);
                   expect_answer(__FILE__, __LINE__, name + "(to, from, bytes)", answered, expected);
                 });
               });
  return true;
}();

// ---- Order ----

TEST_F(Copies, In_a_held_stream_wait) {
  unsigned char *const to = pinned_one(*this);
  const CUdeviceptr from = memory();
  NEED(driver().cuMemsetD8(from, 7, 4096));
  NEED(driver().cuCtxSynchronize());
  expect_copy_waits(*this, to, [&](CUstream work) {
    EXPECT_ANSWER(driver().cuMemcpyDtoHAsync(to, from, 4096, work), CUDA_SUCCESS);
  });
  EXPECT_VALUE(static_cast<int>(to[4095]), 7);
}

TEST_F(Copies, Of_pinned_memory_are_read_when_the_stream_comes_to_them) {
  unsigned char *const from = pinned_one(*this);
  const CUdeviceptr to = memory();
  change_source_after(*this, from, [&](CUstream work) {
    EXPECT_ANSWER(driver().cuMemcpyHtoDAsync(to, from, 1, work), CUDA_SUCCESS);
  });
  EXPECT_VALUE(static_cast<int>(take(Kind::device, to, 1)[0]), 2);
}

TEST_F(Copies, Of_small_pageable_memory_are_read_before_the_call_returns) {
  unsigned char from = 1;
  const CUdeviceptr to = memory();
  change_source_after(*this, &from, [&](CUstream work) {
    EXPECT_ANSWER(driver().cuMemcpyHtoDAsync(to, &from, 1, work), CUDA_SUCCESS);
  });
  EXPECT_VALUE(static_cast<int>(take(Kind::device, to, 1)[0]), 1);
}

TEST_F(Copies, In_one_stream_keep_their_order) {
  const CUstream work = stream();
  const CUdeviceptr to = memory();
  auto *const from = static_cast<unsigned char *>(pinned());
  for (int i = 0; i < 100; ++i) from[i] = static_cast<unsigned char>(i);
  for (int i = 0; i < 100; ++i) NEED(driver().cuMemcpyHtoDAsync(to, from + i, 1, work));
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(take(Kind::device, to, 1)[0]), 99);
}

TEST_F(Copies, That_overlap_forwards_by_a_page_are_accepted) {
  const CUdeviceptr at = memory(8192);
  EXPECT_ANSWER(driver().cuMemcpyDtoD(at, at, 4096), CUDA_SUCCESS);
}

TEST_F(Copies, Into_the_middle_leave_the_rest_alone) {
  const CUdeviceptr to = memory();
  NEED(driver().cuMemsetD8(to, 5, 4096));
  const unsigned char from[3] = {1, 2, 3};
  EXPECT_ANSWER(driver().cuMemcpyHtoD(to + 1001, from, 3), CUDA_SUCCESS);
  const auto bytes = take(Kind::device, to, 4096);
  EXPECT_VALUE(static_cast<int>(bytes[1000]), 5);
  EXPECT_VALUE(static_cast<int>(bytes[1001]), 1);
  EXPECT_VALUE(static_cast<int>(bytes[1003]), 3);
  EXPECT_VALUE(static_cast<int>(bytes[1004]), 5);
}

STATEMENT(Copies, Are_made_in_the_null_stream, driver().cuMemcpyHtoDAsync(memory(), pinned(), 8, nullptr),
          CUDA_SUCCESS)
STATEMENT(Copies, Are_made_in_the_legacy_stream, driver().cuMemcpyHtoDAsync(memory(), pinned(), 8, legacy()),
          CUDA_SUCCESS)
STATEMENT(Copies, Are_made_in_the_per_thread_stream,
          driver().cuMemcpyHtoDAsync(memory(), pinned(), 8, per_thread()), CUDA_SUCCESS)
STATEMENT(Copies, Into_memory_of_another_context_are_made,
          driver().cuMemcpyHtoD(in_other_context([this] { return memory(); }), pinned(), 8), CUDA_SUCCESS)
STATEMENT(Copies, In_a_stream_of_another_context,
          driver().cuMemcpyHtoDAsync(memory(), pinned(), 8, in_other_context([this] { return stream(); })),
          CUDA_SUCCESS)
STATEMENT(Copies, Between_contexts_are_made,
          driver().cuMemcpyPeer(in_other_context([this] { return memory(); }), other_context(), memory(),
                                context, 64),
          CUDA_SUCCESS)
STATEMENT(Copies, Within_one_context_are_peer_copies_too,
          driver().cuMemcpyPeer(memory(), context, memory(), context, 64), CUDA_SUCCESS)
STATEMENT(Copies, Between_contexts_are_made_in_a_stream,
          driver().cuMemcpyPeerAsync(memory(), context, memory(), context, 64, stream()), CUDA_SUCCESS)
STATEMENT(Copies, Between_contexts_of_nothing, driver().cuMemcpyPeer(memory(), context, memory(), context, 0),
          CUDA_SUCCESS)
STATEMENT(Copies, Between_contexts_to_none, driver().cuMemcpyPeer(memory(), nullptr, memory(), context, 64),
          CUDA_SUCCESS)
STATEMENT(Copies, Between_contexts_from_none, driver().cuMemcpyPeer(memory(), context, memory(), nullptr, 64),
          CUDA_SUCCESS)
STATEMENT(Copies, Between_contexts_to_null_memory, driver().cuMemcpyPeer(0, context, memory(), context, 64),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Copies, Between_contexts_from_null_memory, driver().cuMemcpyPeer(memory(), context, 0, context, 64),
          CUDA_ERROR_INVALID_VALUE)

// ---- With the wrappers ----

TEST_F(Copies, By_wrappers_bring_the_elements_there_and_back) {
  auto buffer = cushim::DeviceBuffer<int>::create(3);
  const std::vector<int> there = {1, 2, 3};
  std::vector<int> back(3);
  cushim::copy(buffer, there);
  cushim::copy(back, buffer);
  EXPECT_VALUE(there == back, true);
}

TEST_F(Copies, By_wrappers_in_a_stream_bring_the_elements_there_and_back) {
  auto buffer = cushim::DeviceBuffer<int>::create(3);
  auto work = cushim::Stream::create();
  auto there = cushim::PinnedBuffer<int>::create(3), back = cushim::PinnedBuffer<int>::create(3);
  for (int i = 0; i < 3; ++i) there[static_cast<std::size_t>(i)] = i + 1;
  cushim::copy(buffer, there, work);
  cushim::copy(back, buffer, work);
  work.synchronize();
  EXPECT_VALUE(back[0] == 1 && back[1] == 2 && back[2] == 3, true);
}

TEST_F(Copies, By_wrappers_between_buffers_keep_the_elements) {
  auto one = cushim::DeviceBuffer<int>::create(3), other = cushim::DeviceBuffer<int>::create(3);
  cushim::copy(one, std::vector<int>{4, 5, 6});
  cushim::copy(other, one);
  std::vector<int> back(3);
  cushim::copy(back, other);
  EXPECT_VALUE(back == (std::vector<int>{4, 5, 6}), true);
}

}  // namespace
}  // namespace conformance
