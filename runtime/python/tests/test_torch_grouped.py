"""torch.ops.tunedgemm.grouped_mm and scaled_grouped_mm beside a loop over the groups, on the CPU
and, if present, a GPU."""

import numpy
import pytest

from support import OPERATOR_ERRORS

torch = pytest.importorskip("torch", minversion="2.10")

from torch.utils.flop_counter import FlopCounterMode

import tunedgemm.torch

OPS = torch.ops.tunedgemm
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-2, torch.bfloat16: 1e-1}
M, N, K, G = 13, 7, 9, 4
ENDS = {
    "uneven": [3, 4, 9, 13],
    "empty groups": [0, 5, 5, 13],
    "one row": [0, 0, 1, 1],
    "all empty": [0, 0, 0, 0],
    "a tail": [2, 3, 3, 8],
}
# The shapes of a and b. In the second form the ends divide N, in the third one K; else M.
FORMS = {
    "rows": ((M, K), (G, K, N)),
    "columns": ((G, N, K), (K, M)),
    "k": ((N, M), (M, K)),
    "batches": ((G, M, K), (G, K, N)),
}


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def draw(*shape, device, dtype=torch.float32):
    return (torch.rand(shape, device=device) * 2 - 1).to(dtype)


def int32(values, device):
    return torch.tensor(values, dtype=torch.int32, device=device)


def operands(form, device, dtype=torch.float32):
    return tuple(draw(*shape, device=device, dtype=dtype) for shape in FORMS[form])


def offs_of(form, ends, device):
    return None if form == "batches" else int32(ends, device)


def written(form, product, ends):
    """The part of the product that groups write."""
    if form == "rows":
        return product[: ends[-1]]
    return product[:, : ends[-1]] if form == "columns" else product


def loop(form, a, b, ends, bias=None):
    """The written part by PyTorch, group by group."""
    if form == "batches":
        return a @ b
    groups = enumerate(zip([0, *ends[:-1]], ends, strict=True))
    if form == "rows":
        addends = [0] * G if bias is None else bias
        return torch.cat([a[i:j] @ b[g] + addends[g] for g, (i, j) in groups])
    if form == "columns":
        return torch.cat([a[g] @ b[:, i:j] for g, (i, j) in groups], 1)
    products = torch.stack([a[:, i:j] @ b[i:j] for _, (i, j) in groups])
    return products if bias is None else products + bias.unsqueeze(1)


def check(d, expected, limit=1e-5):
    assert d.shape == expected.shape and d.isfinite().all()
    torch.testing.assert_close(d.double(), expected.double(), rtol=limit, atol=limit)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ENDS)
def test_forms(device, form, kind):
    a, b = operands(form, device)
    ends = ENDS[kind]
    d = OPS.grouped_mm(a, b, offs_of(form, ends, device))
    check(written(form, d, ends), loop(form, a.double(), b.double(), ends))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", LIMITS)
