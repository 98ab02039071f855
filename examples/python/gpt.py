# SPDX-License-Identifier: Apache-2.0
"""gpt.py - a small GPT that learns to write like this repository's documentation.

    python examples/python/gpt.py [--activations torch|vjp] [--enable] [--ddp 2] [--compile]
                                  [--device cuda] [--size large] [--deterministic]

--activations vjp takes activation, softmax, norm and loss from vjp.torch.functional; --enable replaces
PyTorch's own backward kernels (eager mode). Prints the loss, the median time of a step (so that
compilation does not count), tokens per second and the peak memory. Then it trains again, on the CPU with
2 threads instead of 1, and says whether the losses are equal bit by bit, and which parts of the model are.
"""
import argparse
import math
import os
import pathlib
import resource
import socket
import statistics
import sys
import time
import typing

import torch
import torch.nn.functional as F
import vjp.torch
from torch import nn

ROOT = pathlib.Path(__file__).parents[2]


class Size(typing.NamedTuple):
    context: int
    width: int
    heads: int
    layers: int
    batch: int


SIZES = {"small": Size(64, 64, 4, 2, 16), "large": Size(1024, 1024, 16, 12, 8)}
FUNCTIONS = {"torch": F, "vjp": vjp.torch.functional}


class Norm(nn.RMSNorm):
    def __init__(self, use, width):
        super().__init__(width)
        self.use = use

    def forward(self, x):
        return self.use.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class Block(nn.Module):
    def __init__(self, use, size):
        super().__init__()
        self.use, self.heads = use, size.heads
        width = size.width
        self.norm1, self.norm2 = Norm(use, width), Norm(use, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("future", torch.triu(torch.full((size.context, size.context), -math.inf), 1))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.reshape(batch, length, self.heads, -1).transpose(1, 2)
                   for t in self.qkv(self.norm1(x)).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads) + self.future
        mixed = (self.use.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(x.shape)
        x = x + self.out(mixed)
        return x + self.down(self.use.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, use, size):
        super().__init__()
        self.tokens, self.places = nn.Embedding(256, size.width), nn.Embedding(size.context, size.width)
        self.blocks = nn.Sequential(*(Block(use, size) for _ in range(size.layers)))
        self.norm, self.head = Norm(use, size.width), nn.Linear(size.width, 256)

    def forward(self, text):
        x = self.tokens(text) + self.places.weight
        return self.head(self.norm(self.blocks(x)))


def batches(size, device, rank, world):
    """Bytes of the documentation: what is read, and what follows. Ranks read different places."""
    data = b"".join(path.read_bytes() for path in sorted((ROOT / "docs").glob("*.md")))
    data = torch.frombuffer(bytearray(data), dtype=torch.uint8).long()
    generator = torch.Generator().manual_seed(0)
    while True:
        starts = torch.randint(len(data) - size.context - 1, (size.batch * world,), generator=generator)
        text = torch.stack([data[i:i + size.context + 1] for i in starts[rank::world]]).to(device)
        yield text[:, :-1], text[:, 1:]


def train(args, threads, rank=0, world=1):
    """The losses of all steps, and the seconds that each took."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    use, size = FUNCTIONS[args.activations], SIZES[args.size]
    model = GPT(use, size).to(args.device)
    if world > 1:
        model = nn.parallel.DistributedDataParallel(model)
    model = torch.compile(model) if args.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses, seconds, source = [], [], batches(size, args.device, rank, world)
    for _ in range(args.steps):
        text, following = next(source)
        start = time.perf_counter()
        loss = use.cross_entropy(model(text).flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item()) # waits for the device
        seconds.append(time.perf_counter() - start)
    return torch.tensor(losses), seconds


def bits(part, inputs, threads):
    """A part's output and its gradients."""
    torch.set_num_threads(threads)
    inputs = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    leaves = [x for x in (*inputs, *getattr(part, "parameters", list)()) if x.requires_grad]
    output = part(*inputs)
    towards = torch.linspace(-1, 1, output.numel(), device=output.device).reshape(output.shape)
    return output, *torch.autograd.grad(output, leaves, towards)


def parts(args):
    """{part of the model: whether it gives the same bits again, on the CPU with 2 threads instead of 1}"""
    torch.manual_seed(0)
    torch.set_default_device(args.device)
    use, size = FUNCTIONS[args.activations], SIZES[args.size]
    hidden = torch.randn(size.batch, size.context, size.width)
    heads = torch.randn(2, size.batch, size.heads, size.context, size.width // size.heads)
    scores = torch.randn(size.batch, size.heads, size.context, size.context)
    text = torch.randint(256, (size.batch, size.context))
    cases = {
        "softmax": (lambda x: use.softmax(x, dim=-1), scores),
        "gelu": (use.gelu, torch.randn(size.batch, size.context, 4 * size.width)),
        "cross_entropy": (use.cross_entropy, torch.randn(text.numel(), 256), text.flatten()),
        "rms_norm": (Norm(use, size.width), hidden),
        "Linear": (nn.Linear(size.width, 4 * size.width), hidden),
        "matmul of attention": (lambda q, k: q @ k.transpose(-1, -2), *heads),
        "Embedding": (nn.Embedding(256, size.width), text),
    }
    return {name: all(map(torch.equal, bits(part, inputs, 1), bits(part, inputs, 2)))
            for name, (part, *inputs) in cases.items()}


def compare(args, losses):
    """Train again and print whether the losses are the same."""
    again, _ = train(args, 2)
    word = "equal" if torch.equal(losses, again) else "not equal"
    runs = "1 and 2 threads" if args.device == "cpu" else "two runs"
    print(f"the losses of {runs} are {word} bit by bit")
    equal = parts(args)
    for word in ("equal", "not equal"):
        names = [name for name, same in equal.items() if same == (word == "equal")]
        print(f"bits of each part alone, {word}: {', '.join(names) or 'none'}")


def report(args, losses, seconds):
    size, step = SIZES[args.size], statistics.median(seconds)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 if args.device == "cpu" \
        else torch.cuda.max_memory_allocated()
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, {1000 * step:.2f} ms per step, "
          f"{args.ddp * size.batch * size.context / step:.0f} tokens/s, {memory / 2**20:.0f} MiB at most")


def prepare(args):
    torch.use_deterministic_algorithms(args.deterministic)
    if args.enable:
        vjp.torch.enable()


def process(rank, args, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=args.ddp)
    prepare(args)
    losses, seconds = train(args, 1, rank, args.ddp)
    torch.distributed.all_reduce(losses)
    if rank == 0:
        report(args, losses / args.ddp, seconds)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # an orderly exit at times aborts: threads of PyTorch's own are still there


def main():
    parser = argparse.ArgumentParser(description="trains a small GPT on this repository's docs")
    parser.add_argument("--activations", choices=FUNCTIONS, default="torch")
    parser.add_argument("--enable", action="store_true", help="replace PyTorch's backward kernels")
    parser.add_argument("--ddp", type=int, default=1, metavar="N", help="train on N processes")
    parser.add_argument("--compile", action="store_true", help="with torch.compile")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--size", choices=SIZES, default="small", help="large is meant for a GPU")
    parser.add_argument("--deterministic", action="store_true",
                        help="with torch.use_deterministic_algorithms")
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    if args.ddp > 1:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        torch.multiprocessing.spawn(process, (args, port), nprocs=args.ddp)
        return
    prepare(args)
    losses, seconds = train(args, 1)
    report(args, losses, seconds)
    compare(args, losses)
    for name, counts in vjp.torch.report().items():
        if counts.taken:
            print(f"{name}: {counts.taken} calls taken, {counts.passed_on} passed on")


if __name__ == "__main__":
    main()
