// SPDX-License-Identifier: Apache-2.0
// Streams: queues of work. StreamRef is what functions take; Stream owns one.
//
// The null stream is a stream like others, and an empty StreamRef is not the null stream: it is no
// stream at all, and every call with it fails. See cushim/default_stream.hpp for what null means.
#pragma once

#include <cushim/context.hpp>
#include <cushim/default_stream.hpp>
#include <cushim/detail/host_call.hpp>
#include <cushim/detail/owner.hpp>
#include <cushim/detail/poll.hpp>
#include <cushim/exact.hpp>

#include <optional>
#include <type_traits>

namespace cushim {
inline namespace v1 {

// Whether a stream is ordered with the legacy default stream.
enum class StreamFlags : unsigned {
  none = CU_STREAM_DEFAULT,
  non_blocking = CU_STREAM_NON_BLOCKING,  // no implicit order with the legacy default stream
};
constexpr bool is_flags(StreamFlags) { return true; }

// How a stream is created.
struct StreamOptions {
  StreamFlags flags = StreamFlags::none;
  std::optional<int> priority = std::nullopt;  // lower is more urgent; the driver clamps it to its range
};

// How a stream waits for an event during capture.
enum class WaitFlags : unsigned {
  none = CU_EVENT_WAIT_DEFAULT,
  external = CU_EVENT_WAIT_EXTERNAL,  // in capture: an external wait node
};
constexpr bool is_flags(WaitFlags) { return true; }

// Whether a stream captures its work into a graph.
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
class WordValue;
template <class T>
class ValueCondition;
// Whether a wait also flushes writes of other devices that reached this one.
enum class RemoteWrites : bool { leave, flush };

inline namespace CUSHIM_DEFAULT_STREAM {

class EventRef;
class StreamRef;

}  // namespace CUSHIM_DEFAULT_STREAM

namespace detail {

template <class Function, class... Arguments>
concept HostFunction = std::is_invocable_v < std::decay_t<Function>
&, Arguments... > ;

inline namespace CUSHIM_DEFAULT_STREAM {

template <class Function>
void launch_host(const StreamRef &stream, Function &&function, Where where);
template <class Function>
void add_callback(const StreamRef &stream, Function &&function, Where where);

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace detail

inline namespace CUSHIM_DEFAULT_STREAM {

// What every stream offers, owned or not: StreamRef and Stream.
template <class Self>
class StreamCalls : public detail::Waitable<Self, CUstream> {
 public:
  // Returns whether all work in the stream is done. Driver calls: cuStreamQuery.
  bool is_done(Where where = Where::current()) const {
    const CUresult result = this->driver().cuStreamQuery(this->handle());
    if (result == CUDA_ERROR_NOT_READY) return false;
    detail::check(result, "cuStreamQuery", where, self());
    return true;
  }

  // Waits until all work in the stream is done. Driver calls: cuStreamSynchronize.
  void synchronize(Where where = Where::current()) const {
    detail::check(this->driver().cuStreamSynchronize(this->handle()), "cuStreamSynchronize", where, self());
  }

  // Makes later work in this stream wait for the event's latest record, across devices and contexts too.
  // An event that was never recorded is no wait. Driver calls: cuStreamWaitEvent.
  void wait(const EventRef &event, WaitFlags flags = WaitFlags::none, Where where = Where::current()) const;

  // Makes later work in this stream wait for all work now in the other. Driver calls, since the driver
  // can wait for events only: cuStreamGetCtx, cuCtxPushCurrent, cuEventCreate, cuCtxPopCurrent,
  // cuEventRecord, cuStreamWaitEvent, cuEventDestroy.
  void wait(const StreamRef &other, Where where = Where::current()) const;

  // Returns a number that no other stream of this process had or will have. Driver calls: cuStreamGetId.
  unsigned long long id(Where where = Where::current()) const {
    unsigned long long id = 0;
    detail::check(this->driver().cuStreamGetId(this->handle(), &id), "cuStreamGetId", where, self());
    return id;
  }

  // Returns the context that the stream is in; of a default stream, the current context.
  // Driver calls: cuStreamGetCtx.
  ContextRef context(Where where = Where::current()) const {
    CUcontext context = nullptr;
    detail::check(this->driver().cuStreamGetCtx(this->handle(), &context), "cuStreamGetCtx", where, self());
    return ContextRef::from_handle(context, this->driver());
  }

  // Returns the device of context(). Driver calls: cuStreamGetCtx, push, cuCtxGetDevice, pop.
  Device device(Where where = Where::current()) const { return context(where).device(where); }

  // Returns the priority, clamped to the driver's range. Driver calls: cuStreamGetPriority.
  int priority(Where where = Where::current()) const {
    int priority = 0;
    detail::check(this->driver().cuStreamGetPriority(this->handle(), &priority), "cuStreamGetPriority", where,
                  self());
    return priority;
  }

  // Returns the flags that the stream was created with. Driver calls: cuStreamGetFlags.
  StreamFlags flags(Where where = Where::current()) const {
    unsigned flags = 0;
    detail::check(this->driver().cuStreamGetFlags(this->handle(), &flags), "cuStreamGetFlags", where, self());
    return static_cast<StreamFlags>(flags);
  }

  // Returns an attribute as its own type. Driver calls: cuStreamGetAttribute.
  template <class T>
  T attribute(StreamAttribute<T> which, Where where = Where::current()) const {
    CUstreamAttrValue value{};
    detail::check(this->driver().cuStreamGetAttribute(this->handle(), which.id, &value),
                  "cuStreamGetAttribute", where, self(), detail::Argument{"attribute", which.id});
    return value.*which.member;
  }
  // Sets an attribute. Driver calls: cuStreamSetAttribute.
  template <class T>
  void set_attribute(StreamAttribute<T> which, std::type_identity_t<T> to,
                     Where where = Where::current()) const {
    CUstreamAttrValue value{};
    value.*which.member = to;
    detail::check(this->driver().cuStreamSetAttribute(this->handle(), which.id, &value),
                  "cuStreamSetAttribute", where, self(), detail::Argument{"attribute", which.id});
  }
  // Sets all attributes to those of the other stream. Driver calls: cuStreamCopyAttributes.
  void copy_attributes(const StreamRef &from, Where where = Where::current()) const;

  // Attaches managed memory, in stream order. length is in bytes; 0 is the whole allocation.
  // Driver calls: cuStreamAttachMemAsync.
  void attach(CUdeviceptr address, std::size_t length = 0,
              MemoryAttachment attachment = MemoryAttachment::single, Where where = Where::current()) const {
    detail::check(this->driver().cuStreamAttachMemAsync(this->handle(), address, length,
                                                        static_cast<unsigned>(attachment)),
                  "cuStreamAttachMemAsync", where, self(), detail::Address{"address", address});
  }

  // Returns whether the stream is in capture. Driver calls: cuStreamIsCapturing.
  CaptureStatus capture_status(Where where = Where::current()) const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    detail::check(this->driver().cuStreamIsCapturing(this->handle(), &status), "cuStreamIsCapturing", where,
                  self());
    return static_cast<CaptureStatus>(status);
  }

  // Runs function() on a thread of the driver when the stream reaches it. It must make no driver
  // calls; what it throws goes to the unreported handler. The stream owns the callable and deletes
  // it after its run; a stream in capture gives it to the graph, which may run it any number of
  // times and deletes it at its own end. A callable that the driver accepts but never runs (the
  // context dies first) is not deleted.
  // Driver calls: cuStreamGetCaptureInfo_v2, cuLaunchHostFunc; in capture between them
  // cuUserObjectCreate and cuGraphRetainUserObject.
  template <detail::HostFunction Function>
  void launch_host(Function &&function, Where where = Where::current()) const {
    detail::launch_host(self(), std::forward<Function>(function), where);
  }

  // Runs function(stream, result of the work before it) on a thread of the driver when the stream
  // reaches it. As launch_host(), but also after an error; not in capture.
  // Driver calls: cuStreamAddCallback.
  template <detail::HostFunction<StreamRef, CUresult> Function>
  void add_callback(Function &&function, Where where = Where::current()) const {
    detail::add_callback(self(), std::forward<Function>(function), where);
  }

  // Makes later work wait until a word in memory meets a condition: wait_value(flag, geq(5)). See
  // cushim/memop.hpp. Driver calls: cuStreamWaitValue32_v2 or 64; after INVALID_VALUE, to tell the reason,
  // cuPointerGetAttributes.
  void wait_value(Word<std::uint32_t> word, ValueCondition<std::uint32_t> condition,
                  RemoteWrites writes = RemoteWrites::leave, Where where = Where::current()) const;
  void wait_value(Word<std::uint64_t> word, ValueCondition<std::uint64_t> condition,
                  RemoteWrites writes = RemoteWrites::leave, Where where = Where::current()) const;
  // Writes a word when the work before is done: write_value(flag, 6). Values wider than the word do not
  // compile. Driver calls: cuStreamWriteValue32_v2 or 64; after INVALID_VALUE cuPointerGetAttributes.
  void write_value(Word<std::uint32_t> word, WordValue<std::uint32_t> value,
                   Where where = Where::current()) const;
  void write_value(Word<std::uint64_t> word, WordValue<std::uint64_t> value,
                   Where where = Where::current()) const;

  static constexpr const char *kQuery = "cuStreamQuery";

 protected:
  StreamCalls() = default;
  StreamCalls(const StreamCalls &) = default;
  StreamCalls &operator=(const StreamCalls &) = default;

 private:
  using detail::NounBase<Self, CUstream>::self;
};

// A stream, by handle. Owns nothing.
class StreamRef : public StreamCalls<StreamRef> {
 public:
  // Empty: no stream. The null stream is default_stream().
  StreamRef() = default;

  // A raw stream of the current driver, a cudaStream_t too. Literal zeros do not compile: they are too
  // easily meant as "none".
  StreamRef(CUstream handle) noexcept : bound_(handle, cushim::driver()) {}
  StreamRef(std::nullptr_t) = delete;
  StreamRef(int) = delete;

  // Returns a reference to a raw stream of this driver; null is the default stream. No driver call.
  static StreamRef from_handle(CUstream handle, Driver &driver = cushim::driver()) noexcept {
    return StreamRef(handle, driver);
  }

  // Returns this. No driver call.
  const StreamRef &ref() const noexcept { return *this; }

 private:
  template <class, class>
  friend class detail::NounBase;
  StreamRef(CUstream handle, Driver &driver) noexcept : bound_(handle, driver) {}

  detail::Bound<CUstream> bound_;
};

// Returns "stream 0x7f20", "the default stream", "the legacy default stream", "the per-thread default
// stream" or "an empty stream".
inline std::string in_words(const StreamRef &stream) {
  if (stream.is_empty()) return "an empty stream";
  if (stream.handle() == nullptr) return "the default stream";
  if (stream.handle() == CU_STREAM_LEGACY) return "the legacy default stream";
  if (stream.handle() == CU_STREAM_PER_THREAD) return "the per-thread default stream";
  return detail::noun_in_words("stream", stream);
}

template <class Self>
void StreamCalls<Self>::copy_attributes(const StreamRef &from, Where where) const {
  detail::require(from, "cuStreamCopyAttributes", where);
  detail::check(this->driver().cuStreamCopyAttributes(this->handle(), from.handle()),
                "cuStreamCopyAttributes", where, self(), from);
}

// Returns the null stream: the shared or the calling thread's default stream, as this file was compiled.
// No driver call.
inline StreamRef default_stream(Driver &driver = cushim::driver()) noexcept {
  return StreamRef::from_handle(nullptr, driver);
}
// Returns the default stream that all threads share, however this file was compiled.
inline StreamRef legacy_stream(Driver &driver = cushim::driver()) noexcept {
  return StreamRef::from_handle(CU_STREAM_LEGACY, driver);
}
// Returns the calling thread's default stream, however this file was compiled.
inline StreamRef per_thread_stream(Driver &driver = cushim::driver()) noexcept {
  return StreamRef::from_handle(CU_STREAM_PER_THREAD, driver);
}

// Owns a stream. Destroying it does not wait: work already in it goes on.
class Stream : public detail::Owner<Stream, StreamRef, StreamCalls> {
 public:
  // Empty.
  Stream() = default;

  // Creates a stream in the current context. Driver calls: cuStreamCreate (with a priority:
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
    return Stream(handle, driver, flags);
  }

  // Creates a stream in a given context. Driver calls: push, as above, pop.
  static Stream create(ContextRef context, StreamOptions options = {}, Where where = Where::current()) {
    return detail::Creation::in(context, where, [&] { return create(options, context.driver(), where); });
  }

  // Creates a stream in a device's primary context, which the stream holds for its life. Driver calls:
  // cuDevicePrimaryCtxRetain, push, as above, pop; at the end also cuDevicePrimaryCtxRelease.
  static Stream create(Device device, StreamOptions options = {}, Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(options, device.driver(), where); });
  }

  // Owns a stream that was made elsewhere. Throws INVALID_HANDLE for a default stream, which cannot be
  // owned. No driver call.
  static Stream adopt(CUstream handle, Driver &driver = cushim::driver(), Where where = Where::current()) {
    if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
      detail::fail(CUDA_ERROR_INVALID_HANDLE, kDestroy, where, StreamRef::from_handle(handle, driver),
                   detail::Remark{"a default stream cannot be owned"});
    return Stream(handle, driver, 0);
  }

 private:
  friend Owner;
  using Owner::Owner;
  static constexpr const char *kDestroy = "cuStreamDestroy";
  static CUresult destroy(StreamRef stream) noexcept {
    return stream.driver().cuStreamDestroy(stream.handle());
  }
};

}  // namespace CUSHIM_DEFAULT_STREAM

