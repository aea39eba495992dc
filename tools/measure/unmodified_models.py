#!/usr/bin/env python3
"""Times steps of whole models in PyTorch, in a program that knows nothing of this library.

    python3 tools/measure/unmodified_models.py                            # as it is
    tunedgemm record -- python3 tools/measure/unmodified_models.py --steps 2
    tune-all --from-requests --against cublas
    tunedgemm run -- python3 tools/measure/unmodified_models.py           # with the winners
    python3 tools/measure/unmodified_models.py --compare before.json after.json

transformers builds GPT-2, Llama (3.2-1B), BERT and ViT (both base) from their configs, with random
weights in bf16. A step is a forward pass of so many tokens of one sequence (of images: one for 32
tokens or fewer), plain, in a CUDA graph, or compiled. Prints the median of --steps steps."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable

import torch
import transformers

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


def compare(before: str, after: str) -> None:
    with open(before) as first, open(after) as second:
        old, new = json.load(first), json.load(second)
    ratios = {name: old[name] / new[name] for name in old if name in new}
    for name, ratio in ratios.items():
        print(f"{name:28} {old[name]:10.1f} us {new[name]:10.1f} us {ratio:6.3f}")
    worst = min(ratios, key=lambda name: ratios[name])
    print(f"median {statistics.median(ratios.values()):.3f}, least {ratios[worst]:.3f} ({worst})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--tokens", nargs="+", type=int, default=[1, 32, 512])
    parser.add_argument("--ways", nargs="+", default=["eager", "graph"])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--json", help="write the times to this file")
    parser.add_argument("--compare", nargs=2, metavar=("BEFORE", "AFTER"))
    arguments = parser.parse_args()
    if arguments.compare:
        compare(*arguments.compare)
        return
    torch.manual_seed(1)
    times: dict[str, float] = {}
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
                    times[f"{name} {tokens} {way}"] = microseconds(step, arguments.steps)
                    print(f"{name} {tokens} {way}: {times[f'{name} {tokens} {way}']:.1f} us")
                    sys.stdout.flush()
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(times, file)


if __name__ == "__main__":
    main()
