# SPDX-License-Identifier: Apache-2.0
"""Tests the generator of the list of entry points with toolkits of a few lines each."""

import contextlib
import importlib.util
import io
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
spec = importlib.util.spec_from_file_location("generator", ROOT / "tools/generator/generate_entry_points.py")
generator = importlib.util.module_from_spec(spec)
spec.loader.exec_module(generator)

OLD = {
    "version": 11080,
    "declared": "CUresult cuTake(int *p);\nCUresult cuTake_v2(size_t *p);\nCUresult cuTake_v2_ptds(size_t *p);\n",
    "typedefs": ["cuTake_v2000)(int *p)", "cuTake_v3020)(size_t *p)", "cuTake_v7000_ptds)(size_t *p)"],
    "types": "",
}
NEW = {
    "version": 12040,
    "declared": OLD["declared"] + "CUresult cuGive(CUthing *thing, unsigned int flags);\n",
    "typedefs": OLD["typedefs"] + ["cuGive_v12040)(CUthing *thing, unsigned int flags)"],
    "types": "typedef struct CUthing_st CUthing;\n",
}


def write_toolkit(folder, toolkit):
    folder.mkdir()
    (folder / "cuda.h").write_text(
        f"#define CUDA_VERSION {toolkit['version']}\n"
        "typedef enum cudaError_enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 } CUresult;\n"
        + toolkit["types"] + toolkit["declared"])
    (folder / "cudaTypedefs.h").write_text(
        "#include <cuda.h>\n" + "".join(f"typedef CUresult (*PFN_{t};\n" for t in toolkit["typedefs"]))
    for other in generator.DECLARING + generator.TYPEDEFS:
        if not (folder / other).exists():
            (folder / other).write_text("")


class Generator(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.names = {"LIST": "list.inc", "RESULTS": "results.inc", "SLOTS": "slots.txt"}
        for name, file in self.names.items():
            self.addCleanup(setattr, generator, name, getattr(generator, name))
            setattr(generator, name, self.folder / file)
        self.addCleanup(setattr, generator, "ROOT", generator.ROOT)
        generator.ROOT = self.folder
        write_toolkit(self.folder / "old", OLD)
        write_toolkit(self.folder / "new", NEW)

    def run_generator(self, *arguments):
        """Returns exit status, stdout and stderr."""
        out, err = io.StringIO(), io.StringIO()
        saved, sys.argv = sys.argv, ["generate", *arguments]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = generator.main()
        finally:
            sys.argv = saved
        return status, out.getvalue(), err.getvalue()

    def generate(self, *toolkits, check=False):
        return self.run_generator(*[str(self.folder / t) for t in toolkits], *(["--check"] if check else []))

    def text(self, name):
        return (self.folder / self.names[name]).read_text()

    def test_symbols_are_paired_with_versions_newest_to_newest(self):
        self.assertEqual(self.generate("old")[0], 0)
        self.assertIn("CUSHIM_ENTRY_11080(0, cuTake, cuTake, 2000, , (int *p), (p))", self.text("LIST"))
        self.assertIn("CUSHIM_ENTRY_11080(1, cuTake_v2, cuTake, 3020, , (size_t *p), (p))", self.text("LIST"))
        self.assertIn("CUSHIM_ENTRY_11080(2, cuTake_v2_ptds, cuTake, 7000, _ptds, (size_t *p), (p))",
                      self.text("LIST"))

    def test_a_row_is_typed_from_the_first_headers_that_have_its_types(self):
        self.generate("old", "new")
        self.assertIn("CUSHIM_ENTRY_12040(0, cuGive, cuGive, 12040, , (CUthing *thing, unsigned int flags), "
                      "(thing, flags))", self.text("LIST"))

    def test_a_new_toolkit_appends_its_slots_and_moves_none(self):
        self.generate("old")
        before = self.text("SLOTS")
        self.assertEqual(self.generate("old", "new")[0], 0)
        self.assertEqual(self.text("SLOTS"), before + "cuGive\n")

    def test_check_writes_nothing_and_shows_what_is_stale(self):
        self.generate("old")
        before = self.text("LIST")
        status, out, _ = self.generate("old", "new", check=True)
        self.assertEqual(status, 1)
        self.assertIn("+CUSHIM_ENTRY_12040(3, cuGive", out)
        self.assertEqual(self.text("LIST"), before)
        self.generate("old", "new")
        self.assertEqual(self.generate("old", "new", check=True)[0], 0)

    def test_a_symbol_that_lost_its_toolkit_is_refused(self):
        self.generate("old", "new")
        status, _, err = self.generate("old", check=True)
        self.assertEqual(status, 1)
        self.assertIn("cuGive", err)

    def test_a_moved_slot_is_refused(self):
        released = ["cuTake", "cuTake_v2", "cuTake_v2_ptds"]
        generator.refuse_moved_slots(released + ["cuGive"], released)
        for moved in (["cuTake_v2", "cuTake", "cuTake_v2_ptds"], released[:2]):
            with self.assertRaises(generator.Failure):
                generator.refuse_moved_slots(moved, released)

    def test_a_slot_file_that_was_reordered_by_hand_is_stale(self):
        self.generate("old")
        path = self.folder / self.names["SLOTS"]
        path.write_text(path.read_text().replace("cuTake\ncuTake_v2\n", "cuTake_v2\ncuTake\n"))
        self.assertEqual(self.generate("old", check=True)[0], 1)

    def test_a_folder_without_headers_is_told(self):
        (self.folder / "empty").mkdir()
        status, _, err = self.generate("empty")
        self.assertEqual(status, 1)
        self.assertIn("no cuda.h", err)


if __name__ == "__main__":
    unittest.main()