def test_types_and_layouts(device, form, dtype):
    a, b = operands(form, device, dtype)
    transposed = [x.transpose(-2, -1).contiguous().transpose(-2, -1) for x in (a, b)]
    ends = ENDS["uneven"]
    expected = loop(form, a.double(), b.double(), ends)
    for left, right in ((a, b), transposed):
        d = OPS.grouped_mm(left, right, offs_of(form, ends, device))
        assert (d.dtype, d.device) == (dtype, a.device)
        check(d, expected, LIMITS[dtype])
    if dtype == torch.bfloat16:
        d = OPS.grouped_mm(a, b, offs_of(form, ends, device), out_dtype=torch.float32)
        assert d.dtype == torch.float32
        check(d, expected, 1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_as_pytorch(device, form):
    a, b = (
        draw(*shape, device=device, dtype=torch.bfloat16)
        for shape in {
            "rows": ((32, 16), (2, 16, 24)),
            "columns": ((2, 24, 16), (16, 32)),
            "k": ((24, 32), (32, 16)),
            "batches": ((2, 32, 16), (2, 16, 24)),
        }[form]
    )
    offs = offs_of(form, [16, 32], device)
    try:
        expected = torch.nn.functional.grouped_mm(a, b, offs=offs)
    except (AttributeError, RuntimeError, NotImplementedError) as error:
        pytest.skip(f"PyTorch has none here: {error}")
    torch.testing.assert_close(OPS.grouped_mm(a, b, offs), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("form", ["rows", "k"])
def test_bias(device, form):
    a, b = operands(form, device)
    bias = draw(FORMS[form][1][-1], G, device=device).t()
    ends = ENDS["empty groups"]
    d = OPS.grouped_mm(a, b, int32(ends, device), bias)
    check(d, loop(form, a.double(), b.double(), ends, bias))


def test_ends_may_change(device):
    a, b = operands("rows", device)
    offs = int32([0] * G, device)
    for ends in ENDS.values():
        offs.copy_(int32(ends, device))
        d = OPS.grouped_mm(a, b, offs)
        check(d[: ends[-1]], loop("rows", a.double(), b.double(), ends))


def test_nothing_is_multiplied(device):
    def empty(*shape):
        return torch.empty(shape, device=device, requires_grad=True)

    none = int32([], device)
    for d, shape in (
        (OPS.grouped_mm(empty(3, 4), empty(0, 4, 5), none), (3, 5)),
        (OPS.grouped_mm(empty(3, 4), empty(4, 5), none), (0, 3, 5)),
        (OPS.grouped_mm(empty(0, 3, 4), empty(4, 5), none), (3, 5)),
        (OPS.grouped_mm(empty(0, 3, 4), empty(0, 4, 5)), (0, 3, 5)),
        (OPS.grouped_mm(empty(0, 4), empty(2, 4, 5), int32([0, 0], device)), (0, 5)),
    ):
        assert d.shape == shape
        d.sum().backward()


def exponents(*shape, device):
    return torch.exp2(torch.randint(-8, 9, shape, device=device).float())


@pytest.mark.parametrize("form", FORMS)
def test_scales_of_rows(device, form):
    a, b = (x.to(torch.float8_e4m3fn) for x in operands(form, device))
    ends = ENDS["empty groups"]
    rows, columns = a.shape[-2], b.shape[-1]
    if form == "k":
        scale_a, scale_b = exponents(G * rows, device=device), exponents(G * columns, device=device)
        factors = scale_a.view(G, rows, 1).double() * scale_b.view(G, 1, columns).double()
        left, right = a.double(), b.double()
    else:
        scale_a = exponents(*a.shape[:-1], device=device)
        scale_b = exponents(*b.shape[:-2], columns, device=device)
        factors = 1
        left, right = a.double() * scale_a.unsqueeze(-1), b.double() * scale_b.unsqueeze(-2)
    exact, bound = (
        loop(form, x, y, ends) * factors for x, y in ((left, right), (left.abs(), right.abs()))
    )
    for is_fast in (False, True):
        d = OPS.scaled_grouped_mm(
            a,
            b,
            scale_a,
            scale_b,
            offs_of(form, ends, device),
            out_dtype=torch.float32,
            use_fast_accum=is_fast,
        )
        assert d.dtype == torch.float32 and ((d - exact).abs() <= 2e-2 * bound).all()


def test_scaled_result_and_bias(device):
    a, b = (x.to(torch.float8_e4m3fn) for x in operands("rows", device))
    one, offs = torch.ones((), device=device), int32(ENDS["uneven"], device)
    assert OPS.scaled_grouped_mm(a, b, one, one, offs).dtype == torch.float16
    bias = draw(G, N, device=device, dtype=torch.bfloat16)
    d = OPS.scaled_grouped_mm(a, b, one, 2 * one, offs, bias, torch.bfloat16)
    expected = loop("rows", a.double(), 2 * b.double(), ENDS["uneven"], bias)
    check(d, expected, 1e-1)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ENDS)
def test_gradients(device, form, kind):
    a, b = (x.requires_grad_() for x in operands(form, device, torch.float64))
    ends = ENDS[kind]
    offs = offs_of(form, ends, device)

    def function(a, b, bias=None):
        return written(form, OPS.grouped_mm(a, b, offs, bias), ends)

    inputs = [a, b]
    if form in ("rows", "k"):
        inputs.append(draw(G, b.shape[-1], device=device, dtype=torch.float64).requires_grad_())
    if function(*inputs).numel():
        assert torch.autograd.gradcheck(function, inputs, fast_mode=True)
        assert torch.autograd.gradgradcheck(function, inputs, fast_mode=True)
    expected = torch.autograd.grad(
        loop(form, a, b, ends, *inputs[2:]).square().sum(), inputs, materialize_grads=True
    )
    found = torch.autograd.grad(function(*inputs).square().sum(), inputs)
    for gradient, exact in zip(found, expected, strict=True):
        check(gradient, exact, 1e-10)


@pytest.mark.parametrize("form", ["rows", "columns", "k"])
def test_gradients_behind_the_last_group_are_zero(device, form):
    a, b = (x.requires_grad_() for x in operands(form, device))
    ends = ENDS["a tail"]
    with torch.no_grad():
        for x in (a, b):
            for dimension in range(-2, 0):
                if x.dim() == 2 and x.shape[dimension] == M:
                    x.narrow(dimension, ends[-1], M - ends[-1]).fill_(torch.nan)
    d = OPS.grouped_mm(a, b, int32(ends, device))
    upstream = draw(*d.shape, device=device)
    if form != "k":
        upstream.narrow(0 if form == "rows" else 1, ends[-1], M - ends[-1]).fill_(torch.nan)
    for gradient in torch.autograd.grad(d, (a, b), upstream):
        assert gradient.isfinite().all()
        if gradient.dim() == 2:
            along = gradient.shape.index(M)
            assert (gradient.narrow(along, ends[-1], M - ends[-1]) == 0).all()


def test_gradients_that_are_refused(device):
    a, b = operands("rows", device)
    offs, one = int32(ENDS["uneven"], device), torch.ones((), device=device)
    eights = [x.to(torch.float8_e4m3fn) for x in (a, b)]
    with pytest.raises(RuntimeError, match="scaled_grouped_mm has no gradient"):
        OPS.scaled_grouped_mm(*eights, one, one.clone().requires_grad_(), offs)
    with pytest.raises(NotImplementedError, match=r"tunedgemm\.grouped_mm has no .* transforms"):
        torch.func.grad(lambda a: OPS.grouped_mm(a, b, offs).sum())(a)


@pytest.mark.parametrize("form", FORMS)
def test_opcheck(device, form):
    offs = offs_of(form, ENDS["empty groups"], device)
    a, b = (x.requires_grad_() for x in operands(form, device))
    torch.library.opcheck(OPS.grouped_mm.default, (a, b, offs))
    a, b = a.detach(), b.detach()
    torch.library.opcheck(OPS.grouped_mm.no_grad, (a, b, offs, None, torch.float32))
    one = torch.ones((), device=device)
    torch.library.opcheck(
        OPS.scaled_grouped_mm.default,
        (a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn), one, one, offs),
        test_utils=["test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"],
    )


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(device, dynamic):
    weight = draw(G, K, N, device=device).requires_grad_()

    def function(x, offs):
        return OPS.grouped_mm(torch.relu(x), weight, offs).square().sum()

    backend = "aot_eager" if dynamic else "inductor"
    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend=backend)
    for rows in (M, M + 8) if dynamic else (M,):
        x, offs = draw(rows, K, device=device), int32([3, 4, 4, rows], device)
        (expected,), (found,) = (
            torch.autograd.grad(one(x, offs), weight) for one in (function, compiled)
        )
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_flops(device, form):
    a, b = operands(form, device)
    with FlopCounterMode(display=False) as counter:
        OPS.grouped_mm(a, b, offs_of(form, ENDS["uneven"], device))
    assert counter.get_total_flops() == 2 * M * N * K * (G if form == "batches" else 1)


