// SPDX-License-Identifier: Apache-2.0
// Memory that is allocated and freed in the order of a stream.
#pragma once

#include <cushim/detail/buffer.hpp>
#include <cushim/stream.hpp>

namespace cushim {
inline namespace v1 {

class MemoryPoolRef;

inline namespace CUSHIM_DEFAULT_STREAM {

// Owns memory that is allocated and freed in the order of a stream, from a pool. Converts to a DeviceSpan.
// Work in other streams must be ordered after the allocation and before the free. The stream must outlive
// this.
template <class T>
class StreamBuffer : public detail::DeviceRangeCalls<StreamBuffer<T>, T> {
 public:
  // Empty.
  StreamBuffer() = default;

  // Allocates count elements in stream order, from the current pool of the stream's device. For 0 elements,
  // makes no driver call and owns nothing. Driver calls: cuMemAllocAsync; at the end cuMemFreeAsync in the
  // same stream.
  static StreamBuffer create(const StreamRef &stream, std::size_t count, Where where = Where::current()) {
    if (count == 0) return {};
    CUdeviceptr address = 0;
    const std::size_t bytes = detail::bytes_of<T>(count, "cuMemAllocAsync", where);
    detail::check(stream.driver().cuMemAllocAsync(&address, bytes, stream.handle()), "cuMemAllocAsync", where,
                  stream, detail::Argument{"bytes", static_cast<long long>(bytes)});
    return StreamBuffer(DeviceSpan<T>(DevicePtr<T>(address), count), stream);
  }
  // Allocates from a pool (<cushim/memory_pool.hpp>), which may be destroyed before the memory is freed.
  // Driver calls: cuMemAllocFromPoolAsync; at the end cuMemFreeAsync in the same stream.
  static StreamBuffer create(const MemoryPoolRef &pool, const StreamRef &stream, std::size_t count,
                             Where where = Where::current());

  StreamBuffer(StreamBuffer &&other) noexcept
      : span_(std::exchange(other.span_, {})), stream_(std::exchange(other.stream_, {})) {}
  StreamBuffer &operator=(StreamBuffer &&other) noexcept {
    StreamBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~StreamBuffer() {
    if (!is_empty()) detail::report(free(), "cuMemFreeAsync", stream_, words());
  }

  void swap(StreamBuffer &other) noexcept {
    std::swap(span_, other.span_);
    std::swap(stream_, other.stream_);
  }
  friend void swap(StreamBuffer &left, StreamBuffer &right) noexcept { left.swap(right); }

  // Returns the memory as a range without ownership, which must not outlive this. No driver call.
  DeviceSpan<T> span() const noexcept { return span_; }

  // Frees the memory now, in stream order. Throws Error if that fails. Does nothing if this is empty. Driver
  // calls: cuMemFreeAsync.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    const StreamRef stream = stream_;
    const detail::Address memory = words();
    const CUresult result = free();
    static_cast<void>(release());
    detail::check(result, "cuMemFreeAsync", where, stream, memory);
  }

  // Returns the address, which the caller must free, and becomes empty. No driver call.
  [[nodiscard]] CUdeviceptr release() noexcept {
    stream_ = StreamRef();
    return std::exchange(span_, {}).data().address();
  }

  // Return or set the stream in whose order the memory is freed. No driver call.
  StreamRef stream() const noexcept { return stream_; }
  void set_stream(const StreamRef &stream) noexcept { stream_ = stream; }

  // Returns whether this owns no memory. No driver call.
  bool is_empty() const noexcept { return span_.empty(); }

 private:
  StreamBuffer(DeviceSpan<T> span, const StreamRef &stream) noexcept : span_(span), stream_(stream) {}
  CUresult free() noexcept {
    return stream_.driver().cuMemFreeAsync(span_.data().address(), stream_.handle());
  }
  detail::Address words() const noexcept {
    return {"memory", static_cast<std::uintptr_t>(span_.data().address())};
  }

  DeviceSpan<T> span_;
  StreamRef stream_;
};

}  // namespace CUSHIM_DEFAULT_STREAM

template <class T>
DeviceSpan(const StreamBuffer<T> &) -> DeviceSpan<T>;

}  // namespace v1
}  // namespace cushim
