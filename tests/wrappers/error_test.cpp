// SPDX-License-Identifier: Apache-2.0
// Tests the texts of errors, <system_error>, the unreported handler, and nouns as text and as keys.
#include <fmt/format.h>
// after <fmt/format.h>, which makes cushim define its formatters
#include <gmock/gmock.h>
#include <cushim/format.hpp>

#include <map>
#include <sstream>
#include <unordered_set>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Error, Has_routine_code_name_text_words_and_call_site) {
  const Where where = Where::current();
  const Error error(CUDA_ERROR_INVALID_HANDLE, "cuEventRecord", "event 0x1, stream 0x2", where);
  EXPECT_STREQ(error.routine(), "cuEventRecord");
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(error.name(), "CUDA_ERROR_INVALID_HANDLE");
  EXPECT_EQ(error.text(), "invalid handle");
  EXPECT_EQ(error.where().line(), where.line());
  EXPECT_EQ(std::string(error.what()),
            "cuEventRecord: CUDA_ERROR_INVALID_HANDLE (400, invalid handle): event 0x1, stream 0x2 (" __FILE__
            ":" +
                std::to_string(where.line()) + ")");
}

TEST(Error, Of_an_unknown_result_has_its_number) {
  const Error error(static_cast<CUresult>(998), "cuInit", "");
  EXPECT_EQ(error.name(), "");
  EXPECT_STREQ(error.what(), "cuInit: unknown result 998");
}

TEST(Error, Has_advice_if_the_failed_call_is_not_the_cause) {
  EXPECT_THAT(Error(CUDA_ERROR_NOT_INITIALIZED, "cuCtxGetCurrent", "").what(),
              HasSubstr("(3, not initialized). Call cuInit(0) and check its result"));
  EXPECT_THAT(Error(CUDA_ERROR_INVALID_CONTEXT, "cuMemAlloc", "bytes 8").what(),
              HasSubstr("(201, invalid context): bytes 8. Call cuCtxSetCurrent in each thread"));
  EXPECT_STREQ(Error(CUDA_ERROR_INVALID_CONTEXT, "cuIpcOpenMemHandle", "").what(),
               "cuIpcOpenMemHandle: CUDA_ERROR_INVALID_CONTEXT (201, invalid context)");
}

