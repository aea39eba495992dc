"""Times a step of a language model with PyTorch's kernels and with tuned ones.

    python model_step.py llama --tokens 1 8 64 512 4096 --json llama.json
    python ../../plot_model_step.py llama.json -o llama

transformers builds the layers from the named model's config, with random weights and a few of its
blocks (--blocks). A step of up to 64 tokens decodes one token of each sequence; a longer step is
the prefill of one sequence. Decoding leaves out attention to earlier tokens, whose time would be
the same in all columns. The problems of the model are recorded and tuned first. Then all ways are
timed in turn, round by round, so that a change of the GPU's clock affects all of them:

    eager, graph, compiled    PyTorch's kernels: plain, in a CUDA graph, by torch.compile
    ... + patch               the same with tunedgemm.torch.patch(model)
    autotuned                 compiled with the option max_autotune_gemm
    autotuned + external      the same, with tunedgemm.torch.external_matmul timed beside torch.mm

The ways of mixtures of experts (mixtral, qwen3_moe), which need transformers 5:

    loop                      a product for each expert, plain
    grouped_mm, ... graph     torch.nn.functional.grouped_mm: plain, in a CUDA graph
    tuned, ... graph          torch.ops.tunedgemm.grouped_mm and tunedgemm.torch.patch(model)

All of them send the tokens to the experts that the loop has chosen, because rounding decides
between experts that are nearly tied. A way whose logits differ from the loop's is an error.
"""

import argparse
import copy
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import transformers

import tunedgemm.torch

Step = Callable[[], torch.Tensor]
MODELS = {
    # meta-llama/Llama-3.1-8B and openai-community/gpt2
    "llama": lambda blocks: transformers.LlamaConfig(
        hidden_size=4096,
        intermediate_size=14336,
        num_attention_heads=32,
        num_key_value_heads=8,
        vocab_size=128256,
        num_hidden_layers=blocks,
        max_position_embeddings=8192,
    ),
    "gpt2": lambda blocks: transformers.GPT2Config(n_layer=blocks, n_positions=8192),
    # For a look without a GPU.
    "tiny": lambda blocks: transformers.LlamaConfig(
        hidden_size=256,
        intermediate_size=512,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=1001,
        num_hidden_layers=blocks,
        max_position_embeddings=8192,
    ),
    # mistralai/Mixtral-8x7B and Qwen/Qwen3-30B-A3B: most numbers are the classes' defaults
    "mixtral": lambda blocks: transformers.MixtralConfig(num_hidden_layers=blocks),
    "qwen3_moe": lambda blocks: transformers.Qwen3MoeConfig(
        num_hidden_layers=blocks, head_dim=128, norm_topk_prob=True
    ),
    "tiny_moe": lambda blocks: transformers.MixtralConfig(
        num_hidden_layers=blocks, hidden_size=128, intermediate_size=96, vocab_size=1001
    ),
}
ROUNDS = 15
# The largest difference of two ways, in units of the spread of their results. A token that misses
# one of its experts has a difference of about 1 behind the experts.
LARGEST_DIFFERENCE = {torch.bfloat16: 0.25, torch.float32: 1e-3}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=MODELS)
    parser.add_argument(
        "--tokens",
        type=int,
        nargs="+",
        metavar="M",
        help="default: 1 8 64 512 4096; of a mixture of experts 1 16 256 4096",
    )
    parser.add_argument("--blocks", type=int, default=2, help="of the model (2)")
    parser.add_argument(
        "--ways",
        nargs="+",
        choices=["eager", "graph", "compiled"],
        help="default: all that the device has; a mixture of experts is not compiled",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write the times there, for tools/plot/plot_model_step.py"
    )
    return parser.parse_args()


def build(arguments: argparse.Namespace) -> torch.nn.Module:
    torch.manual_seed(0)
    config = MODELS[arguments.model](arguments.blocks)
    config.use_cache = False
    on_gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu else torch.float32
    with torch.device("cuda" if on_gpu else "cpu"):
        return transformers.AutoModelForCausalLM.from_config(config, dtype=dtype).eval()


def tokens_of(model: torch.nn.Module, count: int) -> torch.Tensor:
    """(sequences, tokens of each), int64, on the model's device."""
    shape = (count, 1) if count <= 64 else (1, count)
    return torch.randint(model.config.vocab_size, shape, device=next(model.parameters()).device)


