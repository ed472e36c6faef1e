// SPDX-License-Identifier: Apache-2.0
#include "objects/external_semaphore.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace cushim::sim {

// The content of the file.
struct SharedSemaphore::State {
  static constexpr std::uint64_t kMark = 0x65726f6870616d65;  // "emaphore": the file is a semaphore

  std::uint64_t mark;
  Type type;
  pid_t maker;
  std::uint64_t value;
};

std::shared_ptr<SharedSemaphore> SharedSemaphore::map(SharedFile file) {
  if (!file) return nullptr;
  if (file.size() != sizeof(State)) return errno = EINVAL, nullptr;
  std::byte *const bytes = file.map(0, sizeof(State));
  if (bytes == nullptr) return nullptr;
  return std::shared_ptr<SharedSemaphore>(
      new SharedSemaphore(std::move(file), *reinterpret_cast<State *>(bytes)));
}

std::shared_ptr<SharedSemaphore> SharedSemaphore::make(Type type, std::uint64_t value) {
  auto made = map(SharedFile::make(sizeof(State)));
  if (made != nullptr) made->state_ = {State::kMark, type, getpid(), value};
  return made;
}

std::shared_ptr<SharedSemaphore> SharedSemaphore::open(int descriptor) {
  auto opened = map(SharedFile::duplicate(descriptor));
  if (opened == nullptr) return nullptr;
  const State &state = opened->state_;
  const bool is_semaphore =
      state.mark == State::kMark && (state.type == Type::binary || state.type == Type::timeline);
  if (!is_semaphore) return errno = EINVAL, nullptr;
  return opened;
}

SharedSemaphore::~SharedSemaphore() { munmap(&state_, sizeof state_); }

SharedSemaphore::Type SharedSemaphore::type() const noexcept { return state_.type; }
bool SharedSemaphore::is_of_this_process() const noexcept { return state_.maker == getpid(); }

std::uint64_t SharedSemaphore::value() const noexcept {
  return std::atomic_ref(state_.value).load(std::memory_order_acquire);
}

std::uint64_t SharedSemaphore::set(std::uint64_t value) noexcept {
  return std::atomic_ref(state_.value).exchange(value, std::memory_order_acq_rel);
}

bool SharedSemaphore::raise(std::uint64_t value) noexcept {
  const std::atomic_ref shared(state_.value);
  std::uint64_t before = shared.load(std::memory_order_relaxed);
  while (before < value)
    if (shared.compare_exchange_weak(before, value, std::memory_order_acq_rel)) return true;
  return false;
}

bool SharedSemaphore::take() noexcept {
  std::uint64_t signaled = 1;
  return std::atomic_ref(state_.value).compare_exchange_strong(signaled, 0, std::memory_order_acq_rel);
}

namespace {

[[noreturn]] void throw_system_error() { throw std::system_error(errno, std::generic_category()); }

}  // namespace

ExternalSemaphore::ExternalSemaphore(std::shared_ptr<SharedSemaphore> shared) noexcept
    : shared_(std::move(shared)) {}

ExternalSemaphore::ExternalSemaphore(Type type, std::uint64_t value) {
  if (type == Type::binary && value > 1)
    throw std::invalid_argument("cushim: the value of a binary semaphore is 0 or 1");
  shared_ = SharedSemaphore::make(type, value);
  if (shared_ == nullptr) throw_system_error();
}

ExternalSemaphore ExternalSemaphore::open(int descriptor) {
  auto shared = SharedSemaphore::open(descriptor);
  if (shared == nullptr)
    throw std::invalid_argument("cushim: the file descriptor is not that of an external semaphore");
  return ExternalSemaphore(std::move(shared));
}

ExternalSemaphore::Type ExternalSemaphore::type() const noexcept { return shared_->type(); }

int ExternalSemaphore::new_descriptor() const {
  const int descriptor = shared_->new_descriptor();
  if (descriptor < 0) throw_system_error();
  return descriptor;
}

std::uint64_t ExternalSemaphore::value() const noexcept { return shared_->value(); }

void ExternalSemaphore::signal(std::uint64_t value) const {
  if (type() == Type::binary && value != 1)
    throw std::invalid_argument("cushim: a binary semaphore is signaled with the value 1");
  if (!shared_->raise(value))
    throw std::invalid_argument("cushim: a semaphore is signaled with a value that does not exceed its own");
}

bool ExternalSemaphore::take() const noexcept { return type() == Type::binary && shared_->take(); }

}  // namespace cushim::sim