@pytest.mark.parametrize(
    "form,change,message",
    [
        ("rows", {"offs": None}, "offs is None; give the end of each group"),
        ("batches", {"offs": torch.tensor([1])}, "offs is given, but a and b have 3 dimensions"),
        ("rows", {"offs": torch.tensor([1, 2, 3, 4])}, "offs must have elements of int32"),
        ("rows", {"offs": int32([1, 2, 3], "cpu")}, r"offs has the shape \(3\); it must be packed"),
        ("rows", {"offs": int32([0, 1, 2, 3, 4], "cpu")}, "leave out the leading 0"),
        ("rows", {"a": torch.ones(3)}, r"a has the shape \(3\); it must have 2 or 3 dimensions"),
        ("rows", {"a": torch.ones(3, 2)}, "a of shape .* has 2 columns, but b"),
        ("rows", {"bias": torch.ones(N)}, r"bias has the shape \(7\); .* the shape \(4, 7\)"),
        ("columns", {"bias": torch.ones(G, M)}, "only an a of 2 dimensions may have one"),
        ("batches", {"b": torch.ones(3, K, N)}, "a has 4 matrices, but b has 3"),
    ],
)
def test_wrong_calls(form, change, message):
    a, b = operands(form, "cpu")
    arguments = {"a": a, "b": b, "offs": offs_of(form, ENDS["uneven"], "cpu"), **change}
    with pytest.raises(OPERATOR_ERRORS, match=message):
        OPS.grouped_mm.no_grad(**arguments)


