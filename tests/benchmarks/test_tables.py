import pytest

EMPTY = "before\n<!-- table: mix -->\n<!-- end table -->\nafter\n"


@pytest.fixture
def tables(benchmark_module):
    return benchmark_module("tables")


@pytest.fixture
def recording(benchmark_module, monkeypatch, tmp_path):
    module = benchmark_module("recording")
    monkeypatch.setattr(module, "RECORDS", tmp_path / "records")
    return module


@pytest.fixture
def rows(benchmark_module):
    Row = benchmark_module("report").Row
    return [
        Row("whole mix", "grid 2", "ms", 1.25, {"the usual way": 13.0}, goal=10, medians={"ours": 1.3}),
        Row("whole mix", "grid 16", "ms", 5.0, {"the usual way": 900.0}, goal=200),
        Row("starting up", "import", "s", 0.123456, judge="value", goal=0.3),
        Row("mask alone", "16x16", "ms", 0.5, goal=30),
    ]


def test_the_tables_in_the_documents_are_what_the_records_say(tables):
    assert tables.outdated(tables.documents()) == []
    tables.main(["--check"])


def test_a_record_comes_back_as_it_was_written(recording, rows):
    recording.save("mix", "What was measured", rows)
    content, again = recording.load("mix")
    assert again == rows
    assert content["rows"][0]["ratios"] == {"the usual way": 10.4}
    assert [entry["met"] for entry in content["rows"]] == [True, False, True, None]
    assert [path.name for path in recording.RECORDS.iterdir()] == ["mix.json"]
    assert {"processor", "cores", "threads", "python", "versions", "date"} <= set(content["where"])


def test_a_write_that_fails_leaves_the_old_record(recording, rows, monkeypatch):
    recording.save("mix", "old", rows)
    monkeypatch.setattr("os.replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        recording.save("mix", "new", rows)
    assert recording.load("mix")[0]["what"] == "old"


def test_tables_are_written_between_the_markers(tables, recording, rows):
    assert tables.with_tables(EMPTY) == EMPTY  # nothing is recorded yet
    recording.save("mix", "What was measured", rows)
    written = tables.with_tables(EMPTY)
    assert "| whole mix, grid 2 | 1.25 ms | 13 ms the usual way | 10.4x faster |" in written
    assert "import" not in written
    assert written.startswith("before\n<!-- table: mix -->\n|")
    assert written.endswith("<!-- end table -->\nafter\n")
    assert tables.with_tables(written) == written


def test_the_full_table_judges_the_goals(tables, recording, rows):
    recording.save("mix", "What was measured", rows)
    lines = tables.in_full("mix").splitlines()
    ends = [line.split("|")[-3:-1] for line in lines[2:6]]
    assert [[cell.strip() for cell in pair] for pair in ends] == [
        ["at least 10x", "met"],
        ["at least 200x", "**not met**"],
        ["at most 0.3 s", "met"],
        ["at least 30x", "not measured"],
    ]


def test_runs_make_tables_as_far_as_they_are_recorded(tables, recording):
    from puzzlemix.experiments.run import write_record
    from puzzlemix.recording import where

    names = ("results mini", "results mini in time", "results mini in short")
    assert [tables.TABLES[name]() for name in names] == ["", "", ""]
    planned, places = tables._planned("mini"), tables._places()
    for error, run in enumerate(planned[:14]):  # all of the first seed, vanilla of the second
        errors = dict.fromkeys(("final_top1", "fgsm", "pgd", "corruption"), 10.0 + error)
        write_record(run, places, errors, {"seconds": 2.0, "where": {**where(), "date": f"2026-11-{error + 1:02}"}})
    full, in_time, in_short = (tables.TABLES[name]() for name in names)
    assert len(full.splitlines()) > len(tables.recipes.TABLES["mini"].recipes)
    assert "| Vanilla                | 16.50 ± 9.19 (2) |" in full
    assert "Vanilla leads" not in full
    assert "leads" in full
    assert "14 runs on cpu, " in full
    assert full.endswith("; 2026-11-01 to 2026-11-14.\n")
    # Puzzle Mix was trained for as many epochs as vanilla, which takes longer
    assert "| Puzzle Mix             |                - |" in in_time
    assert "| Vanilla          | 16.50 ± 9.19 (2) | 16.50 ± 9.19 (2) |          - |" in in_short


def test_an_unknown_table_is_named(tables):
    with pytest.raises(SystemExit, match=r"'mux'.*choose from mix, train"):
        tables.with_tables(EMPTY.replace("mix", "mux"))


@pytest.mark.parametrize(("value", "text"), [(1234.5, "1230"), (0.000123456, "0.000123"), (12.345, "12.3"), (0, "0")])
def test_numbers_have_three_digits_and_no_exponent(benchmark_module, value, text):
    assert benchmark_module("report").number(value) == text
