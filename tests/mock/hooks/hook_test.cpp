// SPDX-License-Identifier: Apache-2.0
// Hooks: their order, and what they can change.
#include <gtest/gtest.h>
#include <cushim/cushim.hpp>
#include <cushim/mock/hook.hpp>
#include <cushim/mock/mock_driver.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cushim::mock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const CUevent kEvent = reinterpret_cast<CUevent>(0x7f10);

class Hooks : public testing::Test {
 protected:
  MockDriver mock_;
  Driver &driver_ = mock_;
};

TEST_F(Hooks, Before_gets_the_arguments_and_the_call_continues) {
  EXPECT_CALL(mock_, cuMemFree(0x1000)).WillOnce(Returns(CUDA_ERROR_INVALID_VALUE));
  CUdeviceptr seen = 0;
  const auto before = hook::before<&cuMemFree>(driver_, [&](CUdeviceptr pointer) { seen = pointer; });
  EXPECT_EQ(driver_.cuMemFree(0x1000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(seen, 0x1000u);
}

TEST_F(Hooks, Before_may_answer_instead) {
  EXPECT_CALL(mock_, cuInit(1));
  const auto before = hook::before<&cuInit>(driver_, [](unsigned flags) -> std::optional<CUresult> {
    if (flags == 0) return CUDA_ERROR_NO_DEVICE;
    return std::nullopt;
  });
  EXPECT_EQ(driver_.cuInit(0), CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(driver_.cuInit(1), CUDA_SUCCESS);
}

TEST_F(Hooks, Replace_runs_instead) {
  const auto replaced = hook::replace<&cuInit>(driver_, [](unsigned) { return CUDA_ERROR_NO_DEVICE; });
  EXPECT_EQ(driver_.cuInit(0), CUDA_ERROR_NO_DEVICE);
}

TEST_F(Hooks, Replace_may_call_the_driver_with_other_arguments_and_more_than_once) {
  EXPECT_CALL(mock_, cuMemFree(2)).WillOnce(Returns(CUDA_ERROR_NOT_READY)).WillOnce(Returns(CUDA_SUCCESS));
  const auto replaced = hook::replace<&cuMemFree>(driver_, [](const auto &next, CUdeviceptr pointer) {
    while (next(pointer * 2) == CUDA_ERROR_NOT_READY) {
    }
    return CUDA_ERROR_UNKNOWN;
  });
  EXPECT_EQ(driver_.cuMemFree(1), CUDA_ERROR_UNKNOWN);
}

TEST_F(Hooks, After_sees_the_result_and_the_values_that_were_written) {
  EXPECT_CALL(mock_, cuDeviceGetCount).WillOnce(Gives(8));
  std::vector<int> seen;
  const auto after = hook::after<&cuDeviceGetCount>(driver_, [&](CUresult result, int *count) {
    seen = {static_cast<int>(result), *count};
  });
  int count = 0;
  EXPECT_EQ(driver_.cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_THAT(seen, ElementsAre(0, 8));
}

TEST_F(Hooks, After_may_change_the_result) {
  EXPECT_CALL(mock_, cuInit);
  const auto after = hook::after<&cuInit>(driver_, [](CUresult, unsigned) { return CUDA_ERROR_NO_DEVICE; });
  EXPECT_EQ(driver_.cuInit(0), CUDA_ERROR_NO_DEVICE);
}

TEST_F(Hooks, The_newest_runs_first_and_they_may_be_removed_in_any_order) {
  EXPECT_CALL(mock_, cuCtxSynchronize).Times(3);
  std::string order;
  const auto note = [&](const char *name) { return [&order, name] { order += name; }; };
  hook::Hook a = hook::before<&cuCtxSynchronize>(driver_, note("a"));
  hook::Hook b = hook::before<&cuCtxSynchronize>(driver_, note("b"));
  hook::Hook c = hook::before<&cuCtxSynchronize>(driver_, note("c"));
  driver_.cuCtxSynchronize();
  EXPECT_EQ(order, "cba");
  order.clear();
  b.remove();
  driver_.cuCtxSynchronize();
  EXPECT_EQ(order, "ca");
  order.clear();
  c.remove();
  a.remove();
  driver_.cuCtxSynchronize();
  EXPECT_EQ(order, "");
}

TEST_F(Hooks, An_entry_point_that_cuda_h_does_not_name_is_named_by_enumerator) {
  int calls = 0;
  const auto counted = hook::replace<Entry::cuCtxCreate_v2000>(driver_, [&](CUcontext *, unsigned, CUdevice) {
    ++calls;
    return CUDA_SUCCESS;
  });
#undef cuCtxCreate
  EXPECT_EQ(driver_.cuCtxCreate(nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(calls, 1);
}

TEST_F(Hooks, State_that_a_hook_owns_lives_as_long_as_the_hook) {
  EXPECT_CALL(mock_, cuInit);
  const auto owned = std::make_shared<int>(0);
  {
    const auto before = hook::before<&cuInit>(
        driver_, [owned, unique = std::make_unique<int>(1)](unsigned) { *owned += *unique; });
    EXPECT_EQ(owned.use_count(), 2);
    driver_.cuInit(0);
  }
  EXPECT_EQ(*owned, 1);
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_F(Hooks, A_moved_hook_stays_installed) {
  EXPECT_CALL(mock_, cuInit).Times(3);
  int calls = 0;
  hook::Hook first = hook::before<&cuInit>(driver_, [&](unsigned) { ++calls; });
  hook::Hook second = std::move(first);
  driver_.cuInit(0);
  first = std::move(second);
  driver_.cuInit(0);
  first = {};
  driver_.cuInit(0);
  EXPECT_EQ(calls, 2);
}

TEST_F(Hooks, Calls_of_existing_objects_run_a_new_hook) {
  EXPECT_CALL(mock_, cuEventCreate).WillOnce(Gives(kEvent));
  EXPECT_CALL(mock_, cuEventQuery(kEvent));
  EXPECT_CALL(mock_, cuEventDestroy(kEvent));
  const Event event = Event::create({}, driver_);
  int queries = 0;
  const auto counted = hook::before<&cuEventQuery>(driver_, [&](CUevent) { ++queries; });
  EXPECT_TRUE(event.is_done());
  EXPECT_EQ(queries, 1);
}

TEST_F(Hooks, They_are_on_one_driver_only) {
  MockDriver other;
  EXPECT_CALL(other, cuInit);
  int calls = 0;
  const auto counted = hook::before<&cuInit>(driver_, [&](unsigned) { ++calls; });
  other.driver().cuInit(0);
  EXPECT_EQ(calls, 0);
}

TEST_F(Hooks, An_exception_of_a_hook_reaches_the_caller_and_the_hook_can_be_removed_then) {
  auto throwing = hook::before<&cuInit>(driver_, [](unsigned) { throw std::string("thrown"); });
  EXPECT_THROW(driver_.cuInit(0), std::string);
  throwing.remove();
  EXPECT_CALL(mock_, cuInit).WillOnce(Returns(CUDA_SUCCESS));
  EXPECT_EQ(driver_.cuInit(0), CUDA_SUCCESS);
}

TEST_F(Hooks, Removing_a_hook_inside_itself_throws) {
  EXPECT_CALL(mock_, cuInit).Times(2);
  std::string refusal;
  int calls = 0;
  hook::Hook self;
  self = hook::before<&cuInit>(driver_, [&](unsigned) {
    ++calls;
    try {
      self.remove();
    } catch (const std::logic_error &error) {
      refusal = error.what();
    }
  });
  driver_.cuInit(0);
  EXPECT_THAT(refusal,
              HasSubstr("a hook on cuInit cannot be removed by a thread that is inside a call of it"));
  driver_.cuInit(0);
  EXPECT_EQ(calls, 2) << "it is still installed";
}

TEST_F(Hooks, A_hook_that_is_destroyed_inside_itself_aborts_the_program) {
  EXPECT_DEATH(
      {
        auto *self = new hook::Hook;
        *self = hook::before<&cuInit>(driver_, [&](unsigned) { delete self; });
        driver_.cuInit(0);
      },
      "a hook on cuInit cannot be removed");
}

TEST_F(Hooks, One_may_be_installed_and_others_removed_from_inside_a_call_of_another_entry) {
  EXPECT_CALL(mock_, cuInit).Times(2);
  EXPECT_CALL(mock_, cuCtxSynchronize).Times(2);
  int inner_calls = 0;
  hook::Hook inner;
  const auto outer = hook::before<&cuInit>(driver_, [&](unsigned flags) {
    if (flags == 1)
      inner = hook::before<&cuCtxSynchronize>(driver_, [&] { ++inner_calls; });
    else
      inner.remove();
  });
  driver_.cuInit(1);
  driver_.cuCtxSynchronize();
  driver_.cuInit(2);
  driver_.cuCtxSynchronize();
  EXPECT_EQ(inner_calls, 1);
}

TEST(HookAndMock, A_hook_may_outlive_the_mock_that_it_is_on) {
  hook::Hook left_over;
  {
    MockDriver mock;
    left_over = hook::before<&cuInit>(mock, [](unsigned) {});
  }
  left_over.remove();
  MockDriver next;
  EXPECT_CALL(next, cuInit);
  next.driver().cuInit(0);
}

TEST(HookAndMock, None_can_be_installed_on_a_mock_that_has_ended) {
  Driver *driver = nullptr;
  {
    MockDriver mock;
    driver = &mock.driver();
  }
  EXPECT_THROW(static_cast<void>(hook::before<&cuInit>(*driver, [](unsigned) {})), std::logic_error);
}

}  // namespace
}  // namespace cushim::mock
