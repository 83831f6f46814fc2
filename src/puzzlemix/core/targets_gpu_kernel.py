"""Mixed targets on the GPU: one program per image writes its row of shares."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["classes"])
def mix_target(targets, index, ratio, mixed, fine, classes, kept, spread, LANES: tl.constexpr):
    """Class indices (B,), partners and ratios -> `mixed` (B,classes), `fine` (B,): whether the index is a class.

    A class's own share is `kept`, and `spread` is added to all.
    """
    image = tl.program_id(0).to(tl.int64)
    first = tl.load(targets + image)
    second = tl.load(targets + tl.load(index + image))
    share = tl.load(ratio + image)
    tl.store(fine + image, ((first >= 0) & (first < classes)).to(tl.int32))
    for start in range(0, classes, LANES):
        label = start + tl.arange(0, LANES)
        of_first = tl.where(label == first, kept, 0.0) + spread
        of_second = tl.where(label == second, kept, 0.0) + spread
        tl.store(mixed + image * classes + label, share * of_first + (1 - share) * of_second, mask=label < classes)
