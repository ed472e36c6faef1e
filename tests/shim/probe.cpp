// SPDX-License-Identifier: Apache-2.0
// A program that tests start: reports how a new process sees its default driver. Its arguments are commands,
// executed in order; each prints one line.
//
//   load | initialize | at-least VERSION   loads, prints the diagnosis
//   call SYMBOL                            calls an entry point through the table with zeros, prints the code
//   every-entry                            calls every entry point with zeros, prints the count of each code
//   explain CODE                           prints the diagnosis of a code
//   why-missing SYMBOL                     prints the reason, or "served"
//   object SYMBOL                          prints the file that contains the function of an entry point
//   name | version | lookup                prints this property of the default driver
//   overlay SYMBOL                         overlays an entry point with a function that returns 77
//   preload PATH                           opens a library with dlopen, without cushim
//   library NAME                           sets CUSHIM_LIBRARY from now on
//   path PATH                              sets LD_LIBRARY_PATH from now on
//   folder FOLDER                          changes the current directory
//   cache FILE                             sets the linker's cache file
//   devices FOLDER                         sets the directory of the device nodes
//   nobody                                 changes the user from root to nobody; no effect for other users
//   first-calls                            makes the first calls in eight threads concurrently
//   load-and-swap                          loads, swaps and calls in several threads concurrently
//   secure                                 prints whether the kernel started this process securely (setuid)
//   leave                                  exits immediately: leak checkers cannot inspect a process whose
//                                          user changed
//   in-child | at-exit | at-the-very-end   executes the remaining commands in a forked child, in an exit
//   handler,
//                                          or after the driver's own destructors
#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cushim/driver.hpp>

#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "support/every_entry.hpp"

extern "C" const char *cushim_device_folder;
extern "C" const char *cushim_linker_cache;

namespace {

using Words = std::vector<std::string>;

void say(const std::string &line) { dprintf(STDOUT_FILENO, "%s\n", line.c_str()); }

int slot_of(const std::string &symbol) {
  const int slot = cushim_find_symbol(symbol.c_str());
  if (slot < 0) say("no such symbol: " + symbol);
  return slot;
}

void say_every_entry() {
  std::map<int, int> count;
  every_entry(cushim::current_driver(), [&](int, const CushimEntryInfo &, int code) { ++count[code]; });
  std::string line;
  for (const auto &[code, times] : count) line += std::to_string(code) + ": " + std::to_string(times) + ";";
  say(line);
}

void say_first_calls() {
  constexpr int kThreads = 8;
  std::barrier start(kThreads);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      // Half of the threads call the same entry point, the others one of their own.
      const CUresult code = i % 2 == 0 ? cushim::driver().cuInit(0)
                                       : static_cast<CUresult>(call_slot(cushim::current_driver(), 40 + i));
      wrong += code != CUDA_SUCCESS;
    });
  for (std::thread &thread : threads) thread.join();
  say("wrong: " + std::to_string(wrong));
}

void (*succeed(void *, const char *))() {
  return reinterpret_cast<void (*)()>(+[] { return 0; });
}

void say_load_and_swap() {
  constexpr int kRounds = 100;
  cushim::Driver &other = cushim::Driver::from_functions("other", 12000, succeed);
  std::barrier start(4);
  std::atomic<int> wrong = 0;
  const auto load = [&] {
    start.arrive_and_wait();
    for (int i = 0; i < kRounds; ++i) wrong += !cushim::load();
  };
  const auto swap = [&] {
    start.arrive_and_wait();
    for (int i = 0; i < kRounds; ++i) {
      const cushim::ScopedDriver scope(other);
      wrong += cushim::driver().cuCtxSynchronize() != CUDA_SUCCESS;
    }
  };
  std::thread first(load), second(load), third(swap), fourth(swap);
  for (std::thread *thread : {&first, &second, &third, &fourth}) thread->join();
  wrong += &cushim::current_driver() != &cushim::Driver::by_default();
  say("wrong: " + std::to_string(wrong));
}

