# SPDX-License-Identifier: Apache-2.0
"""The grouping of files into translation units, on folders of a few files."""
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "cmake"))
import units  # noqa: E402


class Units(unittest.TestCase):
    def groups(self, most=12, **files):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            for name, text in files.items():
                (folder / name.replace("_", ".")).write_text(text)
            sources = sorted(folder.glob("*.cpp"))
            return [[file.stem for file in unit] for unit in units.units_of(sources, folder, most)]

    def test_files_with_different_names_share_a_unit(self):
        self.assertEqual(self.groups(a_cpp="int one() { return 1; }\n", b_cpp="int two() { return 2; }\n"), [["a", "b"]])

    def test_files_that_declare_one_name_are_apart(self):
        for text in ("int one() {\n", "constexpr int kTwo = 2, one = 1;\n", "struct one {\n", "[[maybe_unused]] int one = 1;\n"):
            name = "kOne" if "kTwo" in text else "one"
            text = text.replace("one", name)
            self.assertEqual(self.groups(a_cpp=text, b_cpp=f"int {name}();\n"), [["a"], ["b"]], text)

    def test_constants_of_one_declaration_are_seen_in_all_its_lines(self):
        self.assertEqual(self.groups(a_cpp="constexpr int kA = 1,\n              kB = 2;\n", b_cpp="int kB = 3;\n"), [["a"], ["b"]])

    def test_a_definition_of_what_a_header_declares_is_not_a_second_name(self):
        header = "void shared();\n"
        self.assertEqual(self.groups(h_hpp=header, a_cpp='#include "h.hpp"\nvoid shared() {}\n', b_cpp='#include "h.hpp"\n'), [["a", "b"]])

    def test_the_names_of_a_header_are_those_of_its_users(self):
        self.assertEqual(self.groups(h_hpp="void shared();\n", a_cpp='#include "h.hpp"\n', b_cpp="void shared() {}\n"), [["a"], ["b"]])

    def test_a_file_with_a_using_directive_is_by_itself(self):
        self.assertEqual(self.groups(a_cpp="using namespace std;\n", b_cpp="int two();\n"), [["a"], ["b"]])

    def test_a_unit_has_no_more_files_than_asked_for(self):
        self.assertEqual(self.groups(most=1, a_cpp="int one();\n", b_cpp="int two();\n"), [["a"], ["b"]])


if __name__ == "__main__":
    unittest.main()
