"""The blend on the CPU: every output pixel is written once, every visible input pixel read once."""

from .compiled import compiled


@compiled
def _mix_run(out, first, second, weight):
    """Blend one row of a tile; a hidden image is not looked at, so it cannot leak a NaN."""
    if weight == 1:
        out[:] = first
    elif weight == 0:
        out[:] = second
    else:
        for x in range(out.size):
            out[x] = weight * first[x] + (1 - weight) * second[x]


@compiled
def blend_images(start, stop, first, second, mixed, index, weight, first_source, second_source):
    """Mix images start..stop: planes (B,P,H,W), weight (B,R,K), sources (B,R*K)."""
    planes, height, width = first.shape[1:]
    rows, cols = weight.shape[1:]
    high, wide = height // rows, width // cols
    for image in range(start, stop):
        partner = index[image]
        for plane in range(planes):
            for row in range(rows):
                for col in range(cols):
                    share = mixed.dtype.type(weight[image, row, col])
                    here = row * cols + col
                    first_row, first_col = divmod(first_source[image, here], cols)
                    second_row, second_col = divmod(second_source[image, here], cols)
                    for y in range(high):
                        _mix_run(
                            mixed[image, plane, row * high + y, col * wide : (col + 1) * wide],
                            first[image, plane, first_row * high + y, first_col * wide : (first_col + 1) * wide],
                            second[partner, plane, second_row * high + y, second_col * wide : (second_col + 1) * wide],
                            share,
                        )
