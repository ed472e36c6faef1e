// SPDX-License-Identifier: Apache-2.0
// Makes the calls of a recording again and reports differences.
#include <fmt/format.h>
#include <cushim/replay/player.hpp>
#include <cushim/replay/recording.hpp>
#ifdef CUSHIM_WITH_SIM
#include <cushim/sim/machine.hpp>
#endif

#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "common/text.hpp"
#include "replay/replay.hpp"

namespace cushim::command {
namespace {

ReplayOutcome failure(Exit exit, const std::string &what) {
  return {{exit, fmt::format("cushim replay: {}\n", printable(what)), Json{{"error", what}}}};
}

Json json_of(const replay::Recording &recording, const replay::Difference &difference) {
  const replay::RecordedCall &call = recording.calls()[difference.call];
  return {{"call", difference.call},         {"symbol", cushim_entry(call.slot)->symbol},
          {"thread", call.thread},           {"what", difference.what},
          {"recorded", difference.recorded}, {"replayed", difference.replayed}};
}

std::string text_of(const replay::Recording &recording, const replay::Report &report) {
  std::string text = fmt::format("replayed {} of {} calls\n", report.replayed, recording.calls().size());
  if (!recording.is_complete())
    text += "the recording is not complete: the process did not end normally, or still runs\n";
  for (const replay::NotReplayed &one : report.not_replayed)
    text += fmt::format("not replayed: {} x {}: {}\n", one.count, one.symbol, printable(one.reason));
  for (const replay::NotReplayed &one : report.partly_replayed)
    text += fmt::format("partly replayed: {} x {}: {}\n", one.count, one.symbol, one.reason);
  if (report.stuck)
    text += fmt::format("call {} did not return: {}\n", *report.stuck,
                        cushim_entry(recording.calls()[*report.stuck].slot)->symbol);
  if (report.differences.empty()) return text + "no difference\n";
  const replay::Difference &first = report.differences.front();
  const replay::RecordedCall &call = recording.calls()[first.call];
  text += fmt::format("first difference: call {}, thread {}: {}: {}: recorded {}, replayed {}\n", first.call,
                      call.thread, cushim_entry(call.slot)->symbol, first.what, printable(first.recorded),
                      printable(first.replayed));
  return text + fmt::format("calls with a difference: {}\n", report.differences.size());
}

ReplayOutcome outcome_of(const replay::Recording &recording, const replay::Report &report) {
  Json json{{"calls", recording.calls().size()}, {"complete", recording.is_complete()},
            {"replayed", report.replayed},       {"not_replayed", Json::array()},
            {"partly_replayed", Json::array()},  {"differences", Json::array()}};
  for (const replay::NotReplayed &one : report.not_replayed)
    json["not_replayed"].push_back({{"symbol", one.symbol}, {"reason", one.reason}, {"count", one.count}});
  for (const replay::NotReplayed &one : report.partly_replayed)
    json["partly_replayed"].push_back({{"symbol", one.symbol}, {"reason", one.reason}, {"count", one.count}});
  for (const replay::Difference &one : report.differences)
    json["differences"].push_back(json_of(recording, one));
  if (report.stuck) json["stuck"] = *report.stuck;
  const bool is_equal = report.differences.empty() && report.not_replayed.empty() && !report.stuck;
  return {{is_equal ? Exit::good : Exit::finding, text_of(recording, report), std::move(json)},
          report.stuck.has_value()};
}

}  // namespace

ReplayOutcome replay(const ReplayOptions &options) {
  try {
    const auto recording = replay::Recording::read(options.recording);
    const replay::PlayOptions play{.ignored = options.ignored, .patience = options.patience};
    if (options.driver == "sim") {
#ifdef CUSHIM_WITH_SIM
      // Never destroyed: a call may not return.
      static auto *const machine =
          new sim::Machine(sim::options_from_environment({.schedule = sim::Schedule::background}));
      return outcome_of(recording, replay::play(recording, machine->driver(), play));
#else
      return failure(Exit::usage, "this command was built without the simulated driver");
#endif
    }
    // The loader wants an absolute path, or a name without a slash.
    const bool is_path = options.driver.find('/') != std::string::npos;
    const std::string library = is_path ? std::filesystem::absolute(options.driver).string() : options.driver;
    const Loaded loaded = library == "real" ? Driver::load() : Driver::load({.library = library.c_str()});
    if (!loaded) return failure(Exit::no_driver, loaded.diagnosis.text());
    return outcome_of(recording, replay::play(recording, *loaded, play));
  } catch (const replay::RecordingError &error) {
    return failure(Exit::usage, options.recording + ": " + error.what());
  } catch (const std::exception &error) {
    return failure(Exit::usage, error.what());
  }
}

}  // namespace cushim::command
