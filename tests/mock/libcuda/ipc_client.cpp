// SPDX-License-Identifier: Apache-2.0
// Two programs that do not use cushim and share memory and an event.
//   export COMMAND...   writes a number to memory, and runs the command with the handles as its last
//     arguments
//   import HANDLES      prints the results of opening the handles, and the number
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

static void *library;

#define QUOTED_(name) #name
#define QUOTED(name) QUOTED_(name)
// Uses the symbol that the header's macro gives for the name.
#define CALL(name, ...) reinterpret_cast<decltype(&name)>(dlsym(library, QUOTED(name)))(__VA_ARGS__)
#define NEED(name, ...) need(CALL(name, __VA_ARGS__), QUOTED(name))

static void need(CUresult result, const char *call) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s answered %d\n", call, static_cast<int>(result));
  std::exit(1);
}

struct Handles {
  CUipcMemHandle memory;
  CUipcEventHandle event;
};

static std::string to_text(const Handles &handles) {
  unsigned char bytes[sizeof handles];
  std::memcpy(bytes, &handles, sizeof bytes);
  std::string words;
  for (const unsigned char byte : bytes)
    words += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return words;
}

static Handles from_words(const std::string &words) {
  unsigned char bytes[sizeof(Handles)] = {};
  for (std::size_t i = 0; i < sizeof bytes && 2 * i < words.size(); ++i)
    bytes[i] = static_cast<unsigned char>(std::stoi(words.substr(2 * i, 2), nullptr, 16));
  Handles handles;
  std::memcpy(&handles, bytes, sizeof handles);
  return handles;
}

static int export_to(std::vector<char *> command) {
  const int number = 42;
  Handles handles;
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
  NEED(cuMemAlloc, &memory, sizeof number);
  NEED(cuMemcpyHtoD, memory, &number, sizeof number);
  NEED(cuEventCreate, &event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  NEED(cuIpcGetMemHandle, &handles.memory, memory);
  NEED(cuIpcGetEventHandle, &handles.event, event);
  std::string words = to_text(handles);
  command.push_back(words.data());
  command.push_back(nullptr);
  const pid_t importer = fork();
  if (importer == 0) {
    execvp(command[0], command.data());
    std::printf("%s cannot be started\n", command[0]);
    _exit(127);
  }
  int status = 0;
  waitpid(importer, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int import(const char *words) {
  const Handles handles = from_words(words);
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
  int number = 0;
  const CUresult memory_code = CALL(cuIpcOpenMemHandle, &memory, handles.memory, 1);
  const CUresult event_code = CALL(cuIpcOpenEventHandle, &event, handles.event);
  if (memory_code == CUDA_SUCCESS) NEED(cuMemcpyDtoH, &number, memory, sizeof number);
  if (event_code == CUDA_SUCCESS) NEED(cuEventSynchronize, event);
  std::printf("memory %d, event %d, number %d\n", static_cast<int>(memory_code), static_cast<int>(event_code),
              number);
  return 0;
}

int main(int count, char **words) {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr || count < 3)
    return std::printf("%s\n", library == nullptr ? dlerror() : "usage"), 1;
  CUcontext context = nullptr;
  NEED(cuInit, 0);
  NEED(cuDevicePrimaryCtxRetain, &context, 0);
  NEED(cuCtxSetCurrent, context);
  if (std::strcmp(words[1], "import") == 0) return import(words[2]);
  return export_to(std::vector<char *>(words + 2, words + count));
}
