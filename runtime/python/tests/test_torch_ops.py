"""tunedgemm.torch: operators, gradients, torch.compile, record and patch, on the CPU and, if
present, a GPU."""

import copy
import sys
import time
import types
import weakref

import pytest

from support import OPERATOR_ERRORS, run_alone, run_in_threads

torch = pytest.importorskip("torch", minversion="2.10")

from torch.nn import functional

import tunedgemm.torch

OPS = torch.ops.tunedgemm
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-2, torch.bfloat16: 1e-1}
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def draw(*shape, device, dtype=torch.float32):
    return (torch.rand(shape, device=device) * 2 - 1).to(dtype)


def check(d, expected, limit=1e-5):
    assert d.shape == expected.shape and d.isfinite().all()
    torch.testing.assert_close(d.double(), expected.double(), rtol=limit, atol=limit)


@pytest.mark.parametrize(
    "m,n,k",
    [
        (1, 1, 1),
        (1, 37, 129),
        (67, 1, 31),
        (65, 97, 33),
        (5, 7, 0),
        (0, 4, 3),
        (4, 0, 3),
        (0, 0, 0),
    ],
)
def test_shapes(device, m, n, k):
    a, b, bias = draw(m, k, device=device), draw(k, n, device=device), draw(n, device=device)
    check(OPS.mm(a, b), a.double() @ b.double())
    check(OPS.addmm(bias, a, b), a.double() @ b.double() + bias)
    check(OPS.linear(a, b.t(), bias), a.double() @ b.double() + bias)
    check(OPS.bmm(a.expand(3, m, k), b.expand(3, k, n)), (a.double() @ b.double()).expand(3, m, n))


@pytest.mark.parametrize("dtype", LIMITS)
def test_types(device, dtype):
    a, b, bias = (draw(*shape, device=device, dtype=dtype) for shape in ((33, 40), (40, 21), (21,)))
    exact = a.double() @ b.double()
    for d, expected in (
        (OPS.mm(a, b), exact),
        (OPS.bmm(a[None], b[None])[0], exact),
        (OPS.addmm(bias, a, b), exact + bias),
        (OPS.linear(a, b.t(), bias), exact + bias),
    ):
        assert (d.dtype, d.device) == (dtype, a.device)
        check(d, expected, LIMITS[dtype])
    if dtype != torch.float64:
        wide = OPS.mm(a, b, out_dtype=torch.float32)
        assert wide.dtype == torch.float32
        check(wide, exact, 1e-4)


def test_int8(device):
    a, b = (
        torch.randint(-128, 128, shape, device=device).to(torch.int8)
        for shape in ((19, 70), (70, 23))
    )
    d = OPS.mm(a, b)
    assert d.dtype == torch.int32 and torch.equal(d.cpu(), a.cpu().int() @ b.cpu().int())


@pytest.mark.parametrize("type_a,type_b", [(one, other) for one in FLOAT8 for other in FLOAT8])
def test_scaled_mm(device, type_a, type_b):
    a, b = draw(16, 48, device=device).to(type_a), draw(32, 48, device=device).to(type_b).t()
    scale_a, scale_b = (torch.tensor(value, device=device) for value in (0.5, 3.0))
    bias = draw(32, device=device, dtype=torch.bfloat16)
    exact = 1.5 * (a.double() @ b.double())
    assert OPS.scaled_mm(a, b, scale_a, scale_b).dtype == torch.float16
    for is_fast in (True, False):
        check(
            OPS.scaled_mm(a, b, scale_a, scale_b, bias, torch.bfloat16, is_fast), exact + bias, 1e-1
        )
        check(
            OPS.scaled_mm(
                a, b, scale_a.view(1, 1), scale_b, out_dtype=torch.float32, use_fast_accum=is_fast
            ),
            exact,
            1e-2,
        )


@pytest.mark.parametrize("m", [1, 16])
def test_scaled_mm_with_a_scale_for_each_row(device, m):
    a = draw(m, 48, device=device).to(torch.float8_e4m3fn)
    b = draw(32, 48, device=device).to(torch.float8_e4m3fn).t()
    scale_a = torch.exp2(torch.randint(-8, 9, (m, 1), device=device).float())
    scale_b = torch.exp2(torch.randint(-8, 9, (1, 32), device=device).float())
    wide = (scale_a.double() * a.double(), b.double() * scale_b.double())
    d = OPS.scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.float32, use_fast_accum=False)
    assert ((d - wide[0] @ wide[1]).abs() <= 1e-2 * (wide[0].abs() @ wide[1].abs())).all()


