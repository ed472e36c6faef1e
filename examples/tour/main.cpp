// SPDX-License-Identifier: Apache-2.0
// A tour of the typed wrappers on the first device. Needs a driver; without one it prints the reason and
// exits with 77, which test runners report as skipped.
#include "tour.hpp"

#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace tour {

void expect(bool is_so, const char *what) {
  if (!is_so) throw std::runtime_error(std::string("not so: ") + what);
}

void show(const std::string &what, const std::string &gave) {
  std::printf("  %-46s %s\n", what.c_str(), gave.c_str());
  std::fflush(stdout);
}

namespace {

void enter(const char *noun) {
  std::printf("\n%s\n", noun);
  std::fflush(stdout);
}

int walk(const char *program) {
  const cushim::Loaded loaded = cushim::load({.initialize = true});
  if (!loaded) {
    std::printf("%s\n", loaded.diagnosis.text().c_str());
    return 77;
  }
  enter("driver");
  show("library", std::string(loaded->name()));
  show("supports CUDA",
       std::to_string(loaded->version() / 1000) + "." + std::to_string(loaded->version() % 1000 / 10));

  const cushim::Device first = cushim::Device::get(0);
  enter("device");
  device(first);
  enter("context");
  context(first);

  // From here on the device's primary context is current.
  const cushim::PrimaryContext primary = cushim::PrimaryContext::retain(first);
  const cushim::ScopedContext current(primary);
  enter("memory");
  memory(first);
  enter("stream");
  stream();
  enter("event");
  event();
  enter("memory operation");
  memop(first);
  enter("error");
  error();
  enter("ipc");
  ipc(first, program);
  std::printf("\nall as it should be\n");
  return 0;
}

}  // namespace
}  // namespace tour

int main(int argc, char **argv) try {
  return argc == 2 && std::strcmp(argv[1], "--importer") == 0 ? tour::importer() : tour::walk(argv[0]);
} catch (const std::exception &exception) {
  std::fprintf(stderr, "%s\n", exception.what());
  return 1;
}
