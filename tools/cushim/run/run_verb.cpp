// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "run/run.hpp"

namespace cushim::command {

Verb add_run(CLI::App &app) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App *verb =
      app.add_subcommand("run",
                         "Run a program on the SIMULATED driver, or with cushim between it and the real one: "
                         "cushim run -- PROGRAM ARGS...");
  verb->add_option(
      "--driver", options->driver,
      "The driver that receives the calls: sim, the simulated one; real, the installed one; or the "
      "path of a libcuda.so.1. Checkers, faults, trace and report work with each. Default: sim.");
  verb->add_option("--devices", options->devices,
                   "Simulated devices: h200, h200x2, mine.json (see cushim profiles). Default: h200.");
  verb->add_option("--driver-version", options->driver_version,
                   "CUDA version of the simulated driver: 11.8, 12.4. It has no entry points of later "
                   "versions. Default: the version in the device profile.");
  verb->add_option(
      "--schedule", options->schedule,
      "When asynchronous work runs: background, eager, deferred or seeded. Default: background.");
  verb->add_option("--seed", options->seed, "Seed for --schedule seeded. Default: 1.");
  verb->add_option(
      "--faults", options->faults,
      "Rules for calls that fail: cuMemAlloc:3=OUT_OF_MEMORY, cuEvent*:p0.01@seed7=LAUNCH_FAILED, "
      "memory:2GiB, device0:lost@1.5ms. Separate rules by ; or pass @FILE. See docs/guide/faults.md. "
      "Default: no faults.");
  verb->add_option("--report", options->report,
                   "Write a report of each process to this file (%p is replaced by the process id), or to "
                   "stderr. Default: no report.");
  verb->add_option(
      "--ptx-store", options->ptx_store,
      "Folder that keeps the PTX of cubins which NVRTC, nvJitLink, nvcc and ptxas make while the "
      "program runs; none keeps none. Default: CUSHIM_PTX_STORE, else cushim/ptx in "
      "XDG_CACHE_HOME or ~/.cache.");
  verb->add_option("--kernels", options->kernels,
                   "Libraries, separated by colons, that register kernels in C to run instead of PTX or "
                   "machine code (cushim/sim/kernels.h). Default: none.");
  verb->add_flag(
      "--skip-kernels", options->skips_kernels,
      "Launches of kernels without PTX that are not registered do nothing, and the report says so. "
      "Default: loading their cubin fails.");
  verb->add_option(
          "--kernel-times", options->kernel_times,
          "Virtual time of kernels that run as PTX: fixed, 2 us each; or model, by what they do. See "
          "docs/guide/kernel_time.md. Default: fixed.")
      ->check(CLI::IsMember({"fixed", "model"}));
  verb->add_option("--kernel-limit", options->kernel_limit,
                   "End the launch of a PTX kernel with CUDA_ERROR_LAUNCH_TIMEOUT (702) when its warps have "
                   "executed this number of instructions together. Default: no limit.");
  verb->add_flag(
      "--profile-kernels{stderr}", options->profile_kernels,
      "Count what each instruction of the kernels does that run as PTX, and print a summary of each "
      "process on stderr: instructions, active lanes, bytes, sectors, bank conflicts, branches. "
      "--profile-kernels=FILE.html also writes the listing of each kernel with its counts as a page, "
      "=FILE.json as JSON (%p is replaced by the process id, or .PID is inserted). See "
      "docs/guide/kernel_profile.md. Default: not counted.");
  verb->add_option(
      "--check", options->check,
      "Checkers to enable, separated by commas. Of driver calls: leaks, misuse, hazards, deadlock; "
      "inside kernels: memory, races, init, barriers. See docs/guide/checkers.md. Default: none.");
#ifdef CUSHIM_WITH_TRACE
  verb->add_option(
      "--trace", options->trace,
      "Write a trace of all driver calls of each process to this file (%p is replaced by the process id): "
      "FILE.txt as text, FILE.jsonl as JSON lines, FILE.json as a timeline for Perfetto, FILE.html as a "
      "page, FILE.trace as a "
      "recording for cushim trace. See docs/guide/trace.md. Default: no trace.");
  verb->add_flag("--trace-call-stacks", options->traces_call_stacks,
                 "Record the call stack of each call in the trace, for --trace and --summary. Default: not "
                 "recorded.");
  verb->add_flag(
      "--gpu-times", options->measures_gpu_times,
      "Measure how long the work of each call takes on the GPU, by events that are recorded around it, for "
      "--trace and --summary. With --driver real or a path. Default: not measured.");
  verb->add_option(
      "--record", options->record,
      "Record all driver calls of each process, with the data that their replay needs, in this file (%p is "
      "replaced by the process id, or .PID is appended) for cushim replay. See docs/guide/replay.md. "
      "Default: no recording.");
  verb->add_option("--record-data", options->record_data,
                   "What a recording keeps of copies from and to host memory and of images of modules: none, "
                   "hashes (to compare), or full (to replay). Default: full.")
      ->check(CLI::IsMember({"none", "hashes", "full"}));
  verb->add_flag(
      "--summary", options->has_summary,
      "Print a summary of each process on stderr: calls and their time, copies, memory, streams, advice.");
#endif
  verb->add_option("--error-exitcode", options->error_exit,
                   "Exit with this code if a process has findings: objects that were not freed, calls that "
                   "are not implemented, or findings of checkers. Default: the exit code of the program.")
      ->check(CLI::Range(1, 255));
  verb->add_flag("--require-driver", options->requires_driver,
                 "Exit with code 3 and print the reason if no process opens cushim's libcuda.so.1.");
  verb->add_option("--library", options->library,
                   "Directory of cushim's libcuda.so.1. Default: the one installed with this command.");
  verb->add_option("PROGRAM", options->program, "The program and its arguments.")->required();
  verb->positionals_at_end();
  verb->footer(
      "The options set variables of cushim's libcuda.so.1: CUSHIM_DRIVER, CUSHIM_DEVICES, "
      "CUSHIM_DRIVER_VERSION, "
      "CUSHIM_SCHEDULE, CUSHIM_SEED, CUSHIM_FAULTS, CUSHIM_REPORT, CUSHIM_CHECK, CUSHIM_RECORD, "
      "CUSHIM_RECORD_DATA, CUSHIM_KERNELS, CUSHIM_SKIP_KERNELS, CUSHIM_PTX_STORE, CUSHIM_PROFILE_KERNELS, "
      "CUSHIM_KERNEL_TIMES, CUSHIM_KERNEL_LIMIT. Without an option, its variable keeps its value.");
  return {verb, [options] { return print(run(*options), false); }};
}

}  // namespace cushim::command
