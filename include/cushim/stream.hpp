// SPDX-License-Identifier: Apache-2.0
// Streams: queues of work. Functions take a StreamRef; Stream owns a stream.
//
// An empty StreamRef is not the null stream: every call with it fails. See cushim/default_stream.hpp for the
// meaning of the null stream.
#pragma once

#include <cushim/context.hpp>
#include <cushim/default_stream.hpp>
#include <cushim/detail/host_call.hpp>
#include <cushim/detail/owner.hpp>
#include <cushim/detail/poll.hpp>
#include <cushim/detail/user_object.hpp>
#include <cushim/exact.hpp>
#include <cushim/stream_attribute.hpp>

#include <optional>
#include <type_traits>

namespace cushim {
inline namespace v1 {

// Flags of a stream: its order relative to the legacy default stream.
enum class StreamFlags : unsigned {
  none = CU_STREAM_DEFAULT,
  non_blocking = CU_STREAM_NON_BLOCKING,  // no implicit order with the legacy default stream
};
constexpr bool is_flags(StreamFlags) { return true; }

// Options of Stream::create().
struct StreamOptions {
  StreamFlags flags = StreamFlags::none;
  std::optional<int> priority = std::nullopt;  // lower is more urgent; the driver clamps it
};

// How a stream waits for an event during capture.
enum class WaitFlags : unsigned {
  none = CU_EVENT_WAIT_DEFAULT,
  external = CU_EVENT_WAIT_EXTERNAL,  // in capture: adds an external event wait node
};
constexpr bool is_flags(WaitFlags) { return true; }

// The capture state of a stream.
enum class CaptureStatus : int {
  none = CU_STREAM_CAPTURE_STATUS_NONE,
  active = CU_STREAM_CAPTURE_STATUS_ACTIVE,
  invalidated = CU_STREAM_CAPTURE_STATUS_INVALIDATED,
};

// The streams that may access managed memory.
enum class MemoryAttachment : unsigned {
  global = CU_MEM_ATTACH_GLOBAL,  // any stream
  host = CU_MEM_ATTACH_HOST,      // no stream
  single = CU_MEM_ATTACH_SINGLE,  // one stream
};

template <class T>
class Word;
template <class T>
class WordValue;
template <class T>
class ValueCondition;
// `flush`: a wait also flushes remote writes that have reached the device.
enum class RemoteWrites : bool { leave, flush };

inline namespace CUSHIM_DEFAULT_STREAM {

template <class Self>
class EventCalls;
template <class Self>
class StreamCalls;

// A reference to an event. Owns nothing. Converts from a CUevent or cudaEvent_t of the current driver.
using EventRef = detail::HandleRef<EventCalls, detail::RawHandles::convert>;
// A reference to a stream. Owns nothing. An empty one refers to no stream; the null stream is
// default_stream().
using StreamRef = detail::HandleRef<StreamCalls, detail::RawHandles::convert>;

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

// The calls that StreamRef and Stream have in common.
template <class Self>
class StreamCalls : public detail::Waitable<Self, CUstream> {
 public:
  // Makes later work in this stream wait for the event's latest record. The event may be of another device or
  // context. An event that was never recorded causes no wait. Driver calls: cuStreamWaitEvent.
  void wait(const EventRef &event, WaitFlags flags = WaitFlags::none, Where where = Where::current()) const;

  // Makes later work in this stream wait for all work now in the other. Uses an event, because the driver has
  // no wait for a stream. Driver calls: cuStreamGetCtx, cuCtxPushCurrent, cuEventCreate, cuCtxPopCurrent,
  // cuEventRecord, cuStreamWaitEvent, cuEventDestroy.
  void wait(const StreamRef &other, Where where = Where::current()) const;

  // Returns the stream's id, which is unique in this process and never reused. Driver calls: cuStreamGetId.
  unsigned long long id(Where where = Where::current()) const {
    unsigned long long id = 0;
    detail::check(this->driver().cuStreamGetId(this->handle(), &id), "cuStreamGetId", where, this->self());
    return id;
  }

  // Returns the stream's context; for a default stream the current context. Driver calls: cuStreamGetCtx.
  ContextRef context(Where where = Where::current()) const {
    CUcontext context = nullptr;
    detail::check(this->driver().cuStreamGetCtx(this->handle(), &context), "cuStreamGetCtx", where,
                  this->self());
    return ContextRef::from_handle(context, this->driver());
  }

  // Returns the device of context(). Driver calls: cuStreamGetCtx, push, cuCtxGetDevice, pop.
  Device device(Where where = Where::current()) const { return context(where).device(where); }

  // Returns the priority, clamped to the driver's range. Driver calls: cuStreamGetPriority.
  int priority(Where where = Where::current()) const {
    int priority = 0;
    detail::check(this->driver().cuStreamGetPriority(this->handle(), &priority), "cuStreamGetPriority", where,
                  this->self());
    return priority;
  }

  // Returns the flags that the stream was created with. Driver calls: cuStreamGetFlags.
  StreamFlags flags(Where where = Where::current()) const {
    unsigned flags = 0;
    detail::check(this->driver().cuStreamGetFlags(this->handle(), &flags), "cuStreamGetFlags", where,
                  this->self());
    return static_cast<StreamFlags>(flags);
  }

  // Returns an attribute, as the attribute's type. Driver calls: cuStreamGetAttribute.
  template <class T>
  T attribute(StreamAttribute<T> which, Where where = Where::current()) const {
    CUstreamAttrValue value{};
    detail::check(this->driver().cuStreamGetAttribute(this->handle(), which.id, &value),
                  "cuStreamGetAttribute", where, this->self(), detail::Argument{"attribute", which.id});
    return value.*which.member;
  }
  // Sets an attribute. Driver calls: cuStreamSetAttribute.
  template <class T>
  void set_attribute(StreamAttribute<T> which, std::type_identity_t<T> to,
                     Where where = Where::current()) const {
    CUstreamAttrValue value{};
    value.*which.member = to;
    detail::check(this->driver().cuStreamSetAttribute(this->handle(), which.id, &value),
                  "cuStreamSetAttribute", where, this->self(), detail::Argument{"attribute", which.id});
  }
  // Sets all attributes to those of the other stream. Driver calls: cuStreamCopyAttributes.
  void copy_attributes(const StreamRef &from, Where where = Where::current()) const;

  // Attaches managed memory in stream order. length is in bytes; 0 means the whole allocation. Driver calls:
  // cuStreamAttachMemAsync.
  void attach(CUdeviceptr address, std::size_t length = 0,
              MemoryAttachment attachment = MemoryAttachment::single, Where where = Where::current()) const {
    detail::check(this->driver().cuStreamAttachMemAsync(this->handle(), address, length,
                                                        static_cast<unsigned>(attachment)),
                  "cuStreamAttachMemAsync", where, this->self(), detail::Address{"address", address});
  }

  // Returns the capture state. Driver calls: cuStreamIsCapturing.
  CaptureStatus capture_status(Where where = Where::current()) const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    detail::check(this->driver().cuStreamIsCapturing(this->handle(), &status), "cuStreamIsCapturing", where,
                  this->self());
    return static_cast<CaptureStatus>(status);
  }

  // Calls function() on a thread of the driver when all earlier work in the stream is done. The function must
  // make no driver calls. An exception that it throws goes to the unreported handler. The stream owns the
  // callable and deletes it after the call. In capture, the graph owns it: it may call it any number of
  // times, and deletes it when the graph is destroyed. A callable that the driver accepts but never runs,
  // because the context is destroyed first, is leaked. Driver calls: cuStreamGetCaptureInfo_v2,
  // cuLaunchHostFunc; in capture between them cuUserObjectCreate and cuGraphRetainUserObject.
  template <detail::HostFunction Function>
  void launch_host(Function &&function, Where where = Where::current()) const {
    detail::launch_host(this->self(), std::forward<Function>(function), where);
  }

  // Calls function(stream, result of the earlier work) on a thread of the driver when all earlier work in the
  // stream is done. Like launch_host(), but is also called after an error, and not allowed in capture. Driver
  // calls: cuStreamAddCallback.
  template <detail::HostFunction<StreamRef, CUresult> Function>
  void add_callback(Function &&function, Where where = Where::current()) const {
    detail::add_callback(this->self(), std::forward<Function>(function), where);
  }

  // Makes later work wait until a word in memory meets a condition: wait_value(flag, geq(5)). See
  // cushim/memop.hpp. Driver calls: cuStreamWaitValue32_v2 or 64; after INVALID_VALUE, to find the reason,
  // cuPointerGetAttributes.
  void wait_value(Word<std::uint32_t> word, ValueCondition<std::uint32_t> condition,
                  RemoteWrites writes = RemoteWrites::leave, Where where = Where::current()) const;
  void wait_value(Word<std::uint64_t> word, ValueCondition<std::uint64_t> condition,
                  RemoteWrites writes = RemoteWrites::leave, Where where = Where::current()) const;
  // Writes a word when all earlier work is done: write_value(flag, 6). A value that is wider than the word
  // does not compile. Driver calls: cuStreamWriteValue32_v2 or 64; after INVALID_VALUE
  // cuPointerGetAttributes.
  void write_value(Word<std::uint32_t> word, WordValue<std::uint32_t> value,
                   Where where = Where::current()) const;
  void write_value(Word<std::uint64_t> word, WordValue<std::uint64_t> value,
                   Where where = Where::current()) const;

  static constexpr const char *kNoun = "stream";
  static constexpr detail::NamedCall kDestroy{"cuStreamDestroy", &Driver::cuStreamDestroy};
  static constexpr detail::NamedCall kQuery{"cuStreamQuery", &Driver::cuStreamQuery};
  static constexpr detail::NamedCall kSynchronize{"cuStreamSynchronize", &Driver::cuStreamSynchronize};
  // Returns the text of a handle that stands for a default stream, else null.
  static const char *name_of(CUstream handle) noexcept {
    if (handle == nullptr) return "the default stream";
    if (handle == CU_STREAM_LEGACY) return "the legacy default stream";
    return handle == CU_STREAM_PER_THREAD ? "the per-thread default stream" : nullptr;
  }

 protected:
  StreamCalls() = default;
  StreamCalls(const StreamCalls &) = default;
  StreamCalls &operator=(const StreamCalls &) = default;
};

template <class Self>
void StreamCalls<Self>::copy_attributes(const StreamRef &from, Where where) const {
  detail::require(from, "cuStreamCopyAttributes", where);
  detail::check(this->driver().cuStreamCopyAttributes(this->handle(), from.handle()),
                "cuStreamCopyAttributes", where, this->self(), from);
}

// Returns the null stream: the legacy or the per-thread default stream, as chosen by this file
// (cushim/default_stream.hpp). No driver call.
inline StreamRef default_stream(Driver &driver = cushim::driver()) noexcept {
  return StreamRef::from_handle(nullptr, driver);
}
// Returns the default stream that all threads share, regardless of this file's choice.
inline StreamRef legacy_stream(Driver &driver = cushim::driver()) noexcept {
  return StreamRef::from_handle(CU_STREAM_LEGACY, driver);
}
// Returns the calling thread's default stream, regardless of this file's choice.
inline StreamRef per_thread_stream(Driver &driver = cushim::driver()) noexcept {
  return StreamRef::from_handle(CU_STREAM_PER_THREAD, driver);
}

// Owns a stream. The destructor does not wait; work in the stream continues.
class Stream : public detail::Owner<Stream, StreamRef, StreamCalls> {
 public:
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

  // Creates a stream in a device's primary context, which the stream retains until it is destroyed. Driver
  // calls: cuDevicePrimaryCtxRetain, push, as above, pop; at the end also cuDevicePrimaryCtxRelease.
  static Stream create(Device device, StreamOptions options = {}, Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(options, device.driver(), where); });
  }

  // Takes ownership of an existing stream. Throws INVALID_HANDLE for a default stream, which has no owner. No
  // driver call.
  static Stream adopt(CUstream handle, Driver &driver = cushim::driver(), Where where = Where::current()) {
    if (name_of(handle) != nullptr)
      detail::fail(CUDA_ERROR_INVALID_HANDLE, kDestroy.name, where, StreamRef::from_handle(handle, driver),
                   detail::Remark{"a default stream cannot be owned"});
    return Stream(handle, driver, 0);
  }

 private:
  using Owner::Owner;
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
    call.release();  // the driver's call deletes it
    return;
  }
  Call *const owned = call.get();
  const CUuserObject owner = detail::give_to_graph(std::move(call), graph, stream, where);
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
  callback.release();  // the driver's call deletes it
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace detail
}  // namespace v1
}  // namespace cushim

// Included here for the definitions of the members above.
#include <cushim/event.hpp>
#include <cushim/memop.hpp>
