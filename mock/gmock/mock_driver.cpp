// SPDX-License-Identifier: Apache-2.0
#include "state.hpp"

#include <cstdio>

namespace cushim::mock {
namespace {

void add_failure(const std::string &message) {
  testing::internal::AssertHelper(testing::TestPartResult::kNonFatalFailure, nullptr, -1, message.c_str()) =
      testing::Message();
}

void fail_call_after_end(const char *symbol, const char *driver) {
  const std::string message = std::string("cushim: ") + symbol + " was called on the " + driver +
                              ", which was destroyed; it returned CUDA_ERROR_DEINITIALIZED (4)";
  const testing::UnitTest &test = *testing::UnitTest::GetInstance();
  if (test.current_test_info() != nullptr || test.current_test_suite() != nullptr)
    add_failure(message);
  else
    std::fprintf(stderr, "%s\n", message.c_str());
}

bool prepare() {
  DriverSlot::on_call_after_end(fail_call_after_end);
  return true;
}

std::string release(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

MockDriver::State::State(int version) : driver_slot_(DriverSlot::take(*this, "mock driver", version)) {
  static const bool prepared = prepare();
  static_cast<void>(prepared);
}

MockDriver::State::~State() { driver_slot_.retire(); }

std::string MockDriver::State::set_variants(int slot) const {
  const CushimEntryInfo &called = *cushim_entry(slot);
  std::string text;
  for (int other = 0; other < cushim_entry_count(); ++other) {
    const CushimEntryInfo &row = *cushim_entry(other);
    if (other == slot || expected(other) == nullptr || std::string_view(row.base) != called.base) continue;
    text += std::string("\nAn expectation exists for ") + row.symbol + ": ";
    if (std::string_view(row.thread) != called.thread)
      text +=
          "one file was compiled with per-thread default streams (CUDA_API_PER_THREAD_DEFAULT_STREAM) and "
          "one "
          "without.";
    else
      text += "the ABI of CUDA " + release(row.version) + ", but the call uses the ABI of CUDA " +
              release(called.version) +
              ". They were compiled with different headers, or looked up with different "
              "versions.";
  }
  return text;
}

CUresult MockDriver::State::unset(const Call &call) {
  add_failure("The mock driver received a call without an expectation or default action:\n    " +
              call.to_text() + "\n  Returned: " + result_text(kUnexpected) +
              set_variants(static_cast<int>(call.entry)));
  return kUnexpected;
}

MockDriver::MockDriver(int version) : state_(std::make_unique<State>(version)) {}

MockDriver::~MockDriver() = default;

Driver &MockDriver::driver() const noexcept { return state_->driver_slot().driver(); }

void MockDriver::allow_unset(CUresult answer) noexcept { state_->allow_unset(answer); }

AnyExpected &MockDriver::expected(int slot, Make make) {
  if (!driver().supports(static_cast<Entry>(slot))) {
    const CushimEntryInfo &row = *cushim_entry(slot);
    add_failure(std::string("The mock driver emulates CUDA ") + release(driver().version()) +
                ", which does not have " + row.symbol +
                (row.version > driver().version()
                     ? "; CUDA " + release(row.version) + " added it."
                     : "; the mock library was built with CUDA headers that cannot type it."));
  }
  const void *const owner = static_cast<testing::NiceMock<Registration> *>(this);
  return state_->expected(slot, [&] { return std::unique_ptr<AnyExpected>(make(*this, owner, slot)); });
}

std::string MockDriver::set_variants(int slot) const { return state_->set_variants(slot); }

}  // namespace cushim::mock
