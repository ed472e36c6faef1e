// SPDX-License-Identifier: Apache-2.0
// Two processes share an allocation and an event. The second process is a new instance of this program,
// because the driver does not work in a forked child.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "tour.hpp"

extern char **environ;

namespace tour {

using namespace cushim;

namespace {

constexpr std::size_t kCount = 1000;
constexpr std::size_t kOffset = 100;

// The message that one process sends to the other through a pipe, as bytes.
struct Message {
  event::ipc::handle_t ready;
  memory::ipc::handle_t memory;
};

void send(int pipe, const void *bytes, std::size_t size) {
  if (write(pipe, bytes, size) != static_cast<ssize_t>(size)) throw std::runtime_error("the pipe broke");
}

template <class T>
T receive(int pipe) {
  T value;
  for (std::size_t have = 0; have < sizeof value;) {
    const ssize_t got = read(pipe, reinterpret_cast<char *>(&value) + have, sizeof value - have);
    if (got <= 0) throw std::runtime_error("the other process ended early");
    have += static_cast<std::size_t>(got);
  }
  return value;
}

// A new process of this program that runs importer(), with one pipe in each direction.
struct Importer {
  pid_t process = 0;
  int to = -1, from = -1;

  explicit Importer(const char *program) {
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], 3);
    for (int end : {in[0], in[1], out[0], out[1]})
      if (end != 3) posix_spawn_file_actions_addclose(&actions, end);
    const char *arguments[] = {program, "--importer", nullptr};
    const int failed =
        posix_spawnp(&process, program, &actions, nullptr, const_cast<char **>(arguments), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to = in[1];
    from = out[0];
    if (failed != 0) throw std::runtime_error("the importer did not start");
  }
  // The importer exits when its pipes are closed.
  ~Importer() {
    close(to);
    close(from);
    if (process != 0) wait();
  }
  Importer(const Importer &) = delete;
  Importer &operator=(const Importer &) = delete;

  int wait() {
    int status = 0;
    waitpid(std::exchange(process, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

}  // namespace

void ipc(Device device, const char *program) {
  if (!device.attribute(attribute::ipc_event_supported)) return show("events", "not on this device");
  const Stream stream = Stream::create();
  const auto buffer = DeviceBuffer<int>::create(kOffset + kCount);
  const IpcEvent ready = IpcEvent::create();
  fill(buffer, 7, stream);
  ready.record(stream);

  const Message message{event::ipc::export_(ready), memory::ipc::export_(buffer[kOffset])};
  try {
    event::ipc::import(device, message.ready);
    expect(false, "a handle does not open where it was made");
  } catch (const Error &error) {
    show("opened where it was made", error.what());
  }

  Importer importer(program);
  send(importer.to, &message, sizeof message);
  const int sum = receive<int>(importer.from);
  show("the other process read, in sum", std::to_string(sum));
  expect(sum == 7 * static_cast<int>(kCount), "the other process read what was written here");
  expect(importer.wait() == 0, "the other process ended well");
  std::vector<int> out(buffer.size());
  copy(out, buffer);
  expect(out[kOffset - 1] == 7 && out[kOffset] == 9, "the other process wrote where the pointer pointed");
  show("the other process wrote", std::to_string(out[kOffset]) + ", from the exported pointer on");
}

int importer() {
  const Loaded loaded = load({.initialize = true});
  if (!loaded) return 77;
  const Message message = receive<Message>(STDIN_FILENO);
  const Device device = Device::get(0);
  const PrimaryContext primary = PrimaryContext::retain(device);
  const ScopedContext current(primary);
  const IpcEvent ready = event::ipc::import(device, message.ready);
  const memory::ipc::Mapping mapping = memory::ipc::import(device, message.memory);

  const Stream stream = Stream::create();
  stream.wait(ready);
  const DeviceSpan<int> shared = mapping.span<int>().first(kCount);
  std::vector<int> seen(kCount);
  copy_pageable(seen, shared, stream);
  fill(shared, 9, stream);
  stream.synchronize();
  int sum = 0;
  for (int one : seen) sum += one;
  send(3, &sum, sizeof sum);
  return 0;
}

}  // namespace tour