def tuned_experts(
    experts: torch.nn.Module, tokens: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """The sums of the chosen experts' results, (tokens, hidden), as an implementation of experts
    for transformers. No number leaves the device, so that a CUDA graph can contain it.

    tokens: (tokens, hidden). chosen, weights: (tokens, experts of each)."""
    multiply = torch.ops.tunedgemm.grouped_mm.no_grad
    expert_of_row, order = chosen.flatten().sort()
    ends = torch.searchsorted(
        expert_of_row,
        torch.arange(experts.num_experts, device=order.device),
        right=True,
        out_int32=True,
    )
    rows = tokens[order // chosen.shape[1]]
    gate, up = multiply(rows, experts.gate_up_proj.transpose(1, 2), ends).chunk(2, dim=1)
    down = multiply(experts.act_fn(gate) * up, experts.down_proj.transpose(1, 2), ends)
    weighted = torch.empty_like(down, dtype=weights.dtype)
    weighted[order] = down * weights.flatten()[order].unsqueeze(1)
    return weighted.unflatten(0, chosen.shape).sum(1).to(tokens.dtype)


def use_experts(model: torch.nn.Module, implementation: str) -> torch.nn.Module:
    transformers.integrations.moe.ALL_EXPERTS_FUNCTIONS.register("tunedgemm", tuned_experts)
    model.set_experts_implementation(implementation)
    return model


def keep_choices(model: torch.nn.Module) -> dict[int, tuple[torch.Tensor, ...]]:
    """Lets the model and its copies choose the experts of the first step again. Returns the choices
    by block; clear them before a step with other tokens."""
    choices: dict[int, tuple[torch.Tensor, ...]] = {}
    for block, layer in enumerate(model.model.layers):
        layer.mlp.gate.register_forward_hook(
            lambda router, inputs, choice, block=block: choices.setdefault(block, choice)
        )
    return choices


def twin_of(model: torch.nn.Module) -> torch.nn.Module:
    """A copy that shares the parameters. Patching and unpatching one model between timings would
    cost compiled steps 5 us."""
    return copy.deepcopy(
        model, {id(tensor): tensor for tensor in [*model.parameters(), *model.buffers()]}
    )


def captured(step: Step) -> Step:
    """A step in a CUDA graph, warmed up on a side stream as PyTorch asks."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()

    def replay() -> torch.Tensor:
        graph.replay()
        return result

    return replay


def compiled(step: Step, **options: Any) -> Step:
    """A compiled step in a CUDA graph, if there is a GPU, after its compilation."""
    if torch.cuda.is_available():
        options["triton.cudagraphs"] = True
    fast = torch.compile(step, fullgraph=True, dynamic=False, options=options)
    for _ in range(3):
        fast()
    return fast


def ways_of(
    arguments: argparse.Namespace,
    model: torch.nn.Module,
    patched: torch.nn.Module,
    tokens: torch.Tensor,
) -> dict[str, Step]:
    """The steps of all ways, by their names."""

    def step() -> torch.Tensor:
        return model(tokens).logits

    def patched_step() -> torch.Tensor:
        return patched(tokens).logits

    torch._dynamo.reset()
    all_ways: dict[str, Callable[[Step], Step]] = {
        "eager": lambda step: step,
        "graph": captured,
        "compiled": compiled,
    }
    wanted = arguments.ways or (all_ways if tokens.is_cuda else ["eager"])
    ways = {way: all_ways[way](step) for way in wanted}
    if "compiled" in wanted and tokens.is_cuda:
        race = {
            "max_autotune_gemm": True,
            "max_autotune_gemm_backends": "ATEN",
            "autotune_num_choices_displayed": 0,
            "max_autotune_report_choices_stats": False,
        }
        ways["autotuned"] = compiled(step, **race)
        ways["autotuned + external"] = compiled(
            step, external_matmul=[tunedgemm.torch.external_matmul], **race
        )
    return ways | {f"{way} + patch": all_ways[way](patched_step) for way in wanted}


def ways_of_experts(
    arguments: argparse.Namespace, models: dict[str, torch.nn.Module], tokens: torch.Tensor
) -> dict[str, Step]:
    """The steps of a mixture of experts. The loop reads sizes from the device, so that no CUDA
    graph can contain it."""

    def step_of(model: torch.nn.Module) -> Step:
        return lambda: model(tokens).logits

    wanted = arguments.ways or (["eager", "graph"] if tokens.is_cuda else ["eager"])
    ways = {"loop": step_of(models["loop"])}
    ways["loop"]()  # chooses the experts
    for name in ("grouped_mm", "tuned"):
        if "eager" in wanted:
            ways[name] = step_of(models[name])
        if "graph" in wanted:
            ways[f"{name} graph"] = captured(step_of(models[name]))
    return ways


def experts_of(model: torch.nn.Module, choice: tuple[torch.Tensor, ...]) -> Step:
    """The experts of the first block, for random tokens."""
    _, weights, chosen = choice
    torch.manual_seed(0)
    tokens = torch.randn((len(chosen), model.config.hidden_size), device=chosen.device)
    return lambda: model.model.layers[0].mlp.experts(tokens.to(model.dtype), chosen, weights)


def seconds_of(step: Step, count: int) -> float:
    """The mean time of a step, of `count` in a row."""
    if not torch.cuda.is_available():
        start = time.perf_counter()
        for _ in range(count):
            step()
        return (time.perf_counter() - start) / count
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        step()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count / 1e3


def time_in_turn(ways: dict[str, Step]) -> dict[str, float]:
    """The median seconds of each way."""
    counts = {}
    for name, step in ways.items():
        seconds_of(step, 3)
        counts[name] = max(1, min(50, int(0.02 / seconds_of(step, 3))))
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, step in ways.items():
            seconds[name].append(seconds_of(step, counts[name]))
    return {name: statistics.median(each) for name, each in seconds.items()}


def largest_difference(ways: dict[str, Step], limit: float) -> float:
    """The largest difference of any way's result from the first one's, relative to their spread.
    Exits if one is above the limit."""
    results = {name: step().float().clone() for name, step in ways.items()}
    first, *_ = results.values()
    differences = {
        name: ((each - first).abs().max() / first.std()).item() for name, each in results.items()
    }
    for name, difference in differences.items():
        if not difference <= limit:  # also exits for NaN
            sys.exit(f"{name} is wrong: it differs by {difference:.1e} of the results' spread")
    return max(differences.values())


def main() -> None:
    arguments = parse_arguments()
    began_at = time.strftime("%Y-%m-%d %H:%M:%S")
    torch.set_grad_enabled(False)
    model = build(arguments)
    is_mixture = hasattr(model.config, "num_experts_per_tok")
    token_counts = arguments.tokens or ([1, 16, 256, 4096] if is_mixture else [1, 8, 64, 512, 4096])
    choices = keep_choices(model) if is_mixture else {}
    tuned = twin_of(model)
    if is_mixture:
        loop = use_experts(twin_of(model), "eager")
        use_experts(model, "grouped_mm")
        use_experts(tuned, "tunedgemm")
    with tunedgemm.torch.record() as shapes:
        for count in token_counts:
            choices.clear()
            tuned(tokens_of(model, count))
    print(f"{len(shapes)} problems; tuning those that are not in the cache", file=sys.stderr)
    shapes.tune(progress=True)
    tunedgemm.torch.patch(tuned)
    limit = LARGEST_DIFFERENCE[model.dtype]
    rows = []
    for count in token_counts:
        choices.clear()
        tokens = tokens_of(model, count)
        if is_mixture:
            models = {"loop": loop, "grouped_mm": model, "tuned": tuned}
            ways = ways_of_experts(arguments, models, tokens)
            # Logits, which are sums of many layers, show no small error of the experts.
            experts = {name: experts_of(model, choices[0]) for name, model in models.items()}
            largest_difference(experts, limit)
        else:
            ways = ways_of(arguments, model, tuned, tokens)
        difference = largest_difference(ways, limit)
        seconds = time_in_turn(ways)
        rows.append(
            {
                "tokens": count,
                "us": {name: 1e6 * each for name, each in seconds.items()},
                "difference": difference,
            }
        )
        times = ", ".join(f"{name} {1e6 * each:.0f}" for name, each in seconds.items())
        print(
            f"{arguments.model}, {count} tokens, us a step: {times}; logits differ by "
            f"{difference:.1e} of their spread",
            flush=True,
        )
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(
                {
                    "model": arguments.model,
                    "blocks": arguments.blocks,
                    "device": device,
                    "began_at": began_at,
                    "pytorch": torch.__version__,
                    "rows": rows,
                },
                file,
                indent=1,
            )


if __name__ == "__main__":
    main()
