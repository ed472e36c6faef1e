// SPDX-License-Identifier: Apache-2.0
// mock::sweep() on simulated machines:
//
//   const auto swept = sim::sweep([] { Upload upload(bytes); upload.run(); });
//   EXPECT_TRUE(swept.is_clean()) << swept.text();
#pragma once

#include <cushim/faults/sweep.hpp>
#include <cushim/sim/machine.hpp>

#include <functional>
#include <memory>

namespace cushim::sim {

// Runs each round on a new machine with these options. The body itself must call cuInit and make a context
// current if it needs one: these calls are made to fail too.
inline mock::Sweep sweep(const std::function<void()> &body, const Options &machine = {},
                         const mock::SweepOptions &options = {}) {
  return mock::sweep(
      [&machine] {
        const auto made = std::make_shared<Machine>(machine);
        return std::shared_ptr<Driver>(made, &made->driver());
      },
      body, options);
}

}  // namespace cushim::sim
