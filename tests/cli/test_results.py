from dataclasses import replace

from puzzlemix.cli.results import beside, read_finished, table
from puzzlemix.training.config import LoopConfig, TrainConfig


def test_the_table_has_a_line_for_each_run_and_its_average(finished):
    config = TrainConfig(loop=LoopConfig(fgsm_255=4.0, ema=0.9))
    folder = finished("a", config, ema=0.0625)
    finished("b", replace(config, method="vanilla", settings=None), top1=1.0)
    lines = table(beside(read_finished(folder))).splitlines()
    assert [line.split("   ")[0].strip() for line in lines] == ["method", "puzzle", "puzzle, averaged", "vanilla"]
    assert lines[0].split() == ["method", "clean", "error", "median", "of", "last", "10", "FGSM", "4/255", "time"]
    assert lines[1].split() == ["puzzle", "25.0", "%", "12.5", "%", "50.0", "%", "1:23"]
    assert "6.2 %" in lines[2]
    assert "100.0 %" in lines[3]
    assert len({len(line) for line in lines}) == 1


def test_only_runs_that_differ_by_the_method_alone_stand_beside(finished, tmp_path):
    config = TrainConfig()
    folder = finished("a", config)
    other = replace(config, method="cutmix", settings=None)
    finished("same", other)
    finished("seed", replace(other, seed=1))
    finished("method", config)
    finished("longer", replace(other, loop=LoopConfig(epochs=99)))
    unfinished = finished("unfinished", other)
    (unfinished / "result.json").unlink()
    broken = finished("broken", other)
    (broken / "config.json").write_text("{")
    assert [run.folder.name for run in beside(read_finished(folder))] == ["a", "same"]


def test_there_is_nothing_to_read_where_no_run_has_finished(tmp_path):
    assert read_finished(tmp_path) is None
    assert read_finished(tmp_path / "nowhere") is None
