# SPDX-License-Identifier: Apache-2.0
"""Tests how the generator of enumerators and fields reads declarations."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools/generator"))
import generate_types  # noqa: E402


class Types(unittest.TestCase):
    def test_enumerators_have_the_values_of_the_header(self):
        text = "typedef enum CUone_enum { A = 0x1, B, C = (1 << 4), D = A\n | C, E = 7u } CUone;"
        self.assertEqual(generate_types.enumerators(text),
                         {"CUone": [("A", 1), ("B", 2), ("C", 16), ("D", 17), ("E", 7)]})

    def test_fields_are_those_of_plain_types_outside_of_unions(self):
        text = ("typedef struct CUtwo_st { size_t a; unsigned int b, c; union { int x; struct { int y; } z; } u; "
                "const void *d; char name[8]; int reserved0; } CUtwo;")
        self.assertEqual(generate_types.structures(text), {"CUtwo": ["a", "b", "c", "d"]})

    def test_rows_of_later_headers_are_guarded(self):
        self.assertEqual(generate_types.guarded([(11080, "A"), (12000, "B"), (12000, "C"), (11080, "D")]),
                         "A\n#if CUDA_VERSION >= 12000\nB\nC\n#endif\nD\n")


if __name__ == "__main__":
    unittest.main()
