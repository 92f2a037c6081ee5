"""Products by either library are the same up to rounding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from wordtie.kernels import products
from wordtie.kernels.products import add_product, affine, onednn_is_faster, product, trained_product


@pytest.fixture
def forgetful() -> Iterator[None]:
    """The machine is looked at again, before and after."""
    onednn_is_faster.cache_clear()
    yield
    onednn_is_faster.cache_clear()


@pytest.fixture
def by_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products are oneDNN's, whatever the machine."""
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        pytest.skip("torch was built without oneDNN")
    monkeypatch.setattr(products, "onednn_is_faster", lambda: True)


@pytest.mark.usefixtures("by_onednn")
@pytest.mark.parametrize(("rows", "terms", "columns"), [(7, 5, 3), (3, 5, 7), (640, 31, 33), (1, 1, 1), (4, 0, 2)])
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
def test_a_product_is_the_same_in_every_layout(
    rows: int, terms: int, columns: int, transposed: tuple[bool, bool]
) -> None:
    a = torch.randn(terms, rows).T if transposed[0] else torch.randn(rows, terms)
    b = torch.randn(columns, terms).T if transposed[1] else torch.randn(terms, columns)
    found = product(a, b)
    assert found.shape == (rows, columns)
    assert torch.allclose(found.double(), a.double() @ b.double(), atol=1e-4)


@pytest.mark.usefixtures("by_onednn")
def test_blocks_and_repeated_rows_are_multiplied_too() -> None:
    whole, vectors = torch.randn(30, 90), torch.randn(30, 4)
    block = whole[:, 20:60]
    torch.testing.assert_close(product(block.T, vectors), block.T @ vectors)
    torch.testing.assert_close(product(block, torch.ones(1, 1).expand(40, 3)), block.sum(1, keepdim=True).expand(30, 3))
    total = torch.full((40, 4), 2.0)
    add_product(total, block.T, vectors)
    torch.testing.assert_close(total, 2 + block.T @ vectors)
    add_product(total, block.T, vectors, overwrite=True)
    torch.testing.assert_close(total, block.T @ vectors)
    torch.testing.assert_close(affine(block.T, vectors, torch.ones(4)), 1 + block.T @ vectors)


@pytest.mark.usefixtures("by_onednn")
def test_other_types_and_no_rows_at_all_are_multiplied_too() -> None:
    for dtype in (torch.float64, torch.bfloat16):
        a, b = torch.ones(3, 4, dtype=dtype), torch.ones(4, 2, dtype=dtype)
        assert torch.equal(product(a, b), torch.full((3, 2), 4.0, dtype=dtype))
    assert product(torch.ones(0, 4), torch.ones(4, 2)).shape == (0, 2)
    assert product(torch.ones(2, 4), torch.ones(4, 0)).shape == (2, 0)


@pytest.mark.usefixtures("by_onednn")
def test_what_is_not_finite_is_seen() -> None:
    a = torch.ones(20, 30)
    a[3, 4] = torch.nan
    found = product(a, torch.ones(30, 10))
    assert found[3].isnan().all()
    assert found.isnan().sum() == 10


@pytest.mark.usefixtures("by_onednn")
def test_a_trained_product_has_the_gradients_of_any_product() -> None:
    a, b, d = torch.randn(50, 9, requires_grad=True), torch.randn(9, 4, requires_grad=True), torch.randn(50, 4)
    found, expected = trained_product(a, b), a @ b
    torch.testing.assert_close(found, expected)
    for one, other in zip(torch.autograd.grad(found, (a, b), d), torch.autograd.grad(expected, (a, b), d), strict=True):
        torch.testing.assert_close(one, other)
    with pytest.raises(RuntimeError, match="first derivatives alone"):
        torch.autograd.grad(trained_product(a, b), a, d, create_graph=True)


@pytest.mark.usefixtures("by_onednn")
def test_a_product_that_is_not_trained_is_the_same_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = torch.randn(50, 90), torch.randn(90, 40)
    monkeypatch.delattr(products, "product")
    with torch.no_grad():
        assert torch.equal(trained_product(a, b), a @ b)
    assert trained_product(a.double().requires_grad_(), b.double()).requires_grad


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize(
    ("vendor", "capability", "faster"),
    [("AuthenticAMD", "AVX512", True), ("AuthenticAMD", "AVX2", False), ("GenuineIntel", "AVX512", False)],
)
def test_onednn_serves_where_mkl_does_not_use_what_the_processor_can(
    vendor: str, capability: str, faster: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    there = torch.backends.mkl.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    information = tmp_path / "cpuinfo"
    information.write_text(f"vendor_id\t: {vendor}\n")
    monkeypatch.setattr(products, "CPU_INFORMATION", information)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert onednn_is_faster() == (faster and there)


@pytest.mark.usefixtures("forgetful")
def test_a_system_without_cpuinfo_names_its_processor_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(products, "CPU_INFORMATION", tmp_path / "missing")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    there = torch.backends.mkl.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    for maker, faster in (("GenuineIntel", False), ("AuthenticAMD", True)):
        monkeypatch.setenv("PROCESSOR_IDENTIFIER", f"Family 6 Model 143, {maker}")
        onednn_is_faster.cache_clear()
        assert onednn_is_faster() == (faster and there)
