#!/usr/bin/env python3
"""Times steps of whole models in PyTorch, in a program that knows nothing of this library.

    tunedgemm record -- python3 tools/measure/unmodified_models.py
    tune-all --from-requests --against cublas
    tunedgemm run -- python3 tools/measure/unmodified_models.py --pairs 4

transformers builds GPT-2, Llama (3.2-1B), BERT and ViT (both base) from their configs, with random
weights in bf16. A step is a forward pass of so many tokens of one sequence (of images: one for 32
tokens or fewer), plain, in a CUDA graph, or compiled. Prints the median of --steps steps.

--pairs forks pairs of processes in turn, of which one has the preloaded library switched off, and
compares the least medians: the clock of a shared host differs by a factor of two between processes,
and nothing makes a step faster than it is. --json also writes the medians of each process to a
file, which tools/plot/plot_model_step.py draws."""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers

Times = dict[str, float]  # us, by "model tokens way"

MODELS = {
    "gpt2": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config()),
    "llama": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            hidden_size=2048,
            intermediate_size=8192,
            num_attention_heads=32,
            num_key_value_heads=8,
            num_hidden_layers=16,
            vocab_size=128256,
        )
    ),
    "bert": lambda: transformers.BertModel(transformers.BertConfig()),
    "vit": lambda: transformers.ViTForImageClassification(transformers.ViTConfig()),
}


def step_of(model: torch.nn.Module, name: str, tokens: int) -> Callable[[], object]:
    if name == "vit":
        images = torch.randn(max(1, tokens // 32), 3, 224, 224, device="cuda", dtype=torch.bfloat16)
        return lambda: model(images).logits
    ids = torch.randint(0, 30000, (1, tokens), device="cuda")
    if name == "bert":
        return lambda: model(ids).last_hidden_state
    return lambda: model(ids, use_cache=False).logits


def captured(step: Callable[[], object]) -> Callable[[], object]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def microseconds(step: Callable[[], object], steps: int) -> float:
    times = []
    for _ in range(steps + 2):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(1e6 * (time.perf_counter() - begin))
    return statistics.median(times[2:])


def measure(arguments: argparse.Namespace) -> Iterator[tuple[str, float]]:
    torch.manual_seed(1)
    with torch.no_grad():
        for name in arguments.models:
            with torch.device("cuda"):
                model = MODELS[name]().to(torch.bfloat16).eval()
            for tokens in arguments.tokens:
                for way in arguments.ways:
                    step = step_of(model, name, tokens)
                    if way == "compiled":
                        step = step_of(torch.compile(model), name, tokens)
                    elif way == "graph":
                        step = captured(step)
                    yield f"{name} {tokens} {way}", microseconds(step, arguments.steps)


def measure_in_child(mode: str, arguments: argparse.Namespace) -> tuple[str, Times]:
    """The device and the times of a process that reads $TUNEDGEMM_FRONT anew. This process must not
    use CUDA, because then its children could not."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.environ["TUNEDGEMM_FRONT"] = mode
        with os.fdopen(writer, "w") as file:
            json.dump((torch.cuda.get_device_name(), dict(measure(arguments))), file)
        sys.exit()
    os.close(writer)
    with os.fdopen(reader) as file:
        device, times = json.load(file)
    os.wait()
    return device, times


def compare_pairs(arguments: argparse.Namespace) -> None:
    before: list[Times] = []
    after: list[Times] = []
    began_at = time.strftime("%Y-%m-%d %H:%M:%S")
    for pair in range(1, arguments.pairs + 1):
        for mode, ways in (("off", before), ("serve", after)):
            device, times = measure_in_child(mode, arguments)
            ways.append(times)
        print(f"pair {pair} of {arguments.pairs} is measured", file=sys.stderr)
        if arguments.json:  # complete after each pair
            run = {"device": device, "began_at": began_at, "pairs": pair}
            write_json(arguments.json, run, before, after)
    for name in before[0]:
        old, new = [[times[name] for times in way] for way in (before, after)]
        spread = max(max(way) / min(way) for way in (old, new))
        ratio = min(old) / min(new)
        print(f"{name:20} {min(old):9.1f} us {min(new):9.1f} us {ratio:6.3f}  spread {spread:.2f}")


def write_json(path: str, run: dict[str, Any], before: list[Times], after: list[Times]) -> None:
    rows: dict[tuple[str, ...], Any] = {}
    for name in before[0]:
        *step, way = name.split(" ")
        us = rows.setdefault(tuple(step), {})
        us[way] = [times[name] for times in before]
        us[f"{way} + tuned"] = [times[name] for times in after]
    run |= {
        "pytorch": torch.__version__,
        "rows": [
            {"model": model, "tokens": int(tokens), "us": us}
            for (model, tokens), us in rows.items()
        ],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--tokens", nargs="+", type=int, default=[1, 32, 512])
    parser.add_argument("--ways", nargs="+", default=["eager", "graph"])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--json", metavar="FILE", help="with --pairs")
    arguments = parser.parse_args()
    if arguments.pairs > 0:
        compare_pairs(arguments)
        return
    for name, time_us in measure(arguments):
        print(f"{name}: {time_us:.1f} us", flush=True)


if __name__ == "__main__":
    main()
