/* SPDX-License-Identifier: Apache-2.0 */
/* The text of diagnoses: what happened, what was tried, how to fix it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

const char *cushim_device_folder = "/dev";

const char *cushim_diagnosis_name(CushimDiagnosisId id) {
  switch (id) {
#define CUSHIM_DIAGNOSIS(enumerator, name) \
  case enumerator:                         \
    return name;
    CUSHIM_DIAGNOSES(CUSHIM_DIAGNOSIS)
#undef CUSHIM_DIAGNOSIS
  }
  return "unknown";
}

const char *cushim_result_name(CUresult code) {
  switch ((int)code) {
#define CUSHIM_RESULT(value, name) \
  case value:                      \
    return #name;
#include <cushim/results.inc>
    default:
      return "unknown code";
  }
}

/* Does not clear the whole struct: most of its pages are never read. */
void cushim_reset(CushimDiagnosis *diagnosis) {
  diagnosis->id = CUSHIM_OK;
  diagnosis->code = CUDA_SUCCESS;
  diagnosis->driver_version = 0;
  diagnosis->attempt_count = 0;
  diagnosis->what[0] = '\0';
  diagnosis->advice[0] = '\0';
}

void cushim_note_attempt(CushimDiagnosis *diagnosis, CushimDiagnosisId outcome, const char *place,
                         const char *library, const char *detail) {
  /* When the array is full, the newest attempt replaces the last one: it may be the accepted one. */
  if (diagnosis->attempt_count == CUSHIM_MAX_ATTEMPTS) --diagnosis->attempt_count;
  CushimAttempt *attempt = &diagnosis->attempts[diagnosis->attempt_count++];
  attempt->outcome = outcome;
  cushim_copy_text(attempt->place, sizeof attempt->place, place);
  cushim_copy_text(attempt->library, sizeof attempt->library, library);
  cushim_copy_text(attempt->detail, sizeof attempt->detail, detail);
}

__attribute__((format(printf, 4, 5))) static void conclude(CushimDiagnosis *diagnosis, CushimDiagnosisId id,
                                                           const char *advice, const char *what, ...) {
  diagnosis->id = id;
  snprintf(diagnosis->advice, sizeof diagnosis->advice, "%s", advice);
  va_list arguments;
  va_start(arguments, what);
  vsnprintf(diagnosis->what, sizeof diagnosis->what, what, arguments);
  va_end(arguments);
}

/* ---- No candidate was accepted ----------------------------------------------------------------*/

/* Returns the most informative attempt: the first that found a file, otherwise the first. */
static const CushimAttempt *telling_attempt(const CushimDiagnosis *diagnosis) {
  for (int i = 0; i < diagnosis->attempt_count; ++i)
    if (diagnosis->attempts[i].outcome != CUSHIM_NO_DRIVER) return &diagnosis->attempts[i];
  return &diagnosis->attempts[0];
}

void cushim_conclude_search(CushimDiagnosis *diagnosis) {
  const CushimAttempt *attempt = telling_attempt(diagnosis);
  const char *library = attempt->library;
  const bool by_name = strcmp(attempt->place, "CUSHIM_LIBRARY") == 0;
  const bool given = by_name || strcmp(attempt->place, "given") == 0;
  diagnosis->code = CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
  switch (attempt->outcome) {
    case CUSHIM_DRIVER_DISABLED:
      conclude(diagnosis, CUSHIM_DRIVER_DISABLED,
               by_name ? "Unset CUSHIM_LIBRARY to use the installed driver."
                       : "Give another library to use a driver.",
               by_name ? "CUSHIM_LIBRARY=none switches the driver off"
                       : "the library given is \"none\": the driver is switched off");
      break;
    case CUSHIM_RELATIVE_PATH:
      conclude(diagnosis, CUSHIM_RELATIVE_PATH,
               given ? "Give an absolute path, or a library name without a slash."
                     : "Take empty and relative folders off LD_LIBRARY_PATH.",
               "%s is a relative path, which would mean another file in another directory", library);
      break;
    case CUSHIM_STUB_LIBRARY:
      conclude(diagnosis, CUSHIM_STUB_LIBRARY,
               given ? "Name the NVIDIA driver's own libcuda.so.1 instead."
                     : "Take the toolkit's stubs folder off the library search path, and install the NVIDIA "
                       "driver if there is none.",
               "%s is the CUDA toolkit's link stub, not a driver", library);
      break;
    case CUSHIM_WRONG_ARCHITECTURE:
      conclude(diagnosis, CUSHIM_WRONG_ARCHITECTURE,
               "Install the driver's libraries for this program's architecture.",
               "%s is for another architecture", library);
      break;
    case CUSHIM_NOT_A_LIBRARY:
      conclude(diagnosis, CUSHIM_NOT_A_LIBRARY,
               "Remove it or reinstall the driver, and look for a broken copy or an unfinished download.",
               "%s is not a usable shared library", library);
      break;
    case CUSHIM_NOT_A_DRIVER:
      conclude(diagnosis, CUSHIM_NOT_A_DRIVER,
               "Name the NVIDIA driver's own libcuda.so.1, or take this library off the search path.",
               "%s is not an NVIDIA driver", library);
      break;
    case CUSHIM_NOT_LOADABLE:
      conclude(
          diagnosis, CUSHIM_NOT_LOADABLE,
          "See the message in brackets: a library that the driver needs is missing, or a file may not be "
          "read.",
          "%s exists but cannot be loaded", library);
      break;
    default:
      conclude(diagnosis, CUSHIM_NO_DRIVER,
               by_name ? "Correct CUSHIM_LIBRARY, or unset it to use the installed driver."
               : given ? "Give the path of an existing library."
                       : "Install the NVIDIA driver, or start the container with --gpus all.",
               "%s not found", library);
      break;
  }
}

