"""Tests that need a GPU: streams, graphs, memory that is freed early, arrays of CuPy and JAX, wrong
calls. Skipped without one."""

import textwrap

import pytest

import tunedgemm
from support import run_alone

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def draw(*shape, dtype="float16"):
    return torch.rand(shape, device="cuda").sub(0.5).to(getattr(torch, dtype))


def check(d, a, b, limit=1e-2):
    torch.testing.assert_close(d.double(), a.double() @ b.double(), rtol=limit, atol=limit)


def test_tensors_may_be_freed_at_once():
    a, b = draw(257, 512), draw(512, 129)
    expected = a.double() @ b.double()
    for _ in range(200):
        d = tunedgemm.matmul(a.clone(), b.clone())
        torch.full(
            (257, 512), torch.nan, device="cuda", dtype=torch.float16
        )  # takes the memory that a.clone() had
    torch.testing.assert_close(d.double(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    "multiply",
    [
        lambda a, b, out: tunedgemm.matmul(a, b, out=out),
        lambda a, b, out: out.copy_(tunedgemm.matmul(a, b)),
        lambda a, b, out: tunedgemm.plan(a, b, out=out).run(a, b, out=out),
    ],
    ids=["out", "new output", "plan"],
)
def test_a_graph_replays(multiply):
    a, b, out = draw(100, 264), draw(264, 72), draw(100, 72)
    multiply(a, b, out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        multiply(a, b, out)
    for _ in range(3):
        a.copy_(draw(100, 264))
        out.fill_(torch.nan)
        graph.replay()
        check(out, a, b)


def test_an_unknown_product_in_a_capture_is_refused():
    context = tunedgemm.Context("cuda", cache="", policy="tune")
    a = draw(321, 123, dtype="float64")
    b = torch.rand((123, 77), device="cuda", dtype=torch.float64)
    out = torch.empty((321, 77), device="cuda", dtype=torch.float64)
    with pytest.raises(tunedgemm.NotTunedError), torch.cuda.graph(torch.cuda.CUDAGraph()):
        tunedgemm.matmul(a, b, out=out, context=context)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_the_device_of_the_tensors_is_used():
    a = draw(64, 64).to("cuda:1")
    assert torch.cuda.current_device() == 0
    check(tunedgemm.matmul(a, a), a, a)
    assert tunedgemm.matmul(a, a).device == a.device and torch.cuda.current_device() == 0
    with pytest.raises(ValueError, match="b is on another device than a: on GPU 0, not on GPU 1"):
        tunedgemm.matmul(a, draw(64, 64))


def test_pinned_memory_is_the_host():
    a = torch.rand((33, 44)).pin_memory()
    torch.testing.assert_close(tunedgemm.matmul(a, a.T), a @ a.T)


def test_float8_with_scales():
    a, b = draw(64, 128).to(torch.float8_e4m3fn), draw(96, 128).to(torch.float8_e5m2)
    scale = torch.tensor([0.5], device="cuda")
    d = tunedgemm.matmul(a, b.T, scale_a=scale, out_dtype=torch.float32)
    torch.testing.assert_close(d, 0.5 * a.float() @ b.float().T, rtol=1e-2, atol=1e-2)
    with pytest.raises(ValueError, match="scale_a is on another device"):
        tunedgemm.matmul(a, b.T, scale_a=scale.cpu())


def test_arrays_of_cupy():
    cupy = pytest.importorskip("cupy")
    a = cupy.random.rand(96, 160, dtype="float32")
    stream = cupy.cuda.Stream(non_blocking=True)
    plan = tunedgemm.plan(a, a.T)
    with stream:
        b = a * 2  # on the stream, not awaited
        d, e = tunedgemm.matmul(b, b.T), plan.run(b, b.T)
    stream.synchronize()
    assert type(d) is cupy.ndarray
    for result in (d, e):
        cupy.testing.assert_allclose(
            result, 4 * (a.astype("float64") @ a.T.astype("float64")), rtol=1e-3
        )


def test_arrays_of_jax_are_inputs():
    jnp = pytest.importorskip("jax.numpy")
    if pytest.importorskip("jax").default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    a = jnp.full((64, 96), 2.0)
    out = torch.empty((64, 64), device="cuda")
    tunedgemm.matmul(a + 1, (a + 1).T, out=out)
    torch.testing.assert_close(out, torch.full_like(out, 9 * 96))


@pytest.mark.parametrize(
    "wrong,error,message",
    [
        (
            lambda a: tunedgemm.matmul(a, a.cpu()),
            ValueError,
            "b is on another device than a: on the CPU, not on GPU 0",
        ),
        (lambda a: tunedgemm.matmul(a, a, out=a.cpu()), ValueError, "out is on another device"),
        (
            lambda a: tunedgemm.matmul(a, a, bias=a[0].cpu()),
            ValueError,
            "bias is on another device",
        ),
        (
            lambda a: tunedgemm.matmul(a, a.cpu().float().numpy()),
            ValueError,
            "b is on another device",
        ),
        (lambda a: tunedgemm.matmul(a, a, out=a), tunedgemm.InvalidArgumentError, "overlap"),
        (
            lambda a: tunedgemm.matmul(a, a, context=tunedgemm.Context("host", cache="")),
            tunedgemm.Error,
            "device|host|memory",
        ),
        (
            lambda a: tunedgemm.matmul(
                a.cpu(), a.cpu(), context=tunedgemm.Context("cuda", cache="")
            ),
            tunedgemm.Error,
            "device|memory",
        ),
        (lambda a: tunedgemm.matmul(a, a, stream="0"), (TypeError, RuntimeError), "stream|cast"),
        (lambda a: tunedgemm.matmul(a, a.bool()), ValueError, "b has elements of torch.bool"),
        (
            lambda a: tunedgemm.matmul(a, a.float()),
            tunedgemm.InvalidArgumentError,
            "A is f16, B is f32",
        ),
        (lambda a: tunedgemm.matmul(a[:, ::2], a[::2]), ValueError, "strides of"),
        (
            lambda a: tunedgemm.matmul(
                a, a, out=a.new_empty(64, 64).expand(64, 64)[:1].expand(64, 64)
            ),
            ValueError,
            "strides of 0",
        ),
    ],
)
def test_wrong_calls(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong(draw(64, 64))


def test_empty_products():
    a = draw(0, 64)
    assert tunedgemm.matmul(a, draw(64, 8)).shape == (0, 8)
    d = tunedgemm.matmul(draw(5, 0), draw(0, 7))
    assert d.shape == (5, 7) and (d == 0).all()


def run_with_a(program: str):
    make_a = "a = torch.ones((64, 64), device='cuda', dtype=torch.float16)\n"
    start = "import os, torch, tunedgemm\n" + make_a
    return run_alone(start + textwrap.dedent(program), timeout=180)


def test_a_forked_child_is_refused():
    done = run_with_a("""
        tunedgemm.matmul(a, a)
        if os.fork() == 0:
            try:
                tunedgemm.matmul(a, a)
            except Exception as error:
                print(type(error).__name__, error, flush=True)
            os._exit(0)
        print("status", os.wait()[1])
        """)
    assert "status 0" in done.stdout and "Error" in done.stdout, done


def test_the_end_of_the_interpreter_is_quiet():
    done = run_with_a("""
        plan = tunedgemm.plan(a, a)
        context = tunedgemm.Context("cuda", cache="")
        results = [plan.run(a, a) for _ in range(100)] + [tunedgemm.matmul(a, a, context=context)]
        """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
