# SPDX-License-Identifier: Apache-2.0
"""docs_test.py FOLDER: tests tools/docs/prepare.py and tools/docs/check.py, which are in FOLDER."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, sys.argv.pop())
import check  # noqa: E402
import prepare  # noqa: E402


class Headers(unittest.TestCase):
    def test_the_first_comment_documents_the_file(self):
        text = prepare.header("// SPDX-License-Identifier: Apache-2.0\n// Streams.\n#pragma once\n")
        self.assertIn("/// @file\n/// Streams.\n", text)

    def test_a_comment_before_a_declaration_documents_it(self):
        text = prepare.header("#pragma once\n\n// Waits.\nvoid wait();\n")
        self.assertIn("/// Waits.\nvoid wait();", text)

    def test_a_comment_documents_each_function_until_the_next_blank_line(self):
        text = prepare.header("#pragma once\nint x;\n\n// Waits.\nvoid wait();\nvoid wait(int);\n\nvoid other();\n")
        self.assertEqual(text.count("/// Waits."), 2)

    def test_a_comment_behind_a_member_documents_it(self):
        self.assertIn("int size;  ///< in bytes", prepare.header("int x;\nint size;  // in bytes\n"))
        self.assertIn("///< in bytes", prepare.header("int x;\nint size; /* in bytes */\n"))

    def test_a_comment_at_the_end_of_a_namespace_documents_nothing(self):
        self.assertNotIn("///", prepare.header("int x;\n}  // namespace detail\n\nint y;\n"))

    def test_an_example_in_a_comment_is_verbatim(self):
        text = prepare.header("int x;\n\n// Use:\n//   wait(<stream>);\n// and go on.\nvoid wait();\n")
        self.assertIn("/// @verbatim\n///   wait(<stream>);\n/// @endverbatim", text)

    def test_nothing_in_a_comment_is_a_command_or_a_tag(self):
        self.assertIn(r"/// \@file and \<cuda.h\>", prepare.header("int x;\n\n// @file and <cuda.h>\nvoid f();\n"))


class Pages(unittest.TestCase):
    page = prepare.ROOT / "docs/guide/run.md"

    def test_headings_have_labels_that_links_use(self):
        self.assertIn("## The report {#page-docs-guide-run-the-report}", prepare.page(self.page, "## The report\n"))
        self.assertEqual(prepare.page(self.page, "[a](../guide/run.md#the-report)"),
                         "[a](@ref page-docs-guide-run-the-report)")

    def test_a_link_to_a_source_file_is_its_words(self):
        self.assertEqual(prepare.page(self.page, "[shim](../../shim/find.c)"), "shim")

    def test_code_blocks_stay(self):
        block = "```cpp\n# [a](run.md)\n```"
        self.assertEqual(prepare.page(self.page, block), block)


class Site(unittest.TestCase):
    def test_broken_links_and_anchors_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder)
            (site / "a.html").write_text('<a href="b.html#x">b</a><a href="c.html">c</a><a href="b.html#y">b</a>')
            (site / "b.html").write_text('<a id="x"></a>')
            self.assertEqual(list(check.broken_links(site)),
                             ["a.html: c.html does not exist", "a.html: b.html#y has no such anchor"])

    def test_a_type_and_a_function_without_a_comment_are_problems(self):
        warning = "x.hpp:1: warning: Member {} of namespace cushim is not documented."
        for member in ("Flags (enumeration)", "wait(int time) (function)", "LIMIT (macro definition)"):
            self.assertFalse(check.NEEDS_NO_COMMENT.search(warning.format(member)), member)
        for member in ("size (variable)", "none (enumvalue)", "operator==(A a, A b) (function)",
                       "size() const noexcept (function)"):
            self.assertTrue(check.NEEDS_NO_COMMENT.search(warning.format(member)), member)


if __name__ == "__main__":
    unittest.main()
