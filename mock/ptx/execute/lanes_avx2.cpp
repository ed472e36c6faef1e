// SPDX-License-Identifier: Apache-2.0
#define CUSHIM_PTX_TABLE avx2_lanes
#include "execute/lanes_table.hpp"
