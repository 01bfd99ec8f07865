"""A training that runs until it is killed, with PyTorch's default thread count. It prints `http://training:1` when it
has started, because the harness waits for a server's address."""

import torch

model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)])
optimizer = torch.optim.AdamW(model.parameters())
rows = torch.randn(256, 512)
step = 0
while True:
    optimizer.zero_grad()
    (model(rows) - rows).square().mean().backward()
    optimizer.step()
    step += 1
    if step == 3:
        print("http://training:1", flush=True)
