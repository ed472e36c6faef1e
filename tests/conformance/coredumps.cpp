// SPDX-License-Identifier: Apache-2.0
// Attributes of coredumps. Each statement has its own process, because the attributes are the process's.
#include <cstring>

#include "conformance.hpp"

#if CUDA_VERSION >= 12050

namespace conformance {
namespace {

class Coredumps : public Initialized {
 public:
  // Return the result of reading an attribute into `value`, or of writing it.
  CUresult read_global(CUcoredumpSettings attribute, auto &value) {
    return driver().cuCoredumpGetAttributeGlobal(attribute, &value, size_of(value));
  }
  CUresult write_global(CUcoredumpSettings attribute, auto value) {
    return driver().cuCoredumpSetAttributeGlobal(attribute, &value, size_of(value));
  }
  CUresult read(CUcoredumpSettings attribute, auto &value) {
    return driver().cuCoredumpGetAttribute(attribute, &value, size_of(value));
  }
  CUresult write(CUcoredumpSettings attribute, auto value) {
    return driver().cuCoredumpSetAttribute(attribute, &value, size_of(value));
  }

  // Expects that the name of a file or pipe does not begin as the documented default does. `key` is the text
  // of the attribute.
  void expect_no_name(CUcoredumpSettings attribute, const std::string &key, const std::string &begin) {
    expect_answer(__FILE__, __LINE__, "read_global(" + key + ", text)", read_global(attribute, text),
                  CUDA_SUCCESS);
    EXPECT_FALSE(answer("std::string(text, " + std::to_string(begin.size()) + ") == \"" + begin + "\"",
                        std::string(text, begin.size()) == begin));
    EXPECT_VALUE(size == std::strlen(text), false);
    EXPECT_VALUE(size == sizeof text, true);
  }
  // Sets the name of a file or pipe, of all contexts or of the current one, and expects to read it.
  void expect_name_is_kept(bool global, CUcoredumpSettings attribute, const std::string &key,
                           std::string name) {
    size = name.size() + 1;
    expect_answer(__FILE__, __LINE__,
                  std::string("cuCoredumpSetAttribute") + (global ? "Global(" : "(") + key + ", name, &size)",
                  global ? driver().cuCoredumpSetAttributeGlobal(attribute, name.data(), &size)
                         : driver().cuCoredumpSetAttribute(attribute, name.data(), &size),
                  CUDA_SUCCESS);
    expect_answer(__FILE__, __LINE__, (global ? "read_global(" : "read(") + key + ", text)",
                  global ? read_global(attribute, text) : read(attribute, text), CUDA_SUCCESS);
    EXPECT_VALUE(std::string(text), name);
  }

  bool is_set = true;
  int value = 77;
  char text[1024] = "unchanged";
  std::size_t size = 0;

