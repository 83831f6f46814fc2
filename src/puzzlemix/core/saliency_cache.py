"""Saliency maps remembered by sample number, so that one pass serves several epochs of differently cropped views.

A map belongs to the frame of the view it was computed in: a rectangle of the sample, perhaps flipped. For another view
each pixel looks up the place of the sample it shows. Positions are whole numbers, so the arithmetic is exact.

Shape suffixes: B batch, H height, W width, R rows and K columns of the stored maps, S samples known.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .saliency import scale_to_peak

_MOST_SAMPLES = 2**31
_TOP, _LEFT, _HEIGHT, _WIDTH, _FLIP = range(5)


class View(NamedTuple):
    """How each image of a batch was cut from its sample: integers (B,) on the CPU.

    top, left: where the crop starts in the sample, in its pixels; negative where the sample was padded. height, width:
    the crop's extent in the sample, None where it was not rescaled. flip: whether the crop was then flipped
    horizontally, None for never. For signals top and height are ignored.
    """

    top: Tensor
    left: Tensor
    height: Tensor | None = None
    width: Tensor | None = None
    flip: Tensor | None = None


class _Arriving(NamedTuple):
    """Maps on their way to the cache's device, and what tells when they are all there; `which` of them are whose."""

    maps: Tensor
    arrived: torch.cuda.Event | None
    samples: Tensor
    which: Tensor


