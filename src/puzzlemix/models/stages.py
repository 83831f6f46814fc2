"""The stages of a model by name, for methods that hook into hidden layers."""

from torch import nn


def stages(model: nn.Module) -> list[str]:
    """Names of the stages in order, for `model.get_submodule(name)`.

    A stage's output is "after stage k". Known are modules with `stage_names` (ours; set it on your own), and those
    with children layer1, layer2, ... (torchvision's ResNets); wrappers around them are looked into.
    """
    for path, module in model.named_modules():
        names = _own_stages(module)
        if names:
            return [f"{path}.{name}" if path else name for name in names]
    children = ", ".join(name for name, _ in model.named_children()) or "none"
    raise ValueError(
        f"{type(model).__name__} has no stages that are known by name (its children: {children}): pass the names of "
        "the layers yourself, from model.named_modules(), or set model.stage_names to them"
    )


def _own_stages(module: nn.Module) -> list[str]:
    if hasattr(module, "stage_names"):
        return list(module.stage_names)  # pyright: ignore[reportArgumentType]
    layers = [name for name, _ in module.named_children() if name[:5] == "layer" and name[5:].isdigit()]
    # A lone `layer1` is more likely a user's own name for something else.
    return layers if {"layer1", "layer2"} <= set(layers) else []
