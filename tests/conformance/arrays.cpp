// SPDX-License-Identifier: Apache-2.0
// Arrays: formats, properties, destruction.
#include <cushim/exact.hpp>

#include <algorithm>
#include <array>

#include "arrays.hpp"

namespace conformance {
namespace {

// ---- Formats ----

// Result codes of cuArray3DCreate by the number of channels, 0 to 5. The documentation allows 1, 2 or 4. A
// format whose name contains a number of channels accepts only that number. Planar formats (NV12, 0xb0, and
// others) are documented, but an H200 returns an error for them.
struct FormatUse {
  int format;
  std::array<int, 6> channels;
};
const FormatUse format_uses[] = {
    {0x01, {1, 0, 0, 1, 0, 1}}, {0x02, {1, 0, 0, 1, 0, 1}}, {0x03, {1, 0, 0, 1, 0, 1}},
    {0x08, {1, 0, 0, 1, 0, 1}}, {0x09, {1, 0, 0, 1, 0, 1}}, {0x0a, {1, 0, 0, 1, 0, 1}},
    {0x10, {1, 0, 0, 1, 0, 1}}, {0x20, {1, 0, 0, 1, 0, 1}}, {0xb0, {1, 1, 1, 1, 1, 1}},
    {0xc0, {1, 0, 1, 1, 1, 1}}, {0xc1, {1, 1, 0, 1, 1, 1}}, {0xc2, {1, 1, 1, 1, 0, 1}},
    {0xc3, {1, 0, 1, 1, 1, 1}}, {0xc4, {1, 1, 0, 1, 1, 1}}, {0xc5, {1, 1, 1, 1, 0, 1}},
    {0xc6, {1, 0, 1, 1, 1, 1}}, {0xc7, {1, 1, 0, 1, 1, 1}}, {0xc8, {1, 1, 1, 1, 0, 1}},
    {0xc9, {1, 0, 1, 1, 1, 1}}, {0xca, {1, 1, 0, 1, 1, 1}}, {0xcb, {1, 1, 1, 1, 0, 1}},
    {0x91, {1, 1, 1, 1, 0, 1}}, {0x92, {1, 1, 1, 1, 0, 1}}, {0x93, {1, 1, 1, 1, 0, 1}},
    {0x94, {1, 1, 1, 1, 0, 1}}, {0x95, {1, 1, 1, 1, 0, 1}}, {0x96, {1, 1, 1, 1, 0, 1}},
    {0x97, {1, 0, 1, 1, 1, 1}}, {0x98, {1, 0, 1, 1, 1, 1}}, {0x99, {1, 1, 0, 1, 1, 1}},
    {0x9a, {1, 1, 0, 1, 1, 1}}, {0x9b, {1, 1, 1, 0, 1, 1}}, {0x9c, {1, 1, 1, 0, 1, 1}},
    {0x9d, {1, 1, 1, 1, 0, 1}}, {0x9e, {1, 1, 1, 1, 0, 1}}, {0x9f, {1, 1, 1, 1, 1, 1}},
    {0xa1, {1, 1, 1, 1, 1, 1}}, {0xa2, {1, 1, 1, 1, 1, 1}}, {0xa3, {1, 1, 1, 1, 1, 1}},
    {0xa4, {1, 1, 1, 1, 1, 1}}, {0xa5, {1, 1, 1, 1, 1, 1}}, {0xa6, {1, 1, 1, 1, 1, 1}},
    {0xa7, {1, 1, 1, 1, 1, 1}}, {0xa8, {1, 1, 1, 1, 1, 1}}, {0xa9, {1, 1, 1, 1, 1, 1}},
    {0xb1, {1, 1, 1, 1, 1, 1}}, {0xb2, {1, 1, 1, 1, 1, 1}}, {0xb3, {1, 1, 1, 1, 1, 1}},
    {0xb4, {1, 1, 1, 1, 1, 1}}, {0xb5, {1, 1, 1, 1, 1, 1}}, {0x50, {1, 1, 1, 1, 0, 1}},
    {0x00, {1, 1, 1, 1, 1, 1}}, {0x04, {1, 1, 1, 1, 1, 1}}, {0x07, {1, 1, 1, 1, 1, 1}},
    {0x0b, {1, 1, 1, 1, 1, 1}}, {0x11, {1, 1, 1, 1, 1, 1}}, {0x21, {1, 1, 1, 1, 1, 1}},
    {0x30, {1, 1, 1, 1, 1, 1}}, {0x40, {1, 1, 1, 1, 1, 1}}, {0x51, {1, 1, 1, 1, 1, 1}},
    {0x90, {1, 1, 1, 1, 1, 1}}, {0xa0, {1, 1, 1, 1, 1, 1}}, {0xaa, {1, 1, 1, 1, 1, 1}},
    {0xb6, {1, 1, 1, 1, 1, 1}}, {0xcc, {1, 1, 1, 1, 1, 1}}, {0xff, {1, 1, 1, 1, 1, 1}},
};

const bool formats = [] {
  for (const FormatUse &use : format_uses) {
    for (unsigned channels = 0; channels < use.channels.size(); ++channels)
      ADD_TEST(Arrays,
               "Format_" + std::to_string(use.format) + "_of_" + std::to_string(channels) + "_channels",
               [=](Arrays &t) {
                 const auto wanted = shape(64, 64, 0, format(use.format), channels);
                 expect_answer(__FILE__, __LINE__, "cuArray3DCreate(&array_out, &wanted)",
                               driver().cuArray3DCreate(&t.array_out, &wanted), code(use.channels[channels]));
                 if (use.channels[channels] != 0) return;
                 NEED(driver().cuArray3DGetDescriptor(&t.three, t.array_out));
                 EXPECT_VALUE(text_of(t.three), text_of(wanted));
               });
    unsigned least = 0;
    while (least < use.channels.size() && use.channels[least] != 0) ++least;
    if (least == use.channels.size()) continue;
    ADD_TEST(Arrays, "Format_" + std::to_string(use.format) + "_has_no_planes", [=](Arrays &t) {
      const CUarray whole = t.array(shape(64, 64, 0, format(use.format), least));
      EXPECT_ANSWER(driver().cuArrayGetPlane(&t.array_out, whole, 0), CUDA_ERROR_INVALID_VALUE);
      EXPECT_ANSWER(driver().cuArrayGetPlane(&t.array_out, whole, 1), CUDA_ERROR_INVALID_VALUE);
    });
  }
  return true;
}();

// ---- Null result pointers ----

STATEMENT(Arrays, cuArrayCreate_needs_a_place,
          (two.Width = 64, two.Format = CU_AD_FORMAT_UNSIGNED_INT8, two.NumChannels = 1,
           driver().cuArrayCreate(nullptr, &two)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Arrays, cuArrayCreate_needs_a_shape, driver().cuArrayCreate(&array_out, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Arrays, cuArray3DCreate_needs_a_place,
          (three = shape(64), driver().cuArray3DCreate(nullptr, &three)), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Arrays, cuArray3DCreate_needs_a_shape, driver().cuArray3DCreate(&array_out, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Arrays, cuArrayGetDescriptor_needs_a_place, driver().cuArrayGetDescriptor(nullptr, plain()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Arrays, cuArrayGetDescriptor_needs_an_array, driver().cuArrayGetDescriptor(&two, nullptr),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Arrays, cuArrayGetDescriptor_needs_both, driver().cuArrayGetDescriptor(nullptr, nullptr),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Arrays, cuArray3DGetDescriptor_needs_a_place, driver().cuArray3DGetDescriptor(nullptr, plain()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Arrays, cuArray3DGetDescriptor_needs_an_array, driver().cuArray3DGetDescriptor(&three, nullptr),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Arrays, cuArrayDestroy_needs_an_array, driver().cuArrayDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Arrays, cuArrayGetPlane_needs_a_place, driver().cuArrayGetPlane(nullptr, plain(), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Arrays, cuArrayGetPlane_needs_an_array, driver().cuArrayGetPlane(&array_out, nullptr, 0),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Arrays, cuArrayGetMemoryRequirements_needs_a_place,
          driver().cuArrayGetMemoryRequirements(nullptr, plain(), device), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Arrays, cuArrayGetMemoryRequirements_needs_an_array,
          driver().cuArrayGetMemoryRequirements(&requirements, nullptr, device), CUDA_ERROR_INVALID_VALUE)
// The driver ignores the device.
STATEMENT(Arrays, cuArrayGetMemoryRequirements_takes_any_device,
          driver().cuArrayGetMemoryRequirements(&requirements,
                                                array(shape(64, 8, 0, format(1), 1, kDeferred)), -1),
          CUDA_SUCCESS)
STATEMENT(Arrays, cuArrayGetMemoryRequirements_needs_a_deferred_array,
          driver().cuArrayGetMemoryRequirements(&requirements, plain(), device), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Arrays, cuArrayGetSparseProperties_needs_a_place,
          driver().cuArrayGetSparseProperties(nullptr, plain()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Arrays, cuArrayGetSparseProperties_needs_an_array,
          driver().cuArrayGetSparseProperties(&sparse, nullptr), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Arrays, cuArrayGetSparseProperties_needs_a_sparse_array,
          driver().cuArrayGetSparseProperties(&sparse, plain()), CUDA_ERROR_INVALID_VALUE)
TEST_F(Arrays, Without_a_context) {
  const CUarray made = plain();
  const auto wanted = shape(64, 8);
  CUDA_ARRAY_DESCRIPTOR wanted_2d = {};
  wanted_2d.Width = 64;
  wanted_2d.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  wanted_2d.NumChannels = 1;
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuArrayCreate(&array_out, &wanted_2d), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuArray3DCreate(&array_out, &wanted), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuArrayCreate(nullptr, &wanted_2d), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuArray3DCreate(nullptr, &wanted), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuArrayCreate(&array_out, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuArray3DCreate(&array_out, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuArrayGetDescriptor(&two, made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuArray3DGetDescriptor(&three, made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuArrayGetPlane(&array_out, made, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuArrayGetMemoryRequirements(&requirements, made, device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuArrayGetSparseProperties(&sparse, made), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuArrayDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
}
TEST_F(Arrays, Are_destroyed_without_a_context) {
  const auto wanted = shape(64, 8);
  CUarray made = nullptr;
  NEED(driver().cuArray3DCreate(&made, &wanted));
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuArrayDestroy(made), CUDA_SUCCESS);
}
TEST_F(Arrays, Are_destroyed_in_another_context) {
  const auto wanted = shape(64, 8);
  CUarray made = nullptr;
  NEED(driver().cuArray3DCreate(&made, &wanted));
  NEED(driver().cuCtxSetCurrent(other_context()));
  EXPECT_ANSWER(driver().cuArrayGetDescriptor(&two, made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuArrayDestroy(made), CUDA_SUCCESS);
}
TEST_F(Arrays, The_shape_of_a_cube_in_two_dimensions) {
  const CUarray made = array(shape(64, 8, 4));
  EXPECT_ANSWER(driver().cuArrayGetDescriptor(&two, made), CUDA_SUCCESS);
  EXPECT_VALUE(text_of(two), "64 x 8 of format 1, 1 channels");
}
TEST_F(Arrays, A_refused_one_leaves_the_place_alone) {
  const auto wanted = shape(0);
  EXPECT_ANSWER(driver().cuArray3DCreate(&array_out, &wanted), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(array_out == nullptr, true);
}
TEST_F(Arrays, Take_memory_and_give_it_back) {
  std::size_t before = 0, with = 0, after = 0;
  NEED(driver().cuMemGetInfo(&before, &size));
  const auto wanted = shape(4096, 4096, 0, CU_AD_FORMAT_FLOAT, 4);
  CUarray made = nullptr;
  NEED(driver().cuArray3DCreate(&made, &wanted));
  NEED(driver().cuMemGetInfo(&with, &size));
  NEED(driver().cuArrayDestroy(made));
  NEED(driver().cuMemGetInfo(&after, &size));
  EXPECT_VALUE(before - with, std::size_t{256} << 20);
  EXPECT_VALUE(after == before, true);
}
TEST_F(Arrays, More_than_there_is) {
  std::size_t left = 0;
  NEED(driver().cuMemGetInfo(&left, &size));
  constexpr std::size_t kWidth = 131072, kElement = 16;
  const auto wanted = shape(kWidth, size / 10 * 9 / (kWidth * kElement), 0, CU_AD_FORMAT_FLOAT, 4);
  CUarray first = nullptr, second = nullptr;
  EXPECT_ANSWER(driver().cuArray3DCreate(&first, &wanted), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuArray3DCreate(&second, &wanted), CUDA_ERROR_OUT_OF_MEMORY);
  if (first != nullptr) NEED(driver().cuArrayDestroy(first));
  if (second != nullptr) NEED(driver().cuArrayDestroy(second));
}

// ---- Memory requirements of deferred arrays ----

struct Wanted {
  std::size_t width, height, depth;
  int format;
  unsigned channels, flags;
  std::size_t size;
};
const Wanted wanted_memory[] = {
    {1, 0, 0, 1, 1, 0, 65536},           {64, 0, 0, 1, 1, 0, 65536},
    {1000, 0, 0, 1, 1, 0, 65536},        {4096, 0, 0, 1, 1, 0, 65536},
    {131072, 0, 0, 1, 1, 0, 1048576},    {1, 1, 0, 1, 1, 0, 65536},
    {64, 8, 0, 1, 1, 0, 65536},          {64, 64, 0, 1, 1, 0, 65536},
    {65, 65, 0, 1, 1, 0, 65536},         {100, 100, 0, 1, 1, 0, 65536},
    {1000, 1000, 0, 1, 1, 0, 1048576},   {16, 16, 16, 1, 1, 0, 65536},
    {64, 8, 4, 1, 1, 0, 65536},          {100, 100, 100, 1, 1, 0, 1507328},
    {1, 0, 0, 2, 1, 0, 65536},           {64, 0, 0, 2, 1, 0, 65536},
    {1000, 0, 0, 2, 1, 0, 65536},        {4096, 0, 0, 2, 1, 0, 65536},
    {131072, 0, 0, 2, 1, 0, 2097152},    {1, 1, 0, 2, 1, 0, 65536},
    {64, 8, 0, 2, 1, 0, 65536},          {64, 64, 0, 2, 1, 0, 65536},
    {65, 65, 0, 2, 1, 0, 65536},         {100, 100, 0, 2, 1, 0, 65536},
    {1000, 1000, 0, 2, 1, 0, 2097152},   {16, 16, 16, 2, 1, 0, 65536},
    {64, 8, 4, 2, 1, 0, 65536},          {100, 100, 100, 2, 1, 0, 3014656},
    {1, 0, 0, 32, 1, 0, 65536},          {64, 0, 0, 32, 1, 0, 65536},
    {1000, 0, 0, 32, 1, 0, 65536},       {4096, 0, 0, 32, 1, 0, 131072},
    {131072, 0, 0, 32, 1, 0, 4194304},   {1, 1, 0, 32, 1, 0, 65536},
    {64, 8, 0, 32, 1, 0, 65536},         {64, 64, 0, 32, 1, 0, 65536},
    {65, 65, 0, 32, 1, 0, 65536},        {100, 100, 0, 32, 1, 0, 65536},
    {1000, 1000, 0, 32, 1, 0, 4128768},  {16, 16, 16, 32, 1, 0, 65536},
    {64, 8, 4, 32, 1, 0, 65536},         {100, 100, 100, 32, 1, 0, 5242880},
    {1, 0, 0, 32, 2, 0, 65536},          {64, 0, 0, 32, 2, 0, 65536},
    {1000, 0, 0, 32, 2, 0, 65536},       {4096, 0, 0, 32, 2, 0, 262144},
    {131072, 0, 0, 32, 2, 0, 8388608},   {1, 1, 0, 32, 2, 0, 65536},
    {64, 8, 0, 32, 2, 0, 65536},         {64, 64, 0, 32, 2, 0, 65536},
    {65, 65, 0, 32, 2, 0, 131072},       {100, 100, 0, 32, 2, 0, 131072},
    {1000, 1000, 0, 32, 2, 0, 8192000},  {16, 16, 16, 32, 2, 0, 65536},
    {64, 8, 4, 32, 2, 0, 65536},         {100, 100, 100, 32, 2, 0, 9699328},
    {1, 0, 0, 32, 4, 0, 65536},          {64, 0, 0, 32, 4, 0, 65536},
    {1000, 0, 0, 32, 4, 0, 131072},      {4096, 0, 0, 32, 4, 0, 524288},
    {131072, 0, 0, 32, 4, 0, 16777216},  {1, 1, 0, 32, 4, 0, 65536},
    {64, 8, 0, 32, 4, 0, 65536},         {64, 64, 0, 32, 4, 0, 65536},
    {65, 65, 0, 32, 4, 0, 196608},       {100, 100, 0, 32, 4, 0, 262144},
    {1000, 1000, 0, 32, 4, 0, 16384000}, {16, 16, 16, 32, 4, 0, 65536},
    {64, 8, 4, 32, 4, 0, 65536},         {100, 100, 100, 32, 4, 0, 18677760},
    {64, 0, 4, 1, 1, 1, 65536},          {64, 8, 4, 1, 1, 1, 65536},
    {100, 100, 7, 1, 1, 1, 131072},      {64, 64, 6, 32, 1, 4, 131072},
    {64, 64, 12, 32, 1, 5, 196608},      {64, 64, 0, 1, 1, 2, 65536},
    {64, 64, 0, 1, 1, 8, 65536},         {64, 64, 0, 145, 4, 0, 65536},
    {64, 64, 0, 157, 4, 0, 65536},       {64, 64, 0, 192, 1, 0, 65536},
    {4096, 8, 100, 1, 1, 0, 3670016},    {4096, 104, 100, 1, 1, 0, 47710208},
    {4096, 120, 5, 1, 1, 0, 3932160},    {4096, 40, 33, 1, 1, 0, 7864320},
    {4096, 1000, 3, 1, 1, 0, 16384000},  {4096, 9, 2, 1, 1, 0, 131072},
};
const bool deferred = [] {
  for (const Wanted &use : wanted_memory) {
    const auto wanted =
        shape(use.width, use.height, use.depth, format(use.format), use.channels, use.flags | kDeferred);
    std::string name = "The_memory_of_" + text_of(wanted);
    std::erase(name, ',');
    std::replace(name.begin(), name.end(), ' ', '_');
    ADD_TEST(Arrays, name, [=](Arrays &t) {
      const CUarray made = t.array(wanted);
      expect_answer(__FILE__, __LINE__, "cuArrayGetMemoryRequirements(&requirements, made, device)",
                    driver().cuArrayGetMemoryRequirements(&t.requirements, made, t.device), CUDA_SUCCESS);
      EXPECT_VALUE(t.requirements.size, use.size);
      EXPECT_VALUE(t.requirements.alignment, std::size_t{65536});
    });
  }
  return true;
}();

// ---- Sparse arrays ----

std::string text_of(const CUDA_ARRAY_SPARSE_PROPERTIES &sparse) {
  return std::to_string(sparse.tileExtent.width) + " x " + std::to_string(sparse.tileExtent.height) + " x " +
         std::to_string(sparse.tileExtent.depth) + ", tail from level " +
         std::to_string(sparse.miptailFirstLevel) + ", " + std::to_string(sparse.miptailSize) +
         " bytes, flags " + std::to_string(sparse.flags);
}
struct SparseUse {
  const char *name;
  std::size_t width, height, depth;
  int format;
  unsigned channels;
  const char *properties;
  unsigned flags = 0;
};
const SparseUse sparse_uses[] = {
    {"bytes", 1024, 1024, 0, 1, 1, "256 x 256 x 1, tail from level 0, 0 bytes, flags 0"},
    {"two_byte_words", 1024, 1024, 0, 2, 1, "256 x 128 x 1, tail from level 0, 0 bytes, flags 0"},
    {"floats", 1024, 1024, 0, 32, 1, "128 x 128 x 1, tail from level 0, 0 bytes, flags 0"},
    {"pairs", 1024, 1024, 0, 32, 2, "128 x 64 x 1, tail from level 0, 0 bytes, flags 0"},
    {"quads", 1024, 1024, 0, 32, 4, "64 x 64 x 1, tail from level 0, 0 bytes, flags 0"},
    {"cubes_of_bytes", 256, 256, 64, 1, 1, "64 x 32 x 32, tail from level 0, 0 bytes, flags 0"},
    {"cubes_of_floats", 256, 256, 64, 32, 1, "32 x 32 x 16, tail from level 0, 0 bytes, flags 0"},
    {"cubes_of_quads", 256, 256, 64, 32, 4, "16 x 16 x 16, tail from level 0, 0 bytes, flags 0"},
    {"layers", 1024, 1024, 4, 1, 1, "256 x 256 x 1, tail from level 0, 0 bytes, flags 0",
     CUDA_ARRAY3D_LAYERED},
    {"small_ones", 8, 8, 0, 1, 1, "256 x 256 x 1, tail from level 0, 65536 bytes, flags 1"},
};
const bool sparse = [] {
  for (const SparseUse &use : sparse_uses)
    ADD_TEST(Arrays, std::string("The_tiles_of_sparse_") + use.name, [=](Arrays &t) {
      const CUarray made = t.array(
          shape(use.width, use.height, use.depth, format(use.format), use.channels, use.flags | kSparse));
      EXPECT_ANSWER(driver().cuArrayGetSparseProperties(&t.sparse, made), CUDA_SUCCESS);
      EXPECT_VALUE(text_of(t.sparse), use.properties);
    });
  return true;
}();

// ---- The first ABI ----

TEST_F(Arrays, Of_the_first_ABI) {
  CushimArrayDescriptor_v1 two_v1 = {};
  two_v1.Width = 64;
  two_v1.Height = 8;
  two_v1.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  two_v1.NumChannels = 1;
  CushimArray3DDescriptor_v1 three_v1 = {};
  three_v1.Width = 64;
  three_v1.Height = 8;
  three_v1.Depth = 4;
  three_v1.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  three_v1.NumChannels = 1;
  const CUarray made = plain();
  EXPECT_ANSWER(cushim::exact::cuArrayCreate_v2000(driver())(&array_out, &two_v1),
                CUDA_ERROR_INVALID_CONTEXT);
  if (array_out != nullptr) NEED(driver().cuArrayDestroy(array_out));
  array_out = nullptr;
  EXPECT_ANSWER(cushim::exact::cuArray3DCreate_v2000(driver())(&array_out, &three_v1),
                CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuArrayGetDescriptor_v2000(driver())(&two_v1, made),
                CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuArray3DGetDescriptor_v2000(driver())(&three_v1, made),
                CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_VALUE(static_cast<int>(two_v1.Height), 8);
}

}  // namespace
}  // namespace conformance