def test_scaled_mm_with_scales_of_blocks(device):
    a = draw(70, 300, device=device).to(torch.float8_e4m3fn)
    b = draw(140, 300, device=device).to(torch.float8_e4m3fn).t()
    scale_a = torch.exp2(
        torch.randint(-8, 9, (3, 70), device=device).float()
    ).t()  # cuBLASLt's form
    scale_b = torch.exp2(torch.randint(-8, 9, (4, 2), device=device).float())  # padded along K
    wide = (
        a.double() * scale_a.double().repeat_interleave(128, 1)[:, :300],
        b.double()
        * scale_b.double().repeat_interleave(128, 0)[:300].repeat_interleave(128, 1)[:, :140],
    )
    d = OPS.scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.float32)
    assert ((d - wide[0] @ wide[1]).abs() <= 1e-3 * (wide[0].abs() @ wide[1].abs())).all()


def layouts_of(x):
    """Tensors equal to x with other strides."""
    yield x
    yield x.transpose(-1, -2).contiguous().transpose(-1, -2)
    around = x.new_full((*x.shape[:-2], x.shape[-2] + 5, x.shape[-1] + 3), float("nan"))
    around[..., 2:-3, 1:-2] = x
    yield around[..., 2:-3, 1:-2]
    spread = x.new_full((*x.shape[:-2], x.shape[-2], x.shape[-1] * 2), float("nan"))
    spread[..., ::2] = x
    yield spread[..., ::2]  # neither rows nor columns are consecutive


def test_layouts(device):
    a, b = draw(13, 17, device=device), draw(17, 11, device=device)
    batch_a, batch_b = draw(3, 13, 17, device=device), draw(3, 17, 11, device=device)
    for one, many in zip(layouts_of(a), layouts_of(batch_a)):
        for other, others in zip(layouts_of(b), layouts_of(batch_b)):
            check(OPS.mm(one, other), a.double() @ b.double())
            check(OPS.bmm(many, others), batch_a.double() @ batch_b.double())
    check(OPS.bmm(batch_a, b.expand(3, 17, 11)), batch_a.double() @ b.double())
    check(
        OPS.bmm(batch_a.transpose(0, 1).contiguous().transpose(0, 1), batch_b),
        batch_a.double() @ batch_b.double(),
    )
    check(OPS.bmm(batch_a[:0], batch_b[:0]), torch.empty(0, 13, 11, device=device))
    check(OPS.mm(a[:, :1].expand(13, 17), b), a[:, :1].double().expand(13, 17) @ b.double())


@pytest.mark.parametrize("shape", [(6,), (5, 6), (2, 5, 6), (2, 0, 6), (1, 1, 6), (2, 1, 3, 6)])
def test_leading_dimensions_of_linear(device, shape):
    weight, bias = draw(7, 6, device=device), draw(14, device=device)[::2]
    x = draw(*shape, device=device)
    for input in (x, x.movedim(0, -1).contiguous().movedim(-1, 0), torch.cat([x, x])[: shape[0]]):
        check(
            OPS.linear(input, weight, bias),
            functional.linear(x.double(), weight.double(), bias.double()),
        )
    padded = draw(4, 5, 9, device=device)[..., :6]  # one stride for both leading dimensions
    check(OPS.linear(padded, weight), padded.double() @ weight.double().t())


def test_addmm_broadcasts_and_scales(device):
    a, b = draw(9, 8, device=device), draw(8, 5, device=device)
    for input in (
        draw(5, device=device),
        draw(10, device=device)[::2],
        draw(1, 5, device=device),
        draw(9, 1, device=device),
        draw(9, 5, device=device),
        draw(5, 9, device=device).t(),
        draw(1, device=device),
        torch.tensor(0.5, device=device),
        draw(9, 10, device=device)[:, ::2],
    ):
        for beta, alpha in ((1, 1), (0.5, -2), (0, 3), (1, 0)):
            check(
                OPS.addmm(input, a, b, beta=beta, alpha=alpha),
                torch.addmm(input.double(), a.double(), b.double(), beta=beta, alpha=alpha),
            )
    nothing = torch.full((9, 5), float("nan"), device=device)
    check(OPS.addmm(nothing, a, b, beta=0), a.double() @ b.double())