 private:
  std::size_t *size_of(const auto &object) { return &(size = sizeof object); }
};

struct Switch {
  const char *name;
  CUcoredumpSettings attribute;
  bool is_set;
  CUresult of_contexts = CUDA_SUCCESS;  // returned for a context
};
const Switch switches[] = {
    {"on_exceptions", CU_COREDUMP_ENABLE_ON_EXCEPTION, false},
    {"that_end_the_host", CU_COREDUMP_TRIGGER_HOST, true},
    {"that_are_lightweight", CU_COREDUMP_LIGHTWEIGHT, false},
    {"by_users", CU_COREDUMP_ENABLE_USER_TRIGGER, false, CUDA_ERROR_INVALID_VALUE},
};

[[maybe_unused]] const bool switches_added = [] {
  for (const Switch &row : switches) {
    const std::string of = std::string("The_switch_of_coredumps_") + row.name;
    ADD_TEST(Coredumps, of + "_is_read", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(t.read_global(row.attribute, t.is_set), CUDA_SUCCESS);
      EXPECT_VALUE(t.is_set, row.is_set);
      EXPECT_VALUE(t.size, sizeof(bool));
    });
    ADD_TEST(Coredumps, of + "_is_changed", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(t.write_global(row.attribute, !row.is_set), CUDA_SUCCESS);
      EXPECT_ANSWER(t.read_global(row.attribute, t.is_set), CUDA_SUCCESS);
      EXPECT_VALUE(t.is_set, !row.is_set);
    });
    ADD_TEST(Coredumps, of + "_is_read_of_a_context", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      make_context();
      EXPECT_ANSWER(t.read(row.attribute, t.is_set), row.of_contexts);
      EXPECT_VALUE(t.is_set, row.of_contexts == CUDA_SUCCESS ? row.is_set : true);
    });
    ADD_TEST(Coredumps, of + "_is_changed_for_a_context", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      make_context();
      EXPECT_ANSWER(t.write(row.attribute, !row.is_set), row.of_contexts);
      EXPECT_ANSWER(t.read(row.attribute, t.is_set), row.of_contexts);
      EXPECT_VALUE(t.is_set, !row.is_set);
      EXPECT_ANSWER(t.read_global(row.attribute, t.is_set), CUDA_SUCCESS);
      EXPECT_VALUE(t.is_set, row.is_set);
    });
    ADD_TEST(Coredumps, of + "_is_not_read_without_a_context", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(t.read(row.attribute, t.is_set), CUDA_ERROR_INVALID_CONTEXT);
    });
    ADD_TEST(Coredumps, of + "_is_not_changed_without_a_context", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(t.write(row.attribute, !row.is_set), CUDA_ERROR_INVALID_CONTEXT);
    });
    ADD_TEST(Coredumps, of + "_is_no_integer", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(t.read_global(row.attribute, t.value), CUDA_ERROR_INVALID_VALUE);
      EXPECT_VALUE(t.size, sizeof(int));
      EXPECT_VALUE(t.value, 77);
      EXPECT_ANSWER(t.write_global(row.attribute, 1), CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(Coredumps, of + "_tells_its_size", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(driver().cuCoredumpGetAttributeGlobal(row.attribute, nullptr, &t.size), CUDA_SUCCESS);
      EXPECT_VALUE(t.size, sizeof(bool));
    });
    ADD_TEST(Coredumps, of + "_needs_a_size", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(driver().cuCoredumpGetAttributeGlobal(row.attribute, &t.is_set, nullptr),
                    CUDA_ERROR_INVALID_VALUE);
      EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(row.attribute, &t.is_set, nullptr),
                    CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(Coredumps, of + "_written_without_a_value_tells_its_size", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      t.size = sizeof(bool);
      EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(row.attribute, nullptr, &t.size), CUDA_SUCCESS);
      EXPECT_VALUE(t.size, sizeof(bool));
    });
  }
  return true;
}();

