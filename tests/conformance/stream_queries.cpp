// SPDX-License-Identifier: Apache-2.0
// Each query of a stream, with each kind of handle, while the stream's context is current, another one, or
// none.
#include <cushim/exact.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

namespace exact = cushim::exact;

class StreamQueries : public OnDevice {
 public:
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  CUdevice found = -1;
  unsigned long long id = 0;
  cuuint64_t sequence = 0;
};

// A query whose result pointer is valid or null.
struct Query {
  const char *name;
  CUresult (*call)(StreamQueries &t, CUstream stream, bool place);
  CUresult without_place = CUDA_ERROR_INVALID_VALUE;  // CUDA_SUCCESS: the call has no result pointer
};

// Returns the answer of a query without a result.
template <auto entry_of>
CUresult ask(StreamQueries &, CUstream stream, bool) {
  return entry_of(driver())(stream);
}
// Returns the answer of a query that writes to the member of the fixture. `more` follow the result pointer.
template <auto entry_of, auto member, auto... more>
CUresult ask_for(StreamQueries &t, CUstream stream, bool place) {
  return entry_of(driver())(stream, place ? &(t.*member) : nullptr, more...);
}
template <auto entry_of>
CUresult ask_with_sequence(StreamQueries &t, CUstream stream, bool place) {
  return entry_of(driver())(stream, place ? &t.status : nullptr, &t.sequence);
}

using T = StreamQueries;
const Query queries[] = {
    {"cuStreamQuery", ask<exact::cuStreamQuery_v2000>, CUDA_SUCCESS},
    {"cuStreamQuery_ptsz", ask<exact::cuStreamQuery_v7000_ptsz>, CUDA_SUCCESS},
    {"cuStreamSynchronize", ask<exact::cuStreamSynchronize_v2000>, CUDA_SUCCESS},
    {"cuStreamSynchronize_ptsz", ask<exact::cuStreamSynchronize_v7000_ptsz>, CUDA_SUCCESS},
    {"cuStreamGetFlags", ask_for<exact::cuStreamGetFlags_v5050, &T::flags>},
    {"cuStreamGetFlags_ptsz", ask_for<exact::cuStreamGetFlags_v7000_ptsz, &T::flags>},
    {"cuStreamGetPriority", ask_for<exact::cuStreamGetPriority_v5050, &T::number>},
    {"cuStreamGetPriority_ptsz", ask_for<exact::cuStreamGetPriority_v7000_ptsz, &T::number>},
    {"cuStreamGetCtx", ask_for<exact::cuStreamGetCtx_v9020, &T::context_out>},
    {"cuStreamGetCtx_ptsz", ask_for<exact::cuStreamGetCtx_v9020_ptsz, &T::context_out>},
    {"cuStreamGetDevice", ask_for<exact::cuStreamGetDevice_v12080, &T::found>},
    {"cuStreamGetDevice_ptsz", ask_for<exact::cuStreamGetDevice_v12080_ptsz, &T::found>},
    {"cuStreamGetId", ask_for<exact::cuStreamGetId_v12000, &T::id>},
    {"cuStreamGetId_ptsz", ask_for<exact::cuStreamGetId_v12000_ptsz, &T::id>},
    {"cuStreamIsCapturing", ask_for<exact::cuStreamIsCapturing_v10000, &T::status>},
    {"cuStreamIsCapturing_ptsz", ask_for<exact::cuStreamIsCapturing_v10000_ptsz, &T::status>},
    {"cuStreamGetCaptureInfo_of_10010", ask_with_sequence<exact::cuStreamGetCaptureInfo_v10010>},
    {"cuStreamGetCaptureInfo_of_11030",
     ask_for<exact::cuStreamGetCaptureInfo_v11030, &T::status, nullptr, nullptr, nullptr, nullptr>},
    {"cuStreamGetCaptureInfo_of_11030_ptsz",
     ask_for<exact::cuStreamGetCaptureInfo_v11030_ptsz, &T::status, nullptr, nullptr, nullptr, nullptr>},
};

struct Kind {
  const char *name;
  CUstream (*make)(StreamQueries &t);
  bool is_default;
  unsigned flags;
};
const Kind kinds[] = {
    {"a_blocking_stream", [](StreamQueries &t) { return t.stream(CU_STREAM_DEFAULT); }, false, 0},
    {"a_non_blocking_stream", [](StreamQueries &t) { return t.stream(CU_STREAM_NON_BLOCKING); }, false,
     CU_STREAM_NON_BLOCKING},
    {"the_null_stream", [](StreamQueries &) { return CUstream{}; }, true, 0},
    {"the_legacy_stream", [](StreamQueries &) { return legacy(); }, true, 0},
    {"the_per_thread_stream", [](StreamQueries &) { return per_thread(); }, true, 0},
};

// A default stream belongs to the current context, so a query of it needs one.
[[maybe_unused]] const bool queries_added = [] {
  for (const Query &query : queries)
    for (const Kind &kind : kinds) {
      const std::string of = std::string(query.name) + "_of_" + kind.name;
      ADD_TEST(StreamQueries, of, [query, kind](StreamQueries &t) {
        EXPECT_ANSWER(query.call(t, kind.make(t), true), CUDA_SUCCESS);
      });
      ADD_TEST(StreamQueries, of + "_in_another_context", [query, kind](StreamQueries &t) {
        const CUstream asked = kind.make(t);
        NEED(driver().cuCtxPushCurrent(t.other_context()));
        EXPECT_ANSWER(query.call(t, asked, true), CUDA_SUCCESS);
        CUcontext popped = nullptr;
        NEED(driver().cuCtxPopCurrent(&popped));
      });
      ADD_TEST(StreamQueries, of + "_without_a_context", [query, kind](StreamQueries &t) {
        const CUstream asked = kind.make(t);
        NEED(driver().cuCtxSetCurrent(nullptr));
        EXPECT_ANSWER(query.call(t, asked, true),
                      kind.is_default ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS);
      });
      if (query.without_place == CUDA_SUCCESS) continue;
      ADD_TEST(StreamQueries, of + "_needs_a_place", [query, kind](StreamQueries &t) {
        EXPECT_ANSWER(query.call(t, kind.make(t), false), query.without_place);
      });
    }
  return true;
}();

[[maybe_unused]] const bool results_added = [] {
  for (const Kind &kind : kinds)
    ADD_TEST(StreamQueries, std::string("The_results_of_") + kind.name, [kind](StreamQueries &t) {
      const CUstream asked = kind.make(t);
      NEED(driver().cuStreamGetFlags(asked, &t.flags));
      EXPECT_VALUE(t.flags, kind.flags);
      NEED(driver().cuStreamGetPriority(asked, &t.number));
      EXPECT_VALUE(t.number, 0);
      NEED(driver().cuStreamGetCtx(asked, &t.context_out));
      EXPECT_VALUE(t.context_out == t.context, true);
      NEED(exact::cuStreamGetDevice_v12080(driver())(asked, &t.found));
      EXPECT_VALUE(t.found, 0);
      NEED(driver().cuStreamIsCapturing(asked, &t.status));
      EXPECT_VALUE(static_cast<int>(t.status), int(CU_STREAM_CAPTURE_STATUS_NONE));
    });
  return true;
}();

}  // namespace
}  // namespace conformance
