// SPDX-License-Identifier: Apache-2.0
#include "per_thread.hpp"

CUresult query_per_thread(cushim::Driver &driver, CUstream stream) { return driver.cuStreamQuery(stream); }
