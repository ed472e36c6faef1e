// SPDX-License-Identifier: Apache-2.0
// Captures expected failures as text.
#pragma once

#include <gtest/gtest-spi.h>

#include <string>

// Runs body and returns the messages of all failures that it caused, on any thread.
template <class Body>
std::string failures_of(Body body) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    body();
  }
  std::string text;
  for (int i = 0; i < results.size(); ++i)
    if (results.GetTestPartResult(i).failed())
      text += std::string(results.GetTestPartResult(i).message()) + "\n";
  return text;
}
