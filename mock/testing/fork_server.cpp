// SPDX-License-Identifier: Apache-2.0
#include "fork_server.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "memory_file.hpp"
#include "spawn.hpp"

namespace cushim::testing {
namespace {

// The files of a request: its text, and the files for answers and output. The text is the name of the test
// and the variables of the environment, each terminated by a null character.
using Files = std::array<int, 3>;

// A message of one byte with the files of a request, as sendmsg() and recvmsg() take it.
class Message {
 public:
  Message() {
    header_.msg_iov = &data_;
    header_.msg_iovlen = 1;
    header_.msg_control = control_;
    header_.msg_controllen = sizeof control_;
  }
  Message(const Message &) = delete;
  Message &operator=(const Message &) = delete;

  bool send(int socket, const Files &files) {
    cmsghdr *const control = CMSG_FIRSTHDR(&header_);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof files);
    std::memcpy(CMSG_DATA(control), files.data(), sizeof files);
    return sendmsg(socket, &header_, MSG_NOSIGNAL) == 1;
  }
  bool receive(int socket, Files &files) {
    if (recvmsg(socket, &header_, 0) != 1) return false;
    const cmsghdr *const control = CMSG_FIRSTHDR(&header_);
    if (control == nullptr || control->cmsg_len != CMSG_LEN(sizeof files)) return false;
    std::memcpy(files.data(), CMSG_DATA(control), sizeof files);
    return true;
  }

 private:
  char byte_ = 0;
  iovec data_{&byte_, 1};
  alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(Files))] = {};
  msghdr header_{};
};

// Returns the socket to the process that forks. Starts that process at the first call.
int socket_to_server() {
  static const int socket = [] {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::runtime_error("socketpair failed");
    spawn({"--cushim-fresh", "--gtest_color=no", "--gtest_also_run_disabled_tests"}, ends[1], -1);
    close(ends[1]);
    return ends[0];
  }();
  return socket;
}

// Applies the request to this fresh process: its files, environment and test.
void become(const Files &files, Options &options) {
  const auto [request, answers, output] = files;
  dup2(answers, options.child_file);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  const std::string text = text_of_file(request);
  for (const int file : files) close(file);
  options.test = text.c_str();
  clearenv();
  for (std::size_t at = options.test.size() + 1; at < text.size(); at = text.find('\0', at) + 1) {
    const std::string variable = &text[at];
    const std::size_t sign = variable.find('=');
    if (sign != variable.npos) setenv(variable.substr(0, sign).c_str(), &variable[sign + 1], 1);
  }
  ::testing::GTEST_FLAG(filter) = options.test;
}

}  // namespace

int run_in_fresh_process(const std::string &test, int answers, int output) {
  const MemoryFile request("request");
  std::string text = test + '\0';
  for (const char *const variable : environment_of_child()) text.append(variable) += '\0';
  if (write(request.file(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("cannot write the environment of a fresh process");
  int status = 0;
  if (!Message().send(socket_to_server(), {request.file(), answers, output}) ||
      recv(socket_to_server(), &status, sizeof status, 0) != sizeof status)
    throw std::runtime_error("the process that starts fresh processes has ended");
  return status;
}

Options serve_fresh_processes(Options options) {
  end_with_parent();
  const int socket = options.child_file;
  options.parent = getpid();
  for (Files files; Message().receive(socket, files);) {
    const pid_t process = fork();
    if (process == 0) {
      become(files, options);
      return options;
    }
    for (const int file : files) close(file);
    const int status = process < 0 ? EXIT_FAILURE : wait_for(process);
    if (send(socket, &status, sizeof status, MSG_NOSIGNAL) != sizeof status) break;
  }
  _exit(EXIT_SUCCESS);
}

}  // namespace cushim::testing
