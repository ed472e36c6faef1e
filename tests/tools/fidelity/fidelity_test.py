# SPDX-License-Identifier: Apache-2.0
"""fidelity_test.py FIDELITY: tests the counts of tools/fidelity/fidelity.py."""
import importlib
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv.pop()).parent))
fidelity = importlib.import_module("fidelity")
fidelity_page = importlib.import_module("fidelity_page")

TEST = "Events.One"


def rows_after(calls, answers=(), ours=()):
    rows = fidelity.read_rows()
    for row in rows.values():
        row.served = True
    asked = fidelity.note_calls(rows, calls)
    driver = fidelity.Driver("real", "h200", "13000", list(answers))
    fidelity.compare(rows, 0, driver, {(test, key): value for test, key, value in ours}, asked,
                     {(test, key) for test, key, _ in calls}, {"Events.Named": "for a reason"}, [])
    return rows


class Fidelity(unittest.TestCase):
    def test_every_row_of_the_list_has_a_noun(self):
        rows = fidelity.read_rows()
        self.assertEqual(rows["cuMemAlloc_v2"].base, "cuMemAlloc")
        self.assertEqual(rows["cuEventQuery"].noun, "Events")
        self.assertTrue(all(row.noun for row in rows.values()))

    def test_an_answer_is_of_the_entry_point_that_it_names(self):
        rows = rows_after([(TEST, "cuEventQuery(event)", "cuEventCreate cuEventQuery")])
        self.assertEqual(rows["cuEventQuery"].statements, {TEST})
        self.assertEqual(rows["cuEventCreate"].statements, set())
        self.assertEqual(rows["cuEventCreate"].called, {TEST})

    def test_a_name_means_the_variant_that_was_called(self):
        rows = rows_after([(TEST, "cuMemAlloc(&p, 1)", "cuMemAlloc_v2 cuMemFree_v2")])
        self.assertEqual(rows["cuMemAlloc_v2"].statements, {TEST})
        self.assertEqual(rows["cuMemAlloc"].statements, set())

    def test_what_names_none_is_of_the_only_one_that_was_called(self):
        rows = rows_after([(TEST, "count", "cuInit cuDeviceGetCount"), ("Events.Two", "n", "cuDeviceGet cuEventQuery")])
        self.assertEqual(rows["cuDeviceGetCount"].statements, {TEST})
        self.assertEqual(rows["cuDeviceGet"].statements, set())

    def test_a_value_read_without_a_call_is_of_the_call_before(self):
        answers = [(TEST, "cuDeviceGetCount(&n)", "0"), (TEST, "n", "2")]
        rows = rows_after([(TEST, "cuDeviceGetCount(&n)", "cuDeviceGetCount")], answers, answers)
        self.assertEqual((rows["cuDeviceGetCount"].equal[0], rows["cuDeviceGetCount"].recorded[0]), (2, 2))
        self.assertEqual(rows["cuDeviceGetCount"].state(), "complete")

    def test_another_answer_than_the_real_driver_s_makes_an_entry_point_partial(self):
        calls = [(test, "cuEventQuery(e)", "cuEventQuery") for test in (TEST, "Events.Named")]
        rows = rows_after(calls, [(test, "cuEventQuery(e)", "0") for test, _, _ in calls],
                          [(test, "cuEventQuery(e)", "1") for test, _, _ in calls])
        self.assertEqual(rows["cuEventQuery"].state(), "partial")
        self.assertEqual(rows["cuEventQuery"].why(),
                         ["for a reason", f"an answer differs in the statement {TEST}"])

    def test_an_answer_that_is_missing_is_none_that_is_equal(self):
        rows = rows_after([(TEST, "cuEventQuery(e)", "cuEventQuery")], [(TEST, "cuEventQuery(e)", "0")])
        self.assertEqual(rows["cuEventQuery"].equal[0], 0)
        self.assertEqual(rows["cuEventQuery"].state(), "partial")

    def test_an_entry_point_that_is_not_served_is_not_implemented_even_with_reasons(self):
        row = fidelity.read_rows()["cuGraphCreate"]
        row.reasons.append("no statement asks it")
        self.assertEqual(row.state(), "not implemented")

    def test_an_entry_point_that_is_not_implemented_needs_a_reason(self):
        with self.assertRaisesRegex(SystemExit, "cuGraphCreate"):
            fidelity.note_lacks(fidelity.read_rows())  # no entry point is implemented

    def test_what_only_the_documentation_tells_has_a_state_of_its_own(self):
        row = fidelity.read_rows()["cuGraphCreate"]
        row.served = True
        row.reasons += ["no statement asks it", "documented only: the GPU has no fabric"]
        self.assertEqual(row.state(), "documented only")

    def test_a_noun_counts_its_statements_and_those_with_a_recorded_answer(self):
        calls = [(TEST, "cuEventQuery(e)", "cuEventQuery"), (TEST, "cuEventSynchronize(e)", "cuEventSynchronize"),
                 ("Events.Two", "cuEventQuery(e)", "cuEventQuery")]
        rows = rows_after(calls, [(TEST, key, "0") for _, key, _ in calls[:2]])
        events = sum(row.noun == "Events" for row in rows.values())
        self.assertIn(f"| [Events](#events) | {events} | 2 | 1 |\n", fidelity_page.page(rows, [], [], 0))

    def test_a_readme_without_a_place_for_the_totals_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            readme = Path(folder, "README.md")
            readme.write_text("no place\n")
            with self.assertRaises(SystemExit):
                fidelity.readme(readme, "totals\n")
            readme.write_text(f"before\n{fidelity_page.MARK}old\n{fidelity_page.MARK}after\n")
            self.assertEqual(fidelity.readme(readme, "new\n"),
                             f"before\n{fidelity_page.MARK}new\n{fidelity_page.MARK}after\n")


if __name__ == "__main__":
    unittest.main()
