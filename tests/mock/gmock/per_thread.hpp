// SPDX-License-Identifier: Apache-2.0
// A call from a file that was compiled with per-thread default streams.
#pragma once

#include <cushim/driver.hpp>

CUresult query_per_thread(cushim::Driver &driver, CUstream stream);
