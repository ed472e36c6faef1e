# SPDX-License-Identifier: Apache-2.0
"""The check of includes, on trees of a few files."""
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/lint"))
import arrows  # noqa: E402


class Arrows(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as scratch:
            for name, text in files.items():
                path = Path(scratch) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return arrows.check(Path(scratch), set(files))

    def test_an_arrow_that_runs_forward_is_allowed(self):
        self.assertEqual(self.check({"shim/a.c": "#include <cushim/load.h>\n", "include/cushim/load.h": ""}), [])

    def test_an_arrow_that_runs_back_is_told_with_file_and_line(self):
        wrong = self.check({"include/cushim/a.h": "\n#include <cushim/mock/b.hpp>\n", "mock/include/cushim/mock/b.hpp": ""})
        self.assertEqual(wrong, ["include/cushim/a.h:2: include may not include mock/include/cushim/mock/b.hpp"])

    def test_a_private_header_of_another_target_is_not_allowed(self):
        for line in ('#include "../ptx/lexer.hpp"\n', '#include "lexer.hpp"\n'):
            self.assertEqual(len(self.check({"mock/sim/kernels/a.cpp": line, "mock/ptx/lexer.hpp": ""})), 1, line)

    def test_the_engine_does_not_include_what_uses_it(self):
        self.assertEqual(len(self.check({"mock/sim/engine/a.hpp": '#include "api/call.hpp"\n', "mock/sim/api/call.hpp": ""})), 1)
        self.assertEqual(self.check({"mock/sim/api/a.hpp": '#include "engine/e.hpp"\n', "mock/sim/engine/e.hpp": ""}), [])

    def test_a_test_includes_private_headers_of_the_folder_that_it_tests_alone(self):
        files = {"tests/mock/sim/a.cpp": '#include "engine/e.hpp"\n', "mock/sim/engine/e.hpp": ""}
        self.assertEqual(self.check(files), [])
        files = {"tests/mock/ptx/a.cpp": '#include "engine/e.hpp"\n', "mock/sim/engine/e.hpp": ""}
        self.assertEqual(len(self.check(files)), 1)

    HEADER = "/* These:\n *   a -> b\n * No others. */"

    def test_a_stated_use_in_the_shim_is_allowed(self):
        texts = {"a": "void cushim_a(void) { cushim_b(); }\n", "b": "void cushim_b(void) {\n}\n"}
        self.assertEqual(arrows.check_shim(self.HEADER, texts), [])

    def test_a_use_in_the_shim_that_the_comment_does_not_state_is_reported(self):
        texts = {"a": "void cushim_a(void) { cushim_b(); }\n", "b": "int cushim_b = 1;\n", "c": "  call cushim_a\n"}
        self.assertEqual(arrows.check_shim(self.HEADER, texts),
                         ["shim/: c uses a, which the comment in shim/internal.h does not state"])

    def test_a_stated_use_in_the_shim_that_does_not_exist_is_reported(self):
        texts = {"a": "/* cushim_b */\n", "b": "        .globl cushim_b\n"}
        self.assertEqual(arrows.check_shim(self.HEADER, texts),
                         ["shim/internal.h: the comment states that a uses b, which it does not"])

    def test_a_circle_in_the_shim_is_reported_even_if_stated(self):
        texts = {"a": "void cushim_a(void) { cushim_b(); }\n", "b": "void cushim_b(void) { cushim_a(); }\n"}
        self.assertEqual(arrows.check_shim(self.HEADER.replace("a -> b", "a -> b\n *   b -> a"), texts),
                         ["shim/: a uses itself through other modules", "shim/: b uses itself through other modules"])

    def test_every_folder_of_the_table_exists(self):
        for folder, others in arrows.MAY_INCLUDE.items():
            for one in [folder, *others]:
                self.assertTrue((ROOT / one).is_dir(), one)


if __name__ == "__main__":
    unittest.main()
