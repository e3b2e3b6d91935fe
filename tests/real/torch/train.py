"""Trains a small GPT for some steps: train.py LIBRARY|- [STEPS]. On the simulated device kernels are skipped, so that the loss
means nothing: what counts is what is allocated, when and for how long. PyTorch asks cuBLAS for matrix products, and cuBLAS
brings a libcudart of its own: blas.c stands in for it."""
import ctypes
import sys

import torch
from torch import nn
from torch.nn import functional

if sys.argv[1] != "-" and ctypes.CDLL(sys.argv[1]).gpuarena_torch_install():
    sys.exit(1)
torch.backends.cuda.enable_cudnn_sdp(False)     # cuDNN has a libcudart of its own, too
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 6
WIDTH, HEADS, LAYERS, VOCABULARY, BATCH = 768, 12, 12, 50304, 8


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(1024, WIDTH)
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.layers(x)))


def train():
    with torch.device("cuda"):
        model = Gpt()
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(steps):
        length = (512, 640, 1024, 384, 896, 768)[step % 6]
        tokens = torch.zeros(BATCH, length + 1, dtype=torch.long, device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        adam.step()
        adam.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    print(stats["requested_bytes.all.peak"], stats["allocated_bytes.all.peak"], stats["reserved_bytes.all.peak"], flush=True)


def end(status):
    """Ends as C programs do, without taking Python down first: a thread of PyTorch's autograd may still have to enter Python,
    and Python, once it is going down, aborts the program for that."""
    ctypes.CDLL(None).exit(status)


try:
    train()
except torch.OutOfMemoryError as e:
    print(e, file=sys.stderr, flush=True)
    end(1)
end(0)
