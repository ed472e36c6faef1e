// SPDX-License-Identifier: Apache-2.0
// The rooms of the tour, one a noun. Each shows the noun's calls, prints what they gave, and checks it.
#pragma once

#include <cushim/cushim.hpp>

#include <string>

namespace tour {

// Ends the tour with a failure if something is not as it should be.
void expect(bool is_so, const char *what);

// Prints one line: what it is, and what it gave.
void show(const std::string &what, const std::string &gave);

void device(cushim::Device device);
void context(cushim::Device device);
void memory(cushim::Device device);
void stream();
void event();
void memop(cushim::Device device);
void error();
void ipc(cushim::Device device, const char *program);

// The other process of ipc().
int importer();

}  // namespace tour
