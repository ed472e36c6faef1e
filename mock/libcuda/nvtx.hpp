// SPDX-License-Identifier: Apache-2.0
// Names that a program gives to objects and threads by NVTX.
#pragma once

#include <cushim/trace/tracer.hpp>

#include <cstdint>

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    const void *(*export_table)(std::uint32_t));

namespace cushim::sim {

// Sets the tracer that records the names; null: none. Must exist as long as the process.
void receive_names_of_nvtx(trace::Tracer *tracer);

}  // namespace cushim::sim
