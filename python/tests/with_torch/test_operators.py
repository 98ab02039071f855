# SPDX-License-Identifier: Apache-2.0
"""torch.ops.vjp.*: the library's results, whatever the dtype, layout and number of threads."""
import pytest
import torch
from problems import (DTYPES, OPERATORS, as_tuple, attributes, inputs, name_of, outputs_like, plain,
                      same, target)
from vjp.torch import table

each_operator = pytest.mark.parametrize("op", OPERATORS, ids=name_of)


@each_operator
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("optional", (True, False), ids=("all", "required"))
def test_results_are_those_of_the_plain_function(op, dtype, optional):
    tensors, attrs = inputs(op, dtype=dtype, optional=optional), attributes(op)
    expected = plain(op, tensors, attrs)
    for output, result in zip(op.outputs, as_tuple(target(op)(*tensors, **attrs))):
        if output.name in expected:
            assert same(result, expected[output.name]), output.name
        else:
            assert result.numel() == 0 # the gradient of what was not given


@each_operator
def test_memory_format_is_kept(op):
    tensors, attrs = inputs(op, shape=(2, 3, 4, 5)), attributes(op)
    layouts = {"channels_last": lambda t: t.contiguous(memory_format=torch.channels_last),
               "transposed": lambda t: t.transpose(1, 2).contiguous().transpose(1, 2),
               "sliced": lambda t: torch.stack((t, t), -1)[..., 0]}
    for name, layout in layouts.items():
        arranged = [layout(t) if t is not None and t.shape == (2, 3, 4, 5) else t for t in tensors]
        for output, result in zip(op.outputs, as_tuple(target(op)(*arranged, **attrs))):
            if op.like(output) == 0:
                assert result.stride() == torch.empty_like(arranged[0]).stride(), name
                torch.testing.assert_close(result, plain(op, tensors, attrs)[output.name])


@each_operator
def test_gradients_that_were_expanded(op):
    """sum().backward() sends a gradient of stride 0."""
    tensors, attrs = inputs(op), attributes(op)
    expanded = [torch.ones((), dtype=t.dtype).expand(t.shape)
                if t is not None and info.name.startswith("diff_") else t
                for info, t in zip(op.inputs, tensors)]
    dense = [t if t is None else t.contiguous() for t in expanded]
    for a, b in zip(as_tuple(target(op)(*expanded, **attrs)), as_tuple(target(op)(*dense, **attrs))):
        torch.testing.assert_close(a, b)


@each_operator
def test_tensors_without_elements(op):
    tensors, attrs = inputs(op, shape=(0, 4)), attributes(op)
    for output, result in zip(op.outputs, as_tuple(target(op)(*tensors, **attrs))):
        assert op.like(output) != 0 or result.shape == (0, 4)
        assert not result.any() # a sum of nothing is 0


@each_operator
def test_out_variant_writes_the_same_bits_and_returns_nothing(op):
    tensors, attrs = inputs(op), attributes(op)
    results = as_tuple(target(op)(*tensors, **attrs))
    outputs = outputs_like(op, results)
    assert target(op, "_out")(*tensors, **attrs, **outputs) is None
    assert all(same(a, b) for a, b in zip(results, outputs.values()))


@each_operator
def test_optional_outputs_can_be_left_out(op):
    optional = [o for o in op.outputs if o.is_optional]
    if len(optional) == len(op.outputs):
        optional = optional[1:] # one must be given
    tensors, attrs = inputs(op), attributes(op)
    wants = {f"want_{o.name}": False for o in optional}
    all_results = as_tuple(target(op)(*tensors, **attrs))
    for output, a, b in zip(op.outputs, as_tuple(target(op)(*tensors, **attrs, **wants)), all_results):
        assert a.shape == (0,) if output in optional else same(a, b)


@each_operator
def test_in_place(op):
    """The output may be an input of its shape and dtype."""
    tensors, attrs = inputs(op, optional=False), attributes(op)
    results = as_tuple(target(op)(*tensors, **attrs))
    first = op.outputs[0]
    if op.like(first) != 0:
        return
    outputs = {first.name: tensors[0]}
    outputs |= {o.name: torch.empty_like(r) for o, r in zip(op.outputs[1:], results[1:])
                if not o.is_optional}
    target(op, "_out")(*tensors, **attrs, **outputs)
    assert same(tensors[0], results[0])


@each_operator
def test_same_bits_for_any_number_of_threads(op):
    tensors, attrs = inputs(op, shape=(700, 900)), attributes(op)
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(as_tuple(target(op)(*tensors, **attrs)))
    finally:
        torch.set_num_threads(before)
    for others in results[1:]:
        assert all(same(a, b) for a, b in zip(results[0], others))


@each_operator
def test_errors_name_the_operator_and_the_tensor(op):
    tensors, attrs = inputs(op), attributes(op)
    data = [i for i, info in enumerate(op.inputs) if info.shape_rule == table.DATA]
    if len(data) > 1:
        wrong = list(tensors)
        wrong[data[1]] = wrong[data[1]][:3]
        with pytest.raises(RuntimeError, match=f"{op.name}: {op.inputs[data[1]].name}: dim 0 is 3"):
            target(op)(*wrong, **attrs)
    wrong = [tensors[0].to(torch.complex64), *tensors[1:]]
    with pytest.raises(RuntimeError, match=f"{op.name}: {op.inputs[0].name}: its dtype is not one of"):
        target(op)(*wrong, **attrs)
    wrong = [tensors[0].reshape((1,) * 11 + (6, 8)), *tensors[1:]]
    with pytest.raises(RuntimeError, match=f"{op.name}: {op.inputs[0].name}: has 13 dims"):
        target(op)(*wrong, **attrs)


def test_schemas_have_the_names_and_defaults_of_the_table():
    for op in OPERATORS:
        arguments = {a.name: a for a in target(op)._schema.arguments}
        assert list(arguments)[:len(op.inputs)] == list(op.input_names)
        for attr in op.attrs:
            argument = arguments[attr.name]
            assert argument.kwarg_only and argument.has_default_value() != attr.required
            if not attr.required and attr.default != float("inf"):
                assert argument.default_value == attr.default