@pytest.mark.skipif("cuda" not in DEVICES, reason="needs a GPU")
def test_ends_on_the_host_are_refused():
    a, b = operands("rows", "cuda")
    where = "offs is on another device than a: on the CPU, not on"
    with pytest.raises(OPERATOR_ERRORS, match=where):
        OPS.grouped_mm(a, b, int32(ENDS["uneven"], "cpu"))
    with pytest.raises(ValueError, match="ends is on another device than a: on the CPU, not on"):
        tunedgemm.grouped_matmul(a, b, numpy.array(ENDS["uneven"], "int32"))


@pytest.mark.skipif("cuda" not in DEVICES, reason="needs a GPU")
def test_a_graph_reads_ends_at_each_replay():
    a, b = operands("rows", "cuda")
    a.requires_grad_()
    offs = int32(ENDS["uneven"], "cuda")

    def step():
        d = OPS.grouped_mm(a, b, offs)
        return d, torch.autograd.grad(d, a, torch.ones_like(d))[0]

    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # fails if anything waits for the device
        d, gradient = step()
    for ends in ENDS.values():
        offs.copy_(int32(ends, "cuda"))
        graph.replay()
        check(d[: ends[-1]], loop("rows", a.double(), b.double(), ends))
        assert not gradient[ends[-1] :].any()


def test_arrays_of_pytorch(device):
    a, b = operands("rows", device)
    ends = ENDS["a tail"]
    out = torch.full((M, N), -77.0, device=device)
    assert tunedgemm.grouped_matmul(a, b, int32(ends, device), out=out) is out
    check(out[: ends[-1]], loop("rows", a.double(), b.double(), ends))
    assert (out[ends[-1] :] == -77).all()
    with pytest.raises(
        ValueError, match=r"ends has elements of torch\.int64; pass an array of int32"
    ):
        tunedgemm.grouped_matmul(a, b, torch.tensor(ends, device=device))


ROUTINGS = {
    "gaps": [-1, 0, 0, -1, 1, 2, 2, 2, -1, -1, 3, 3, -1],
    "in any order": [3, 3, 3, -1, 0, 0, 2, -1, -1, 1, 1, 1, 1],
    "empty groups": [-1, 2, 2, 2, 2, -1, -1, -1, -1, 0, 0, 0, 0],
    "no rows": [-1] * M,
    "one group": [1] * M,
}


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_ranges_of_rows(device, routing, dtype):
    expert_of_row = torch.tensor(ROUTINGS[routing], dtype=dtype, device=device)
    ranges = tunedgemm.torch.ranges_of_rows(expert_of_row, G)
    assert (ranges.dtype, ranges.device) == (torch.int32, expert_of_row.device)
    for group, (begin, end) in enumerate(ranges.tolist()):
        rows = [row for row, expert in enumerate(ROUTINGS[routing]) if expert == group]
        assert list(range(begin, end)) == rows and (rows or begin == end == 0)
    a, b = operands("rows", device)
    used = (expert_of_row >= 0).unsqueeze(1)
    exact = (a.double().unsqueeze(1) @ b.double()[expert_of_row.clamp(min=0).long()]).squeeze(1)
    out = torch.full((M, N), -77.0, device=device)
    tunedgemm.grouped_matmul(a, b, ranges=ranges, out=out)
    check(out, torch.where(used, exact, -77.0))
    zeroed = tunedgemm.grouped_matmul(a, b, ranges=ranges, zero_unused=True)
    check(zeroed, torch.where(used, exact, 0.0))


@pytest.mark.parametrize("dynamic", [False, True])
def test_ranges_of_rows_are_compiled(device, dynamic):
    compiled = torch.compile(tunedgemm.torch.ranges_of_rows, fullgraph=True, dynamic=dynamic)
    for routing in ROUTINGS.values():
        expert_of_row = torch.tensor(routing, device=device)
        expected = tunedgemm.torch.ranges_of_rows(expert_of_row, G)
        assert torch.equal(compiled(expert_of_row, G), expected)


