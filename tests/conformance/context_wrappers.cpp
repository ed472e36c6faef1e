// SPDX-License-Identifier: Apache-2.0
// The wrappers of contexts.
#include <cushim/context.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

class ContextWrappers : public OnDevice {};

TEST_F(ContextWrappers, Leave_the_current_context_alone_when_they_make_one) {
  const auto made = cushim::Context::create(cushim::Device::get(0));
  EXPECT_VALUE(cushim::ContextRef::current().handle() == context, true);
  EXPECT_VALUE(made.handle() != context, true);
  EXPECT_VALUE(made.device().handle(), 0);
  EXPECT_VALUE(int(made.flags()), 0);
}

TEST_F(ContextWrappers, Make_a_context_current_for_a_scope) {
  {
    cushim::ScopedContext scope(cushim::ContextRef::from_handle(other_context()));
    EXPECT_VALUE(cushim::ContextRef::current().handle() == other_context(), true);
  }
  EXPECT_VALUE(cushim::ContextRef::current().handle() == context, true);
}

TEST_F(ContextWrappers, Restore_the_current_context) {
  {
    cushim::RestoredContext before;
    NEED(driver().cuCtxSetCurrent(nullptr));
    EXPECT_VALUE(cushim::ContextRef::current().handle() == nullptr, true);
  }
  EXPECT_VALUE(cushim::ContextRef::current().handle() == context, true);
}

TEST_F(ContextWrappers, Refuse_bad_flags) {
  CUresult code = CUDA_SUCCESS;
  try {
    cushim::Context::create(cushim::Device::get(0), static_cast<cushim::ContextFlags>(~0u));
  } catch (const cushim::Error &error) {
    code = static_cast<CUresult>(error.code().value());
  }
  EXPECT_ANSWER(code, CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ContextWrappers, Ask_about_a_context_that_is_not_current) {
  const auto there = cushim::ContextRef::from_handle(other_context());
  EXPECT_VALUE(there.device().handle(), 0);
  EXPECT_VALUE(there.stream_priorities().least, 0);
  EXPECT_VALUE(int(there.cache_preference()), 0);
  EXPECT_VALUE(there.memory().total > 0, true);
  EXPECT_VALUE(there.id() != cushim::ContextRef::current().id(), true);
  there.synchronize();
  EXPECT_VALUE(cushim::ContextRef::current().handle() == context, true);
}

}  // namespace
}  // namespace conformance
