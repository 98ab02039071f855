# SPDX-License-Identifier: Apache-2.0
"""gpt.py - a small GPT that learns to write like this repository's documentation.

    python examples/python/gpt.py [--activations torch|vjp] [--enable] [--ddp 2] [--compile]

--activations vjp takes activation, softmax and loss from vjp.torch.functional; --enable replaces
PyTorch's own backward kernels (eager mode). Prints the loss, tokens per second (with --compile, its
compilation included), the largest memory in use, and whether training on 1 and on 2 threads gives the
same losses bit by bit.
"""
import argparse
import math
import os
import pathlib
import resource
import socket
import time

import torch
import torch.nn.functional as F
import vjp.torch
from torch import nn

ROOT = pathlib.Path(__file__).parents[2]
CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 64, 64, 4, 2, 16
FUNCTIONS = {"torch": F, "vjp": vjp.torch.functional}


class Block(nn.Module):
    def __init__(self, use):
        super().__init__()
        self.use = use
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("future", torch.triu(torch.full((CONTEXT, CONTEXT), -math.inf), 1))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (t.reshape(batch, length, HEADS, -1).transpose(1, 2)
                   for t in self.qkv(self.norm1(x)).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS) + self.future
        mixed = (self.use.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(x.shape)
        x = x + self.out(mixed)
        return x + self.down(self.use.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, use):
        super().__init__()
        self.tokens, self.places = nn.Embedding(256, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block(use) for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256)

    def forward(self, text):
        x = self.tokens(text) + self.places.weight
        return self.head(self.norm(self.blocks(x)))


def batches(rank, world):
    """Bytes of the documentation: what is read, and what follows. Ranks read different places."""
    data = b"".join(path.read_bytes() for path in sorted((ROOT / "docs").glob("*.md")))
    data = torch.frombuffer(bytearray(data), dtype=torch.uint8).long()
    generator = torch.Generator().manual_seed(0)
    while True:
        starts = torch.randint(len(data) - CONTEXT - 1, (BATCH * world,), generator=generator)
        text = torch.stack([data[i:i + CONTEXT + 1] for i in starts[rank::world]])
        yield text[:, :-1], text[:, 1:]


def train(args, threads, rank=0, world=1):
    """The losses of all steps, and tokens per second."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    use = FUNCTIONS[args.activations]
    model = GPT(use)
    if world > 1:
        model = nn.parallel.DistributedDataParallel(model)
    model = torch.compile(model) if args.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses, start, source = [], time.perf_counter(), batches(rank, world)
    for _ in range(args.steps):
        text, following = next(source)
        loss = use.cross_entropy(model(text).flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    seconds = time.perf_counter() - start
    return torch.stack(losses), world * args.steps * BATCH * CONTEXT / seconds


def report(args, losses, speed):
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, {speed:.0f} tokens/s, {memory:.0f} MiB at most")


def process(rank, args, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=args.ddp)
    if args.enable:
        vjp.torch.enable()
    losses, speed = train(args, 1, rank, args.ddp)
    torch.distributed.all_reduce(losses)
    if rank == 0:
        report(args, losses / args.ddp, speed)
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description="trains a small GPT on this repository's docs")
    parser.add_argument("--activations", choices=FUNCTIONS, default="torch")
    parser.add_argument("--enable", action="store_true", help="replace PyTorch's backward kernels")
    parser.add_argument("--ddp", type=int, default=1, metavar="N", help="train on N processes")
    parser.add_argument("--compile", action="store_true", help="with torch.compile")
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    if args.ddp > 1:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        torch.multiprocessing.spawn(process, (args, port), nprocs=args.ddp)
        return
    if args.enable:
        vjp.torch.enable()
    losses, speed = train(args, 1)
    report(args, losses, speed)
    equal = torch.equal(losses, train(args, 2)[0])
    print(f"the losses of 1 and 2 threads are {'equal' if equal else 'not equal'} bit by bit")
    for name, counts in vjp.torch.report().items():
        if counts.taken:
            print(f"{name}: {counts.taken} calls taken, {counts.passed_on} passed on")


if __name__ == "__main__":
    main()
