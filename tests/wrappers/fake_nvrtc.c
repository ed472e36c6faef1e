/* SPDX-License-Identifier: Apache-2.0 */
/* A library with the functions of NVRTC that cushim uses. Its "PTX" lists the arguments of the compilation.
 * A source with "#error" does not compile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct OpaqueProgram {
  char ptx[1024];
  int fails;
};
typedef struct OpaqueProgram *Program;

static void add(Program program, const char *what, const char *value) {
  const size_t used = strlen(program->ptx);
  snprintf(program->ptx + used, sizeof program->ptx - used, "%s %s\n", what, value);
}

int fake_live_programs;

const char *nvrtcGetErrorString(int result) {
  return result == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}
int nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 1;
  return 0;
}
int nvrtcGetNumSupportedArchs(int *count) {
  *count = 3;
  return 0;
}
int nvrtcGetSupportedArchs(int *all) {
  all[0] = 75;
  all[1] = 90;
  all[2] = 80;
  return 0;
}
int nvrtcCreateProgram(Program *out, const char *source, const char *name, int count,
                       const char *const *texts, const char *const *names) {
  if (source[0] == '\0') return 3;
  *out = calloc(1, sizeof **out);
  (*out)->fails = strstr(source, "#error") != NULL;
  add(*out, "program", name);
  for (int i = 0; i < count; ++i) {
    add(*out, "header", names[i]);
    add(*out, "text", texts[i]);
  }
  ++fake_live_programs;
  return 0;
}
int nvrtcDestroyProgram(Program *program) {
  free(*program);
  *program = NULL;
  --fake_live_programs;
  return 0;
}
int nvrtcAddNameExpression(Program program, const char *name) {
  add(program, "expression", name);
  return 0;
}
int nvrtcCompileProgram(Program program, int count, const char *const *options) {
  for (int i = 0; i < count; ++i) add(program, "option", options[i]);
  return program->fails ? 6 : 0;
}
static const char *log_of(Program program) { return program->fails ? "program.cu(1): error" : "a warning"; }
int nvrtcGetProgramLogSize(Program program, size_t *size) {
  *size = strlen(log_of(program)) + 1;
  return 0;
}
int nvrtcGetProgramLog(Program program, char *log) {
  strcpy(log, log_of(program));
  return 0;
}
int nvrtcGetPTXSize(Program program, size_t *size) {
  *size = strlen(program->ptx) + 1;
  return 0;
}
int nvrtcGetPTX(Program program, char *ptx) {
  strcpy(ptx, program->ptx);
  return 0;
}
int nvrtcGetLoweredName(Program program, const char *name, const char **lowered) {
  (void)program;
  *lowered = strcmp(name, "scale<float>") == 0 ? "_Z5scaleIfEvv" : "other";
  return 0;
}