void do_all(Words words);
Words &rest = *new Words;  // never destroyed: used after static destructors

int do_in_child(const Words &words) {
  const pid_t child = fork();
  if (child == 0) {
    do_all(words);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// Makes the library that the driver depends on execute the remaining commands in its destructor.
void do_at_the_very_end(const Words &words) {
  rest = words;
  void *driver = dlopen(cushim_driver_name(cushim_default_driver()), RTLD_NOW | RTLD_NOLOAD);
  const auto hook = driver != nullptr ? static_cast<void (**)()>(dlsym(driver, "fake_epilogue")) : nullptr;
  if (hook == nullptr) return say("the driver needs no epilogue");
  *hook = [] { do_all(rest); };
}

void do_all(Words words) {
  cushim::Driver &driver = cushim::Driver::by_default();
  std::size_t at = 0;
  const auto next = [&]() -> std::string { return at < words.size() ? words[at++] : ""; };
  const auto remaining = [&] { return Words(words.begin() + static_cast<std::ptrdiff_t>(at), words.end()); };
  while (at < words.size()) {
    const std::string word = next();
    if (word == "load") {
      say(cushim::load().diagnosis.text());
    } else if (word == "initialize") {
      say(cushim::load({.initialize = true}).diagnosis.text());
    } else if (word == "at-least") {
      say(cushim::load({.at_least = std::stoi(next())}).diagnosis.text());
    } else if (word == "call") {
      say(std::to_string(call_slot(cushim::current_driver(), slot_of(next()))));
    } else if (word == "every-entry") {
      say_every_entry();
    } else if (word == "explain") {
      say(driver.explain(static_cast<CUresult>(std::stoi(next()))).text());
    } else if (word == "why-missing") {
      const std::string why = driver.why_missing(static_cast<cushim::Entry>(slot_of(next())));
      say(why.empty() ? "served" : why);
    } else if (word == "object") {
      Dl_info info{};
      dladdr(reinterpret_cast<void *>(cushim_own_function(&driver, slot_of(next()))), &info);
      say(info.dli_fname != nullptr ? info.dli_fname : "none");
    } else if (word == "name") {
      say(std::string(driver.name()));
    } else if (word == "version") {
      say(std::to_string(driver.version()));
    } else if (word == "lookup") {
      say(std::to_string(driver.lookup()));
    } else if (word == "overlay") {
      cushim_overlay(&driver, slot_of(next()), reinterpret_cast<void (*)()>(+[] { return 77; }));
    } else if (word == "preload") {
      if (dlopen(next().c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) say(dlerror());
    } else if (word == "library") {
      setenv("CUSHIM_LIBRARY", next().c_str(), 1);
    } else if (word == "path") {
      setenv("LD_LIBRARY_PATH", next().c_str(), 1);
    } else if (word == "folder") {
      if (chdir(next().c_str()) != 0) say("there is no such folder");
    } else if (word == "cache") {
      cushim_linker_cache = strdup(next().c_str());
    } else if (word == "devices") {
      cushim_device_folder = strdup(next().c_str());
    } else if (word == "nobody") {
      if (geteuid() == 0 && setuid(65534) != 0) say("root's rights cannot be given up");
    } else if (word == "first-calls") {
      say_first_calls();
    } else if (word == "load-and-swap") {
      say_load_and_swap();
    } else if (word == "secure") {
      say(getauxval(AT_SECURE) != 0 ? "secure" : "not secure");
    } else if (word == "leave") {
      _exit(0);
    } else if (word == "in-child") {
      const int status = do_in_child(remaining());
      if (status != 0) say("the child ended with status " + std::to_string(status));
      return;
    } else if (word == "at-exit") {
      rest = remaining();
      std::atexit([] { do_all(rest); });
      return;
    } else if (word == "at-the-very-end") {
      return do_at_the_very_end(remaining());
    } else {
      return say("no such command: " + word);
    }
  }
}

}  // namespace

int main(int argc, char **argv) { do_all(Words(argv + 1, argv + argc)); }
