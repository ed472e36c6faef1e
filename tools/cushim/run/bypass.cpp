// SPDX-License-Identifier: Apache-2.0
#include "run/bypass.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "check/check_facts.hpp"
#include "check/elf_file.hpp"

namespace cushim::command {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> parts(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string find_program(const std::string &program) {
  if (program.find('/') != std::string::npos) return program;
  const char *const path = std::getenv("PATH");
  for (const std::string &folder : parts(path != nullptr ? path : "/bin:/usr/bin", ':'))
    if (std::string file = folder + "/" + program; access(file.c_str(), X_OK) == 0) return file;
  return program;
}

std::string content(const std::string &file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Returns the interpreter after "#!" in a script; empty if the file is not a script.
std::string interpreter_of(const std::string &bytes) {
  if (!bytes.starts_with("#!")) return "";
  std::istringstream line(bytes.substr(2, bytes.find('\n')));
  std::string word;
  line >> word;
  if (fs::path(word).filename() == "env") line >> word;
  return find_program(word);
}

bool is_privileged(const std::string &file) {
  struct stat status = {};
  if (stat(file.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0) return true;
  return getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
}

// Returns the first directory in a list that contains a driver. $ORIGIN is the program's directory.
std::string directory_with_driver(const std::string &list, const std::string &program) {
  for (std::string folder : parts(list, ':')) {
    for (const std::string origin : {"$ORIGIN", "${ORIGIN}"})
      if (const std::size_t at = folder.find(origin); at != std::string::npos)
        folder.replace(at, origin.size(), fs::absolute(program).parent_path().string());
    std::error_code error;
    if (fs::exists(folder + "/libcuda.so.1", error)) return folder;
  }
  return "";
}

std::string directory_text(const std::string &folder) {
  return folder.find("stubs") != std::string::npos ? folder + ", a directory of the toolkit's link stubs"
                                                   : folder;
}

// Returns an absolute path of a driver among the strings of a file.
std::string absolute_path(const ElfFile &file) {
  std::string found;
  for_each_string(file, [&](std::string_view text) {
    const std::size_t name = text.rfind("/libcuda.so");
    if (text.starts_with('/') && name != std::string_view::npos && text.find(' ') == std::string_view::npos)
      found = text;
  });
  return found;
}

std::string reason_in_file(const std::string &program, const std::string &bytes) {
  const ElfFile file = read_elf(bytes);
  const FileFacts facts = inspect(program, bytes);
  if (file.interpreter.empty()) return "it is linked statically, so it ignores LD_LIBRARY_PATH";
  // With a RUNPATH the linker ignores the RPATH, and searches LD_LIBRARY_PATH first.
  if (file.runpath.empty())
    if (const std::string folder = directory_with_driver(file.rpath, program); !folder.empty())
      return "its RPATH is searched before LD_LIBRARY_PATH and contains " + directory_text(folder) +
             "; link it with a RUNPATH instead (-Wl,--enable-new-dtags)";
  for (const std::string &needed : file.needed)
    if (needed.find('/') != std::string::npos && needed.find("libcuda.so") != std::string::npos)
      return "it links " + needed + ", an absolute path";
  if (const std::string path = absolute_path(file); !path.empty())
    return "it contains " + path + ", an absolute path, and probably opens that file";
  if (facts.runtime.is_carried())
    return "it uses NVIDIA's runtime library, which did not open the driver; that library works only with "
           "NVIDIA's driver, on a machine with a GPU";
  if (facts.links_driver || facts.names_library)
    return "it names libcuda.so.1 but did not open it in this run";
  return "its file does not name libcuda.so.1, and the libraries that it loads did not open it";
}

}  // namespace

std::string bypass_reason(const std::string &program) {
  const std::string file = find_program(program);
  if (is_privileged(file))
    return file + " is setuid, setgid or has capabilities, so the dynamic linker ignores LD_LIBRARY_PATH";
  const std::string bytes = content(file);
  if (const std::string interpreter = interpreter_of(bytes); !interpreter.empty())
    return fmt::format("{} is a script for {}: {}", file, interpreter, bypass_reason(interpreter));
  if (!is_elf(bytes)) return file + " is not an ELF program";
  try {
    return file + ": " + reason_in_file(file, bytes);
  } catch (const BrokenElf &broken) {
    return file + " " + broken.what();
  }
}

}  // namespace cushim::command
