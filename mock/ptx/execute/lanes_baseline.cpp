// SPDX-License-Identifier: Apache-2.0
#define CUSHIM_PTX_TABLE baseline_lanes
#include "execute/lanes_table.hpp"