def test_ranges_of_no_rows(device):
    for groups in (0, 3):
        ranges = tunedgemm.torch.ranges_of_rows(int32([], device), groups)
        assert ranges.tolist() == [[0, 0]] * groups and ranges.shape == (groups, 2)
    on_meta = tunedgemm.torch.ranges_of_rows(torch.empty(M, dtype=torch.int64, device="meta"), G)
    assert on_meta.shape == (G, 2)  # no number is read


@pytest.mark.parametrize("wrong", [torch.ones(M), torch.ones(M, 1, dtype=torch.int32)])
def test_ranges_of_wrong_rows(wrong):
    with pytest.raises(ValueError, match=r"expert_of_row has .* give a vector of int32 or int64"):
        tunedgemm.torch.ranges_of_rows(wrong, G)


@pytest.mark.skipif("cuda" not in DEVICES, reason="needs a GPU")
def test_a_graph_reads_the_experts_of_rows_at_each_replay():
    a, b = operands("rows", "cuda")
    expert_of_row = torch.tensor(ROUTINGS["gaps"], device="cuda")

    def step():
        ranges = tunedgemm.torch.ranges_of_rows(expert_of_row, G)
        return tunedgemm.grouped_matmul(a, b, ranges=ranges, zero_unused=True)

    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # fails if anything waits for the device
        d = step()
    for routing in ROUTINGS.values():
        expert_of_row.copy_(torch.tensor(routing))
        graph.replay()
        exact = torch.stack([a[i].double() @ b[max(g, 0)].double() for i, g in enumerate(routing)])
        check(d, torch.where((expert_of_row >= 0).unsqueeze(1), exact, 0.0))


def recorded(function, *arguments, **options):
    with tunedgemm.torch.record() as shapes:
        function(*arguments, **options)
    return [problem.text for problem in shapes]


# The texts of what the forms compute.
PROBLEMS = {
    "rows": "m=32 n=24 k=16 batch=2{} group_kind=rows",
    "columns": "m=32 n=24 k=16 batch=2{} group_kind=rows",
    "k": "m=24 n=16 k=32 batch=2{} group_kind=k",
    "batches": "m=32 n=24 k=16 batch=2{}",
}
# As PyTorch wants them: the extents are multiples of 16 bytes, and b of float8 is column-major.
LARGE_FORMS = {
    "rows": ((32, 16), (2, 16, 24)),
    "columns": ((2, 24, 16), (16, 32)),
    "k": ((24, 32), (32, 16)),
    "batches": ((2, 32, 16), (2, 16, 24)),
}


@pytest.mark.parametrize("form", LARGE_FORMS)
def test_record_sees_groups(device, form):
    a, b = (draw(*shape, device=device, dtype=torch.bfloat16) for shape in LARGE_FORMS[form])
    offs = offs_of(form, [16, 32], device)
    layout = "layout=tt " if form == "columns" else ""
    problem = f"types=bf16 {layout}{PROBLEMS[form].format('')}"
    assert recorded(OPS.grouped_mm, a, b, offs) == [problem]
    assert recorded(OPS.grouped_mm.no_grad, a, b, offs=offs) == [problem]
    if form in ("rows", "k"):
        bias = draw(2, b.shape[-1], device=device, dtype=torch.bfloat16)
        assert recorded(OPS.grouped_mm, a, b, offs, bias) == [
            problem.replace(" batch=2", " batch=2 bias=col")
        ]
    try:
        assert recorded(torch.nn.functional.grouped_mm, a, b, offs=offs) == [problem]
    except (AttributeError, RuntimeError, NotImplementedError) as error:
        pytest.skip(f"PyTorch has none here: {error}")


def test_record_sees_gradients_of_groups(device):
    a, b = (x.requires_grad_() for x in operands("rows", device))
    texts = recorded(lambda: OPS.grouped_mm(a, b, int32(ENDS["uneven"], device)).sum().backward())
    assert len(texts) == 3 and sum("group_kind=k" in text for text in texts) == 1


