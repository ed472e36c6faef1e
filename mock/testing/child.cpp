// SPDX-License-Identifier: Apache-2.0
#include "child.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cushim/testing/child.hpp>

#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

#include "spawn.hpp"

namespace cushim::testing {

namespace {

using Body = void (*)(Channel &);

std::map<std::string, Body> &bodies() {
  static std::map<std::string, Body> bodies;
  return bodies;
}

}  // namespace

detail::ChildBody::ChildBody(const char *name, Body body) {
  if (!bodies().emplace(name, body).second) {
    std::fprintf(stderr, "cushim: two children have the name %s\n", name);
    std::abort();
  }
}

int run_child(const std::string &name, int file) {
  end_with_parent();
  const auto body = bodies().find(name);
  if (body == bodies().end()) {
    std::fprintf(stderr, "cushim: there is no child %s\n", name.c_str());
    return 2;
  }
  try {
    Channel parent(file);
    body->second(parent);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cushim: child %s: %s\n", name.c_str(), error.what());
    return 1;
  }
}

// Sends each value as one message, so that the receiver detects a value of another size.
void Channel::send_bytes(const void *bytes, std::size_t size) {
  if (::send(file_, bytes, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size))
    throw std::runtime_error("the other process ended");
}

void Channel::receive_bytes(void *bytes, std::size_t size) {
  const ssize_t got = recv(file_, bytes, size, MSG_TRUNC);
  if (got == 0 || got < 0) throw std::runtime_error("the other process ended");
  if (got != static_cast<ssize_t>(size))
    throw std::runtime_error("expected " + std::to_string(size) + " bytes, got " + std::to_string(got));
}

Child::Child(const char *name) : Channel(-1) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error("socketpair failed");
  file_ = ends[0];
  try {
    process_ = spawn({"--cushim-child=" + std::string(name)}, ends[1], -1);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
}

Child::~Child() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    wait_for(process_);
  }
  if (file_ >= 0) close(file_);
}

int Child::wait() {
  close(file_);
  file_ = -1;
  const int status = process_ > 0 ? wait_for(process_) : -SIGKILL;  // kill() has waited for it
  process_ = -1;
  return status;
}

void Child::kill() {
  ::kill(process_, SIGKILL);
  wait_for(process_);
  process_ = -1;
}

}  // namespace cushim::testing
