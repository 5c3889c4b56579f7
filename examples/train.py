"""Tell three interleaved spirals apart with a small network.

Made to be read: real data loading with two worker processes, a real backward
pass, and at the end the numbers that show which limits the run was under.
"""
import argparse
import math
import os
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm


class Spirals(Dataset):
    """Points on `arms` spirals in the plane; the label is the arm."""

    def __init__(self, points=3000, arms=3, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.labels = torch.arange(points) % arms
        radius = torch.rand(points, generator=generator)
        noise = torch.randn(points, generator=generator) * 0.15
        angle = radius * 4 + self.labels * (2 * math.pi / arms) + noise
        self.points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.points[index], self.labels[index]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--out", default="spirals.pt", help="where the weights go")
    args = parser.parse_args()

    torch.manual_seed(0)
    # CRUN_WORKERS is crun's hint: never more workers than the run has cores.
    workers = int(os.environ.get("CRUN_WORKERS", "2"))
    loader = DataLoader(Spirals(), batch_size=64, shuffle=True,
                        num_workers=workers, persistent_workers=workers > 0)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loss_of = nn.CrossEntropyLoss()

    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {workers} loader workers")
    start = time.time()
    for epoch in range(1, args.epochs + 1):
        total = correct = seen = 0.0
        for points, labels in tqdm(loader, desc=f"epoch {epoch}", leave=False, disable=None):
            optimizer.zero_grad()
            scores = model(points)
            loss = loss_of(scores, labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            correct += (scores.argmax(1) == labels).sum().item()
            seen += len(labels)
        print(f"epoch {epoch}: loss {total / seen:.4f}, accuracy {correct / seen:.1%}")
    torch.save(model.state_dict(), args.out)
    print(f"saved {args.out} after {time.time() - start:.1f} s; torch.get_num_threads() is {torch.get_num_threads()}")


if __name__ == "__main__":
    main()
