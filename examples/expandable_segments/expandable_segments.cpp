// SPDX-License-Identifier: Apache-2.0
// Grows, shrinks, remaps and shares the memory of a caching allocator. Runs on a GPU, and on the simulated
// driver with `cushim run`. Starts itself as a second process that reads a shared allocation.
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "allocator.hpp"

extern char **environ;  // NOLINT(readability-redundant-declaration): POSIX declares it in no header

namespace {

using namespace cushim;

void expect(bool is_true, const char *what) {
  std::printf("%s: %s\n", what, is_true ? "yes" : "NO");
  if (!is_true) throw std::runtime_error(what);
}

template <class T>
bool all_are(DeviceSpan<std::byte> range, T value) {
  std::vector<T> values(range.size() / sizeof(T));
  copy(values, range.reinterpret<T>());
  return std::all_of(values.begin(), values.end(), [&](T one) { return one == value; });
}

// The second process: arguments are offset, size, descriptors.
int read_shared(Device device, const std::vector<std::string> &arguments) {
  SharedBlockHandle handle;
  handle.offset = std::stoul(arguments.at(0));
  handle.size = std::stoul(arguments.at(1));
  for (std::size_t i = 2; i < arguments.size(); ++i)
    handle.chunks.push_back(SharedMemoryFd::adopt(std::stoi(arguments[i])));
  const SharedBlock block(device, handle);
  expect(all_are(block.span(), 7), "the other process reads what this one wrote");
  fill(block.span().reinterpret<int>(), 8);
  return 0;
}

void run_reader(const char *program, const SharedBlockHandle &handle) {
  std::vector<std::string> words{program, "--reader", std::to_string(handle.offset),
                                 std::to_string(handle.size)};
  ::posix_spawn_file_actions_t inherit;
  ::posix_spawn_file_actions_init(&inherit);
  for (const SharedMemoryFd &chunk : handle.chunks) {
    ::posix_spawn_file_actions_adddup2(&inherit, chunk.get(), chunk.get());  // clears close-on-exec
    words.push_back(std::to_string(chunk.get()));
  }
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(stdout);
  pid_t reader = 0;
  int status = -1;
  if (::posix_spawn(&reader, "/proc/self/exe", &inherit, nullptr, arguments.data(), environ) == 0)
    ::waitpid(reader, &status, 0);
  ::posix_spawn_file_actions_destroy(&inherit);
  expect(status == 0, "the other process exits with 0");
}

void run(Device device, const char *program) {
  ExpandableSegment segment(device, std::size_t{1} << 30);
  const std::size_t chunk = segment.chunk_bytes();

  auto first = segment.allocate(chunk);
  auto second = segment.allocate(chunk);
  fill(first.reinterpret<int>(), 1);
  fill(second.reinterpret<int>(), 2);
  expect(segment.mapped_bytes() == 2 * chunk, "two allocations have two chunks");

  // Grow: the free block at the end is extended in place, so no second segment is needed.
  segment.deallocate(second);
  const auto larger = segment.allocate(3 * chunk);
  expect(larger.data() == second.data(), "a larger allocation begins where the free block was");
  expect(segment.created_chunks() == 4, "it needs two new chunks");
  expect(all_are(larger.first(chunk), 2), "its beginning is the cached memory");

  // Remap: the chunk of the first allocation is reused for one that does not fit in its place.
  segment.deallocate(first);
  segment.unmap_cached();
  expect(segment.spare_bytes() == chunk, "a free chunk before others is unmapped");
  const auto last = segment.allocate(chunk + 1);
  expect(segment.created_chunks() == 5, "an allocation at the end needs one new chunk");
  expect(segment.spare_bytes() == 0, "it also reuses the unmapped chunk");
  expect(all_are(larger.first(chunk), 2), "other allocations keep their bytes");

  // Share: the other process writes to the same memory.
  fill(last.reinterpret<int>(), 7);
  ContextRef::current().synchronize();
  run_reader(program, segment.share(last));
  expect(all_are(last, 8), "this process reads what the other one wrote");

  // Shrink.
  const std::size_t before = ContextRef::current().memory().free;
  segment.deallocate(larger);
  segment.release_cached();
  expect(segment.mapped_bytes() == 2 * chunk, "only the last allocation has chunks");
  expect(ContextRef::current().memory().free >= before + 3 * chunk,
         "the other chunks are free device memory again");
}

}  // namespace

int main(int count, char **words) {
  const Loaded loaded = load({.initialize = true});
  if (!loaded) {
    std::printf("%s\n", loaded.diagnosis.text().c_str());
    return 77;
  }
  try {
    const Device device = Device::get(0);
    const auto primary = PrimaryContext::retain(device);
    const ScopedContext current(primary);
    const std::vector<std::string> arguments(words, words + count);
    if (count > 1 && arguments[1] == "--reader")
      return read_shared(device, {arguments.begin() + 2, arguments.end()});
    run(device, words[0]);
    return 0;
  } catch (const std::exception &error) {
    std::printf("failed: %s\n", error.what());
    return 1;
  }
}
