// SPDX-License-Identifier: Apache-2.0
// Handles of memory that its process has freed. Small allocations share blocks of 2 MiB. A handle names bytes
// of a block, and opens as long as the block has a living allocation, or is mapped in the opening process.
#include <array>

#include "ipc.hpp"

namespace conformance {
namespace {

// Opens, closes and reads memory as the test says, until a request to end.
enum class Action { end, open, close, read };
struct Request {
  Action action;
  CUipcMemHandle handle;
  CUdeviceptr at;
};
struct Reply {
  CUresult code;
  CUdeviceptr at;
  int byte;
};
CUSHIM_CHILD(importer_of_parts) {
  make_context();
  for (auto request = parent.receive<Request>(); request.action != Action::end;
       request = parent.receive<Request>()) {
    Reply reply{};
    unsigned char byte = 0;
    if (request.action == Action::open)
      reply.code = driver().cuIpcOpenMemHandle(&reply.at, request.handle, 1);
    if (request.action == Action::close) reply.code = driver().cuIpcCloseMemHandle(request.at);
    if (request.action == Action::read) reply.code = driver().cuMemcpyDtoH(&byte, request.at, 1);
    reply.byte = byte;
    parent.send(reply);
  }
}

// Memory of this process, and the same in another process. Each statement runs in a process of its own, in
// which no other allocation shares the blocks.
class IpcFreedMemory : public WithIpc<OnDevice> {
 public:
  struct Part {
    CUdeviceptr here = 0, there = 0;
    CUipcMemHandle handle{};
  };
  // Allocates memory that begins with this byte, and exports it.
  static Part exported(std::size_t bytes = 4096, unsigned char byte = 1) {
    Part part;
    NEED(driver().cuMemAlloc(&part.here, bytes));
    NEED(driver().cuMemsetD8(part.here, byte, 1));
    NEED(driver().cuCtxSynchronize());
    NEED(driver().cuIpcGetMemHandle(&part.handle, part.here));
    return part;
  }
  // Memory that has been freed, and memory that keeps its block.
  struct FreedAndKept {
    Part freed, kept;
  };
  static FreedAndKept freed_and_kept() {
    const FreedAndKept made{exported(4096, 5), exported()};
    free(made.freed);
    return made;
  }
  static void free(const Part &part) { NEED(driver().cuMemFree(part.here)); }

