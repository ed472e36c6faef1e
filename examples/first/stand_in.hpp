// SPDX-License-Identifier: Apache-2.0
// A driver in this program, on host memory, for machines without a GPU. It serves the calls of the
// first example and nothing else, and is to go when cushim's simulated driver can take its place.
#pragma once

#include <cushim/driver.hpp>

namespace first {

// The stand-in: one device, whose streams run each operation at once. Its events read the host's clock,
// so elapsed times are what the host took. Made at the first call.
cushim::Driver &stand_in();

}  // namespace first
