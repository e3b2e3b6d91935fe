"""PyTorch programs whose allocations stress/RESULTS.md measures by: torch_programs.py NAME. Kernels may be skipped.
Not run by any test."""
import sys

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

torch.backends.cuda.enable_cudnn_sdp(False)     # cuDNN has a libcudart of its own
VOCABULARY = 50304
LENGTHS = (512, 640, 1024, 384, 896, 768)


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def split(self, x):
        batch, length, width = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        return heads.permute(2, 0, 3, 1, 4)

    def join(self, x, y):
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))

    def forward(self, x):
        q, k, v = self.split(x)
        return self.join(x, functional.scaled_dot_product_attention(q, k, v, is_causal=True))


class Gpt(nn.Module):
    def __init__(self, width, heads, layers, recompute=False):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(4096, width)
        self.layers = nn.ModuleList([Layer(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)
        self.recompute = recompute

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.recompute else layer(x)
        return self.head(self.norm(x))


def train(width, heads, layers, batch, lengths, steps, recompute=False, parts=1, mixed=True):
    with torch.device("cuda"):
        model = Gpt(width, heads, layers, recompute)
    parameters = model.parameters()
    optimizer = torch.optim.AdamW(parameters, lr=1e-4) if mixed else torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    for at in range(steps * parts):
        tokens = torch.zeros(batch, lengths[at % len(lengths)] + 1, dtype=torch.long, device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=mixed):
            loss = functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        if (at + 1) % parts == 0:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


@torch.no_grad()
def generate(batch=16, count=40):
    """Six requests; keys and values of a layer grow by a token at a time."""
    with torch.device("cuda"):
        model = Gpt(768, 12, 12).half()
    for length in (128, 700, 300, 1000, 64, 512):
        cache = [None] * len(model.layers)
        for _ in range(count):
            x = model.tokens(torch.zeros(batch, length, dtype=torch.long, device="cuda"))
            for at, layer in enumerate(model.layers):
                q, k, v = layer.split(x)
                if cache[at] is not None:
                    k, v = torch.cat((cache[at][0], k), 2), torch.cat((cache[at][1], v), 2)
                cache[at] = (k, v)
                x = layer.join(x, (q @ k.transpose(-1, -2)).softmax(-1) @ v)
            model.head(model.norm(x[:, -1:]))
            length = 1


def recommend():
    with torch.device("cuda"):
        tables = nn.ModuleList([nn.Embedding(count, 128) for count in (2000000, 300000, 50000, 700000, 10000)])
        model = nn.Sequential(nn.Linear(640, 2048), nn.ReLU(), nn.Linear(2048, 1024), nn.ReLU(), nn.Linear(1024, 1))
    optimizer = torch.optim.Adam([*tables.parameters(), *model.parameters()], lr=1e-3)
    for step in range(10):
        batch = (8192, 16384, 4096, 12000)[step % 4]
        found = [table(torch.zeros(batch, dtype=torch.long, device="cuda")) for table in tables]
        wanted = torch.zeros(batch, device="cuda")
        functional.binary_cross_entropy_with_logits(model(torch.cat(found, 1)).squeeze(1), wanted).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


{
    "wide": lambda: train(1024, 16, 24, 4, LENGTHS, 8),
    "recompute": lambda: train(1024, 16, 24, 8, LENGTHS, 8, recompute=True),
    "generate": generate,
    "fixed": lambda: train(768, 12, 12, 16, (1024,), 6),
    "parts": lambda: train(768, 12, 12, 6, (300, 1000, 777, 512, 128, 901, 640), 5, parts=4),
    "single": lambda: train(768, 12, 12, 8, LENGTHS, 8, mixed=False),
    "deep": lambda: train(512, 8, 48, 8, (200, 1500, 800, 2000, 1200), 8, recompute=True),
    "recommend": recommend,
}[sys.argv[1]]()
torch.cuda.synchronize()
