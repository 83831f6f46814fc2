"""Manifold mixup (Verma et al., 2019): mixup of the images, or of the features after some stage."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..models.stages import stages
from .base import Batch, Stateless, Step
from .losses import Objective, unknown
from .pairing import Pairing, PairingSettings, mix_pairs

INPUT = "input"
_INNER = ("_orig_mod", "module", "model", "_forward_module")  # compiled, distributed, normalised, Fabric's


@dataclass(frozen=True)
class ManifoldMixupSettings(PairingSettings):
    """The paper's alpha is 2 on CIFAR, 0.2 on Tiny-ImageNet and ImageNet.

    layers: names of the layers after which to mix, one drawn per batch, "input" for the images; None stands for the
    reference's choice, the images and the model's first two stages.
    """

    alpha: float = 2.0
    layers: tuple[str, ...] | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.layers is not None and (isinstance(self.layers, str) or not self.layers):
            raise ValueError(f"layers={self.layers!r}: pass at least one name in a tuple, e.g. ('input', 'layer1')")


class ManifoldDraw(NamedTuple):
    """The pairing, and the layer after which to mix."""

    pairing: Pairing
    layer: str


class ManifoldMixup(Stateless):
    """Mixes in a forward hook, so that the model needs no change and is left without one."""

    def __init__(self, classes: int, settings: ManifoldMixupSettings | None = None):
        self.settings = settings or ManifoldMixupSettings()
        self.objective = Objective(self.settings, classes)

    def loss(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Step:
        """Draw and apply."""
        return self.apply(model, batch, self.draw(generator, len(batch.images), self.layers(model)))

    def layers(self, model: nn.Module) -> tuple[str, ...]:
        """The names to draw from."""
        return self.settings.layers or (INPUT, *stages(model)[:2])

    def draw(self, generator: torch.Generator, count: int, layers: tuple[str, ...]) -> ManifoldDraw:
        """Draw for a batch of `count` images."""
        pairing = self.settings.draw_pairing(generator, count)
        chosen = int(torch.randint(len(layers), (), generator=generator))
        return ManifoldDraw(pairing, layers[chosen])

    def apply(self, model: nn.Module, batch: Batch, drawn: ManifoldDraw) -> Step:
        """The loss for a given draw."""
        images, mixing = batch.images, nullcontext()
        if drawn.layer == INPUT:
            images = mix_pairs(images, drawn.pairing)
        else:
            mixing = mixed_after(model, drawn.layer, drawn.pairing)
        with mixing:
            logits = model(images)
        return self.objective.step(logits, mix_pairs(self.objective.one_hot(batch.labels), drawn.pairing))


@contextmanager
def mixed_after(model: nn.Module, layer: str, pairing: Pairing) -> Iterator[None]:
    """While this lasts, what the layer returns in the model's next pass is mixed; compiled models run uncompiled."""
    ran = False

    def mix(module: nn.Module, inputs: Any, output: Any) -> Tensor | None:
        nonlocal ran
        if ran:
            return None  # a layer that is called twice has mixed features before it the second time
        ran = True
        return mix_pairs(_hidden(output, layer, len(pairing.partners)), pairing)

    hook = find_layer(model, layer).register_forward_hook(mix)
    try:
        # A graph that was compiled before the hook came would go on without it, and without a word.
        with torch.compiler.set_stance("force_eager"):
            yield
    finally:
        hook.remove()
    if not ran:
        raise ValueError(f"layer {layer!r} took no part in the model's forward: choose another, or 'input'")


def find_layer(model: nn.Module, name: str) -> nn.Module:
    """The submodule of this name, in the model or in what it wraps."""
    wrapped: nn.Module | None = model
    while wrapped is not None:
        modules = dict(wrapped.named_modules())
        if name and name in modules:
            return modules[name]
        wrapped = next((modules[inner] for inner in _INNER if inner in modules), None)
    raise unknown(name, [known for known, _ in model.named_modules() if known], "layer")


def _hidden(output: Any, layer: str, count: int) -> Tensor:
    """The layer's output, if it is features of a whole batch."""
    if not isinstance(output, Tensor):
        raise ValueError(f"layer {layer!r} returned a {type(output).__name__}: choose a layer that returns a tensor")
    if not output.is_floating_point() or not output.dim() or len(output) != count:
        raise ValueError(
            f"layer {layer!r} returned {output.dtype} of shape {tuple(output.shape)} for {count} images: "
            "choose a layer that returns features, one row per image"
        )
    return output
