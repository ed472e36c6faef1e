// SPDX-License-Identifier: Apache-2.0
// States of the shared data that no driver call reaches reliably.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "ipc/share_table.hpp"
#include "pair.hpp"

namespace cushim::sim {
namespace {

TEST(SharedBlocks, Are_poisoned_after_a_process_that_died_while_it_poisoned_and_is_a_zombie) {
  const auto blocks = SharedBlocks::make(SharedBlocks::kBlock, 1);
  ASSERT_NE(blocks, nullptr);
  std::byte *const bytes = blocks->file().map(0, SharedBlocks::kChunk);
  const pid_t process = fork();
  if (process == 0) {
    signal(SIGSEGV, SIG_DFL);
    blocks->touch(0, reinterpret_cast<std::byte *>(std::uintptr_t{4096}));  // this address is not mapped
    _exit(0);
  }
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(info.si_status, SIGSEGV);
  blocks->touch(0, bytes);
  EXPECT_EQ(bytes[SharedBlocks::kChunk - 1], std::byte{SharedBlocks::kPoison});
  EXPECT_TRUE(blocks->is_touched(0));
  munmap(bytes, SharedBlocks::kChunk);
  waitpid(process, nullptr, 0);
}

TEST(SharedBlocks, Keep_their_memory_until_no_holder_is_left) {
  const auto blocks = SharedBlocks::make(2 * SharedBlocks::kBlock, 1);
  ASSERT_NE(blocks, nullptr);
  const std::vector<std::byte> chunk(SharedBlocks::kChunk, std::byte{7});
  const auto has_memory = [&] {
    return lseek(blocks->file().number(), 0, SEEK_DATA) < static_cast<off_t>(SharedBlocks::kBlock);
  };
  {
    const BlocksHold exporters(blocks, 0, SharedBlocks::kBlock);
    ASSERT_TRUE(blocks->fill(0, chunk.data()));
    const BlocksHold importers(blocks, 0, SharedBlocks::kChunk);
    EXPECT_TRUE(has_memory());
  }
  EXPECT_FALSE(has_memory());
}

TEST(AShareTable, Reuses_the_entries_of_participants_and_detects_ended_ones) {
  const auto table = ShareTable::make();
  ASSERT_NE(table, nullptr);
  const ShareHandle handle = table->handle(ShareHandle::Kind::event, 0, 1);
  const auto first = ShareTable::open(handle);
  ASSERT_NE(first, nullptr);
  const ParticipantId lasting = first->participant();
  ParticipantId ended;
  for (std::uint32_t i = 0; i <= ShareLayout::kParticipants; ++i) {
    const auto opened = ShareTable::open(handle);
    ASSERT_NE(opened, nullptr) << "opening " << i;
    if (i == 0) ended = opened->participant();
    ASSERT_FALSE(table->is_gone(opened->participant())) << "opening " << i;
  }
  EXPECT_TRUE(table->is_gone(ended));
  EXPECT_FALSE(table->is_gone(lasting));
}

TEST(ObjectNumbers, Are_the_lowest_that_no_object_has) {
  ObjectNumbers numbers;
  const auto first = numbers.take(), second = numbers.take(), third = numbers.take();
  EXPECT_EQ(second, first + 1);
  EXPECT_EQ(third, first + 2);
  numbers.give_back(first);
  numbers.give_back(second);
  EXPECT_EQ(numbers.take(), first);
  EXPECT_EQ(numbers.take(), second);
  EXPECT_EQ(numbers.take(), third + 1);
}

TEST(ObjectNumbers, Are_published_when_the_process_exports_its_first_object_and_later) {
  ObjectNumbers numbers;
  const auto early = numbers.take();
  const auto taken = std::make_shared<ObjectNumbers::Taken>();
  numbers.publish(taken);
  const auto late = numbers.take();
  EXPECT_TRUE(ObjectNumbers::is_taken(*taken, early));
  EXPECT_TRUE(ObjectNumbers::is_taken(*taken, late));
  numbers.give_back(early);
  EXPECT_FALSE(ObjectNumbers::is_taken(*taken, early));
}

TEST(ObjectNumbers, End_at_a_limit) {
  ObjectNumbers numbers;
  std::uint32_t number = 0;
  for (std::uint32_t i = 1; i < ObjectNumbers::kCount; ++i) number = numbers.take();
  EXPECT_EQ(number, ObjectNumbers::kCount - 1);
  EXPECT_EQ(numbers.take(), ObjectNumbers::kNone);
}

TEST(AFile, Whose_seals_are_unknown_counts_as_one_that_can_shrink) {
  const SharedFile sealed = SharedFile::make(4096);
  EXPECT_FALSE(SharedFile::can_shrink(sealed.number()));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(fcntl(ends[0], F_GET_SEALS), -1);
  EXPECT_TRUE(SharedFile::can_shrink(ends[0]));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace cushim::sim
