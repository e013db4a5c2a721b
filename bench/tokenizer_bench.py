#!/usr/bin/env python3
"""Encodes one text with ours and with PyPI's `tokenizers` on one thread each, in one run, and compares the ids.

usage: tokenizer_bench.py TOKENIZER_BENCH TEXT TOKENIZER.json...
"""
import json
import os
import subprocess
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import Tokenizer  # noqa: E402


def main():
    program, text_path, *paths = sys.argv[1:]
    with open(text_path, encoding="utf-8", newline="") as file:
        text = file.read()
    size = len(text.encode())
    print(f"{size / 1e6:.2f} MB; best of 5 each, alternating")
    for path in paths:
        start = time.perf_counter()
        reference = Tokenizer.from_file(path)
        load = time.perf_counter() - start
        reference.no_padding()
        reference.no_truncation()
        best_ours = best_reference = 0
        for _ in range(5):
            ours = json.loads(subprocess.run([program, path, text_path, "1"], capture_output=True, check=True).stdout)
            best_ours = max(best_ours, ours["mb_per_s"])
            start = time.perf_counter()
            ids = reference.encode(text, add_special_tokens=False).ids
            best_reference = max(best_reference, size / (time.perf_counter() - start) / 1e6)
        mine = [int(line) for line in subprocess.run([program, path, text_path, "--ids"], capture_output=True, check=True, text=True).stdout.split()]
        print(f"{path}: ours {best_ours:.1f} MB/s (load {ours['load_s']:.2f} s), tokenizers {best_reference:.2f} MB/s (load {load:.2f} s), "
              f"{len(mine)} tokens, ids {'the same' if mine == ids else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
