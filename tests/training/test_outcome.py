import json

from puzzlemix.training.outcome import Errors, Outcome, errors_of


def history(prefix, errors):
    return [{f"{prefix}_error": e, f"{prefix}_error5": e / 2, f"{prefix}_loss": 8 * e} for e in errors]


def test_errors_are_the_last_and_the_median_of_the_last_ten():
    epochs = history("ema", [0.9, 0.1, 0.5, 0.52, 0.54, 0.56, 0.58, 0.6, 0.62, 0.64, 0.66, 0.68])
    found = errors_of(epochs, 0.75, "ema")
    assert found == Errors(0.68, 0.34, 8 * 0.68, (0.58 + 0.6) / 2, (0.58 + 0.6) / 4, 0.75)


def test_the_best_epoch_has_no_say():
    assert errors_of(history("test", [0.1, 0.9]), 1.0, "test").median_top1 == 0.5


def test_an_outcome_is_plain_values():
    errors = errors_of(history("test", [0.5]), 1.0, "test")
    values = Outcome(errors, None, [{"epoch": 1}], 2.0).as_dict()
    assert json.loads(json.dumps(values))["errors"]["fgsm"] == 1.0
