// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs with replaced_new.cpp call this function before each allocation, and define it. It throws
// std::bad_alloc if the allocation shall fail.
void before_allocation();