@pytest.mark.parametrize(
    "name,function",
    [
        ("relu", torch.relu),
        ("silu", functional.silu),
        ("gelu_erf", functional.gelu),
        ("gelu_tanh", lambda x: functional.gelu(x, approximate="tanh")),
        ("tanh", torch.tanh),
        ("sigmoid", torch.sigmoid),
        ("leaky_relu", functional.leaky_relu),
        ("relu_squared", lambda x: torch.relu(x) ** 2),
    ],
)
def test_activations(device, name, function):
    x, weight, bias = draw(6, 9, device=device), draw(5, 9, device=device), draw(5, device=device)
    expected = function(functional.linear(x.double(), weight.double(), bias.double()))
    check(OPS.linear(x, weight, bias, name), expected)
    check(OPS.addmm(bias, x, weight.t(), activation=name), expected)


def test_out(device):
    a, b, input = (
        draw(2, 6, 8, device=device),
        draw(2, 8, 5, device=device),
        draw(6, 5, device=device),
    )
    exact = a.double() @ b.double()
    for out in layouts_of(torch.empty(6, 5, device=device)):
        OPS.mm(a[0], b[0], out=out)
        check(out, exact[0])
        OPS.addmm(input, a[0], b[0], beta=2, out=out)
        check(out, exact[0] + 2 * input)
        OPS.linear(a[0], b[0].t(), out=out)
        check(out, exact[0])
    for out in layouts_of(torch.empty(2, 6, 5, device=device)):
        OPS.bmm(a, b, out=out)
        check(out, exact)
    x, weight = draw(2, 6, 8, device=device), draw(5, 8, device=device)
    for out in layouts_of(torch.empty(2, 6, 5, device=device)):
        OPS.linear(x, weight, out=out)
        check(out, x.double() @ weight.double().t())
    total = input.clone()
    OPS.addmm(total, a[0], b[0], out=total)
    check(total, exact[0] + input)
    wide = torch.empty(6, 5, device=device)
    OPS.mm(a[0].bfloat16(), b[0].bfloat16(), out=wide)
    check(wide, exact[0], 5e-2)
    eights = [one.to(torch.float8_e4m3fn) for one in (a[0], b[0])]
    one = torch.ones((), device=device)
    OPS.scaled_mm(*eights, one, one, out=wide)
    check(wide, eights[0].double() @ eights[1].double(), 1e-2)


A, B, ONE = torch.ones(4, 3), torch.ones(3, 5), torch.ones(())


