// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>
#include <cushim/testing.hpp>

#include <string>
#include <vector>

#include "support/need.hpp"

namespace cushim::check {

using test::need;

// A fixture in which the first device's primary context is current. It was retained before any checker was
// registered.
class OnDevice : public ::testing::Test {
 protected:
  OnDevice() {
    need(driver().cuInit(0));
    need(driver().cuDevicePrimaryCtxRetain(&context_, 0));
    need(driver().cuCtxSetCurrent(context_));
  }
  ~OnDevice() override {
    driver().cuCtxSetCurrent(nullptr);
    driver().cuDevicePrimaryCtxRelease(0);
  }

  static CUstream stream() {
    CUstream made = nullptr;
    need(driver().cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    return made;
  }
  static CUevent event() {
    CUevent made = nullptr;
    need(driver().cuEventCreate(&made, CU_EVENT_DEFAULT));
    return made;
  }
  static CUdeviceptr memory(std::size_t bytes = 4096) {
    CUdeviceptr made = 0;
    need(driver().cuMemAlloc(&made, bytes));
    return made;
  }

  CUcontext context_ = nullptr;
};

inline bool has(const std::string &text, const std::string &part) { return text.find(part) != text.npos; }

inline std::string words_of(const std::vector<Finding> &findings) {
  std::string words;
  for (const Finding &finding : findings) words += finding.to_text();
  return words;
}

// Succeeds if there is exactly one finding, of this rule.
inline ::testing::AssertionResult is_only(const std::vector<Finding> &findings, const char *rule) {
  if (findings.size() == 1 && findings[0].rule == rule) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "not " << rule << " alone:\n" << words_of(findings);
}

inline ::testing::AssertionResult is_clean(const std::vector<Finding> &findings) {
  if (findings.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "found:\n" << words_of(findings);
}

}  // namespace cushim::check
