// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile recordings.
#include "recording_format.hpp"

#include <cstring>
#include <thread>

#include "recorded.hpp"

namespace cushim::test {
namespace {

using replay::BlockHeader;
using replay::FileHeader;
using replay::RecordingError;

class Format : public Recorded {
 protected:
  // A recording with two blocks of one thread and one of another.
  std::string some_bytes() {
    return bytes_of(record([](Driver &driver) {
      make_context(driver);
      std::string text(40'000, 'x');
      for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 3);
      CUdeviceptr memory = 0;
      driver.cuMemAlloc(&memory, text.size());
      for (int i = 0; i < 4; ++i) driver.cuMemcpyHtoD(memory, text.data(), text.size());
      std::thread([&] { driver.cuDeviceGetCount(nullptr); }).join();
      driver.cuMemFree(memory);
    }));
  }

  static std::uint64_t offset_of_error(const std::string &bytes) {
    try {
      Recording::from_bytes(bytes);
    } catch (const RecordingError &error) {
      EXPECT_NE(std::string_view(error.what()).find(std::to_string(error.offset())), std::string_view::npos);
      return error.offset();
    }
    ADD_FAILURE() << "no error";
    return 0;
  }

  // Writes a block of one thread with this piece, and the end mark.
  static std::string with_piece(std::string_view file, std::string_view piece) {
    std::string bytes(file.substr(0, sizeof(FileHeader)));
    BlockHeader header{.magic = replay::kBlockMagic,
                       .size = static_cast<std::uint32_t>(piece.size()),
                       .stored = static_cast<std::uint32_t>(piece.size()),
                       .thread = 1};
    append(bytes, header, piece);
    append(bytes, {.magic = replay::kEndMagic}, "");
    return bytes;
  }
  static void append(std::string &bytes, BlockHeader header, std::string_view stored) {
    header.checksum = replay::hash(stored, replay::hash(replay::checked_part(header)));
    bytes.append(reinterpret_cast<const char *>(&header), sizeof header).append(stored);
  }
};

TEST_F(Format, A_recording_that_ends_at_any_byte_gives_the_calls_of_its_complete_blocks) {
  const std::string bytes = some_bytes();
  const Recording all = Recording::from_bytes(bytes);
  ASSERT_TRUE(all.is_complete());
  ASSERT_EQ(all.calls().size(), 10U);
  std::size_t calls = 0;
  for (std::size_t size = 0; size < bytes.size();
       size += size < 4096 || size + 4096 > bytes.size() ? 1 : 97) {
    if (size < sizeof(FileHeader)) {
      EXPECT_THROW(Recording::from_bytes(bytes.substr(0, size)), RecordingError);
      continue;
    }
    const Recording part = Recording::from_bytes(bytes.substr(0, size));
    EXPECT_FALSE(part.is_complete()) << size;
    EXPECT_GE(part.calls().size(), calls);
    calls = part.calls().size();
  }
  EXPECT_EQ(calls, 10U);
}

TEST_F(Format, A_changed_byte_is_an_error_with_the_offset_of_its_block) {
  std::string bytes = some_bytes();
  for (const std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{20}, sizeof(FileHeader) - 1}) {
    bytes[at] ^= 0x40;
    EXPECT_LE(offset_of_error(bytes), sizeof(FileHeader)) << at;
    bytes[at] ^= 0x40;
  }
  for (std::size_t at = sizeof(FileHeader); at < bytes.size() - sizeof(BlockHeader); at += 1013) {
    bytes[at] ^= 0x40;
    EXPECT_LE(offset_of_error(bytes), at) << at;
    EXPECT_GE(offset_of_error(bytes), sizeof(FileHeader)) << at;
    bytes[at] ^= 0x40;
  }
}

TEST_F(Format, Hostile_numbers_are_errors_and_allocate_nothing) {
  const std::string file = some_bytes();
  const auto refused = [&](std::string_view piece) {
    EXPECT_EQ(offset_of_error(with_piece(file, piece)), sizeof(FileHeader)) << piece.size();
  };
  refused("\xff\xff\xff\x7f");                                                  // an unknown entry point
  refused("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f");                          // more than 64 bits
  const std::string init{"\0\1\1\0", 4};                                        // slot 0 with one word
  refused(init + std::string("\x7f\1", 2));                                     // no such argument
  refused(init + std::string("\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 11));  // an item of 2^64 - 1 bytes
  // A call that begins, and one that ends, after more than 2^63 ns.
  refused(std::string("\0\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0", 13));
  refused(init + std::string("\0\1\xff\xff\xff\xff\xff\xff\xff\xff\x7f\0\0", 13));
  refused(std::string("\0", 1));  // a call that ends too early
}

TEST_F(Format, A_block_that_is_larger_than_allowed_or_of_an_absurd_thread_is_refused) {
  std::string bytes = some_bytes().substr(0, sizeof(FileHeader));
  append(bytes, {.magic = replay::kBlockMagic, .size = 4, .stored = 4, .thread = 1U << 31}, "abcd");
  EXPECT_EQ(offset_of_error(bytes), sizeof(FileHeader));
  bytes.resize(sizeof(FileHeader));
  append(bytes, {.magic = replay::kBlockMagic, .size = 1U << 30, .stored = 4, .thread = 1}, "abcd");
  EXPECT_EQ(offset_of_error(bytes), sizeof(FileHeader));
  EXPECT_THROW(Recording::from_bytes(some_bytes(), 1000), RecordingError) << "more than the reader accepts";
}

TEST_F(Format, Another_version_of_the_format_is_named) {
  std::string bytes = some_bytes();
  bytes[8] = 9;
  try {
    Recording::from_bytes(bytes);
    FAIL();
  } catch (const RecordingError &error) {
    EXPECT_STREQ(error.what(),
                 "the recording has version 9 of the format, and this is cushim for version 4, at offset 8");
  }
}

}  // namespace
}  // namespace cushim::test
