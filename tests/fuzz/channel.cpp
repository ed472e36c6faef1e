// SPDX-License-Identifier: Apache-2.0
// Fuzzes the messages that a test's child process sends, each preceded by a byte with its length.
#include <sys/socket.h>
#include <unistd.h>
#include <cushim/testing/child.hpp>

#include <cuda.h>
#include <algorithm>
#include <stdexcept>

#include "fuzz.hpp"

namespace {

// Receives one value from messages of arbitrary size.
template <class T>
void receive(cushim::testing::Channel &channel) {
  try {
    static_cast<void>(channel.receive<T>());
  } catch (const std::runtime_error &refusal) {
    fuzz::promise(*refusal.what() != '\0', "an error has words");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  int ends[2];
  fuzz::promise(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "there are sockets");
  cushim::testing::Channel channel(ends[0]);
  for (int count = 0; size != 0 && count < 8; ++count) {
    const std::size_t length = std::min<std::size_t>(*data++, --size);
    const ssize_t sent = send(ends[1], data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    fuzz::promise(sent == static_cast<ssize_t>(length), "short messages are sent at once");
    data += length;
    size -= length;
    switch (count % 3) {
      case 0:
        receive<int>(channel);
        break;
      case 1:
        receive<CUipcMemHandle>(channel);
        break;
      default:
        receive<unsigned char>(channel);
    }
  }
  close(ends[1]);
  receive<int>(channel);  // the other end is closed
  close(ends[0]);
  return 0;
}