TEST(Error, Is_a_system_error_of_its_own_category) {
  try {
    throw Error(CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc", "bytes 8");
  } catch (const std::system_error &error) {
    EXPECT_EQ(error.code(), make_error_code(CUDA_ERROR_OUT_OF_MEMORY));
    EXPECT_EQ(error.code(), std::errc::not_enough_memory);
    EXPECT_NE(error.code(), std::errc::timed_out);
    EXPECT_STREQ(error.code().category().name(), "cuda");
    EXPECT_EQ(error.code().message(), "out of memory");
  }
}

TEST(Error, Results_with_an_equivalent_errc_compare_equal_to_it) {
  EXPECT_EQ(make_error_code(CUDA_ERROR_INVALID_VALUE), std::errc::invalid_argument);
  EXPECT_EQ(make_error_code(CUDA_ERROR_NOT_SUPPORTED), std::errc::not_supported);
  EXPECT_EQ(make_error_code(CUDA_ERROR_NOT_PERMITTED), std::errc::operation_not_permitted);
  EXPECT_EQ(make_error_code(CUDA_ERROR_NOT_READY), std::errc::resource_unavailable_try_again);
  EXPECT_EQ(make_error_code(CUDA_ERROR_NO_DEVICE), std::errc::no_such_device);
  EXPECT_FALSE(make_error_code(CUDA_SUCCESS));
}

TEST(Error, Copies_without_throwing) {
  static_assert(std::is_nothrow_copy_constructible_v<Error> && std::is_nothrow_copy_assignable_v<Error>);
  const Error copy = Error(CUDA_ERROR_UNKNOWN, "cuInit", "words");
  EXPECT_THAT(copy.what(), HasSubstr("words"));
}

TEST(Error, Without_a_driver_has_the_diagnosis_of_the_machine) {
  Driver &driver = Driver::by_default();
  if (driver.cuInit(0) == CUDA_SUCCESS) GTEST_SKIP() << "this machine has a driver";
  if (driver.version() != 0) GTEST_SKIP() << "this machine has a driver library";
  EXPECT_THAT(error_of([&] { Device::get(0, driver); }).what(), HasSubstr("cushim["));
}

TEST(Error, Of_a_call_that_the_driver_lacks_has_the_reason) {
  Driver &old =
      Driver::from_functions("old", 11080, [](void *, const char *) -> void (*)() { return nullptr; });
  const Error error = error_of([&] { default_stream(old).id(); });
  EXPECT_EQ(error.result(), CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
  EXPECT_THAT(error.what(), HasSubstr(old.why_missing(Entry::cuStreamGetId_v12000)));
  EXPECT_NE(old.why_missing(Entry::cuStreamGetId_v12000), "");
}

TEST(Error, Of_a_raw_call_has_the_routine_the_call_site_and_why_the_driver_lacks_it) {
  Recording recording;
  EXPECT_NO_THROW(check_result(driver().cuInit(0), "cuInit"));
  recording.answer(Entry::cuMemAlloc, CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr address = 0;
  const int line = __LINE__ + 1;
  const Error error = error_of([&] { check_result(driver().cuMemAlloc(&address, 8), "cuMemAlloc"); });
  EXPECT_EQ(std::string(error.what()), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2, out of memory) (" __FILE__
                                       ":" +
                                           std::to_string(line) + ")");
  Driver &old =
      Driver::from_functions("old", 11080, [](void *, const char *) -> void (*)() { return nullptr; });
  unsigned long long id = 0;
  EXPECT_THAT(error_of([&] { check_result(old.cuStreamGetId(nullptr, &id), "cuStreamGetId", old); }).what(),
              HasSubstr(old.why_missing(Entry::cuStreamGetId_v12000)));
}

TEST(UnreportedHandler, Receives_errors_of_destructors_and_can_be_restored) {
  Recording recording;
  static std::string seen;
  seen.clear();
  const UnreportedHandler before =
      set_unreported_handler([](const std::exception &exception) noexcept { seen = exception.what(); });
  {
    const Stream stream = Stream::create();
    recording.fail(1, CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  set_unreported_handler(before);
  EXPECT_THAT(
      seen, StartsWith("cuStreamDestroy: CUDA_ERROR_ILLEGAL_ADDRESS (700, illegal address): stream 0x1000"));
}

TEST(UnreportedHandler, Prints_a_line_to_stderr_by_default) {
  Recording recording;
  const UnreportedHandler before = set_unreported_handler(nullptr);
  testing::internal::CaptureStderr();
  {
    const Stream stream = Stream::create();
    recording.fail(1, CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              StartsWith("cushim: cuStreamDestroy: CUDA_ERROR_ILLEGAL_ADDRESS"));
  set_unreported_handler(before);
}

// ---- Nouns as text and as keys -----------------------------------------------------------------

TEST(Noun, Prints_and_formats_in_words) {
  Recording recording;
  const Event event = Event::create();
  std::ostringstream text;
  text << event << ", " << default_stream() << ", " << Device::from_handle(3) << ", " << ContextRef();
  EXPECT_EQ(text.str(), "event 0x1000, the default stream, device 3, an empty context");
  EXPECT_EQ(fmt::format("{} and {:>10}", event, Device::from_handle(3)), "event 0x1000 and   device 3");
}

TEST(Noun, Compares_and_hashes_by_driver_and_handle_whether_owning_or_not) {
  Recording recording;
  const Event event = Event::create();
  const EventRef same = EventRef::from_handle(event.handle());
  const EventRef other = EventRef::from_handle(event_handle(0xe0));
  const EventRef elsewhere = EventRef::from_handle(event.handle(), Driver::by_default());
  EXPECT_TRUE(event == same);
  EXPECT_TRUE(event != other);
  EXPECT_TRUE(same != elsewhere);
  EXPECT_EQ(std::hash<Event>()(event), std::hash<EventRef>()(same));
  std::unordered_set<EventRef> set{event, same, other, elsewhere};
  EXPECT_EQ(set.size(), 3u);
  EXPECT_EQ((std::unordered_set<Device>{Device::from_handle(0), Device::from_handle(0)}.size()), 1u);
  EXPECT_EQ((std::unordered_set<DevicePtr<int>>{DevicePtr<int>(4), DevicePtr<int>(8)}.size()), 2u);
}

TEST(Noun, Compares_with_raw_handles_of_whatever_driver) {
  Recording recording;
  const Event event = Event::create();
  const CUevent raw = event.handle();
  EXPECT_TRUE(event == raw && raw == event);
  EXPECT_TRUE(EventRef::from_handle(raw, Driver::by_default()) == raw);
  EXPECT_TRUE(event != event_handle(0xe0));
  EXPECT_TRUE(Device::from_handle(3) == 3);
  const CUstream null = nullptr;
  EXPECT_TRUE(default_stream() == null);
  EXPECT_FALSE(StreamRef() == null);
}

TEST(Noun, Is_a_key_of_ordered_maps) {
  Recording recording;
  const Event event = Event::create();
  std::map<EventRef, int> numbers{{event, 1}, {event_handle(0xe0), 2}};
  numbers[EventRef::from_handle(event.handle(), Driver::by_default())] = 3;
  EXPECT_EQ(numbers.size(), 3u);
  EXPECT_EQ(numbers.at(event), 1);
  EXPECT_TRUE(EventRef(event_handle(1)) < EventRef(event_handle(2)));
}

TEST(Noun, Is_made_of_a_raw_handle_alike_for_streams_and_events) {
  Recording recording;
  static_assert(std::is_convertible_v<CUstream, StreamRef> && std::is_convertible_v<CUevent, EventRef>);
  static_assert(!std::is_convertible_v<CUevent, TimedEventRef> && !std::is_convertible_v<CUevent, StreamRef>);
  StreamRef(stream_handle(0x50)).wait(event_handle(0xe0));
  EXPECT_THAT(recording.calls(), testing::ElementsAre("cuStreamWaitEvent(0x50, 0xe0, 0)"));
}

TEST(DevicePtr, Counts_in_elements_and_adds_const_like_a_pointer) {
  const DevicePtr<int> pointer(0x1000);
  EXPECT_EQ((pointer + 3).address(), 0x100cu);
  EXPECT_EQ((pointer - 1).address(), 0xffcu);
  EXPECT_EQ((pointer + 3) - pointer, 3);
  EXPECT_LT(pointer, pointer + 1);
  EXPECT_FALSE(DevicePtr<int>());
  const DevicePtr<const int> constant = pointer;
  EXPECT_EQ(constant.address(), pointer.address());
  static_assert(!std::is_convertible_v<DevicePtr<const int>, DevicePtr<int>>);
  static_assert(!std::is_convertible_v<DevicePtr<int>, DevicePtr<float>>);
}

}  // namespace
}  // namespace cushim::test
