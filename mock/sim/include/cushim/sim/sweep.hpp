// SPDX-License-Identifier: Apache-2.0
// mock::sweep() on simulated machines:
//
//   const auto swept = sim::sweep([] { Upload upload(bytes); upload.run(); });
//   EXPECT_TRUE(swept.is_clean()) << swept.text();
#pragma once

#include <cushim/mock/sweep.hpp>
#include <cushim/sim/machine.hpp>

#include <functional>
#include <memory>

namespace cushim::sim {

// Each round on a new machine of these options. What the body must find done, cuInit and a current context
// for one, it does itself: these calls are to fail, too.
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
