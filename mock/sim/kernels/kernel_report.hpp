// SPDX-License-Identifier: Apache-2.0
// Texts about kernels, with details that a GPU does not report: the thread, the block, the line and the
// nearest allocation.
#pragma once

#include <cushim/detail/kernel_checks.hpp>
#include <cushim/ptx/execute.hpp>

#include <string>

namespace cushim::sim {

struct System;

// The caller holds the machine's lock.
std::string to_text(System &system, const ptx::Fault &fault);
mock::KernelDefect to_defect(System &system, const std::string &kernel, const ptx::KernelFinding &finding);

}  // namespace cushim::sim
