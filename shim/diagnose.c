/* SPDX-License-Identifier: Apache-2.0 */
/* The text of diagnoses: what happened, what was tried, how to fix it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

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

void cushim_add_attempt(CushimDiagnosis *diagnosis, CushimDiagnosisId outcome, const char *source,
                        const char *library, const char *detail) {
  /* When the array is full, the newest attempt replaces the last one: it may be the accepted one. */
  if (diagnosis->attempt_count == CUSHIM_MAX_ATTEMPTS) --diagnosis->attempt_count;
  CushimAttempt *attempt = &diagnosis->attempts[diagnosis->attempt_count++];
  attempt->outcome = outcome;
  cushim_copy_text(attempt->source, sizeof attempt->source, source);
  cushim_copy_text(attempt->library, sizeof attempt->library, library);
  cushim_copy_text(attempt->detail, sizeof attempt->detail, detail);
}

void cushim_conclude(CushimDiagnosis *diagnosis, CushimDiagnosisId id, const char *advice, const char *what,
                     ...) {
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
  const bool by_name = strcmp(attempt->source, "CUSHIM_LIBRARY") == 0;
  const bool given = by_name || strcmp(attempt->source, "given") == 0;
  diagnosis->code = CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
  switch (attempt->outcome) {
    case CUSHIM_DRIVER_DISABLED:
      cushim_conclude(diagnosis, CUSHIM_DRIVER_DISABLED,
                      by_name ? "Unset CUSHIM_LIBRARY to use the installed driver."
                              : "Pass another library name to use a driver.",
                      by_name ? "CUSHIM_LIBRARY=none disables the driver"
                              : "the library name \"none\" disables the driver");
      break;
    case CUSHIM_RELATIVE_PATH:
      cushim_conclude(diagnosis, CUSHIM_RELATIVE_PATH,
                      given ? "Use an absolute path, or a library name without a slash."
                            : "Remove empty and relative directories from LD_LIBRARY_PATH.",
                      "%s is a relative path, which names a different file in each working directory",
                      library);
      break;
    case CUSHIM_STUB_LIBRARY:
      cushim_conclude(
          diagnosis, CUSHIM_STUB_LIBRARY,
          given ? "Use the NVIDIA driver's libcuda.so.1 instead."
                : "Remove the toolkit's stubs directory from the library search path, and install the "
                  "NVIDIA driver if it is missing.",
          "%s is the CUDA toolkit's link stub, not a driver", library);
      break;
    case CUSHIM_WRONG_ARCHITECTURE:
      cushim_conclude(diagnosis, CUSHIM_WRONG_ARCHITECTURE,
                      "Install the driver's libraries for this program's architecture.",
                      "%s is for another architecture", library);
      break;
    case CUSHIM_NOT_A_LIBRARY:
      cushim_conclude(
          diagnosis, CUSHIM_NOT_A_LIBRARY,
          "Remove it or reinstall the driver; check for a truncated copy or an unfinished download.",
          "%s is not a usable shared library", library);
      break;
    case CUSHIM_NOT_A_DRIVER:
      cushim_conclude(diagnosis, CUSHIM_NOT_A_DRIVER,
                      "Use the NVIDIA driver's libcuda.so.1, or remove this library from the search path.",
                      "%s is not an NVIDIA driver", library);
      break;
    case CUSHIM_NOT_LOADABLE:
      cushim_conclude(
          diagnosis, CUSHIM_NOT_LOADABLE,
          "See the message in parentheses: a library that the driver needs is missing, or a file is not "
          "readable.",
          "%s exists but cannot be loaded", library);
      break;
    default:
      cushim_conclude(diagnosis, CUSHIM_NO_DRIVER,
                      by_name ? "Correct CUSHIM_LIBRARY, or unset it to use the installed driver."
                      : given ? "Pass the path of an existing library."
                              : "Install the NVIDIA driver, or start the container with --gpus all.",
                      "%s not found", library);
      break;
  }
}

void cushim_conclude_too_old(CushimDiagnosis *diagnosis, int version, int at_least) {
  diagnosis->code = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  cushim_conclude(diagnosis, CUSHIM_DRIVER_TOO_OLD,
                  "Update the NVIDIA driver, or install the cuda-compat package of the newer release.",
                  "the driver supports CUDA %d.%d, but CUDA %d.%d is required", version / 1000,
                  version % 1000 / 10, at_least / 1000, at_least % 1000 / 10);
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
  append(line, "%s: ", attempt->source);
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
