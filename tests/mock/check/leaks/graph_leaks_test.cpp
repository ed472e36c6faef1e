// SPDX-License-Identifier: Apache-2.0
// Captures that do not end as they should, and user objects: each defect with its corrected twin.
#include "leaked.hpp"

namespace cushim::check {
namespace {

class LeakedCapture : public Leaked {
 protected:
  LeakedCapture() {
    for (CUstream *const each : {&a_, &b_}) need(driver().cuStreamCreate(each, CU_STREAM_NON_BLOCKING));
    need(driver().cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
    need(driver().cuMemAlloc(&memory_, 64));
  }
  ~LeakedCapture() override {
    driver().cuMemFree(memory_);
    driver().cuEventDestroy(event_);
    for (const CUstream each : {a_, b_})
      if (each != nullptr) driver().cuStreamDestroy(each);
  }
  void begin() const { need(driver().cuStreamBeginCapture(a_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)); }
  CUresult end() {
    CUgraph graph = nullptr;
    const CUresult result = driver().cuStreamEndCapture(a_, &graph);
    if (graph != nullptr) need(driver().cuGraphDestroy(graph));
    return result;
  }
  void destroy(CUstream &stream) { need(driver().cuStreamDestroy(std::exchange(stream, nullptr))); }
  // The findings about captures.
  std::vector<Finding> found() {
    std::vector<Finding> findings = leaks_.finish();
    std::erase_if(findings, [](const Finding &finding) { return !finding.rule.starts_with("capture"); });
    return findings;
  }

  CUstream a_ = nullptr, b_ = nullptr;
  CUevent event_ = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(LeakedCapture, That_does_not_end_is_found) {
  begin();
  const std::vector<Finding> findings = found();
  ASSERT_TRUE(is_only(findings, "capture-not-ended"));
  ASSERT_EQ(findings[0].calls.size(), 1u);
  EXPECT_EQ(findings[0].calls[0].role, "begun by");
  EXPECT_FALSE(findings[0].calls[0].call_stack.frames().empty());
  EXPECT_EQ(found().size(), 1u);
  EXPECT_EQ(end(), CUDA_SUCCESS);
}
TEST_F(LeakedCapture, That_ends_is_not_reported) {
  begin();
  EXPECT_EQ(end(), CUDA_SUCCESS);
  EXPECT_TRUE(is_clean(found()));
}
TEST_F(LeakedCapture, Whose_stream_is_destroyed_is_found) {
  begin();
  destroy(a_);
  const std::vector<Finding> findings = found();
  ASSERT_TRUE(is_only(findings, "capture-not-ended"));
  EXPECT_EQ(findings[0].calls.back().text, "cuStreamDestroy_v2");
}
TEST_F(LeakedCapture, Whose_context_is_destroyed_is_found) {
  CUcontext own = nullptr;
  CUstream stream = nullptr;
  need(driver().cuCtxCreate_v2(&own, 0, 0));
  need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  need(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  need(driver().cuCtxDestroy(own));
  EXPECT_TRUE(is_only(found(), "capture-not-ended"));
}

TEST_F(LeakedCapture, That_does_not_join_a_stream_is_found_with_the_wait) {
  begin();
  need(driver().cuEventRecord(event_, a_));
  need(driver().cuStreamWaitEvent(b_, event_, 0));
  need(driver().cuMemsetD8Async(memory_, 1, 64, b_));
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  const std::vector<Finding> findings = found();
  ASSERT_TRUE(is_only(findings, "capture-not-joined"));
  ASSERT_EQ(findings[0].calls.size(), 3u);
  EXPECT_EQ(findings[0].calls[1].role, "joined by");
  EXPECT_TRUE(has(findings[0].calls[1].text, "cuStreamWaitEvent in stream 0x")) << findings[0];
  EXPECT_EQ(findings[0].calls[2].role, "ended by");
}
TEST_F(LeakedCapture, That_joins_its_streams_is_not_reported) {
  begin();
  need(driver().cuEventRecord(event_, a_));
  need(driver().cuStreamWaitEvent(b_, event_, 0));
  need(driver().cuMemsetD8Async(memory_, 1, 64, b_));
  need(driver().cuEventRecord(event_, b_));
  need(driver().cuStreamWaitEvent(a_, event_, 0));
  EXPECT_EQ(end(), CUDA_SUCCESS);
  EXPECT_TRUE(is_clean(found()));
}

class LeakedUserObject : public Leaked {
 protected:
  CUuserObject make(unsigned references) {
    CUuserObject made = nullptr;
    need(driver().cuUserObjectCreate(
        &made, this, [](void *) {}, references, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    return made;
  }
};

TEST_F(LeakedUserObject, With_a_reference_of_the_program_is_found) {
  const CUuserObject object = make(2);
  need(driver().cuUserObjectRelease(object, 1));
  const std::vector<Finding> findings = leaks_.finish();
  ASSERT_TRUE(is_only(findings, "never-released"));
  EXPECT_TRUE(has(findings[0].what, "the program holds 1 reference")) << findings[0];
  need(driver().cuUserObjectRelease(object, 1));
}
TEST_F(LeakedUserObject, Without_a_reference_of_the_program_is_not_reported) {
  const CUuserObject object = make(1);
  need(driver().cuUserObjectRetain(object, 2));
  need(driver().cuUserObjectRelease(object, 3));
  EXPECT_TRUE(is_clean(leaks_.finish()));
}
TEST_F(LeakedUserObject, That_a_graph_shares_is_found_until_the_program_releases_it) {
  for (const unsigned flags : {0u, unsigned{CU_GRAPH_USER_OBJECT_MOVE}}) {
    Leaks leaks(current_driver());
    CUgraph graph = nullptr;
    need(driver().cuGraphCreate(&graph, 0));
    const CUuserObject object = make(1);
    need(driver().cuGraphRetainUserObject(graph, object, 1, flags));
    need(driver().cuGraphDestroy(graph));
    const bool is_moved = flags != 0;
    if (is_moved)
      EXPECT_TRUE(is_clean(leaks.finish()));
    else
      EXPECT_TRUE(is_only(leaks.finish(), "never-released"));
    if (!is_moved) need(driver().cuUserObjectRelease(object, 1));
  }
}

}  // namespace
}  // namespace cushim::check
