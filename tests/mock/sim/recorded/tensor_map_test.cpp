// SPDX-License-Identifier: Apache-2.0
// Compares tensor maps with those of an H200 (driver 580.159.04), of arguments that the driver accepts and
// refuses.
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/machine_fixture.hpp"

#if CUDA_VERSION >= 12000

namespace cushim::sim {
namespace {

// A call and its answer, as recorded.
struct [[gnu::packed]] Record {
  enum Kind : std::uint8_t { tiled, im2col, im2col_wide, replace };
  // The arguments that are null.
  enum Null : std::uint8_t { of_map = 1, of_dimensions = 2, of_strides = 4, of_box = 8, of_steps = 16 };

  Kind kind;
  std::uint8_t nulls, map_offset, group;
  std::int32_t type;
  std::uint32_t rank;
  std::uint64_t address, dimensions[5], strides[4];
  std::uint32_t box[5], steps[5];
  std::int32_t lower[3], upper[3];
  std::uint32_t channels, pixels;
  std::int32_t interleave, swizzle, promotion, fill, wide_mode, result;
  std::uint8_t map[128];  // 0xcc before the call
};
static_assert(sizeof(Record) == 316);

// An array of a record, aligned.
template <class T, std::size_t Count>
struct Copy {
  T values[Count];
  Copy(const Record &record, std::size_t offset) {
    std::memcpy(values, reinterpret_cast<const char *>(&record) + offset, sizeof values);
  }
};
// Calls the driver as recorded. `memory`: the map before and after the call.
CUresult call(const Record &record, unsigned char *memory) {
  const auto type = static_cast<CUtensorMapDataType>(record.type);
  const auto interleave = static_cast<CUtensorMapInterleave>(record.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(record.swizzle);
  const auto promotion = static_cast<CUtensorMapL2promotion>(record.promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(record.fill);
  const auto given = [&](auto *values, Record::Null bit) { return record.nulls & bit ? nullptr : values; };
  auto *const map = given(reinterpret_cast<CUtensorMap *>(memory), Record::of_map);
  const auto address = reinterpret_cast<void *>(static_cast<std::uintptr_t>(record.address));
  Copy<cuuint64_t, 5> dimensions(record, offsetof(Record, dimensions));
  Copy<cuuint64_t, 4> strides(record, offsetof(Record, strides));
  Copy<cuuint32_t, 5> box(record, offsetof(Record, box)), steps(record, offsetof(Record, steps));
  Copy<int, 3> lower(record, offsetof(Record, lower)), upper(record, offsetof(Record, upper));
  auto *const sizes = given(dimensions.values, Record::of_dimensions);
  auto *const pitches = given(strides.values, Record::of_strides);
  auto *const taken = given(steps.values, Record::of_steps);
  if (record.kind == Record::tiled)
    return driver().cuTensorMapEncodeTiled(map, type, record.rank, address, sizes, pitches,
                                           given(box.values, Record::of_box), taken, interleave, swizzle,
                                           promotion, fill);
  if (record.kind == Record::im2col)
    return driver().cuTensorMapEncodeIm2col(map, type, record.rank, address, sizes, pitches, lower.values,
                                            upper.values, record.channels, record.pixels, taken, interleave,
                                            swizzle, promotion, fill);
#if CUDA_VERSION >= 12080
  if (record.kind == Record::im2col_wide)
    return driver().cuTensorMapEncodeIm2colWide(
        map, type, record.rank, address, sizes, pitches, lower.values[0], upper.values[0], record.channels,
        record.pixels, taken, interleave, static_cast<CUtensorMapIm2ColWideMode>(record.wide_mode), swizzle,
        promotion, fill);
#endif
  return driver().cuTensorMapReplaceAddress(map, address);
}

std::vector<Record> records() {
  std::ifstream file(CUSHIM_TENSOR_MAPS, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::vector<Record> all(bytes.size() / sizeof(Record));
  std::memcpy(static_cast<void *>(all.data()), bytes.data(), all.size() * sizeof(Record));
  return all;
}

TEST(RecordedTensorMaps, HaveTheBytesOfTheRealDriver) {
  const Running running;
  const auto all = records();
  ASSERT_GT(all.size(), 1000u);
  std::size_t index = 0, codes = 0, bytes = 0;
  for (const Record &record : all) {
    ++index;
#if CUDA_VERSION < 12080
    if (record.kind == Record::im2col_wide) continue;
#endif
    alignas(64) unsigned char memory[512];
    std::memset(memory, 0xcc, sizeof memory);
    unsigned char *const map = memory + record.map_offset;
    if (record.kind == Record::replace) {
      // The recorded map has the new address: 57 bits.
      std::memcpy(map, record.map, 128);
      if (record.result == 0) std::memset(map, 0, 7), map[7] &= 0xfe;
    }
    const int result = call(record, map);
    if (result != record.result && ++codes <= 20)
      ADD_FAILURE() << "record " << index << ": " << result << ", not " << std::int32_t{record.result};
    if (std::memcmp(map, record.map, 128) != 0 && ++bytes <= 20)
      ADD_FAILURE() << "record " << index << ": bytes";
  }
  EXPECT_EQ(codes, 0u);
  EXPECT_EQ(bytes, 0u);
}

}  // namespace
}  // namespace cushim::sim

#endif
