// SPDX-License-Identifier: Apache-2.0
// Keeps the PTX of cubins that compilers make while a program runs.
#pragma once

#include <filesystem>
#include <string>

namespace cushim::command {

// Sets the variables that make the dynamic linker load the recorder into this process's later programs, and
// that name the store to it and to the driver. `store` is RunOptions::ptx_store. Without the recorder's file,
// only reads the store.
void record_ptx(const std::string &store, const std::filesystem::path &recorder);

}  // namespace cushim::command