@pytest.mark.parametrize(
    "call,message",
    [
        (
            lambda: OPS.mm(A, A),
            r"a of shape \(4, 3\) has 3 columns, but b of shape \(4, 3\) has 4 rows",
        ),
        (lambda: OPS.mm(A[0], B), r"a has the shape \(3\); it must have 2 dimensions"),
        (lambda: OPS.bmm(A, B), r"a has the shape \(4, 3\); it must have 3 dimensions"),
        (
            lambda: OPS.bmm(torch.ones(2, 4, 3), torch.ones(3, 3, 5)),
            "a has 2 matrices, but b has 3",
        ),
        (
            lambda: OPS.mm(A.cfloat(), B),
            "a has an element type that is not supported; supported are float64",
        ),
        (lambda: OPS.mm(A, B.double()), "A is f32, B is f64"),
        (lambda: OPS.mm(A, B, out_dtype=torch.int32), "f32 inputs give an output of"),
        (
            lambda: OPS.mm(A, B, out=torch.empty(5, 4)),
            r"out has the shape \(5, 4\), but the product has the shape \(4, 5\)",
        ),
        (lambda: OPS.mm(torch.ones(4, 4), A, out=A), "overlap"),
        (
            lambda: OPS.linear(A, B.t(), torch.ones(4)),
            r"bias has the shape \(4\); it must be packed, with the shape \(5,\)",
        ),
        (
            lambda: OPS.linear(A, B.t(), torch.ones(5).double()),
            "bias must have the element type of out",
        ),
        (lambda: OPS.linear(A, B.t(), None, "swish"), 'activation is "swish"; expected none, relu'),
        (lambda: OPS.linear(ONE, B), "input is a scalar"),
        (lambda: OPS.addmm(torch.ones(4), A, B), r"input of shape \(4\) cannot be broadcast"),
        (
            lambda: OPS.scaled_mm(*[x.to(torch.float8_e5m2) for x in (A, B)], torch.ones(4), ONE),
            "one float32",
        ),
        (lambda: OPS.tuned_linear(A, B.t(), None, "lazy"), "policy is 'lazy'"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(OPERATOR_ERRORS, match=message):
        call()


@pytest.mark.skipif("cuda" not in DEVICES, reason="no GPU")
def test_two_devices_are_refused():
    with pytest.raises(OPERATOR_ERRORS, match="another device"):
        OPS.mm(A.cuda(), B)


def test_another_pytorch_is_refused():
    program = "from tunedgemm import _core; _core._register_torch_operators('/no/torch')"
    done = run_alone(program, "-P")
    assert (
        done.returncode == 1
        and "ImportError: tunedgemm.torch needs PyTorch 2.10 or later" in done.stderr
    )


def test_threads(device):
    a, b = draw(33, 20, device=device), draw(20, 12, device=device)
    exact = a.double() @ b.double()

    def work():
        check(OPS.mm(a, b), exact)
        with pytest.raises(RuntimeError, match="has 20 columns, but b"):
            OPS.mm(a, a)

    run_in_threads(work, threads=6)


def test_arguments_are_freed():
    a, b, c = draw(16, 16, device="cpu"), draw(16, 32, device="cpu")[:, ::2], draw(16, device="cpu")
    counts = [sys.getrefcount(one) for one in (a, b, c)]
    alive = []
    for _ in range(3):
        alive += [weakref.ref(OPS.linear(a, b, c)), weakref.ref(OPS.addmm(c, a, b, beta=2))]
        with pytest.raises(RuntimeError):
            OPS.linear(a, b, c, "swish")
        OPS.mm(a, b, out=torch.empty(16, 16))
    assert not any(one() for one in alive) and counts == [sys.getrefcount(one) for one in (a, b, c)]


def samples(device):
    a, b = (draw(*shape, device=device).requires_grad_() for shape in ((5, 3), (3, 4)))
    bias = draw(4, device=device).requires_grad_()
    x = draw(2, 5, 3, device=device).requires_grad_()
    out = torch.empty(5, 4, device=device)
    eights = [one.detach().to(torch.float8_e4m3fn) for one in (a, b)]
    one = torch.ones((), device=device)
    return [
        (OPS.mm.default, (a, b), {}),
        (OPS.bmm.default, (x, b.expand(2, 3, 4)), {}),
        (OPS.addmm.default, (bias, a, b), {"alpha": 2.0}),
        (OPS.linear.default, (x, b.t(), bias), {}),
        (OPS.linear.default, (a, b.t()), {}),
        (OPS.tuned_linear.default, (x, b.t(), bias), {}),
        (OPS.mm.no_grad, (a.detach(), b.detach()), {}),
        (OPS.linear.no_grad, (x.detach(), b.detach().t()), {}),
        (OPS.mm.out, (a.detach(), b.detach()), {"out": out}),
        (OPS.addmm.out, (bias.detach(), a.detach(), b.detach()), {"out": out}),
        (OPS.scaled_mm.default, (*eights, one, one), {}),
        (
            OPS.scaled_mm.default,
            (*eights, torch.ones(5, 1, device=device), torch.ones(1, 4, device=device)),
            {"out_dtype": torch.bfloat16},
        ),
    ]


@pytest.mark.parametrize("number", range(len(samples("cpu"))))
def test_opcheck(device, number):
    operator, tensors, options = samples(device)[number]
    checks = ["test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    if tensors[0].dtype not in FLOAT8:  # whose tensors the other one cannot compare
        checks.append("test_schema")
    torch.library.opcheck(operator, tensors, options, test_utils=checks)


def test_gradients(device):
    def leaf(*shape):
        return draw(*shape, device=device, dtype=torch.float64).requires_grad_()

    cases = [
        (OPS.mm, leaf(3, 4), leaf(4, 2)),
        (OPS.bmm, leaf(2, 3, 4), leaf(2, 4, 2)),
        (OPS.linear, leaf(2, 3, 4), leaf(5, 4), leaf(5)),
        (OPS.linear, leaf(4), leaf(5, 4)),
        (OPS.tuned_linear, leaf(2, 3, 4), leaf(5, 4), leaf(5)),
    ]
    cases += [
        (
            lambda input, a, b: OPS.addmm(input, a, b, beta=0.5, alpha=-2.0),
            input,
            leaf(3, 4),
            leaf(4, 2),
        )
        for input in (leaf(2), leaf(3, 2), leaf(3, 1), leaf(1))
    ]
    for function, *inputs in cases:
        assert torch.autograd.gradcheck(function, inputs)
        assert torch.autograd.gradgradcheck(function, inputs)


def test_gradients_that_are_refused(device):
    x, weight = draw(4, 3, device=device).requires_grad_(), draw(5, 3, device=device)
    with pytest.raises(RuntimeError, match="activation is 'relu', which has no gradient here"):
        OPS.linear(x, weight, None, "relu")
    with torch.no_grad():
        assert not OPS.linear(x, weight, None, "relu").requires_grad


def test_bfloat16_gradients(device):
    layer, x = (
        torch.nn.Linear(24, 16, device=device, dtype=torch.bfloat16),
        draw(3, 7, 24, device=device, dtype=torch.bfloat16),
    )
    OPS.linear(x, layer.weight, layer.bias, out_dtype=torch.float32).square().sum().backward()
    found = [parameter.grad.clone() for parameter in layer.parameters()]
    assert all(gradient.dtype == torch.bfloat16 for gradient in found)
    layer.zero_grad()
    layer(x).float().square().sum().backward()
    for gradient, parameter in zip(found, layer.parameters()):
        torch.testing.assert_close(gradient, parameter.grad, rtol=5e-2, atol=0.5)


def mlp(device, dtype=torch.float32):
    return torch.nn.Sequential(
        torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8, bias=False)
    ).to(device, dtype)


def test_compile_with_gradients_and_dynamic_shapes(device):
    weight, bias = (
        draw(6, 8, device=device).requires_grad_(),
        draw(6, device=device).requires_grad_(),
    )

    def function(x):
        y = OPS.linear(x, weight, bias)
        return OPS.addmm(bias, OPS.mm(y, y.t()), y).sum() + OPS.bmm(y[None], y.t()[None]).sum()

    for dynamic, backend in ((False, "inductor"), (True, "aot_eager")):
        compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend=backend)
        for rows in (5, 9) if dynamic else (5,):
            x = draw(rows, 8, device=device)
            (expected,), (found,) = (
                torch.autograd.grad(one(x), weight) for one in (function, compiled)
            )
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_compile_takes_external_matmul(tmp_path):
    program = """
        import torch, tunedgemm.torch
        from torch._inductor import config
        config.external_matmul.append(tunedgemm.torch.external_matmul)
        config.max_autotune_gemm, config.max_autotune_gemm_backends = True, "ATEN"
        a, b = torch.rand(300, 500), torch.rand(500, 400)
        d = torch.compile(lambda a, b: torch.mm(a, b).relu(), fullgraph=True)(a, b)
        torch.testing.assert_close(d, a @ b, rtol=1e-4, atol=1e-4)
        """
    for reader in range(2):  # the second one takes compiled code from the cache
        done = run_alone(program, "-P", timeout=300, TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert reader == 1 or "  external_matmul " in done.stderr


def test_external_matmul_leaves_other_types_to_pytorch(device):
    a, b = (torch.ones(shape, device=device, dtype=torch.complex64) for shape in ((3, 4), (4, 2)))
    out = torch.empty(3, 2, device=device, dtype=torch.complex64)
    tunedgemm.torch.external_matmul(a, b, out)
    assert torch.equal(out, a @ b)


def test_record_sees_all_products(device):
    a, b, x = draw(6, 8, device=device), draw(8, 4, device=device), draw(2, 3, 8, device=device)
    layer = torch.nn.Linear(8, 4, device=device)
    for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with mode(), tunedgemm.torch.record() as shapes:
            torch.mm(a, b), OPS.mm(a, b), a @ b, torch.mm(a.bfloat16(), b.bfloat16())
            (
                layer(x),
                OPS.linear(x, layer.weight, layer.bias),
                torch.addmm(layer.bias, a, layer.weight.t()),
            )
            torch.einsum("bik,bjk->bij", x, x)
            torch.baddbmm(torch.zeros(1, device=device), x, x.transpose(1, 2))
            OPS.linear(a, layer.weight.detach(), None, "relu")
            torch.mm(a.cfloat(), b.cfloat()), torch.mm(a[:0], b)
        assert {one.text: count for one, count in shapes.items()} == {
            "types=f32 m=6 n=4 k=8": 3,
            "types=bf16 m=6 n=4 k=8": 1,
            "types=f32 layout=nt m=6 n=4 k=8 bias=col": 3,
            "types=f32 layout=nt m=3 n=3 k=8 batch=2": 2,
            "types=f32 layout=nt m=6 n=4 k=8 activation=relu": 1,
        }


def test_record_sees_backward_and_scaled_mm(device):
    layer, x = torch.nn.Linear(8, 4, device=device), draw(6, 8, device=device).requires_grad_()
    with tunedgemm.torch.record() as shapes:
        layer(x).sum().backward()
    assert {one.fields().get("layout", "nn") for one in shapes} >= {"nt", "nn"} and len(shapes) == 3
    a, b = (
        draw(16, 32, device=device).to(torch.float8_e4m3fn),
        draw(32, 32, device=device).to(torch.float8_e4m3fn).t(),
    )
    one = torch.ones((), device=device)
    with tunedgemm.torch.record() as shapes:
        OPS.scaled_mm(a, b, one, one, out_dtype=torch.bfloat16)
        torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=True)
    ((problem, count),) = shapes.items()
    assert (problem.text, count) == ("types=e4m3->bf16 layout=nt m=16 n=32 k=32", 2)
    rows, columns = torch.ones(16, 1, device=device), torch.ones(1, 32, device=device)
    with tunedgemm.torch.record() as shapes:
        OPS.scaled_mm(a, b, rows, columns, out_dtype=torch.bfloat16)
        torch._scaled_mm(a, b, rows, columns, out_dtype=torch.bfloat16, use_fast_accum=True)
    assert {problem.text: count for problem, count in shapes.items()} == {
        "types=e4m3->bf16 layout=nt m=16 n=32 k=32 scaling_a=row scaling_b=row": 2
    }


def test_record_sees_the_recipes_of_scaled_mm():
    """On tensors without memory, since PyTorch multiplies few of these formats on the CPU."""
    kinds = torch.nn.functional.ScalingType
    m, n, k = 64, 384, 256
    tensor, row = ((), kinds.TensorWise), ((m, 1), kinds.RowWise)
    blocks, squares = ((m, k // 128), kinds.BlockWise1x128), ((m // 64, 2), kinds.BlockWise128x128)

    def recorded(scale_a, scale_b, dtype=torch.float32):
        with torch.device("meta"), tunedgemm.torch.record() as shapes:
            torch.nn.functional.scaled_mm(
                torch.empty(m, k, dtype=torch.float8_e4m3fn),
                torch.empty(n, k, dtype=torch.float8_e4m3fn).t(),
                torch.empty(scale_a[0], dtype=dtype),
                scale_a[1],
                torch.empty(scale_b[0][::-1], dtype=dtype).t(),
                scale_b[1],
                output_dtype=torch.bfloat16,
            )
        return [problem.text for problem in shapes]

    problem = f"types=e4m3->bf16 layout=nt m={m} n={n} k={k} numerics=promoted"
    assert recorded(tensor, tensor) == [problem]
    assert recorded(row, ((1, n), kinds.RowWise)) == [f"{problem} scaling_a=row scaling_b=row"]
    of_weights = ((k // 128, n // 128), kinds.BlockWise128x128)
    assert recorded(blocks, of_weights) == [
        f"{problem} scaling_a=block_1x128 scaling_b=block_128x128"
    ]
    assert recorded(squares, ((k // 128, n), kinds.BlockWise1x128)) == [
        f"{problem} scaling_a=block_128x128 scaling_b=block_1x128"
    ]
    # A scale for every 32 elements, which the library does not read.
    of_32 = ((m, k // 32), kinds.BlockWise1x32)
    assert recorded(of_32, ((k // 32, n), kinds.BlockWise1x32), torch.float8_e8m0fnu) == []


def test_recorded_shapes_are_written_and_tuned(device, tmp_path):
    x, weight, bias = (
        draw(2, 5, 24, device=device)[..., :20],
        draw(12, 20, device=device),
        draw(12, device=device),
    )
    eights = draw(8, 16, device=device).to(torch.float8_e5m2)
    with tunedgemm.torch.record() as shapes:
        for _ in range(3):
            OPS.linear(x, weight, bias)
        torch.bmm(x, weight.t().expand(2, 20, 12))
        OPS.scaled_mm(
            eights,
            eights.t(),
            *[torch.ones((), device=device)] * 2,
            out_dtype=torch.bfloat16,
            use_fast_accum=False,
        )
    shapes.write(tmp_path / "shapes.csv")
    assert (tmp_path / "shapes.csv").read_text().splitlines() == [
        "name,types,layout,m,n,k,lda,bias,batch,batch_stride_a,batch_stride_b,numerics",
        "3 calls,f32,nt,10,12,20,24,col,,,,",
        "1 calls,f32,nt,5,12,20,24,,2,120,0,",
        "1 calls,e5m2->bf16,nt,8,8,16,,,,,,promoted",
    ]
    states = []
    shapes.tune(progress=states.append, policy="compile")
    assert [state.done for state in states] == [0, 1, 2, 3]
    assert states[0].problem == "types=f32 layout=nt m=10 n=12 k=20 lda=24 bias=col"
    kernels = {"blocked", "mma", "naive", "simt", "skinny", "wgmma"}
    assert all(
        any(kernel in problem.plan("compile").description for kernel in kernels)
        for problem in shapes
    )


def test_operators_follow_the_fields_of_the_process(device):
    x, weight = draw(30, 300, device=device), draw(8, 300, device=device)
    try:
        tunedgemm.torch.set_invariant(True)
        tunedgemm.torch.set_sm_limit(50)
        with tunedgemm.torch.record() as shapes:
            whole = OPS.linear(x, weight)
        assert [problem.text for problem in shapes] == [
            "types=f32 layout=nt m=30 n=8 k=300 invariant=1 sm_limit=50"
        ]
        assert torch.equal(OPS.linear(x[5:6], weight), whole[5:6])
        tunedgemm.torch.set_sm_limit(None)
        assert torch.equal(OPS.linear(x[5:9], weight), whole[5:9])
        with pytest.raises(TypeError, match="invariant is a str; give True or False"):
            tunedgemm.torch.set_invariant("yes")
        tunedgemm.torch.set_sm_limit(-1)
        with pytest.raises(RuntimeError, match="sm_limit is -1"):
            OPS.linear(x, weight)
    finally:
        tunedgemm.torch.set_invariant(False)
        tunedgemm.torch.set_sm_limit(None)


def test_operators_follow_the_carveout_of_pytorch(device, monkeypatch):
    x, weight = draw(30, 300, device=device), draw(8, 300, device=device)
    gpu = types.SimpleNamespace(multi_processor_count=132)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: gpu)

    def limit():
        with tunedgemm.torch.record() as shapes:
            OPS.linear(x, weight)
        return next(iter(shapes)).text.removeprefix("types=f32 layout=nt m=30 n=8 k=300").strip()

    try:
        torch._C._set_sm_carveout_experimental(20)
        assert limit() == "sm_limit=112"
        tunedgemm.torch.set_sm_limit(50)
        torch._C._set_sm_carveout_experimental(30)
        assert limit() == "sm_limit=50"
        tunedgemm.torch.set_sm_limit(None)
        assert limit() == "sm_limit=102"
        torch._C._set_sm_carveout_experimental(None)
        assert limit() == ""
    finally:
        torch._C._set_sm_carveout_experimental(None)
        tunedgemm.torch.set_sm_limit(None)


def test_patch_uses_tuned_kernels_and_leaves_the_rest(device):
    model, x = mlp(device), draw(3, 5, 12, device=device)
    keys, expected, untouched = list(model.state_dict()), model(x), copy.deepcopy(model)
    with torch.no_grad(), tunedgemm.torch.patch(model) as patched:
        assert patched is model and list(model.state_dict()) == keys
        check(model(x), expected)  # nothing is tuned
        assert isinstance(copy.deepcopy(model)[0], torch.nn.Linear)
    assert type(model[0]) is torch.nn.Linear and vars(model[0]).keys() == vars(untouched[0]).keys()
    for policy in ("fail", "compile"):
        tunedgemm.torch.patch(model, policy)
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                check(model(x), expected)
        x.requires_grad_()
        found = torch.autograd.grad(model(x).square().sum(), [x, *model.parameters()])
        wanted = torch.autograd.grad(untouched(x).square().sum(), [x, *untouched.parameters()])
        for one, other in zip(found, wanted):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
        x = x.detach()
    tunedgemm.torch.unpatch(model)
    check(model(x), expected)


def test_patch_runs_what_is_tuned(device):
    layer, x = torch.nn.Linear(20, 28, device=device), draw(11, 20, device=device)
    with tunedgemm.torch.record() as shapes, torch.no_grad():
        layer(x)
    with tunedgemm.Context(
        "host" if device == "cpu" else device, policy="tune", candidates=2
    ) as context:
        shapes.tune(context=context)
    expected = functional.linear(x.double(), layer.weight.double(), layer.bias.double())
    with tunedgemm.torch.patch(layer), torch.no_grad(), torch.profiler.profile() as profile:
        d, _ = layer(x), layer(x[:7])
    check(d, expected)
    names = [event.name for event in profile.events()]
    assert names.count("tunedgemm::tuned_linear") == 2 and names.count("aten::linear") == 1


def test_layers_of_gpt2_are_patched(device):
    conv1d = pytest.importorskip("transformers.pytorch_utils").Conv1D
    layer, x = conv1d(10, 14).to(device), draw(2, 7, 14, device=device).requires_grad_()
    expected = layer(x)
    with tunedgemm.torch.patch(layer, "compile"), torch.profiler.profile() as profile:
        assert isinstance(layer, conv1d) and type(layer) is not conv1d
        found = layer(x)
    assert type(layer) is conv1d
    check(found, expected)
    check(torch.autograd.grad(found.sum(), x)[0], torch.autograd.grad(expected.sum(), x)[0])
    names = [event.name for event in profile.events()]
    assert "tunedgemm::tuned_linear" in names and "aten::linear" not in names


def test_what_is_tuned_later_is_found(device):
    layer, x = torch.nn.Linear(22, 26, device=device), draw(9, 22, device=device)

    def runs_torch_product() -> bool:
        with torch.no_grad(), torch.profiler.profile() as profile:
            layer(x)
        return "aten::linear" in [event.name for event in profile.events()]

    with tunedgemm.torch.patch(layer):
        assert runs_torch_product()
        with tunedgemm.Context(
            "host" if device == "cpu" else device, policy="tune", candidates=2
        ) as context:
            tunedgemm.plan(x, layer.weight.detach().T, bias=layer.bias.detach(), context=context)
        deadline = time.monotonic() + 30
        while runs_torch_product():
            assert time.monotonic() < deadline
            time.sleep(0.2)


def test_patch_under_compile_and_autocast(device):
    model = mlp(device)
    xs = [draw(rows, 12, device=device) for rows in (4, 6, 9)]
    expected = [model(x).detach() for x in xs]
    with torch.autocast(device, torch.bfloat16), tunedgemm.torch.patch(model, "compile"):
        assert model(xs[0]).dtype == torch.bfloat16
    with torch.no_grad(), tunedgemm.torch.patch(model, "compile"):
        compiled = torch.compile(model, fullgraph=True, dynamic=True)
        for x, wanted in zip(xs, expected):
            check(compiled(x), wanted)


@pytest.mark.skipif("cuda" not in DEVICES, reason="no GPU")
def test_graph_capture_and_stream():
    model, x = mlp("cuda", torch.float16), draw(16, 12, device="cuda", dtype=torch.float16)
    with torch.inference_mode(), tunedgemm.torch.patch(model, "compile"):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            model(x)  # warm-up
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        for _ in range(3):
            x.copy_(draw(16, 12, device="cuda", dtype=torch.float16))
            graph.replay()
            check(y, model(x), 2e-2)
