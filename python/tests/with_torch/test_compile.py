# SPDX-License-Identifier: Apache-2.0
"""torch.compile and torch.export keep the operators as they are. Inductor's compiler takes half a
minute, so one compilation covers the whole table."""
import torch
from problems import OPERATORS, PAIRS, as_tuple, attributes, inputs, outputs_like, same, target
from vjp.torch import nn


def everything(arguments):
    """Every operator, its results changed by operations that a compiler may fuse."""
    results = []
    for op in OPERATORS:
        scaled = [t * 0.5 if t is not None and t.is_floating_point() else t for t in arguments[op.name]]
        results += [2 * r for r in as_tuple(target(op)(*scaled, **attributes(op)))]
    return results


def arguments(rows):
    return {op.name: inputs(op, shape=(rows, 8)) for op in OPERATORS}


def model():
    """Modules, whose functions choose between the library and PyTorch's own."""
    torch.manual_seed(0)
    return torch.nn.Sequential(nn.RMSNorm(8), nn.GELU("tanh"), nn.LeakyReLU(0.1, inplace=True), nn.SELU(),
                               nn.Softplus(), nn.PReLU(), nn.GLU(), nn.Softmax(-1))


def test_inductor_with_dynamic_shapes_and_gradients():
    """Gradients of the operators that have one, and of a model, in one graph."""
    layers, loss = model(), nn.CrossEntropyLoss(label_smoothing=0.1)

    def function(arguments, leaf):
        results = everything(arguments)
        for op, _ in PAIRS:
            first, *rest = arguments[op.name]
            results.append(as_tuple(target(op)(first + leaf, *rest, **attributes(op)))[0].sum())
        x = arguments["gelu"][0] + leaf
        total = loss(layers(x), torch.ones(x.shape[0], dtype=torch.int64))
        return results, total + sum(r.float().sum() for r in results) + leaf.sum()

    compiled = torch.compile(function, fullgraph=True, dynamic=True)
    for rows in (6, 9):
        leaves = [torch.full((), 0.25, requires_grad=True) for _ in range(2)]
        results, total = function(arguments(rows), leaves[0])
        compiled_results, compiled_total = compiled(arguments(rows), leaves[1])
        assert all(same(a, b) for a, b in zip(results[:-len(PAIRS) or None],
                                              compiled_results[:-len(PAIRS) or None]))
        total.backward()
        compiled_total.backward()
        torch.testing.assert_close(leaves[0].grad, leaves[1].grad)


def test_mutating_variants_are_functionalized():
    def function(tensors, outputs):
        for op in OPERATORS:
            if "mode" not in op.attr_names: # PyTorch cannot trace an argument of that name
                target(op, "_out")(*tensors[op.name], **attributes(op), **outputs[op.name])
        return {name: [2 * t for t in o.values()] for name, o in outputs.items()}

    tensors = arguments(6)
    fresh = lambda: {op.name: outputs_like(op, as_tuple(target(op)(*tensors[op.name], **attributes(op))))
                     for op in OPERATORS if "mode" not in op.attr_names}
    expected = function(tensors, fresh())
    found = torch.compile(function, backend="aot_eager", fullgraph=True)(tensors, fresh())
    for name, results in expected.items():
        assert all(same(a, b) for a, b in zip(results, found[name])), name


class Everything(torch.nn.Module):
    def forward(self, arguments):
        return everything(arguments)


def test_export_keeps_the_operators():
    program = torch.export.export(Everything(), (arguments(6),))
    for exported in (program, program.run_decompositions()):
        called = {node.target for node in exported.graph.nodes if node.op == "call_function"}
        assert {target(op) for op in OPERATORS} <= called
        assert all(same(a, b) for a, b in zip(exported.module()(arguments(6)), everything(arguments(6))))
