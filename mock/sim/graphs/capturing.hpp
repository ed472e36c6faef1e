// SPDX-License-Identifier: Apache-2.0
// The rules of stream capture.
#pragma once

#include "commands/command.hpp"
#include "graphs/capture.hpp"
#include "graphs/graph.hpp"
#include "machine/system.hpp"

namespace cushim::sim {

struct Call;

// Adds a node to the graph that a stream captures into. STREAM_CAPTURE_INVALIDATED if the capture is invalid.
GraphNode &capture(Call &call, Stream &stream, Command command, CUcontext context);

// Returns whether a capture adds to the graph.
bool is_captured_into(const System &system, CUgraph graph);
// Returns whether the capture has not ended.
bool is_active(const System &system, const Capture &capture);

// Makes a stream take part in the valid capture of an event that it waits for. STREAM_CAPTURE_MERGE if the
// stream is in another capture, which invalidates both; STREAM_CAPTURE_IMPLICIT if it is the legacy stream,
// which invalidates the capture.
void join_capture(Stream &stream, const CapturePoint &point);

// Removes all but the first of equal nodes. join_capture() may add a node twice.
void remove_duplicates(CapturePoint &point);

// Ends the capture of all its streams. Returns its graph; null, and destroys the graph, if the capture is
// invalid. A graph that the program has made (cuStreamBeginCaptureToGraph) is destroyed, too.
Graph *end_capture(Call &call, Capture &capture);
// Returns whether other streams of the capture, destroyed ones included, have nodes that the origin does not
// depend on.
bool has_unjoined_work(const System &system, const Capture &capture);

// Invalidates the capture of a stream and throws `code`. For calls that are not allowed in a capturing
// stream.
[[noreturn]] void refuse_in_capture(const Stream &stream,
                                    CUresult code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
// Returns whether a blocking stream of the context captures.
bool has_blocking_capture(const System &system, const Context &context);
// Invalidates the captures of blocking streams of a context and throws STREAM_CAPTURE_IMPLICIT, if there are
// any. For calls that use the legacy stream.
void require_no_blocking_capture(const System &system, const Context &context);
// Invalidates the captures of a context, or of streams of a green context with this handle, and throws
// STREAM_CAPTURE_UNSUPPORTED, if there are any.
void require_no_capture(const System &system, const Context &context, std::uintptr_t green = 0);
// The same for the captures that forbid potentially unsafe calls in the calling thread.
void require_no_strict_capture(Call &call);

// Removes a stream that is destroyed from its capture. Ends the capture and destroys its graph if the stream
// began it. Measured, driver 580.
void leave_capture(System &system, Stream &stream);

}  // namespace cushim::sim
