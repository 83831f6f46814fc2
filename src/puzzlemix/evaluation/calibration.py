"""Whether a classifier is as often right as it says it is.

Shape suffixes: B batch, N classes, K bins.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

BINS = 15  # as in Guo et al. (2017)


def confidence_bins(logits_BN: Tensor, right_B: Tensor) -> Tensor:
    """Per bin of confidence how many images there are, their summed confidence, how many are right: (3,K) float32.

    Bins are equally wide, open on the left and closed on the right.
    """
    # what a diverged model says counts as no confidence at all
    confidence_B = logits_BN.float().softmax(1).amax(1).nan_to_num(0)
    bin_B = (confidence_B * BINS).ceil().long().clamp(1, BINS) - 1
    columns_3B1 = torch.stack([torch.ones_like(confidence_B), confidence_B, right_B.float()])[..., None]
    # added up rather than as a matrix product, which accelerators may do in fewer digits
    return (columns_3B1 * F.one_hot(bin_B, BINS)).sum(1)


def calibration_error(bins_3K: Tensor) -> float:
    """Expected calibration error: the mean over all images of |confidence - accuracy| of the image's bin, 0 to 1."""
    images_K, confidence_K, right_K = bins_3K
    return float((confidence_K - right_K).abs().sum() / images_K.sum())
