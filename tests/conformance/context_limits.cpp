// SPDX-License-Identifier: Apache-2.0
// Limits of contexts.
#include "contexts.hpp"

namespace conformance {
namespace {

class Limits : public Contexts {};

const struct {
  const char *name;
  int number;
  CUresult code;
} limits[] = {
    {"The_stack_size", CU_LIMIT_STACK_SIZE, CUDA_SUCCESS},
    {"The_printf_buffer", CU_LIMIT_PRINTF_FIFO_SIZE, CUDA_SUCCESS},
    {"The_malloc_heap", CU_LIMIT_MALLOC_HEAP_SIZE, CUDA_SUCCESS},
    {"The_depth_of_device_synchronization", CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, CUDA_ERROR_UNSUPPORTED_LIMIT},
    {"The_number_of_pending_launches", CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, CUDA_SUCCESS},
    {"The_L2_fetch_granularity", CU_LIMIT_MAX_L2_FETCH_GRANULARITY, CUDA_SUCCESS},
    {"The_persisting_L2_cache", CU_LIMIT_PERSISTING_L2_CACHE_SIZE, CUDA_SUCCESS},
    {"The_number_1000", 1000, CUDA_ERROR_INVALID_VALUE},
    {"The_number_minus_1", -1, CUDA_ERROR_INVALID_VALUE},
};

[[maybe_unused]] const bool limits_added = [] {
  for (const auto &row : limits) {
    const auto limit = static_cast<CUlimit>(row.number);
    ADD_TEST(Limits, row.name + std::string("_is_read"), [=](Limits &t) {
      EXPECT_ANSWER(driver().cuCtxGetLimit(&t.size, limit), row.code);
      RECORD_VALUE(t.size);
    });
    ADD_TEST(Limits, row.name + std::string("_is_set_as_it_is"), [=](Limits &t) {
      driver().cuCtxGetLimit(&t.size, limit);
      EXPECT_ANSWER(driver().cuCtxSetLimit(limit, t.size), row.code);
    });
    ADD_TEST(Limits, row.name + std::string("_is_not_read_without_a_place"), [=](Limits &) {
      EXPECT_ANSWER(driver().cuCtxGetLimit(nullptr, limit), CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(Limits, row.name + std::string("_is_not_read_without_a_context"), [=](Limits &t) {
      NEED(driver().cuCtxSetCurrent(nullptr));
      EXPECT_ANSWER(driver().cuCtxGetLimit(&t.size, limit), CUDA_ERROR_INVALID_CONTEXT);
      EXPECT_ANSWER(driver().cuCtxSetLimit(limit, 1024), CUDA_ERROR_INVALID_CONTEXT);
    });
  }
  return true;
}();

// Requested limits and the resulting ones; the requests run in order.
struct Wish {
  std::size_t value;
  std::size_t read;
  CUresult code = CUDA_SUCCESS;
};
struct Wishes {
  const char *name;
  int limit;
  std::vector<Wish> wishes;
};
const std::vector<Wish> stack_wishes = {{0, 0},
                                        {1, 16},
                                        {15, 15},
                                        {16, 16},
                                        {17, 32},
                                        {1000, 1008},
                                        {1024, 1024},
                                        {4097, 4112},
                                        {1'048'576, 4112, CUDA_ERROR_INVALID_VALUE},
                                        {5'000'000, 4112, CUDA_ERROR_INVALID_VALUE}};
const std::vector<Wish> printf_wishes = {{0, 524288},          {1, 524288},         {16, 524288},
                                         {1024, 524288},       {524'288, 524288},   {524'289, 524544},
                                         {1'048'576, 1048576}, {5'000'000, 5000192}};
const std::vector<Wish> heap_wishes = {{0, 4194304},         {1, 4194304},         {1024, 4194304},
                                       {1'048'576, 4194304}, {4'194'304, 4194304}, {4'194'305, 4259840},
                                       {8'388'608, 8388608}, {8'388'609, 8454144}, {20'000'000, 20054016}};
const std::vector<Wish> launch_wishes = {{0, 32},      {1, 32},      {16, 32},    {1024, 1024},
                                         {2048, 2048}, {2049, 2049}, {5000, 5000}};
const std::vector<Wish> fetch_wishes = {{0, 0},
                                        {1, 1},
                                        {16, 16},
                                        {32, 32},
                                        {33, 33},
                                        {64, 64},
                                        {100, 100},
                                        {128, 128},
                                        {129, 128, CUDA_ERROR_INVALID_VALUE},
                                        {1024, 128, CUDA_ERROR_INVALID_VALUE}};
// Requests that return an error and leave the limit as it was.
std::vector<Wish> refused(CUresult code, std::size_t read) {
  return {{0, read, code}, {1, read, code}, {1024, read, code}};
}
const Wishes wishes[] = {
    {"The_stack_size", CU_LIMIT_STACK_SIZE, stack_wishes},
    {"The_printf_buffer", CU_LIMIT_PRINTF_FIFO_SIZE, printf_wishes},
    {"The_malloc_heap", CU_LIMIT_MALLOC_HEAP_SIZE, heap_wishes},
    {"The_number_of_pending_launches", CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, launch_wishes},
    {"The_L2_fetch_granularity", CU_LIMIT_MAX_L2_FETCH_GRANULARITY, fetch_wishes},
    {"The_number_7", 7, refused(CUDA_ERROR_NOT_PERMITTED, 232448)},
    {"The_number_8", 8, refused(CUDA_ERROR_NOT_PERMITTED, 0)},
    {"The_number_9", 9, refused(CUDA_ERROR_UNSUPPORTED_LIMIT, 0)},
    {"The_number_10", 10, refused(CUDA_ERROR_INVALID_VALUE, 0)},
};
void expect_to_follow(Limits &t, CUlimit limit, const std::vector<Wish> &wishes_of_limit) {
  NEED(driver().cuCtxCreate_v2(&t.context_out, 0, 0));
  for (const Wish &wish : wishes_of_limit) {
    SCOPED_TRACE(wish.value);
    t.size = 0;
    EXPECT_ANSWER(driver().cuCtxSetLimit(limit, wish.value), wish.code);
    driver().cuCtxGetLimit(&t.size, limit);
    EXPECT_VALUE(t.size, wish.read);
  }
}
[[maybe_unused]] const bool wishes_added = [] {
  for (const Wishes &row : wishes)
    ADD_TEST(Limits, row.name + std::string("_follows_wishes"),
             [&row](Limits &t) { expect_to_follow(t, static_cast<CUlimit>(row.limit), row.wishes); });
  return true;
}();

// The largest size, an attribute of the device, has ten parts.
TEST_F(Limits, The_persisting_L2_cache_follows_wishes) {
  int largest = 0;
  NEED(driver().cuDeviceGetAttribute(&largest, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 0));
  const auto all = static_cast<std::size_t>(largest), part = all / 10;
  expect_to_follow(*this, CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
                   {{0, 0},
                    {1, part},
                    {1024, part},
                    {part / 4, part},
                    {part + part / 4, 2 * part},
                    {8 * part + part / 2, 9 * part},
                    {all, all},
                    {1'000'000'000, all, CUDA_ERROR_INVALID_VALUE}});
}

}  // namespace
}  // namespace conformance
