"""Sixteen int32 lanes as one numba value, so that a kernel written once solves sixteen images at a time.

LLVM vectorises the plain loop over images only in part; naming the vector gives it no choice. A `Lanes` value has
`+`, `-` and comparisons with another `Lanes` or a plain integer; a comparison gives a `LaneMask` for `where` and
`any_lane`.
"""

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

LANES = 16

_VECTOR = ir.VectorType(ir.IntType(32), LANES)
_MASK = ir.VectorType(ir.IntType(1), LANES)


class _LanesType(types.Type):
    def __init__(self):
        super().__init__(name="Lanes")


class _LaneMaskType(types.Type):
    def __init__(self):
        super().__init__(name="LaneMask")


Lanes = _LanesType()
LaneMask = _LaneMaskType()


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _VECTOR)


@register_model(_LaneMaskType)
class _LaneMaskModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _MASK)


def _emitted(function: Callable) -> Any:
    """An intrinsic whose first parameter, the typing context, is not the caller's business."""
    return intrinsic(function)


def _element(context, builder, array_type, array, position):
    """A vector pointer to the array's element at `position`."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position]), _VECTOR.as_pointer())


@_emitted
def load(typing_context, array, position):
    """Sixteen consecutive elements of a 1-D int32 array."""

    def generate(context, builder, signature, arguments):
        return builder.load(_element(context, builder, signature.args[0], *arguments), align=4)

    return Lanes(array, types.intp), generate


@_emitted
def store(typing_context, array, position, value):
    """Write sixteen consecutive elements of a 1-D int32 array."""

    def generate(context, builder, signature, arguments):
        target, position, value = arguments
        builder.store(value, _element(context, builder, signature.args[0], target, position), align=4)
        return context.get_dummy_value()

    return types.none(array, types.intp, Lanes), generate


@_emitted
def splat(typing_context, value):
    """The same integer in every lane."""

    def generate(context, builder, signature, arguments):
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        single = builder.insert_element(undefined, arguments[0], ir.Constant(ir.IntType(32), 0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(single, undefined, order)

    return Lanes(types.int32), generate


@_emitted
def where(typing_context, mask, chosen, other):
    """`chosen` in the lanes of the mask, `other` elsewhere."""

    def generate(context, builder, signature, arguments):
        return builder.select(*arguments)

    return Lanes(LaneMask, Lanes, Lanes), generate


@_emitted
def any_lane(typing_context, mask):
    """Whether the mask holds in any lane."""

    def generate(context, builder, signature, arguments):
        bits = builder.bitcast(arguments[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(LaneMask), generate


def _binary(result, emit):
    """An intrinsic of two `Lanes` (or two masks) out of one builder call."""

    @_emitted
    def operation(typing_context, left, right):
        def generate(context, builder, signature, arguments):
            return emit(builder, *arguments)

        return result(left, right), generate

    return operation


def _define(function, kind, operation):
    """Let `function` accept two values of `kind`, or one and a plain integer."""

    def implementation(left, right):
        if left is kind and right is kind:
            return lambda left, right: operation(left, right)
        if left is Lanes and isinstance(right, types.Integer):
            return lambda left, right: operation(left, splat(right))
        return None

    overload(function)(implementation)


def _compare(sign):
    return lambda builder, left, right: builder.icmp_signed(sign, left, right)


def _choose(sign):
    """Of two values the one that compares as `sign`."""
    return lambda builder, left, right: builder.select(builder.icmp_signed(sign, left, right), left, right)


def minimum(left, right):
    """The smaller value, lane by lane (compiled code only)."""
    raise NotImplementedError


def maximum(left, right):
    """The larger value, lane by lane (compiled code only)."""
    raise NotImplementedError


_define(operator.add, Lanes, _binary(Lanes, lambda builder, left, right: builder.add(left, right)))
_define(operator.sub, Lanes, _binary(Lanes, lambda builder, left, right: builder.sub(left, right)))
for _function, _sign in ((operator.lt, "<"), (operator.gt, ">"), (operator.eq, "=="), (operator.ne, "!=")):
    _define(_function, Lanes, _binary(LaneMask, _compare(_sign)))
_define(operator.and_, LaneMask, _binary(LaneMask, lambda builder, left, right: builder.and_(left, right)))
for _function, _sign in ((minimum, "<"), (maximum, ">")):
    _define(_function, Lanes, _binary(Lanes, _choose(_sign)))
