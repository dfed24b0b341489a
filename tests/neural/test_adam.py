"""Adam by rows: each row moves as if it were alone, and a whole gradient moves the whole table as PyTorch does."""

import numpy as np
import pytest
import torch

from corml.neural import adam as room
from corml.neural.adam import Adam


def looked_up(table, rows, aim):
    """A loss of some rows of a table, with a gradient of those rows only."""
    found = torch.nn.functional.embedding(torch.from_numpy(rows), table, sparse=True)
    return ((found - aim[: len(rows)]) ** 3).sum()


def batches(seed, count, rows=7):
    rng = np.random.default_rng(seed)
    return [rng.integers(rows, size=rng.integers(1, 6)) for _ in range(count)]  # a row may come twice


@pytest.fixture
def start():
    return torch.randn(7, 4, generator=torch.Generator().manual_seed(0))


def test_each_row_moves_as_if_pytorch_had_trained_it_alone(start):
    aim = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    table = start.clone().requires_grad_()
    ours = Adam([table], 0.05)
    alone = [start[row].clone().requires_grad_() for row in range(7)]
    theirs = [torch.optim.Adam([one], lr=0.05) for one in alone]
    for rows in batches(2, 30):
        ours.zero_grad()
        looked_up(table, rows, aim).backward()
        ours.step()
        for row in np.unique(rows):
            theirs[row].zero_grad()
            (((alone[row] - aim[: len(rows)][rows == row]) ** 3).sum()).backward()
            theirs[row].step()
    np.testing.assert_allclose(table.detach(), torch.stack(alone).detach(), rtol=1e-4, atol=1e-5)


def test_rows_that_are_not_looked_up_stay(start):
    table = start.clone().requires_grad_()
    ours = Adam([table], 0.05)
    for rows in ([0, 1], [3], [3, 3]):
        ours.zero_grad()
        looked_up(table, np.array(rows), start + 1).backward()
        ours.step()
    assert torch.equal(table[[2, 4, 5, 6]], start[[2, 4, 5, 6]])
    assert (table[[0, 1, 3]] != start[[0, 1, 3]]).all()


def test_kernel_and_pytorch_move_rows_alike(start):
    aim, found = torch.randn(6, 4, generator=torch.Generator().manual_seed(1)), []
    for move in (room._by_kernel, room._by_torch):
        table, state = start.clone().requires_grad_(), [torch.zeros(7), torch.zeros(7, 4), torch.zeros(7, 4)]
        for rows in batches(3, 20):
            table.grad = None
            looked_up(table, rows, aim).backward()
            with torch.no_grad():
                move(table, *state, table.grad, 0.05)
        found.append([table.detach(), *state])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_gradient_of_the_whole_table_moves_it_as_pytorch_does(start):
    found = []
    for make in (lambda one: Adam([one], 0.05), lambda one: torch.optim.Adam([one], lr=0.05)):
        table = start.clone().requires_grad_()
        optimiser = make(table)
        for _ in range(10):
            optimiser.zero_grad()
            table.sin().sum().backward()
            optimiser.step()
        found.append(table.detach())
    np.testing.assert_allclose(*found, atol=1e-6)


def test_the_gradient_is_still_there_after_a_step(start):
    table = start.clone().requires_grad_()
    ours = Adam([table], 0.05)
    looked_up(table, np.array([2, 4]), start).backward()
    ours.step()
    assert table.grad is not None
    assert table.grad._indices()[0].tolist() == [2, 4]