class SaliencyCache:
    """Remembers one map per sample; each serves the call that computed it and the `refresh` - 1 uses after it.

    In each step ask `stale` which samples need a map, compute and `store` those, and `load` the others. Maps keep at
    most `resolution` pixels per side (those of the first batch), in float16 on `device`; samples are numbered from 0.
    The CPU has room for more; maps from a GPU arrive there while the program goes on.
    """

    def __init__(self, refresh: int, resolution: int = 32, device: torch.device | str = "cpu"):
        for name, value in (("refresh", refresh), ("resolution", resolution)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r}: pass a whole number of at least 1")
        self.refresh = refresh
        self.resolution = resolution
        self.device = torch.device(device)
        self._clear()

    def _clear(self) -> None:
        with torch.inference_mode(False):
            self._uses_S = torch.zeros(1, dtype=torch.int32)
            self._frames_S5 = torch.zeros(1, 5, dtype=torch.int32)
            self._maps_SRK: Tensor | None = None  # (S,K) for signals
            self._arriving: list[_Arriving] = []

    def stale(self, samples: Tensor) -> Tensor:
        """Which samples need a new map: never seen, or used `refresh` times. (B,) -> bool (B,)."""
        uses_B = self._uses(_read_samples(samples))
        return (uses_B == 0) | (uses_B >= self.refresh)

    @torch.inference_mode(False)
    @torch.no_grad()
    def store(self, samples: Tensor, saliency: Tensor, view: View | None = None) -> None:
        """Remember maps (B,H,W) or (B,T) and the views they were computed in; computing one was its first use.

        Of several maps of one sample the last stays. Without a view, an image shows its sample from the top left on.
        """
        samples = _read_samples(samples)
        self._check_saliency(saliency, len(samples))
        frames_B5 = _frames(view, tuple(saliency.shape[1:]), len(samples))
        if not len(samples):
            return
        last = _last_of_each(samples)
        pooled = self._pooled(saliency)
        self._note(samples[last], pooled, frames_B5[last].int(), 1)
        self._arriving.append(_Arriving(*_fetched(pooled, self.device), samples[last], last))

    @torch.inference_mode(False)
    @torch.no_grad()
    def load(
        self,
        samples: Tensor,
        size: int | tuple[int, ...],
        view: View | None = None,
        *,
        device: torch.device | str | None = None,
    ) -> Tensor:
        """The maps as seen from a new view (without one: from the old), and count a use of each.

        size: (H,W) of the new images, or T -> float32 (B,H,W) or (B,T) on `device`, by default the cache's own. A pixel
        outside the old frame takes the value of the nearest one inside.
        """
        samples, sides = _read_samples(samples), self._read_size(size)
        device = self.device if device is None else torch.device(device)
        if not len(samples):
            return torch.zeros(0, *sides, device=device)
        self._settle()
        stored, old_B5 = self._known(samples)
        new_B5 = old_B5 if view is None else _frames(view, sides, len(samples))
        maps = _sent(stored[_sent(samples, self.device)], device)
        self._uses_S.index_add_(0, samples, torch.ones_like(samples, dtype=torch.int32))
        return _warp(maps, old_B5, new_B5, sides)

    def state_dict(self) -> dict[str, Any]:
        """Everything remembered, as copies; only samples that were seen."""
        self._settle()
        seen = self._uses_S.nonzero()[:, 0]
        maps = None if self._maps_SRK is None else self._maps_SRK[seen.to(self.device)].cpu()
        return {
            "resolution": self.resolution,
            "samples": seen,
            "uses": self._uses_S[seen],
            "frames": self._frames_S5[seen],
            "maps": maps,
        }

    @torch.inference_mode(False)
    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Forget everything and remember what `state_dict` gave; `refresh` stays as it is."""
        if state["resolution"] != self.resolution:
            raise ValueError(f"the state has resolution {state['resolution']}: make the cache with that resolution")
        self._clear()
        if state["maps"] is None:
            return
        samples, maps = state["samples"].cpu(), state["maps"].to(self.device)
        self._note(samples, maps, state["frames"].cpu(), state["uses"].cpu())[_sent(samples, self.device)] = maps

    def _uses(self, samples: Tensor) -> Tensor:
        within = samples < len(self._uses_S)
        return self._uses_S[samples * within] * within

    def _note(self, samples: Tensor, maps: Tensor, frames_B5: Tensor, uses: Tensor | int) -> Tensor:
        """Note how samples were seen and used, and make room for maps like these; the room for all."""
        self._settle()
        stored = self._reserve(int(samples.max()) + 1, maps)
        self._frames_S5[samples] = frames_B5
        self._uses_S[samples] = uses
        return stored

    def _settle(self) -> None:
        """Put maps that were on their way in their places."""
        for maps, arrived, samples, which in self._arriving:
            if arrived is not None:
                arrived.synchronize()
            assert self._maps_SRK is not None
            self._maps_SRK[_sent(samples, self.device)] = maps[_sent(which, self.device)]
        self._arriving.clear()

    def _reserve(self, samples: int, maps: Tensor) -> Tensor:
        """Make room for this many samples, and some more so that growing stays rare; the stored maps."""
        stored = maps.new_zeros(1, *maps.shape[1:], device=self.device) if self._maps_SRK is None else self._maps_SRK
        if samples > len(stored):
            length = max(samples, len(stored) * 5 // 4)
            self._uses_S = _grown(self._uses_S, length)
            self._frames_S5 = _grown(self._frames_S5, length)
            stored = _grown(stored, length)
        self._maps_SRK = stored
        return stored

    def _pooled(self, saliency: Tensor) -> Tensor:
        """Averaged to the stored size, each map scaled to 1 at most, (B,R,K) or (B,K) float16."""
        if self._maps_SRK is None:
            shape = tuple(min(side, self.resolution) for side in saliency.shape[1:])
        else:
            shape = tuple(self._maps_SRK.shape[1:])
        rows, cols = (1, *shape)[-2:]
        as_images = saliency.detach().float().reshape(len(saliency), -1, saliency.shape[-1])
        pooled = F.adaptive_avg_pool2d(as_images, (rows, cols)).reshape(-1, *shape)
        return scale_to_peak(pooled).half()

    def _check_saliency(self, saliency: Tensor, batch: int) -> None:
        shape = tuple(saliency.shape)
        if len(shape) not in (2, 3) or shape[0] != batch or 0 in shape[1:] or not saliency.is_floating_point():
            raise ValueError(
                f"saliency has shape {shape} and dtype {saliency.dtype} for {batch} samples: "
                "pass floats (B,H,W) or (B,T)"
            )
        if self._maps_SRK is not None and len(shape) != self._maps_SRK.dim():
            raise ValueError(f"saliency has shape {shape}, but the cache holds {self._kind()}: use one cache for each")

    def _known(self, samples: Tensor) -> tuple[Tensor, Tensor]:
        """All stored maps, and the views (B,5) that those of these samples were computed in."""
        unknown = samples[self._uses(samples) == 0]
        if self._maps_SRK is None or len(unknown):
            raise ValueError(f"no map of sample {int(unknown[0])}: compute and store what `stale` names first")
        return self._maps_SRK, self._frames_S5[samples].long()

    def _read_size(self, size: int | tuple[int, ...]) -> tuple[int, ...]:
        sides = (size,) if isinstance(size, int) else tuple(size)
        if len(sides) not in (1, 2) or min(sides) < 1:
            raise ValueError(f"size={size!r}: pass (H,W) for images, T for signals")
        if self._maps_SRK is not None and len(sides) != self._maps_SRK.dim() - 1:
            raise ValueError(f"size={size!r}, but the cache holds {self._kind()}: pass (H,W) for images, T for signals")
        return sides

    def _kind(self) -> str:
        return "maps of images" if self._maps_SRK is not None and self._maps_SRK.dim() == 3 else "maps of signals"


def _read_samples(samples: Tensor) -> Tensor:
    """Checked sample numbers, int64."""
    if not isinstance(samples, Tensor):
        raise TypeError(f"samples are a {type(samples).__name__}: pass a tensor of sample numbers")
    if samples.device.type != "cpu":
        raise ValueError(f"samples are on {samples.device}: pass them as the loader gives them, on the CPU")
    if samples.dim() != 1 or samples.is_floating_point() or samples.is_complex() or samples.dtype == torch.bool:
        raise ValueError(
            f"samples have shape {tuple(samples.shape)} and dtype {samples.dtype}: pass one integer per image, (B,)"
        )
    samples = samples.long()
    if len(samples) and not (samples.min() >= 0 and samples.max() < _MOST_SAMPLES):
        raise ValueError(
            f"samples run from {int(samples.min())} to {int(samples.max())}: pass positions in the data set, from 0, "
            "not keys or hashes"
        )
    return samples


def _last_of_each(samples: Tensor) -> Tensor:
    """Where each sample occurs last, ascending; writing duplicates at once would leave it to chance which one stays."""
    distinct, inverse = samples.unique(return_inverse=True)
    return torch.zeros_like(distinct).scatter_reduce_(0, inverse, torch.arange(len(samples)), "amax").sort().values


def _sent(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on a device, without waiting for an accelerator unless its values come back from there."""
    if device.type == "cuda" and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()  # from elsewhere a large copy would wait for its turn
    return tensor.to(device, non_blocking=device.type != "cpu")


