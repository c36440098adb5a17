"""The batching rule of operators that model a whole survey per call."""

import torch


def one_by_one(function, in_dims, size, arguments):
    """Call `function` for one item of the batch after the other; return (stacked results, their batch axes).

    Arguments may be lists of tensors.
    """

    def part(x, dim, i):
        if dim is None:
            return x
        return [part(*pair, i) for pair in zip(x, dim, strict=True)] if isinstance(x, list) else x.select(dim, i)

    items = [function(*(part(x, dim, i) for x, dim in zip(arguments, in_dims, strict=True))) for i in range(size)]
    kind = type(items[0])
    if issubclass(kind, torch.Tensor):
        return torch.stack(items), 0
    return kind(torch.stack(parts) for parts in zip(*items, strict=True)), kind([0] * len(items[0]))