void cushim_conclude_too_old(CushimDiagnosis *diagnosis, int version, int at_least) {
  diagnosis->code = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  conclude(diagnosis, CUSHIM_DRIVER_TOO_OLD,
           "Update the NVIDIA driver, or install the cuda-compat package of the newer release.",
           "the driver serves CUDA %d.%d, but CUDA %d.%d is needed", version / 1000, version % 1000 / 10,
           at_least / 1000, at_least % 1000 / 10);
}

/* ---- The driver returned a code ---------------------------------------------------------------*/

/* The state of the driver's device nodes that explains why there is no device. */
typedef struct Nodes {
  bool has_gpu;
  char closed[300]; /* a node that this process may not open; empty if none */
} Nodes;

static Nodes look_at_nodes(void) {
  Nodes nodes = {false, ""};
  DIR *folder = opendir(cushim_device_folder);
  if (folder == NULL) return nodes;
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    const bool is_wsl = strcmp(entry->d_name, "dxg") == 0;
    if (strncmp(entry->d_name, "nvidia", 6) != 0 && !is_wsl) continue;
    const char *rest = is_wsl ? "" : entry->d_name + 6;
    const bool is_gpu = is_wsl || (*rest != '\0' && rest[strspn(rest, "0123456789")] == '\0');
    if (!is_gpu && strcmp(rest, "ctl") != 0 && strcmp(rest, "-uvm") != 0) continue;
    nodes.has_gpu = nodes.has_gpu || is_gpu;
    char path[sizeof nodes.closed];
    snprintf(path, sizeof path, "%s/%s", cushim_device_folder, entry->d_name);
    if (access(path, R_OK | W_OK) != 0 && (errno == EACCES || errno == EPERM))
      memcpy(nodes.closed, path, sizeof path);
  }
  closedir(folder);
  return nodes;
}

static void conclude_no_permission(CushimDiagnosis *diagnosis, const Nodes *nodes) {
  conclude(diagnosis, CUSHIM_NO_PERMISSION,
           "Give this user access to the NVIDIA device nodes (group video or render, or the container's "
           "device rules).",
           "%s may not be opened by this user", nodes->closed);
}

static void explain_no_device(CushimDiagnosis *diagnosis) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  const bool hides_all = visible != NULL && (visible[0] == '\0' || visible[0] == '-');
  const Nodes nodes = look_at_nodes();
  if (!hides_all && nodes.closed[0] != '\0')
    conclude_no_permission(diagnosis, &nodes);
  else if (hides_all || (visible != NULL && nodes.has_gpu))
    conclude(diagnosis, CUSHIM_DEVICE_HIDDEN,
             "Unset CUDA_VISIBLE_DEVICES, or name devices that exist (nvidia-smi -L lists them).",
             "CUDA_VISIBLE_DEVICES=\"%s\" leaves no device", visible);
  else
    conclude(diagnosis, CUSHIM_NO_DEVICE,
             "Check that a GPU is installed and that nvidia-smi lists it; in a container, that it was "
             "started with --gpus.",
             "the driver is installed but finds no GPU");
}