TEST_F(Coredumps, Have_no_other_attributes) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(read_global(static_cast<CUcoredumpSettings>(0), value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(read_global(static_cast<CUcoredumpSettings>(8), value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(read_global(static_cast<CUcoredumpSettings>(99), value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(write_global(static_cast<CUcoredumpSettings>(0), value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(write_global(static_cast<CUcoredumpSettings>(99), value), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Coredumps, Have_flags) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(read_global(CU_COREDUMP_GENERATION_FLAGS, value), CUDA_SUCCESS);
  EXPECT_VALUE(value, 0);
  EXPECT_VALUE(size, sizeof(int));
}
// The documentation names six flags.
TEST_F(Coredumps, Take_any_flag) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  for (int bit = 0; bit < 8; ++bit) {
    EXPECT_ANSWER(write_global(CU_COREDUMP_GENERATION_FLAGS, 1 << bit), CUDA_SUCCESS);
    EXPECT_ANSWER(read_global(CU_COREDUMP_GENERATION_FLAGS, value), CUDA_SUCCESS);
    EXPECT_VALUE(value, 1 << bit);
  }
}
TEST_F(Coredumps, Become_lightweight_by_flags) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(write_global(CU_COREDUMP_GENERATION_FLAGS, 0x2f), CUDA_SUCCESS);
  EXPECT_ANSWER(read_global(CU_COREDUMP_LIGHTWEIGHT, is_set), CUDA_SUCCESS);
  EXPECT_VALUE(is_set, true);
}
TEST_F(Coredumps, That_are_lightweight_have_flags) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(write_global(CU_COREDUMP_LIGHTWEIGHT, true), CUDA_SUCCESS);
  EXPECT_ANSWER(read_global(CU_COREDUMP_GENERATION_FLAGS, value), CUDA_SUCCESS);
  EXPECT_VALUE(value, 0x2f);
}
TEST_F(Coredumps, That_do_not_end_the_host_have_a_flag) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(write_global(CU_COREDUMP_TRIGGER_HOST, false), CUDA_SUCCESS);
  EXPECT_ANSWER(read_global(CU_COREDUMP_GENERATION_FLAGS, value), CUDA_SUCCESS);
  EXPECT_VALUE(value, int{CU_COREDUMP_SKIP_ABORT});
}
// The documentation has default names, which the driver uses without returning them.
TEST_F(Coredumps, Have_no_name_of_a_file_at_first) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  expect_no_name(CU_COREDUMP_FILE, "CU_COREDUMP_FILE", "core_");
}
TEST_F(Coredumps, Have_no_name_of_a_pipe_at_first) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  expect_no_name(CU_COREDUMP_PIPE, "CU_COREDUMP_PIPE", "corepipe");
}
TEST_F(Coredumps, Tell_the_size_of_the_name_of_their_file) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, nullptr, &size), CUDA_SUCCESS);
  const std::size_t told = size;
  NEED(read_global(CU_COREDUMP_FILE, text));
  EXPECT_VALUE(static_cast<int>(told - std::strlen(text)), 1024);
  EXPECT_VALUE(told, std::size_t{1024});
}
TEST_F(Coredumps, Are_written_to_a_named_file) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  expect_name_is_kept(true, CU_COREDUMP_FILE, "CU_COREDUMP_FILE", "core.of.a.test");
  EXPECT_VALUE(static_cast<int>(size), 1024);
  size = 5;
  std::memset(text, 'x', sizeof text - 1);
  EXPECT_ANSWER(driver().cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, text, &size),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(std::string(text, 8), "xxxxxxxx");
  EXPECT_VALUE(static_cast<int>(size), 5);
}
TEST_F(Coredumps, Are_not_written_to_a_file_of_1024_characters) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  std::string name(1024, 'n');
  size = name.size() + 1;
  EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, name.data(), &size),
                CUDA_ERROR_INVALID_VALUE);
  name.resize(1023);
  size = name.size() + 1;
  EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, name.data(), &size), CUDA_SUCCESS);
}
TEST_F(Coredumps, Of_a_context_have_a_file_of_their_own) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  expect_name_is_kept(false, CU_COREDUMP_FILE, "CU_COREDUMP_FILE", "core.of.a.test");
  char name[] = "core.of.a.test";
  size = sizeof name;
  EXPECT_ANSWER(driver().cuCoredumpSetAttribute(CU_COREDUMP_PIPE, name, &size), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Coredumps, Have_another_pipe_after_the_first_context) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  expect_name_is_kept(true, CU_COREDUMP_PIPE, "CU_COREDUMP_PIPE", "pipe.of.a.test");
}
TEST_F(Coredumps, By_users_are_enabled_after_the_first_context) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(write_global(CU_COREDUMP_ENABLE_USER_TRIGGER, true), CUDA_SUCCESS);
  char name[] = "pipe.of.a.test";
  size = sizeof name;
  EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(CU_COREDUMP_PIPE, name, &size),
                CUDA_ERROR_NOT_SUPPORTED);
  size = sizeof name;
  EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, name, &size), CUDA_SUCCESS);
  EXPECT_ANSWER(write_global(CU_COREDUMP_ENABLE_ON_EXCEPTION, true), CUDA_SUCCESS);
  EXPECT_ANSWER(read(CU_COREDUMP_ENABLE_ON_EXCEPTION, is_set), CUDA_SUCCESS);
  EXPECT_VALUE(is_set, false);
}

}  // namespace
}  // namespace conformance

#endif