def _fetched(maps: Tensor, device: torch.device) -> tuple[Tensor, torch.cuda.Event | None]:
    """The maps on a device, and if they come from a GPU to the CPU, what tells when they have arrived."""
    if (maps.device.type, device.type) != ("cuda", "cpu"):
        return _sent(maps, device), None
    there = torch.empty_like(maps, device=device, pin_memory=True)
    there.copy_(maps, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record(torch.cuda.current_stream(maps.device))
    return there, arrived


def _grown(tensor: Tensor, length: int) -> Tensor:
    longer = tensor.new_zeros(length, *tensor.shape[1:])
    longer[: len(tensor)] = tensor
    return longer


# ---- frames and the way from one to another ------------------------------------------------------------------------


def _frames(view: View | None, size: tuple[int, ...], batch: int) -> Tensor:
    """Views as rows (top, left, height, width, flip) of int64, (B,5); a signal has one row of pixels."""
    height, width = (1, *size)[-2:]
    if view is None:
        return torch.tensor([[0, 0, height, width, 0]]).expand(batch, 5)
    fields = {
        "top": view.top,
        "left": view.left,
        "height": torch.full((batch,), height) if view.height is None else view.height,
        "width": torch.full((batch,), width) if view.width is None else view.width,
        "flip": torch.zeros(batch, dtype=torch.bool) if view.flip is None else view.flip,
    }
    columns = [_read_field(name, values, batch) for name, values in fields.items()]
    frames_B5 = torch.stack(columns, 1)
    if len(size) == 1:
        frames_B5[:, _TOP], frames_B5[:, _HEIGHT] = 0, 1
    return frames_B5


def _read_field(name: str, values: Tensor, batch: int) -> Tensor:
    if not isinstance(values, Tensor) or values.device.type != "cpu":
        found = values.device if isinstance(values, Tensor) else type(values).__name__
        raise ValueError(f"view.{name} is on {found}: pass a CPU tensor, as the loader gives it")
    if values.shape != (batch,) or values.is_floating_point():
        raise ValueError(
            f"view.{name} has shape {tuple(values.shape)} and dtype {values.dtype}: pass {batch} whole numbers"
        )
    values = values.long()
    low, high = {"flip": (0, 1), "height": (1, 2**30), "width": (1, 2**30)}.get(name, (-(2**30), 2**30))
    if batch and not (values.min() >= low and values.max() <= high):
        raise ValueError(
            f"view.{name} runs from {int(values.min())} to {int(values.max())}: keep it in [{low}, {high}]"
        )
    return values


def _warp(maps: Tensor, old_B5: Tensor, new_B5: Tensor, size: tuple[int, ...]) -> Tensor:
    """Look up every pixel of the new frames in maps (B,R,K) or (B,K) of the old frames: (B,H,W) or (B,T) float32."""
    if maps.shape[1:] == size and torch.equal(old_B5, new_B5):
        return maps.float()
    columns_BW = _sent(_columns(old_B5, new_B5, size[-1], maps.shape[-1]), maps.device)
    if len(size) == 1:
        return maps.gather(1, columns_BW).float()
    rows_BH = _sent(_cells(old_B5, new_B5, _TOP, torch.arange(size[0]), size[0], maps.shape[1]), maps.device)
    batch_B = torch.arange(len(maps), device=maps.device)
    return maps[batch_B[:, None, None], rows_BH[:, :, None], columns_BW[:, None, :]].float()


def _columns(old_B5: Tensor, new_B5: Tensor, pixels: int, cells: int) -> Tensor:
    """The stored column that each pixel column of the new images shows, (B,W)."""
    pixel_W = torch.arange(pixels)
    unflipped_BW = torch.where(new_B5[:, _FLIP, None] > 0, pixels - 1 - pixel_W, pixel_W)
    cell_BW = _cells(old_B5, new_B5, _LEFT, unflipped_BW, pixels, cells)
    return torch.where(old_B5[:, _FLIP, None] > 0, cells - 1 - cell_BW, cell_BW)


def _cells(old_B5: Tensor, new_B5: Tensor, start: int, pixel: Tensor, pixels: int, cells: int) -> Tensor:
    """The stored cell under the centre of each pixel, or the nearest one, along the axis that begins at field `start`.

    All in units of 1/(2 pixels) of a sample's pixel, so that centres are whole numbers.
    """
    extent = _HEIGHT if start == _TOP else _WIDTH
    origin_B1 = 2 * pixels * (new_B5[:, start] - old_B5[:, start])[:, None]
    centre = origin_B1 + (2 * pixel + 1) * new_B5[:, extent, None]
    return (centre * cells // (2 * pixels * old_B5[:, extent, None])).clamp(0, cells - 1)
