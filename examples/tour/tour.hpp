// SPDX-License-Identifier: Apache-2.0
// The parts of the tour. Each calls the wrappers of one kind of object, prints the results, and checks them.
#pragma once

#include <cushim/cushim.hpp>

#include <string>

namespace tour {

// Throws if is_so is false, which ends the tour with a failure.
void expect(bool is_so, const char *what);

// Prints one line: a label and a value.
void show(const std::string &what, const std::string &gave);

void device(cushim::Device device);
void context(cushim::Device device);
void memory(cushim::Device device);
void stream();
void event();
void memop(cushim::Device device);
void error();
void ipc(cushim::Device device, const char *program);

// Runs in the other process of ipc().
int importer();

}  // namespace tour
