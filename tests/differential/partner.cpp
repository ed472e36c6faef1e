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

constexpr const char *kSettle = "settle";  // a request about the drivers, not about the walks

json to_json(const Step &step) {
  return {step.symbol, step.call, step.answer, step.before, step.declarations, step.after};
}

Step step_of(const json &step, unsigned process) {
  return {.symbol = step[0],
          .call = step[1],
          .answer = step[2],
          .before = step[3],
          .declarations = step[4],
          .after = step[5],
          .process = process};
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
  walk_ = nullptr;  // the previous walk has ended
  known_handles_.clear();
  ask({{"do", "begin"}, {"seed", seed}, {"subject", static_cast<int>(walk.subject)}});
  walk_ = &walk;
}
void Partner::choose(unsigned choice) { ask({{"do", "choose"}, {"choice", choice}}); }
std::size_t Partner::settle() { return ask({{"do", kSettle}}).at("left"); }
void Partner::release() { ask({{"do", "release"}}); }
void Partner::close() { ask({{"do", "close"}}); }

void Partner::send(json message) {
  const bool is_of_walk = !message.contains("left") && message.value("do", "") != kSettle;
  if (walk_ != nullptr && is_of_walk) tell_of_walk(message);
  const std::vector<std::uint8_t> bytes = json::to_cbor(message);
  if (::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("the other process is gone");
}

json Partner::receive() {
  const ssize_t size = recv(file_, nullptr, 0, MSG_PEEK | MSG_TRUNC);
  std::vector<std::uint8_t> bytes(size > 0 ? static_cast<std::size_t>(size) : 0);
  if (size <= 0 || recv(file_, bytes.data(), bytes.size(), 0) != size)
    throw std::runtime_error("the other process is gone");
  json message = json::from_cbor(bytes);
  if (walk_ != nullptr) learn_of_walk(message);
  return message;
}

void Partner::tell_of_walk(json &message) {
  message["held"] = walk_->held;
  std::vector<std::uint8_t> handles(sizeof walk_->handles);
  std::memcpy(handles.data(), &walk_->handles, handles.size());
  if (handles != known_handles_) {
    message["handles"] = json::binary(handles);
    known_handles_ = std::move(handles);
  }
  if (walk_->process == 0) return;  // process 0 gathers the steps of both
  for (const Step &step : walk_->take_steps()) message["steps"].push_back(to_json(step));
}

void Partner::learn_of_walk(const json &message) {
  if (message.contains("held")) walk_->held_elsewhere = message["held"];
  if (message.contains("handles")) {
    known_handles_ = message["handles"].get_binary();
    if (known_handles_.size() != sizeof walk_->handles)
      throw std::runtime_error("the other process is another program");
    std::memcpy(&walk_->handles, known_handles_.data(), known_handles_.size());
  }
  if (!message.contains("steps")) return;
  std::vector<Step> steps;
  for (const json &step : message["steps"]) steps.push_back(step_of(step, 1 - walk_->process));
  walk_->add(std::move(steps));
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
    walk_ = nullptr;
    own_.reset();
    known_handles_.clear();
    own_.emplace(request.at("seed").get<std::uint64_t>(),
                 static_cast<Subject>(request.at("subject").get<int>()), *shared_, 1U, this);
    walk_ = &*own_;
  } else if (what == "choose") {
    walk_->choose(request.at("choice"));
  } else if (what == kSettle) {
    done["left"] = walk_->shared.settle();
  } else if (what == "release") {
    walk_->release_here();
  } else {
    walk_->close();
  }
  send(done);
}

void Partner::serve(const SharedObjects &shared) {
  shared_ = &shared;
  for (;;) {
    json request;
    try {
      request = receive();
    } catch (const std::runtime_error &) {
      break;  // process 0 has ended
    }
    answer(request);
  }
  walk_ = nullptr;
  own_.reset();
}

}  // namespace differential