  static CUresult open(Child &child, Part &part) {
    child.send(Request{Action::open, part.handle, 0});
    const auto reply = child.receive<Reply>();
    if (reply.code == CUDA_SUCCESS) part.there = reply.at;
    return reply.code;
  }
  static CUresult close(Child &child, const Part &part) {
    child.send(Request{Action::close, part.handle, part.there});
    return child.receive<Reply>().code;
  }
  static int byte(Child &child, const Part &part) {
    child.send(Request{Action::read, part.handle, part.there});
    const auto reply = child.receive<Reply>();
    return reply.code == CUDA_SUCCESS ? reply.byte : -1;
  }
  static void end(Child &child) {
    child.send(Request{});
    EXPECT_EQ(child.wait(), 0);
  }
  // Frees both. Expects that freed memory is not opened although other memory is kept, which is in other
  // blocks.
  static void expect_separate_blocks(Part &large, Part &kept) {
    free(large);
    Child child("importer_of_parts");
    EXPECT_ANSWER(open(child, large), CUDA_ERROR_INVALID_VALUE);
    EXPECT_ANSWER(open(child, kept), CUDA_SUCCESS);
    end(child);
    free(kept);
  }
};

TEST_F(IpcFreedMemory, Is_opened_while_its_block_has_other_memory) {
  CUSHIM_IN_A_FRESH_PROCESS();
  auto [freed, kept] = freed_and_kept();
  Child child("importer_of_parts");
  for (int i = 0; i < 2; ++i) EXPECT_ANSWER(open(child, freed), CUDA_SUCCESS);
  EXPECT_VALUE(byte(child, freed), 5);
  for (int i = 0; i < 2; ++i) EXPECT_ANSWER(close(child, freed), CUDA_SUCCESS);
  EXPECT_ANSWER(close(child, freed), CUDA_ERROR_INVALID_VALUE);
  end(child);
  free(kept);
}
TEST_F(IpcFreedMemory, Is_opened_beside_other_memory_of_its_block) {
  CUSHIM_IN_A_FRESH_PROCESS();
  Part freed = exported(), kept = exported();
  free(freed);
  Child child("importer_of_parts");
  EXPECT_ANSWER(open(child, kept), CUDA_SUCCESS);
  EXPECT_ANSWER(open(child, freed), CUDA_SUCCESS);
  EXPECT_VALUE(kept.there - freed.there, kept.here - freed.here);
  end(child);
  free(kept);
}
TEST_F(IpcFreedMemory, Is_not_opened_if_its_block_has_no_other_memory) {
  CUSHIM_IN_A_FRESH_PROCESS();
  Part one = exported(), other = exported();
  free(one);
  free(other);
  Child child("importer_of_parts");
  EXPECT_ANSWER(open(child, one), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(open(child, other), CUDA_ERROR_INVALID_VALUE);
  end(child);
}
TEST_F(IpcFreedMemory, That_is_open_is_opened_again_without_other_memory) {
  CUSHIM_IN_A_FRESH_PROCESS();
  Part one = exported(4096, 5), other = exported(4096, 6);
  Child child("importer_of_parts");
  EXPECT_ANSWER(open(child, one), CUDA_SUCCESS);
  free(one);
  free(other);
  EXPECT_ANSWER(open(child, one), CUDA_SUCCESS);
  EXPECT_ANSWER(open(child, other), CUDA_SUCCESS);
  EXPECT_VALUE(byte(child, one), 5);
  EXPECT_VALUE(byte(child, other), 6);
  for (int i = 0; i < 2; ++i) EXPECT_ANSWER(close(child, one), CUDA_SUCCESS);
  EXPECT_ANSWER(open(child, one), CUDA_SUCCESS);
  EXPECT_ANSWER(close(child, one), CUDA_SUCCESS);
  EXPECT_ANSWER(close(child, other), CUDA_SUCCESS);
  EXPECT_ANSWER(open(child, one), CUDA_ERROR_INVALID_VALUE);
  end(child);
}
TEST_F(IpcFreedMemory, Shows_what_is_allocated_there_now) {
  CUSHIM_IN_A_FRESH_PROCESS();
  auto [freed, kept] = freed_and_kept();
  Part now = exported(4096, 7);
  EXPECT_VALUE(now.here == freed.here, true);
  Child child("importer_of_parts");
  EXPECT_ANSWER(open(child, freed), CUDA_SUCCESS);
  EXPECT_ANSWER(open(child, now), CUDA_SUCCESS);
  EXPECT_VALUE(now.there == freed.there, true);
  EXPECT_VALUE(byte(child, freed), 7);
  EXPECT_ANSWER(close(child, now), CUDA_SUCCESS);
  EXPECT_ANSWER(close(child, freed), CUDA_SUCCESS);
  EXPECT_ANSWER(close(child, freed), CUDA_ERROR_INVALID_VALUE);
  end(child);
  free(now);
  free(kept);
}
TEST_F(IpcFreedMemory, That_is_open_excludes_smaller_memory_at_its_bytes) {
  CUSHIM_IN_A_FRESH_PROCESS();
  Part large = exported(4096);
  const Part kept = exported();
  Child child("importer_of_parts");
  EXPECT_ANSWER(open(child, large), CUDA_SUCCESS);
  free(large);
  std::array<Part, 2> halves{exported(2048), exported(2048)};
  EXPECT_VALUE(halves[0].here == large.here, true);
  EXPECT_VALUE(halves[1].here == large.here + 2048, true);
  EXPECT_ANSWER(open(child, halves[0]), CUDA_ERROR_ALREADY_MAPPED);
  EXPECT_ANSWER(open(child, halves[1]), CUDA_ERROR_ALREADY_MAPPED);
  EXPECT_ANSWER(close(child, large), CUDA_SUCCESS);
  EXPECT_ANSWER(open(child, halves[0]), CUDA_SUCCESS);
  EXPECT_ANSWER(open(child, large), CUDA_ERROR_ALREADY_MAPPED);
  end(child);
  for (const Part &half : halves) free(half);
  free(kept);
}
TEST_F(IpcFreedMemory, Excludes_larger_memory_at_its_bytes) {
  CUSHIM_IN_A_FRESH_PROCESS();
  std::array<Part, 2> halves{exported(2048), exported(2048)};
  const Part kept = exported();
  Child child("importer_of_parts");
  EXPECT_ANSWER(open(child, halves[1]), CUDA_SUCCESS);
  for (const Part &half : halves) free(half);
  Part large = exported(4096);
  EXPECT_VALUE(large.here == halves[0].here, true);
  EXPECT_ANSWER(open(child, large), CUDA_ERROR_ALREADY_MAPPED);
  EXPECT_ANSWER(open(child, halves[0]), CUDA_SUCCESS);
  end(child);
  free(large);
  free(kept);
}
TEST_F(IpcFreedMemory, Of_two_mebibytes_has_its_own_block) {
  CUSHIM_IN_A_FRESH_PROCESS();
  Part large = exported(2 << 20), kept = exported();
  expect_separate_blocks(large, kept);
}
TEST_F(IpcFreedMemory, Of_three_mebibytes_shares_no_block) {
  CUSHIM_IN_A_FRESH_PROCESS();
  Part large = exported(3 << 20), kept = exported();
  EXPECT_VALUE(kept.here / (2 << 20) == (large.here + (3 << 20) - 1) / (2 << 20), false);
  expect_separate_blocks(large, kept);
}
TEST_F(IpcFreedMemory, Of_less_than_two_mebibytes_is_in_one_block) {
  CUSHIM_IN_A_FRESH_PROCESS();
  std::array<Part, 3> parts{exported(1500000), exported(300000), exported(1500000)};
  for (const Part &part : parts)
    EXPECT_VALUE(part.here / (2 << 20) == (part.here + 300000 - 1) / (2 << 20), true);
  EXPECT_VALUE(parts[0].here / (2 << 20) == parts[1].here / (2 << 20), true);
  EXPECT_VALUE(parts[0].here / (2 << 20) == parts[2].here / (2 << 20), false);
  for (const Part &part : parts) free(part);
}

}  // namespace
}  // namespace conformance