namespace detail {
inline namespace CUSHIM_DEFAULT_STREAM {

template <class Function>
void launch_host(const StreamRef &stream, Function &&function, Where where) {
  Driver &driver = stream.driver();
  using Call = detail::HostCall<std::decay_t<Function>>;
  auto call = std::make_unique<Call>(std::forward<Function>(function));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  detail::check(CUSHIM_EXACT_PTSZ(cuStreamGetCaptureInfo_v11030)(driver)(stream.handle(), &status, nullptr,
                                                                         &graph, nullptr, nullptr),
                "cuStreamGetCaptureInfo", where, stream);
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) {
    detail::check(driver.cuLaunchHostFunc(stream.handle(), &Call::once, call.get()), "cuLaunchHostFunc",
                  where, stream);
    call.release();  // deletes itself
    return;
  }
  CUuserObject owner = nullptr;
  detail::check(
      driver.cuUserObjectCreate(&owner, call.get(), &Call::end, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
      "cuUserObjectCreate", where, stream);
  Call *const owned = call.release();
  const CUresult kept = driver.cuGraphRetainUserObject(graph, owner, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (kept != CUDA_SUCCESS) driver.cuUserObjectRelease(owner, 1);
  detail::check(kept, "cuGraphRetainUserObject", where, stream);
  const CUresult result = driver.cuLaunchHostFunc(stream.handle(), &Call::repeatedly, owned);
  if (result != CUDA_SUCCESS) driver.cuGraphReleaseUserObject(graph, owner, 1);
  detail::check(result, "cuLaunchHostFunc", where, stream);
}

template <class Function>
void add_callback(const StreamRef &stream, Function &&function, Where where) {
  struct Callback {
    detail::HostCall<std::decay_t<Function>> call;
    Driver *driver;
    static void CUDA_CB run(CUstream handle, CUresult result, void *data) {
      const std::unique_ptr<Callback> self(static_cast<Callback *>(data));
      self->call.run(StreamRef::from_handle(handle, *self->driver), result);
    }
  };
  std::unique_ptr<Callback> callback(new Callback{
      detail::HostCall<std::decay_t<Function>>(std::forward<Function>(function)), &stream.driver()});
  detail::check(stream.driver().cuStreamAddCallback(stream.handle(), &Callback::run, callback.get(), 0),
                "cuStreamAddCallback", where, stream);
  callback.release();  // deletes itself
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace detail
}  // namespace v1
}  // namespace cushim

// What the members above that take events and memory operations need.
#include <cushim/event.hpp>
#include <cushim/memop.hpp>
