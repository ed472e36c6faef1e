// SPDX-License-Identifier: Apache-2.0
// Streams: queues of work. StreamRef is what functions take; Stream owns one.
//
// The null stream is a stream like others, and an empty StreamRef is not the null stream: it is no
// stream at all, and every call with it fails. See cushim/default_stream.hpp for what null means.
#pragma once

#include <cushim/context.hpp>
#include <cushim/default_stream.hpp>
#include <cushim/detail/host_call.hpp>
#include <cushim/detail/poll.hpp>
#include <cushim/exact.hpp>

#include <optional>
#include <type_traits>

namespace cushim {
inline namespace v1 {

enum class StreamFlags : unsigned {
  none = CU_STREAM_DEFAULT,
  non_blocking = CU_STREAM_NON_BLOCKING,  // no implicit order with the legacy default stream
};
constexpr bool is_flags(StreamFlags) { return true; }

struct StreamOptions {
  StreamFlags flags = StreamFlags::none;
  std::optional<int> priority = std::nullopt;  // lower is more urgent; the driver clamps it to its range
};

enum class WaitFlags : unsigned {
  none = CU_EVENT_WAIT_DEFAULT,
  external = CU_EVENT_WAIT_EXTERNAL,  // in capture: an external wait node
};
constexpr bool is_flags(WaitFlags) { return true; }

enum class CaptureStatus : int {
  none = CU_STREAM_CAPTURE_STATUS_NONE,
  active = CU_STREAM_CAPTURE_STATUS_ACTIVE,
  invalidated = CU_STREAM_CAPTURE_STATUS_INVALIDATED,
};

// Who may touch managed memory.
enum class MemoryAttachment : unsigned {
  global = CU_MEM_ATTACH_GLOBAL,  // any stream
  host = CU_MEM_ATTACH_HOST,      // no stream
  single = CU_MEM_ATTACH_SINGLE,  // the one stream
};

// A stream attribute whose value is the member of type T.
template <class T>
struct StreamAttribute {
  CUstreamAttrID id;
  T CUstreamAttrValue::*member;
};

namespace stream_attribute {
inline constexpr StreamAttribute<CUaccessPolicyWindow> access_policy_window{
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &CUstreamAttrValue::accessPolicyWindow};
inline constexpr StreamAttribute<CUsynchronizationPolicy> synchronization_policy{
    CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &CUstreamAttrValue::syncPolicy};
inline constexpr StreamAttribute<int> priority{CU_LAUNCH_ATTRIBUTE_PRIORITY, &CUstreamAttrValue::priority};
#if CUDA_VERSION >= 12000
inline constexpr StreamAttribute<CUlaunchMemSyncDomainMap> mem_sync_domain_map{
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &CUstreamAttrValue::memSyncDomainMap};
inline constexpr StreamAttribute<CUlaunchMemSyncDomain> mem_sync_domain{CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
                                                                        &CUstreamAttrValue::memSyncDomain};
#endif
}  // namespace stream_attribute

template <class T>
class Word;
template <class T>
class ValueCondition;
enum class RemoteWrites : bool { leave, flush };

inline namespace CUSHIM_DEFAULT_STREAM {

class EventRef;

// A stream, by handle. Owns nothing.
class StreamRef : public detail::Reference<CUstream> {
 public:
  // Empty: no stream. The null stream is default_stream().
  StreamRef() = default;

  // A raw stream of the current driver, a cudaStream_t too. Literal zeros are refused: they are too
  // easily meant as "none".
  StreamRef(CUstream handle) noexcept : Reference(handle, cushim::driver()) {}
  StreamRef(std::nullptr_t) = delete;
  StreamRef(int) = delete;

  static StreamRef from_handle(CUstream handle, Driver &driver = cushim::driver()) noexcept {
    return StreamRef(handle, driver);
  }

  // Whether all work is done. Driver calls: cuStreamQuery.
  bool is_done(Where where = Where::current()) const {
    const CUresult result = driver().cuStreamQuery(handle());
    if (result == CUDA_ERROR_NOT_READY) return false;
    detail::check(result, "cuStreamQuery", where, *this);
    return true;
  }

  // Waits until all work is done. Driver calls: cuStreamSynchronize.
  void synchronize(Where where = Where::current()) const {
    detail::check(driver().cuStreamSynchronize(handle()), "cuStreamSynchronize", where, *this);
  }

  // Waits until all work is done (true) or the time is over (false); negative timeouts are refused.
  // Driver calls: cuStreamQuery, repeatedly.
  template <class Rep, class Period>
  bool synchronize_for(std::chrono::duration<Rep, Period> timeout, Where where = Where::current()) const {
    if (timeout < timeout.zero())
      detail::fail(CUDA_ERROR_INVALID_VALUE, "cuStreamQuery", where, *this,
                   detail::Remark{"timeout is negative"});
    return synchronize_until(detail::deadline_after(timeout), where);
  }
  template <class Clock, class Duration>
  bool synchronize_until(std::chrono::time_point<Clock, Duration> deadline,
                         Where where = Where::current()) const {
    return detail::poll_until(deadline, [&] { return is_done(where); });
  }

  // Later work in this stream waits for the event's latest record, across devices and contexts too.
  // Driver calls: cuStreamWaitEvent.
  void wait(const EventRef &event, WaitFlags flags = WaitFlags::none, Where where = Where::current()) const;

  // Later work in this stream waits for all work now in the other. Driver calls, since the driver
  // can wait for events only: cuStreamGetCtx, cuCtxPushCurrent, cuEventCreate, cuCtxPopCurrent,
  // cuEventRecord, cuStreamWaitEvent, cuEventDestroy.
  void wait(const StreamRef &other, Where where = Where::current()) const;

  // A number that no other stream of this process had or will have. Driver calls: cuStreamGetId.
  unsigned long long id(Where where = Where::current()) const {
    unsigned long long id = 0;
    detail::check(driver().cuStreamGetId(handle(), &id), "cuStreamGetId", where, *this);
    return id;
  }

  // The context that the stream is in; of a default stream, the current context.
  // Driver calls: cuStreamGetCtx.
  ContextRef context(Where where = Where::current()) const {
    CUcontext context = nullptr;
    detail::check(driver().cuStreamGetCtx(handle(), &context), "cuStreamGetCtx", where, *this);
    return ContextRef::from_handle(context, driver());
  }

  // Driver calls: cuStreamGetPriority.
  int priority(Where where = Where::current()) const {
    int priority = 0;
    detail::check(driver().cuStreamGetPriority(handle(), &priority), "cuStreamGetPriority", where, *this);
    return priority;
  }

  // Driver calls: cuStreamGetFlags.
  StreamFlags flags(Where where = Where::current()) const {
    unsigned flags = 0;
    detail::check(driver().cuStreamGetFlags(handle(), &flags), "cuStreamGetFlags", where, *this);
    return static_cast<StreamFlags>(flags);
  }

  // Driver calls: cuStreamGetAttribute.
  template <class T>
  T attribute(StreamAttribute<T> which, Where where = Where::current()) const {
    CUstreamAttrValue value{};
    detail::check(driver().cuStreamGetAttribute(handle(), which.id, &value), "cuStreamGetAttribute", where,
                  *this, detail::Argument{"attribute", which.id});
    return value.*which.member;
  }
  // Driver calls: cuStreamSetAttribute.
  template <class T>
  void set_attribute(StreamAttribute<T> which, std::type_identity_t<T> to,
                     Where where = Where::current()) const {
    CUstreamAttrValue value{};
    value.*which.member = to;
    detail::check(driver().cuStreamSetAttribute(handle(), which.id, &value), "cuStreamSetAttribute", where,
                  *this, detail::Argument{"attribute", which.id});
  }
  // Makes all attributes those of the other stream. Driver calls: cuStreamCopyAttributes.
  void copy_attributes(const StreamRef &from, Where where = Where::current()) const {
    detail::require(from, "cuStreamCopyAttributes", where);
    detail::check(driver().cuStreamCopyAttributes(handle(), from.handle()), "cuStreamCopyAttributes", where,
                  *this, from);
  }

  // Attaches managed memory, in stream order. length 0 is the whole allocation.
  // Driver calls: cuStreamAttachMemAsync.
  void attach(CUdeviceptr address, std::size_t length = 0,
              MemoryAttachment attachment = MemoryAttachment::single, Where where = Where::current()) const {
    detail::check(
        driver().cuStreamAttachMemAsync(handle(), address, length, static_cast<unsigned>(attachment)),
        "cuStreamAttachMemAsync", where, *this, detail::Address{"address", address});
  }

  // Driver calls: cuStreamIsCapturing.
  CaptureStatus capture_status(Where where = Where::current()) const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    detail::check(driver().cuStreamIsCapturing(handle(), &status), "cuStreamIsCapturing", where, *this);
    return static_cast<CaptureStatus>(status);
  }

  // Runs function() on a thread of the driver when the stream reaches it. It must make no driver
  // calls; what it throws goes to the unreported handler. The stream owns the callable and deletes
  // it after its run; a stream in capture gives it to the graph, which may run it any number of
  // times and deletes it at its own end. A callable that the driver accepts but never runs (the
  // context dies first) is not deleted.
  // Driver calls: cuStreamGetCaptureInfo_v2, cuLaunchHostFunc; in capture between them
  // cuUserObjectCreate and cuGraphRetainUserObject.
  template <class Function>
  requires std::is_invocable_v < std::decay_t<Function>
  & > void launch_host(Function &&function, Where where = Where::current()) const;

  // Runs function(stream, result of the work before it) on a thread of the driver when the stream
  // reaches it. As launch_host(), but also after an error; not in capture.
  // Driver calls: cuStreamAddCallback.
  template <class Function>
  requires std::is_invocable_v < std::decay_t<Function>
  &, StreamRef, CUresult > void add_callback(Function &&function, Where where = Where::current()) const;

  // Later work waits until the word in memory meets a condition: wait_value(flag, geq(5)); and
  // writes a word when the work before is done. See cushim/memop.hpp.
  // Driver calls: cuStreamWaitValue32_v2 or 64; cuStreamWriteValue32_v2 or 64.
  void wait_value(Word<std::uint32_t> word, ValueCondition<std::uint32_t> condition,
                  RemoteWrites writes = RemoteWrites::leave, Where where = Where::current()) const;
  void wait_value(Word<std::uint64_t> word, ValueCondition<std::uint64_t> condition,
                  RemoteWrites writes = RemoteWrites::leave, Where where = Where::current()) const;
  void write_value(Word<std::uint32_t> word, std::uint32_t value, Where where = Where::current()) const;
  void write_value(Word<std::uint64_t> word, std::uint64_t value, Where where = Where::current()) const;

  // "stream 0x7f20", "the default stream", "an empty stream"
  friend std::string in_words(const StreamRef &stream) {
    if (stream.is_empty()) return "an empty stream";
    if (stream.handle() == nullptr) return "the default stream";
    if (stream.handle() == CU_STREAM_LEGACY) return "the legacy default stream";
    if (stream.handle() == CU_STREAM_PER_THREAD) return "the per-thread default stream";
    return detail::noun_in_words("stream", stream);
  }

 protected:
  StreamRef(CUstream handle, Driver &driver) noexcept : Reference(handle, driver) {}
};

// The null stream: the shared or the calling thread's default stream, as this file was compiled.
inline StreamRef default_stream(Driver &driver = cushim::driver()) noexcept {
  return StreamRef::from_handle(nullptr, driver);
}
// The default stream that all threads share, however this file was compiled.
inline StreamRef legacy_stream(Driver &driver = cushim::driver()) noexcept {
  return StreamRef::from_handle(CU_STREAM_LEGACY, driver);
}
// The calling thread's default stream, however this file was compiled.
inline StreamRef per_thread_stream(Driver &driver = cushim::driver()) noexcept {
  return StreamRef::from_handle(CU_STREAM_PER_THREAD, driver);
}

// Owns a stream. Destroying it does not wait: work already in it goes on.
class Stream : public StreamRef {
 public:
  // Empty.
  Stream() = default;

  // In the current context. Driver calls: cuStreamCreate (with a priority:
  // cuStreamCreateWithPriority); at the end cuStreamDestroy.
  static Stream create(StreamOptions options = {}, Driver &driver = cushim::driver(),
                       Where where = Where::current()) {
    CUstream handle = nullptr;
    const unsigned flags = detail::number(options.flags);
    if (options.priority)
      detail::check(driver.cuStreamCreateWithPriority(&handle, flags, *options.priority),
                    "cuStreamCreateWithPriority", where, detail::Through{&driver},
                    detail::Argument{"flags", flags}, detail::Argument{"priority", *options.priority});
    else
      detail::check(driver.cuStreamCreate(&handle, flags), "cuStreamCreate", where, detail::Through{&driver},
                    detail::Argument{"flags", flags});
    return Stream(handle, driver);
  }

  // In a given context. Driver calls: push, as above, pop.
  static Stream create(ContextRef context, StreamOptions options = {}, Where where = Where::current()) {
    return detail::in_context(context, where, [&] { return create(options, context.driver(), where); });
  }

  // Owns a stream that was made elsewhere; default streams cannot be owned. No driver call.
  static Stream adopt(CUstream handle, Driver &driver = cushim::driver(), Where where = Where::current()) {
    if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
      detail::fail(CUDA_ERROR_INVALID_HANDLE, "cuStreamDestroy", where,
                   StreamRef::from_handle(handle, driver),
                   detail::Remark{"a default stream cannot be owned"});
    return Stream(handle, driver);
  }

  Stream(Stream &&other) noexcept : StreamRef(other) { other.take(); }
  Stream &operator=(Stream &&other) noexcept {
    Stream(std::move(other)).swap(*this);
    return *this;
  }
  ~Stream() {
    if (!is_empty()) detail::report(driver().cuStreamDestroy(handle()), "cuStreamDestroy", StreamRef(*this));
  }

  void swap(Stream &other) noexcept {
    std::swap(static_cast<StreamRef &>(*this), static_cast<StreamRef &>(other));
  }
  friend void swap(Stream &left, Stream &right) noexcept { left.swap(right); }

  // Destroys now, and throws if that fails. Again does nothing. Driver calls: cuStreamDestroy.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    const StreamRef stream(*this);
    take();
    detail::check(stream.driver().cuStreamDestroy(stream.handle()), "cuStreamDestroy", where, stream);
  }

  // Gives the handle to the caller, who destroys it. Empty afterwards. No driver call.
  [[nodiscard]] CUstream release() noexcept { return take(); }

 private:
  Stream(CUstream handle, Driver &driver) noexcept : StreamRef(handle, driver) {}
};

template <class Function>
requires std::is_invocable_v < std::decay_t<Function>
& > void StreamRef::launch_host(Function &&function, Where where) const {
  using Call = detail::HostCall<std::decay_t<Function>>;
  auto call = std::make_unique<Call>(std::forward<Function>(function));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  detail::check(CUSHIM_EXACT_PTSZ(cuStreamGetCaptureInfo_v11030)(driver())(handle(), &status, nullptr, &graph,
                                                                           nullptr, nullptr),
                "cuStreamGetCaptureInfo", where, *this);
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) {
    detail::check(driver().cuLaunchHostFunc(handle(), &Call::once, call.get()), "cuLaunchHostFunc", where,
                  *this);
    call.release();  // deletes itself
    return;
  }
  CUuserObject owner = nullptr;
  detail::check(
      driver().cuUserObjectCreate(&owner, call.get(), &Call::end, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
      "cuUserObjectCreate", where, *this);
  Call *const owned = call.release();
  const CUresult kept = driver().cuGraphRetainUserObject(graph, owner, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (kept != CUDA_SUCCESS) driver().cuUserObjectRelease(owner, 1);
  detail::check(kept, "cuGraphRetainUserObject", where, *this);
  const CUresult result = driver().cuLaunchHostFunc(handle(), &Call::repeatedly, owned);
  if (result != CUDA_SUCCESS) driver().cuGraphReleaseUserObject(graph, owner, 1);
  detail::check(result, "cuLaunchHostFunc", where, *this);
}

template <class Function>
requires std::is_invocable_v < std::decay_t<Function>
&, StreamRef, CUresult > void StreamRef::add_callback(Function &&function, Where where) const {
  struct Callback {
    detail::HostCall<std::decay_t<Function>> call;
    Driver *driver;
    static void CUDA_CB run(CUstream stream, CUresult result, void *data) {
      const std::unique_ptr<Callback> self(static_cast<Callback *>(data));
      self->call.run(StreamRef::from_handle(stream, *self->driver), result);
    }
  };
  std::unique_ptr<Callback> callback(
      new Callback{detail::HostCall<std::decay_t<Function>>(std::forward<Function>(function)), &driver()});
  detail::check(driver().cuStreamAddCallback(handle(), &Callback::run, callback.get(), 0),
                "cuStreamAddCallback", where, *this);
  callback.release();  // deletes itself
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim

// What the members above that take events and memory operations need.
#include <cushim/event.hpp>
#include <cushim/memop.hpp>
