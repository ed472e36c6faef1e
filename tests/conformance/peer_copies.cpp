// SPDX-License-Identifier: Apache-2.0
// Copies between two devices.
#include "two_devices.hpp"

namespace conformance {
namespace {

class PeerCopies : public OnTwoDevices {
 public:
  // Fill memory of device 0 or 1, and compare its contents once the work of both devices is done.
  CUdeviceptr filled(CUdeviceptr at, std::size_t bytes = 4096) {
    put(Kind::device, at, pattern(bytes));
    return at;
  }
  bool has_arrived(CUdeviceptr at, std::size_t bytes = 4096) {
    NEED(driver().cuCtxSynchronize());
    on_other([] {
      NEED(driver().cuCtxSynchronize());
      return 0;
    });
    return take(Kind::device, at, bytes) == pattern(bytes);
  }
};

#define ARRIVES(name, from_memory, to_memory, ...)                              \
  TEST_F(PeerCopies, name) {                                                    \
    const CUdeviceptr from = filled(from_memory), to = to_memory;               \
    put(Kind::device, to, std::vector<unsigned char>(4096));                    \
    NEED(driver().cuCtxSynchronize());                                          \
    expect_answer(__FILE__, __LINE__, #__VA_ARGS__, __VA_ARGS__, CUDA_SUCCESS); \
    EXPECT_VALUE(has_arrived(to), true);                                        \
  }

ARRIVES(Arrive_there, memory(), memory_there(), driver().cuMemcpyPeer(to, there, from, context, 4096))
ARRIVES(Arrive_here, memory_there(), memory(), driver().cuMemcpyPeer(to, context, from, there, 4096))
ARRIVES(Arrive_there_by_a_stream_of_here, memory(), memory_there(),
        driver().cuMemcpyPeerAsync(to, there, from, context, 4096, stream()))
ARRIVES(Arrive_there_by_a_stream_of_there, memory(), memory_there(),
        driver().cuMemcpyPeerAsync(to, there, from, context, 4096, stream_there()))
ARRIVES(Arrive_here_by_a_stream_of_here, memory_there(), memory(),
        driver().cuMemcpyPeerAsync(to, context, from, there, 4096, stream()))
ARRIVES(Arrive_here_by_a_stream_of_there, memory_there(), memory(),
        driver().cuMemcpyPeerAsync(to, context, from, there, 4096, stream_there()))
ARRIVES(Arrive_by_the_null_stream, memory(), memory_there(),
        driver().cuMemcpyPeerAsync(to, there, from, context, 4096, nullptr))
ARRIVES(Arrive_by_the_per_thread_stream, memory(), memory_there(),
        driver().cuMemcpyPeerAsync(to, there, from, context, 4096, per_thread()))
ARRIVES(Arrive_by_the_per_thread_variant, memory(), memory_there(),
        driver().cuMemcpyPeer_ptds(to, there, from, context, 4096))
// The addresses determine the devices; the driver does not compare the contexts with them.
ARRIVES(Arrive_with_the_contexts_exchanged, memory(), memory_there(),
        driver().cuMemcpyPeer(to, context, from, there, 4096))
ARRIVES(Arrive_with_the_context_of_here_twice, memory(), memory_there(),
        driver().cuMemcpyPeer(to, context, from, context, 4096))
ARRIVES(Arrive_without_contexts, memory(), memory_there(),
        driver().cuMemcpyPeer(to, nullptr, from, nullptr, 4096))
ARRIVES(Arrive_within_the_other_device, memory_there(), memory_there(),
        driver().cuMemcpyPeer(to, there, from, there, 4096))
ARRIVES(Arrive_by_a_plain_copy_there, memory(), memory_there(), driver().cuMemcpyDtoD(to, from, 4096))
ARRIVES(Arrive_by_a_plain_copy_here, memory_there(), memory(), driver().cuMemcpyDtoD(to, from, 4096))
ARRIVES(Arrive_by_a_plain_copy_within_the_other_device, memory_there(), memory_there(),
        driver().cuMemcpyDtoD(to, from, 4096))
ARRIVES(Arrive_by_a_unified_copy_there, memory(), memory_there(), driver().cuMemcpy(to, from, 4096))
ARRIVES(Arrive_by_a_unified_copy_here, memory_there(), memory(), driver().cuMemcpy(to, from, 4096))
ARRIVES(Arrive_by_a_plain_copy_in_a_stream_of_here, memory(), memory_there(),
        driver().cuMemcpyDtoDAsync(to, from, 4096, stream()))
ARRIVES(Arrive_by_a_plain_copy_in_a_stream_of_there, memory(), memory_there(),
        driver().cuMemcpyDtoDAsync(to, from, 4096, stream_there()))
ARRIVES(Arrive_by_a_unified_copy_in_a_stream_of_here, memory_there(), memory(),
        driver().cuMemcpyAsync(to, from, 4096, stream()))
ARRIVES(Arrive_by_a_unified_copy_in_a_stream_of_there, memory_there(), memory(),
        driver().cuMemcpyAsync(to, from, 4096, stream_there()))

TEST_F(PeerCopies, Of_many_bytes_arrive) {
  constexpr std::size_t bytes = 5 << 20;
  const CUdeviceptr from = filled(memory(bytes), bytes), to = memory_there(bytes);
  EXPECT_ANSWER(driver().cuMemcpyPeer(to, there, from, context, bytes), CUDA_SUCCESS);
  EXPECT_VALUE(has_arrived(to, bytes), true);
}
TEST_F(PeerCopies, Between_odd_addresses_arrive) {
  const CUdeviceptr from = filled(memory()), to = memory_there();
  put(Kind::device, to, std::vector<unsigned char>(4096));
  NEED(driver().cuCtxSynchronize());
  EXPECT_ANSWER(driver().cuMemcpyPeer(to + 3, there, from + 1, context, 17), CUDA_SUCCESS);
  NEED(driver().cuCtxSynchronize());
  const auto bytes = take(Kind::device, to, 32);
  const auto sent = pattern(4096);
  EXPECT_VALUE(std::equal(bytes.begin() + 3, bytes.begin() + 20, sent.begin() + 1), true);
  EXPECT_VALUE(bytes[2] == 0 && bytes[20] == 0, true);
}
TEST_F(PeerCopies, Are_made_while_the_other_is_current) {
  const CUdeviceptr from = filled(memory()), to = memory_there();
  EXPECT_ANSWER(on_other([&] { return driver().cuMemcpyPeer(to, there, from, context, 4096); }),
                CUDA_SUCCESS);
  EXPECT_VALUE(has_arrived(to), true);
}
TEST_F(PeerCopies, Need_a_current_context) {
  const CUdeviceptr from = memory(), to = memory_there();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemcpyPeer(to, there, from, context, 64), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(PeerCopies, In_a_stream_need_no_current_context) {
  const CUdeviceptr from = filled(memory()), to = memory_there();
  const CUstream work = stream();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemcpyPeerAsync(to, there, from, context, 4096, work), CUDA_SUCCESS);
  NEED(driver().cuCtxSetCurrent(context));
  EXPECT_VALUE(has_arrived(to), true);
}
TEST_F(PeerCopies, Wait_for_what_is_before_them_in_the_stream) {
  const CUdeviceptr from = filled(memory()), to = memory_there();
  const CUstream work = stream();
  NEED(driver().cuMemcpyPeer(to, there, memory(), context, 4096));
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuMemcpyPeerAsync(to, there, from, context, 4096, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(has_arrived(to), true);
}
TEST_F(PeerCopies, Wait_for_an_event_of_the_other) {
  const CUdeviceptr from = memory_there(), to = memory();
  const CUstream writing = stream_there(), copying = stream();
  const CUevent written = event_there();
  const CUdeviceptr source = filled(memory());
  NEED(driver().cuMemcpyPeer(from, there, to, context, 4096));
  NEED(driver().cuCtxSynchronize());
  Hold held = held_there(writing);
  NEED(driver().cuMemcpyPeerAsync(from, there, source, context, 4096, writing));
  NEED(driver().cuEventRecord(written, writing));
  NEED(driver().cuStreamWaitEvent(copying, written, 0));
  EXPECT_ANSWER(driver().cuMemcpyPeerAsync(to, context, from, there, 4096, copying), CUDA_SUCCESS);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(copying), CUDA_SUCCESS);
  EXPECT_VALUE(has_arrived(to), true);
}

// ---- Invalid and valid arguments ----

STATEMENT(PeerCopies, Of_nothing_are_made, driver().cuMemcpyPeer(memory_there(), there, memory(), context, 0),
          CUDA_SUCCESS)
STATEMENT(PeerCopies, Of_nothing_between_null_addresses_are_made,
          driver().cuMemcpyPeer(0, there, 0, context, 0), CUDA_SUCCESS)
STATEMENT(PeerCopies, To_null_are_refused, driver().cuMemcpyPeer(0, there, memory(), context, 64),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PeerCopies, From_null_are_refused, driver().cuMemcpyPeer(memory_there(), there, 0, context, 64),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PeerCopies, Beyond_the_end_of_the_target_are_refused,
          driver().cuMemcpyPeer(memory_there(4 << 20), there, memory(8 << 20), context, 8 << 20),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PeerCopies, Beyond_the_end_of_the_source_are_refused,
          driver().cuMemcpyPeer(memory_there(8 << 20), there, memory(4 << 20), context, 8 << 20),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PeerCopies, Beyond_the_end_by_a_plain_copy_are_refused,
          driver().cuMemcpyDtoD(memory_there(4 << 20), memory(8 << 20), 8 << 20), CUDA_ERROR_INVALID_VALUE)
STATEMENT(PeerCopies, To_pinned_memory_are_made,
          driver().cuMemcpyPeer(address_of(pinned()), context, memory_there(), there, 64), CUDA_SUCCESS)
STATEMENT(PeerCopies, From_pinned_memory_are_made,
          driver().cuMemcpyPeer(memory_there(), there, address_of(pinned()), context, 64), CUDA_SUCCESS)
STATEMENT(PeerCopies, To_managed_memory_are_made,
          driver().cuMemcpyPeer(managed(), context, memory_there(), there, 64), CUDA_SUCCESS)
STATEMENT(PeerCopies, From_managed_memory_are_made,
          driver().cuMemcpyPeer(memory_there(), there, managed(), context, 64), CUDA_SUCCESS)
STATEMENT(PeerCopies, To_pageable_memory_are_refused,
          driver().cuMemcpyPeer(memory_of(*this, Kind::pageable), context, memory_there(), there, 64),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PeerCopies, From_pageable_memory_are_refused,
          driver().cuMemcpyPeer(memory_there(), there, memory_of(*this, Kind::pageable), context, 64),
          CUDA_ERROR_INVALID_VALUE)

}  // namespace
}  // namespace conformance