void cushim_explain(CushimDriver *driver, CUresult code, CushimDiagnosis *diagnosis) {
  if (cushim_driver_lookup(driver) == CUSHIM_LOOKUP_NONE) {
    cushim_lock();
    *diagnosis = driver->state->failure;
    cushim_unlock();
    if (diagnosis->id == CUSHIM_OK)
      conclude(diagnosis, CUSHIM_NO_DRIVER, "Call load() first.", "no driver was opened yet");
    diagnosis->code = code;
    return;
  }
  cushim_reset(diagnosis);
  diagnosis->code = code;
  diagnosis->driver_version = cushim_driver_version(driver);
  switch ((int)code) {
    case CUDA_SUCCESS:
      conclude(diagnosis, CUSHIM_OK, "", "nothing is wrong");
      break;
    case CUDA_ERROR_NO_DEVICE:
      explain_no_device(diagnosis);
      break;
    case CUDA_ERROR_STUB_LIBRARY:
      conclude(diagnosis, CUSHIM_STUB_LIBRARY, "Take the toolkit's stubs folder off the library search path.",
               "%s is the CUDA toolkit's link stub, not a driver", driver->state->name);
      break;
    case CUDA_ERROR_SYSTEM_NOT_READY:
      conclude(diagnosis, CUSHIM_FABRIC_MANAGER,
               "Start nvidia-fabricmanager of the same version as the driver, and wait until nvidia-smi -q "
               "shows the fabric's state as completed.",
               "the driver says that the system is not ready (802): the fabric manager is not running");
      break;
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      conclude(diagnosis, CUSHIM_KERNEL_MISMATCH,
               "Reboot or reload the nvidia kernel modules after a driver update; in a container, use the "
               "host's libcuda.",
               "%s and the loaded kernel module are of different versions (803)", driver->state->name);
      break;
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      conclude(diagnosis, CUSHIM_COMPAT_UNSUPPORTED,
               "Take the cuda-compat folder off the library search path, or update the driver itself.",
               "%s is a forward-compatibility library, which this GPU does not support (804)",
               driver->state->name);
      break;
    case CUDA_ERROR_NOT_INITIALIZED:
      if (getpid() != driver->state->opened_by)
        conclude(diagnosis, CUSHIM_FORKED,
                 "Start the child with exec (multiprocessing's spawn method), or fork before the first use "
                 "of the driver.",
                 "this process was forked from one that had opened the driver, which does not survive that");
      else
        conclude(diagnosis, CUSHIM_INIT_FAILED, "Call cuInit(0) before any other call.",
                 "the driver was not initialized (3)");
      break;
    case CUDA_ERROR_DEINITIALIZED:
      conclude(diagnosis, CUSHIM_TORN_DOWN,
               "Release what uses the driver before main returns, or ignore this error at exit.",
               "the driver has shut down because the process is ending");
      break;
    case CUDA_ERROR_UNKNOWN:
    case CUDA_ERROR_OPERATING_SYSTEM: {
      const Nodes nodes = look_at_nodes();
      if (nodes.closed[0] != '\0')
        conclude_no_permission(diagnosis, &nodes);
      else
        conclude(diagnosis, CUSHIM_UNKNOWN,
                 "See the kernel log (dmesg | grep -i nvrm). Usual causes: the GPU fell off the bus, "
                 "nvidia-uvm is not loaded, or the machine was suspended.",
                 "the driver failed without saying why (%d, %s)", (int)code, cushim_result_name(code));
      break;
    }
    default:
      conclude(diagnosis, CUSHIM_INIT_FAILED, "cushim explain says what the code means.",
               "the driver returned %d, %s", (int)code, cushim_result_name(code));
      break;
  }
}

/* ---- Diagnosis text ---------------------------------------------------------------------------*/

/* A bounded text buffer. Like snprintf, counts the full length even if the text is truncated. */
typedef struct Line {
  char *text;
  size_t capacity;
  size_t length;
} Line;

__attribute__((format(printf, 2, 3))) static void append(Line *line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t at = line->length < line->capacity ? line->length : line->capacity;
  const int more =
      vsnprintf(line->capacity > at ? line->text + at : NULL, line->capacity - at, format, arguments);
  va_end(arguments);
  if (more > 0) line->length += (size_t)more;
}

static void append_attempt(Line *line, const CushimAttempt *attempt) {
  append(line, "%s: ", attempt->place);
  if (attempt->outcome == CUSHIM_OK)
    append(line, "%s", attempt->library);
  else if (attempt->detail[0] == '\0')
    append(line, attempt->outcome == CUSHIM_DRIVER_DISABLED ? "none" : "absent");
  else if (strncmp(attempt->detail, attempt->library, strlen(attempt->library)) == 0)
    append(line, "%s", attempt->detail);
  else
    append(line, "%s %s", attempt->library, attempt->detail);
}

size_t cushim_diagnosis_text(const CushimDiagnosis *diagnosis, char *text, size_t capacity) {
  Line line = {text, capacity, 0};
  append(&line, "cushim[%s]: %s", cushim_diagnosis_name(diagnosis->id),
         diagnosis->id == CUSHIM_OK && diagnosis->what[0] == '\0' ? "the driver is usable" : diagnosis->what);
  for (int i = 0; i < diagnosis->attempt_count; ++i) {
    append(&line, i == 0 ? " (" : "; ");
    append_attempt(&line, &diagnosis->attempts[i]);
  }
  append(&line, diagnosis->attempt_count > 0 ? ")." : ".");
  if (diagnosis->advice[0] != '\0') append(&line, " %s", diagnosis->advice);
  return line.length;
}
