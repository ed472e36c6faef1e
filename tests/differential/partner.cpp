// SPDX-License-Identifier: Apache-2.0
#include "partner.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace differential {

namespace {

using nlohmann::json;

constexpr const char *kSettle = "settle";  // concerns the drivers, and not the walks

// What one process says of its walk: what it holds, the handles, and the steps since the last time.
json state_of(Walk &walk) {
  json steps = json::array();
  if (walk.process != 0)  // process 0 gathers them all
    for (const Step &step : walk.take_steps())
      steps.push_back({step.symbol, step.call, step.answer, step.before, step.declarations, step.after});
  std::vector<std::uint8_t> handles(sizeof walk.handles);
  std::memcpy(handles.data(), &walk.handles, handles.size());
  return {{"held", walk.held}, {"handles", json::binary(handles)}, {"steps", steps}};
}

void take_state(Walk &walk, const json &state) {
  walk.held_elsewhere = state.at("held");
  const std::vector<std::uint8_t> &handles = state.at("handles").get_binary();
  if (handles.size() != sizeof walk.handles) throw std::runtime_error("the other process is another program");
  std::memcpy(&walk.handles, handles.data(), handles.size());
  std::vector<Step> steps;
  for (const json &step : state.at("steps"))
    steps.push_back({.symbol = step[0],
                     .call = step[1],
                     .answer = step[2],
                     .before = step[3],
                     .declarations = step[4],
                     .after = step[5],
                     .process = 1 - walk.process});
  walk.add(steps);
}

}  // namespace

Partner::Partner(const std::function<void(Partner &)> &run) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error("socketpair failed");
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("fork failed");
  const bool is_other = process_ == 0;
  file_ = ends[is_other ? 1 : 0];
  ::close(ends[is_other ? 0 : 1]);
  if (!is_other) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = EXIT_SUCCESS;
  try {
    run(*this);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cushim_differential: the second process: %s\n", error.what());
    status = EXIT_FAILURE;
  }
  std::_Exit(status);
}

Partner::~Partner() {
  ::close(file_);
  if (process_ != 0) waitpid(process_, nullptr, 0);
}

void Partner::begin(std::uint64_t seed, Walk &walk) {
  walk_ = nullptr;  // it has ended
  ask({{"do", "begin"}, {"seed", seed}, {"subject", static_cast<int>(walk.subject)}});
  walk_ = &walk;
}
void Partner::choose(unsigned choice) { ask({{"do", "choose"}, {"choice", choice}}); }
std::size_t Partner::settle() { return ask({{"do", kSettle}}).at("left"); }
void Partner::release() { ask({{"do", "release"}}); }
void Partner::close() { ask({{"do", "close"}}); }

void Partner::send(json message) const {
  const bool is_of_walk = !message.contains("left") && message.value("do", "") != kSettle;
  if (walk_ != nullptr && is_of_walk) message["state"] = state_of(*walk_);
  const std::vector<std::uint8_t> bytes = json::to_cbor(message);
  if (::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("the other process is gone");
}

json Partner::receive() {
  std::vector<std::uint8_t> bytes(1 << 18);
  const ssize_t size = recv(file_, bytes.data(), bytes.size(), 0);
  if (size <= 0) throw std::runtime_error("the other process is gone");
  bytes.resize(static_cast<std::size_t>(size));
  json message = json::from_cbor(bytes);
  if (walk_ != nullptr && message.contains("state")) take_state(*walk_, message.at("state"));
  return message;
}

json Partner::ask(const json &request) {
  send(request);
  json message = receive();
  for (; message.contains("do"); message = receive()) answer(message);
  return message;
}

void Partner::answer(const json &request) {
  const std::string what = request.at("do");
  json done{{"done", what}};
  if (what == "begin") {
    own_.reset();
    own_.emplace(request.at("seed").get<std::uint64_t>(),
                 static_cast<Subject>(request.at("subject").get<int>()), *bench_, 1U, this);
    walk_ = &*own_;
  } else if (what == "choose") {
    walk_->choose(request.at("choice"));
  } else if (what == kSettle) {
    done["left"] = walk_->bench.settle();
  } else if (what == "release") {
    walk_->release_here();
  } else {
    walk_->close();
  }
  send(done);
}

void Partner::serve(const Bench &bench) {
  bench_ = &bench;
  for (;;) {
    json request;
    try {
      request = receive();
    } catch (const std::runtime_error &) {
      break;  // process 0 is done
    }
    answer(request);
  }
  walk_ = nullptr;
  own_.reset();
}

}  // namespace differential
