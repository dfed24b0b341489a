"""Propagation over the graph is a product with a symmetric matrix, forwards and backwards."""

import numpy as np
import pytest
import torch

from corml.linalg.sparse import normalised
from corml.models.neural.training.graph_model import Graph, _tensor
from support import random_interactions

CPU = torch.device("cpu")


@pytest.fixture
def X():
    matrix = random_interactions(6, 12, 9, mean=4).matrix.copy()
    matrix.data[matrix.indices == 4] = 0  # an item without users
    matrix.eliminate_zeros()
    return matrix


@pytest.fixture(params=["kernel", "PyTorch"])
def graph(request, X):
    """The graph as it is on a processor, and as it is on a GPU."""
    graph = Graph(X, CPU)
    if request.param == "PyTorch":
        graph.on_cpu, graph.down, graph.up = False, _tensor(graph.down, CPU), _tensor(graph.up, CPU)
    return graph


def whole(X):
    """The matrix [0 N; Nᵀ 0], written out."""
    R = X.toarray()
    with np.errstate(divide="ignore", invalid="ignore"):
        N = R / np.sqrt(R.sum(1, keepdims=True)) / np.sqrt(R.sum(0, keepdims=True))
    N = np.where(R > 0, N, 0)
    users, items = R.shape
    return np.block([[np.zeros((users, users)), N], [N.T, np.zeros((items, items))]])


def test_weights_are_products_of_roots_of_degrees(X):
    A = whole(X)
    np.testing.assert_allclose(normalised(X).toarray(), A[: X.shape[0], X.shape[0] :], rtol=1e-6)
    assert np.abs(np.linalg.eigvalsh(A)).max() == pytest.approx(1)


def test_a_layer_is_the_product_with_the_whole_matrix(X, graph):
    E = torch.randn(sum(X.shape), 5, generator=torch.Generator().manual_seed(0))
    np.testing.assert_allclose(graph(E), whole(X) @ E.numpy(), atol=1e-5)


def test_some_nodes_get_what_they_get_of_the_whole_product(X, graph):
    E = torch.randn(sum(X.shape), 5, generator=torch.Generator().manual_seed(0))
    for nodes in ([0, 3, 12, 15], [5], [20], []):
        np.testing.assert_allclose(
            graph.product(E, np.array(nodes, dtype=np.int64)), graph.product(E)[nodes], atol=1e-6
        )


def test_an_item_without_users_gets_and_gives_nothing(X, graph):
    E = torch.zeros(sum(X.shape), 2)
    E[X.shape[0] + 4] = 1
    assert not graph(E).any()
    assert not graph(torch.ones_like(E))[X.shape[0] + 4].any()


@pytest.mark.parametrize("layers", [1, 3])
def test_the_gradient_is_that_of_the_dense_product(X, graph, layers):
    random = torch.Generator().manual_seed(1)
    start, aim = (torch.randn(sum(X.shape), 4, generator=random) for _ in range(2))
    gradients = []
    for propagate in (graph, torch.from_numpy(whole(X)).float().matmul):
        E = start.clone().requires_grad_()
        layer = E
        for _ in range(layers):
            layer = propagate(layer)
        ((layer - aim).square().sum() + (layer * aim).exp().sum()).backward()
        gradients.append(E.grad)
    np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-4)


def test_the_gradient_is_what_finite_differences_give(X, graph):
    E = torch.randn(sum(X.shape), 2, generator=torch.Generator().manual_seed(2)).requires_grad_()
    graph(graph(E)).square().sum().backward()
    for row, column in ((0, 0), (5, 1), (X.shape[0] + 2, 0), (X.shape[0] + 8, 1)):
        step = torch.zeros_like(E)
        step[row, column] = 0.5  # the loss is quadratic: any step is exact
        with torch.no_grad():
            up, down = (graph(graph(E + sign * step)).square().sum() for sign in (1, -1))
        assert E.grad[row, column].item() == pytest.approx((up - down).item(), abs=1e-3)


def test_making_a_graph_for_a_gpu_says_nothing(X, recwarn):
    torch.set_warn_always(True)  # not only the first time
    try:
        _tensor(Graph(X, CPU).down, CPU)
    finally:
        torch.set_warn_always(False)
    assert not recwarn.list