@pytest.mark.parametrize("form", LARGE_FORMS)
def test_record_sees_scaled_groups(form):
    """On tensors without memory, since PyTorch multiplies none of these formats on the CPU."""
    with torch.device("meta"):
        shape_a, shape_b = LARGE_FORMS[form]
        a = torch.empty(shape_a, dtype=torch.float8_e4m3fn)
        b = torch.empty(shape_b, dtype=torch.float8_e4m3fn).transpose(-2, -1)
        b = b.contiguous().transpose(-2, -1)
        offs = None if form == "batches" else torch.empty(2, dtype=torch.int32)
        scale_a, scale_b = torch.empty(a.shape[:-1]), torch.empty((*b.shape[:-2], b.shape[-1]))
        if form == "k":
            scale_a, scale_b = torch.empty(2 * a.shape[0]), torch.empty(2 * b.shape[1])
    rows = torch.nn.functional.ScalingType.RowWise
    for is_fast, numerics in ((True, ""), (False, " numerics=promoted")):
        tail = PROBLEMS[form].format(f"{numerics} scaling_a=row scaling_b=row")
        problem = f"types=e4m3->bf16 layout=nt {tail}"
        bf16 = torch.bfloat16
        options = {"offs": offs, "out_dtype": bf16, "use_fast_accum": is_fast}
        own = OPS.scaled_grouped_mm
        assert recorded(own, a, b, scale_a, scale_b, **options) == [problem]
        assert recorded(own, a, b, scale_a, scale_b, offs, None, bf16, is_fast) == [problem]
        assert recorded(torch._scaled_grouped_mm, a, b, scale_a, scale_b, **options) == [problem]
        if hasattr(torch.nn.functional, "scaled_grouped_mm"):
            options["output_dtype"] = options.pop("out_dtype")
            scaled = torch.nn.functional.scaled_grouped_mm
            try:
                texts = recorded(scaled, a, b, scale_a, rows, scale_b, rows, **options)
            except NotImplementedError:  # PyTorch 2.11, on tensors without memory
                continue
            assert texts == [problem]


def test_recorded_groups_are_written(device, tmp_path):
    with tunedgemm.torch.record() as shapes:
        for form in FORMS:
            OPS.grouped_mm(*operands(form, device), offs_of(form, ENDS["uneven"], device))
    shapes.write(tmp_path / "shapes.csv")
    lines = (tmp_path / "shapes.csv").read_text().splitlines()
    assert lines == [
        "name,types,m,n,k,batch,group_kind,layout",
        "1 calls,f32,13,7,9,4,rows,",
        "1 calls,f32,13,7,9,4,rows,tt",
        "1 calls,f32,7,9,13,4,k,",
        "1 calls,f32,13,7,9,4,,",
    ]


@pytest.fixture
def fails_unless_tuned(monkeypatch, tmp_path):
    """The operators run winners alone, and forget what they have read from the cache file."""
    monkeypatch.setenv("TUNEDGEMM_CACHE", str(tmp_path / "cache.db"))

    def begin():
        monkeypatch.setenv("TUNEDGEMM_POLICY", "fail")
        tunedgemm._core._close_default_contexts(False)

    yield begin
    tunedgemm._core._close_default_contexts(False)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_scaled", [False, True])
def test_recorded_groups_are_tuned(device, form, is_scaled, fails_unless_tuned):
    a, b = operands(form, device)
    a, b = torch.cat([a, a], -1)[..., : a.shape[-1]], b.mT.contiguous().mT
    scales, options = (), {"offs": offs_of(form, ENDS["uneven"], device)}
    if is_scaled:
        a, b = (x.sign().to(torch.float8_e4m3fn) for x in (a, b))
        rows, columns = a.shape[:-1], (*b.shape[:-2], b.shape[-1])
        if form == "k":
            rows, columns = G * a.shape[0], G * b.shape[1]
        scales = torch.ones(rows, device=device), torch.ones(columns, device=device)
        options["out_dtype"] = torch.float32
    operator = OPS.scaled_grouped_mm if is_scaled else OPS.grouped_mm
    with tunedgemm.torch.record() as shapes:
        operator(a, b, *scales, **options)
    fails_unless_tuned()
    with pytest.raises(RuntimeError, match="policy"):
        operator(a, b, *scales, **options)
    with tunedgemm.Context(
        "host" if device == "cpu" else device, policy="tune", candidates=2
    ) as context:
        shapes.tune(progress=False, context=context)
    fails_unless_tuned()
    expected = loop(form, a.double(), b.double(), ENDS["uneven"])
    check(operator(a, b, *scales, **options), expected)
