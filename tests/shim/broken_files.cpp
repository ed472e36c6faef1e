// SPDX-License-Identifier: Apache-2.0
#include "broken_files.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/elf_header.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"

namespace {

namespace fs = std::filesystem;

void write(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

#if defined(__x86_64__)
constexpr Elf64_Half kOtherMachine = EM_AARCH64;
const std::string kMachines = "is for aarch64; this program is for x86-64";
#else
constexpr Elf64_Half kOtherMachine = EM_X86_64;
const std::string kMachines = "is for x86-64; this program is for aarch64";
#endif

// Returns a valid driver whose ELF header was changed.
std::string with_header(void (*change)(Elf64_Ehdr &)) {
  std::string bytes = bytes_of(fake_path("12040"));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  change(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

// Returns a file with the header of a 32-bit library and a plausible length.
std::string library_of_32_bits() {
  const auto header = cushim::elf_header<Elf32_Ehdr>(ELFCLASS32, ET_DYN, EM_386);
  return std::string(reinterpret_cast<const char *>(&header), sizeof header) + std::string(8192, '\0');
}

auto not_a_library(const std::string &fault) {
  return [fault](const std::string &path) {
    return "cushim[not-a-library]: " + path + " is not a usable shared library (CUSHIM_LIBRARY: " + path +
           " " + fault +
           "). Remove it or reinstall the driver; check for a truncated copy or an unfinished download.";
  };
}

auto wrong_architecture(const std::string &fault) {
  return [fault](const std::string &path) {
    return "cushim[wrong-architecture]: " + path + " is for another architecture (CUSHIM_LIBRARY: " + path +
           " " + fault + "). Install the driver's libraries for this program's architecture.";
  };
}

auto not_a_driver(const std::string &fault) {
  return [fault](const std::string &path) {
    return "cushim[not-a-driver]: " + path + " is not an NVIDIA driver (CUSHIM_LIBRARY: " + path + " " +
           fault + "). Use the NVIDIA driver's libcuda.so.1, or remove this library from the search path.";
  };
}

auto link_to(const std::string &fake) {
  return [fake](const std::string &path) { fs::create_symlink(fake_path(fake), path); };
}

}  // namespace

void PrintTo(const BrokenFile &file, std::ostream *stream) { *stream << file.name; }

std::vector<BrokenFile> broken_files() {
  return {
      {"directory", [](const std::string &path) { fs::create_directory(path); },
       not_a_library("is a directory, not a file")},
      {"empty", [](const std::string &path) { write(path, ""); }, not_a_library("is not an ELF file")},
      {"text", [](const std::string &path) { write(path, "INPUT(libcuda.so.1)\n"); },
       not_a_library("is not an ELF file")},
      {"truncated",
       [](const std::string &path) { write(path, bytes_of(fake_path("12040")).substr(0, 5000)); },
       not_a_library("is truncated")},
      {"program",
       [](const std::string &path) {
         write(path, with_header([](Elf64_Ehdr &header) { header.e_type = ET_REL; }));
       },
       not_a_library("is not a shared library")},
      {"library_of_32_bits", [](const std::string &path) { write(path, library_of_32_bits()); },
       wrong_architecture("is a 32-bit library; this program is 64-bit")},
      {"library_of_another_machine",
       [](const std::string &path) {
         write(path, with_header([](Elf64_Ehdr &header) { header.e_machine = kOtherMachine; }));
       },
       wrong_architecture(kMachines)},
  };
}

std::vector<BrokenFile> foreign_libraries() {
  return {
      {"library_without_the_driver_s_functions", link_to("not_a_driver"),
       not_a_driver("exports no cuDriverGetVersion")},
      {"library_that_tells_no_version", link_to("silent"),
       not_a_driver("cuDriverGetVersion returned CUDA_SUCCESS and version 0")},
      {"stub", link_to("stub"),
       [](const std::string &path) {
         return "cushim[stub-library]: " + path +
                " is the CUDA toolkit's link stub, not a driver (CUSHIM_LIBRARY: " + path +
                " is the CUDA toolkit's link stub). Use the NVIDIA driver's libcuda.so.1 instead.";
       }},
      {"library_that_needs_what_is_nowhere", link_to("unresolved"),
       [](const std::string &path) {
         return "cushim[not-loadable]: " + path + " exists but cannot be loaded (CUSHIM_LIBRARY: " + path +
                ": undefined symbol: cushim_test_defined_nowhere). See the message in parentheses: a library "
                "that "
                "the "
                "driver needs is missing, or a file is not readable.";
       }},
  };
}
