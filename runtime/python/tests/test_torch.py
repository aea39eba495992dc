"""Tensors of PyTorch, on the CPU and on a GPU if there is one."""

import pytest

import tunedgemm

torch = pytest.importorskip("torch")
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_types_and_layouts(device, dtype):
    x, weight, bias = (
        torch.rand(shape, device=device, dtype=dtype) - 0.5 for shape in ((17, 64), (40, 64), (40,))
    )
    d = tunedgemm.matmul(x, weight.T, bias=bias)  # a linear layer
    assert (d.device, d.dtype) == (x.device, dtype)
    exact = x.double() @ weight.double().T + bias.double()
    limit = {torch.float64: 1e-12, torch.float32: 1e-5}.get(dtype, 3e-2)
    torch.testing.assert_close(d.double(), exact, rtol=limit, atol=limit)


@pytest.mark.parametrize("device", DEVICES)
def test_out_and_float32_from_bfloat16(device):
    a, b = (
        torch.rand((9, 32), device=device).bfloat16(),
        torch.rand((32, 16), device=device).bfloat16(),
    )
    out = torch.empty((9, 16), device=device)
    assert tunedgemm.matmul(a, b, out=out) is out
    torch.testing.assert_close(out, a.float() @ b.float(), rtol=1e-3, atol=1e-3)
    assert tunedgemm.matmul(a, b, out_dtype=torch.float32).dtype == torch.float32


def test_gradients_are_not_tracked():
    a = torch.rand((4, 4), requires_grad=True)
    assert not tunedgemm.matmul(a, a).requires_grad


def test_parameters_and_subclasses():
    class Marked(torch.Tensor):
        pass

    a = torch.rand((6, 6))
    for kind in (torch.nn.Parameter(a), a.as_subclass(Marked)):
        torch.testing.assert_close(tunedgemm.matmul(kind, kind), a @ a)


@pytest.mark.parametrize(
    "wrong,message",
    [
        (torch._neg_view, "a is a view of negated elements"),
        (lambda a: a.to("meta"), "a cannot be read: Cannot pack tensors on meta$"),
        (lambda a: a.to_sparse(), "a cannot be read: Cannot access data pointer"),
        (lambda a: torch.quantize_per_tensor(a, 1.0, 0, torch.qint8), "a cannot be read: QUInt"),
        (lambda a: a.to(torch.complex64), "a has elements of torch.complex64; supported"),
        (lambda a: a[0], "a has the shape"),
        (lambda a: a[0, 0], r"a has the shape \(\)"),
    ],
)
def test_tensors_that_are_refused(wrong, message):
    a = torch.rand((4, 4))
    with pytest.raises(ValueError, match=message):
        tunedgemm.matmul(wrong(a), a)


def test_numpy_and_torch_in_one_call():
    a = torch.rand((4, 4))
    out = a.numpy().copy()
    assert tunedgemm.matmul(a, a.numpy(), out=out) is out
    torch.testing.assert_close(torch.from_numpy(out), a @ a)
    assert isinstance(tunedgemm.matmul(a, a.numpy()), torch.Tensor)


@pytest.mark.skipif("cuda" not in DEVICES, reason="no GPU")
def test_the_current_stream_is_used():
    a = torch.rand((256, 256), device="cuda")
    plan = tunedgemm.plan(a, a)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        b = a * 2  # on the stream, not awaited
        d = plan.run(b, b)
    stream.synchronize()
    torch.testing.assert_close(d, 4 * (a @ a), rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="another device"):
        tunedgemm.matmul(a, a.cpu())
