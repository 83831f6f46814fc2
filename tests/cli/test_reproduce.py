import pytest

from puzzlemix.experiments import published
from puzzlemix.experiments.attack_curves import Point
from puzzlemix.experiments.recipes import TABLES, mini, on_data
from puzzlemix.experiments.run import Places, plan, write_record
from puzzlemix.training.config import MachineConfig


def test_the_list_names_every_table_and_its_cost(call):
    code, output, _ = call("reproduce", "--list")
    assert code == 0
    assert all(name in output for name in TABLES)
    assert "table2       Table 2: CIFAR-100, WRN-28-10, 400 epochs" in output


def test_the_table_so_far_has_the_papers_numbers_and_the_records(call, tmp_path):
    runs = plan(TABLES["table2"], 1, lambda config: mini(config, "cifar10"), MachineConfig())
    write_record(runs[0], Places(records=tmp_path / "kept"), {"top1": 17.25, "top5": 1.5, "fgsm": 80.0}, {})
    code, output, _ = call("reproduce", "table2", "--scale", "mini", "--show", "--records", tmp_path / "kept")
    assert code == 0
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in output.splitlines()]
    assert ["Vanilla", "21.14", "17.25", "6.33", "1.50", "63.92", "80.00", "40"] in cells
    assert [line[:2] for line in cells[4:13]] == [
        [row, f"{e[0]:.2f}"] for row, e in published.CIFAR100_WRN.rows.items()
    ]


def test_a_slurm_script_repeats_the_command(call):
    code, output, _ = call("reproduce", "table9", "--seeds", 2, "--launcher", "slurm")
    assert code == 0
    assert "#SBATCH --array=0-5" in output
    assert "puzzlemix reproduce table9 --seeds 2 --launcher slurm --only $SLURM_ARRAY_TASK_ID" in output


def test_methods_are_compared_by_the_finished_runs_of_a_table(call, tmp_path, monkeypatch):
    folders = {}
    for run in plan(TABLES["mini"], 2, lambda config: on_data(config, "my.zip"), MachineConfig())[:14]:
        folder = run.folder(Places(tmp_path / "kept"))
        folder.mkdir(parents=True)
        if run.row != "CutMix":  # which is still being trained
            (folder / "weights.safetensors").touch()
            folders.setdefault(run.row, []).append(folder)
    asked = {}

    def measure(networks, machine):
        asked.update(networks)
        return [Point(name, "pgd", 0.0, 1, 50.0, None) for name in networks] + [Point("x", "fgsm", 0.0, 1, 50.0, None)]

    monkeypatch.setattr("puzzlemix.experiments.attack_curves.measure", measure)
    code, output, errors = call(
        "reproduce", "figure-pgd", "--data", "my.zip", "--seeds", 2, "--runs", tmp_path / "kept"
    )
    assert code == 0, errors
    assert output.split() == ["figures/figure-pgd.png", "figures/figure-pgd.csv"]
    assert asked == folders
    assert len(asked["Vanilla"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tabel2"], "did you mean table2"),
        ([], "say what: mini, mini-time, mini-long, table2"),
        (["table2", "--seeds", "0"], "--seeds 0"),
        (["table2", "--data", "cifar10"], "add --scale mini"),
        (["figure-pgd", "--network", "runs/x"], "leave out --network"),
        (["mini", "--scale", "paper"], "mini is small in itself"),
        (["table9", "--only", "3"], "--only 3: there are 3 runs"),
    ],
)
def test_what_cannot_be_meant_is_named(call, arguments, words):
    code, output, errors = call("reproduce", *arguments)
    assert (code, output) == (2, "")
    assert words in errors


def test_a_missing_data_set_is_said_and_nothing_recorded(call, tmp_path):
    code, _, errors = call("reproduce", "table9", "--only", 0, "--device", "cpu")
    assert code == 1
    assert "cifar100" in errors
    assert not (tmp_path / "records").exists()
