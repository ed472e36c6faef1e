// SPDX-License-Identifier: Apache-2.0
// Tests capture(): it ends each capture that it begins.
#include <gmock/gmock.h>

#include <stdexcept>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

StreamRef stream() { return StreamRef(stream_handle(0x50)); }

TEST(Capture, Returns_the_graph_of_the_calls) {
  Recording recording;
  {
    const Graph graph = capture(stream(), [] {
      driver().cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream().handle(), nullptr, nullptr);
    });
    EXPECT_EQ(graph.handle(), reinterpret_cast<CUgraph>(0x1000));
  }
  EXPECT_THAT(recording.calls(), ElementsAre("cuStreamBeginCapture_v2(0x50, 0)",
                                             "cuLaunchKernel(null, 1, 1, 1, 1, 1, 1, 0, 0x50, null, null)",
                                             "cuStreamEndCapture(0x50, &)", "cuGraphDestroy(0x1000)"));
}

TEST(Capture, Has_a_mode) {
  Recording recording;
  capture(stream(), CaptureMode::this_thread, [] {});
  EXPECT_EQ(recording.calls().front(), "cuStreamBeginCapture_v2(0x50, 1)");
  capture(stream(), CaptureMode::relaxed, [] {});
  EXPECT_EQ(recording.calls().front(), "cuStreamBeginCapture_v2(0x50, 2)");
}

TEST(Capture, Ends_and_destroys_the_graph_if_the_function_throws) {
  Recording recording;
  EXPECT_THROW(capture(stream(), [] { throw std::runtime_error("half-way"); }), std::runtime_error);
  EXPECT_THAT(recording.calls(), ElementsAre("cuStreamBeginCapture_v2(0x50, 0)",
                                             "cuStreamEndCapture(0x50, &)", "cuGraphDestroy(0x1000)"));
  EXPECT_THAT(recording.live(), IsEmpty());
}

TEST(Capture, Passes_the_functions_exception_on_if_the_capture_was_invalidated) {
  Recording recording;
  recording.answer(Entry::cuStreamEndCapture, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_THROW(capture(stream(), [] { throw std::runtime_error("half-way"); }), std::runtime_error);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuStreamBeginCapture_v2(0x50, 0)", "cuStreamEndCapture(0x50, &)"));
  EXPECT_THAT(Recording::unreported(), IsEmpty());
}

TEST(Capture, Throws_if_it_was_invalidated) {
  Recording recording;
  recording.answer(Entry::cuStreamEndCapture, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(error_of([] { capture(stream(), [] {}); }).result(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST(Capture, That_does_not_begin_does_not_call_the_function) {
  Recording recording;
  recording.fail(1, CUDA_ERROR_ILLEGAL_STATE);
  bool called = false;
  EXPECT_EQ(error_of([&] { capture(stream(), [&] { called = true; }); }).routine(),
            std::string("cuStreamBeginCapture"));
  EXPECT_FALSE(called);
  EXPECT_THAT(recording.calls(), ElementsAre("cuStreamBeginCapture_v2(0x50, 0)"));
}

}  // namespace
}  // namespace cushim::test
