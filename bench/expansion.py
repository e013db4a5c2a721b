#!/usr/bin/env python3
"""Time and memory of `pawl matrix full-sweep` as whole processes.

  expansion.py compare --catalog DIR [--reference SCRIPT] [--rounds N]   the real catalogue: pawl, PyYAML's own load of the same files, and the reference's
                                                                         generator where a copy of it is given; in turns, outputs compared byte for byte
  expansion.py scale [--sizes 1000 10000 100000] [--seed N] [--json FILE] [--svg FILE]
                                                                         invented catalogues: cost a recipe; the chart
  expansion.py generate RECIPES FOLDER [--seed N]                        only the invented catalogue

CPU is user + system time of the process, memory its peak resident size (both from the kernel's accounting of the ended child).
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAWL = os.environ.get("PAWL", ROOT / "build/release/pawl")
PYYAML_LOAD = "import sys, yaml\nfor f in sys.argv[1:]:\n    with open(f) as s:\n        yaml.safe_load(s)\n"


def measure(command):
    """Runs a command with its output in a file: CPU seconds, wall seconds, peak MiB, size and hash of the output."""
    with tempfile.TemporaryFile() as out:
        began = time.monotonic()
        process = subprocess.Popen([str(part) for part in command], stdout=out, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: exit status {process.returncode}")
        digest, size = hashlib.sha256(), 0
        out.seek(0)
        while block := out.read(1 << 20):
            digest.update(block)
            size += len(block)
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "wall_s": wall, "peak_mib": usage.ru_maxrss / 1024, "bytes": size, "sha256": digest.hexdigest()}


def full_sweep(folder, *flags):
    configs = pathlib.Path(folder) / "configs"
    masters = sorted(configs.glob("*-master.yaml"))
    return ["full-sweep", "--config-files", *masters, "--runner-config", configs / "runners.yaml", *flags], masters


def compare(options):
    arguments, masters = full_sweep(options.catalog)
    programs = {"pawl": [PAWL, "matrix", *arguments]}
    if options.reference:
        programs["reference"] = [sys.executable, options.reference, *arguments]
    programs["PyYAML load alone"] = [sys.executable, "-c", PYYAML_LOAD, *masters, masters[0].parent / "runners.yaml"]
    runs = {name: [] for name in programs}
    for command in programs.values():
        measure(command)  # files and byte code into the caches
    for _ in range(options.rounds):
        for name, command in programs.items():
            # The short process runs several times for each run of a long one, so that both see the same machine.
            runs[name].extend(measure(command) for _ in range(5 if name == "pawl" else 1))
    pawl = statistics.median(r["cpu_s"] for r in runs["pawl"])
    print(f"{options.catalog}: medians of {options.rounds} rounds, CPU of the whole process")
    for name, all_runs in runs.items():
        cpu = statistics.median(r["cpu_s"] for r in all_runs)
        print(f"  {name:<18} {cpu * 1000:9.1f} ms CPU  {max(r['peak_mib'] for r in all_runs):7.1f} MiB peak  {cpu / pawl:7.1f} × pawl")
    if options.reference:
        same = {r["sha256"] for name in ("pawl", "reference") for r in runs[name]}
        print("  outputs are equal byte for byte" if len(same) == 1 else "  OUTPUTS DIFFER")
        return 0 if len(same) == 1 else 1
    return 0


def invented(recipes, seed):
    """A master file in pieces. The mix is that of the real catalogue: single- and multi-node, fixed lengths and agentic, ranges and lists, comments."""
    rng = random.Random(seed)
    models = ["dsr1", "dsv4", "qwen3.5", "glm5.2", "kimik3", "minimaxm3"]
    for i in range(recipes):
        model, precision = rng.choice(models), rng.choice(["fp4", "fp8"])
        multi, agentic = rng.random() < 0.45, rng.random() < 0.35
        framework = rng.choice(["dynamo-sglang", "dynamo-vllm", "dynamo-trt"] if multi else ["sglang", "vllm", "trt", "atom"])
        gpu = rng.choice(["h200", "b200", "b300", "mi355x", "gb200"])
        runner = f"cluster:{gpu}-lab" if agentic else gpu
        out = [f"{model}-{precision}-{gpu}-{framework}-{i:06d}:",
               f"  image: registry.example/{framework}:v0.{rng.randrange(30)}.{rng.randrange(10)}-cu130",
               f"  model: example/{model}-{precision}", f"  model-prefix: {model}", f"  runner: {runner}", f"  precision: {precision}", f"  framework: {framework}",
               f"  multinode: {'true' if multi else 'false'}"]
        if multi:
            out += ["  disagg: true", "  kv-p2p-transfer: nixl", '  router: { name: router, version: "0.8.1" }']
        out += ["  scenarios:", "    agentic-coding:" if agentic else "    fixed-seq-len:"]
        out += ["    - dram-utilization: 0.80"] if agentic else ["    - isl: 8192", "      osl: 1024"]
        out += ["      search-space:"]
        for _ in range(rng.randrange(1, 7)):
            lines = []
            if rng.random() < 0.5:
                lines += [f"conc-start: {rng.choice([1, 4, 8])}", f"conc-end: {rng.choice([16, 32, 64, 100])}"]
            else:
                lines += [f"conc-list: [{', '.join(str(c) for c in sorted(rng.sample([1, 2, 4, 8, 16, 32, 64, 128, 256], rng.randrange(1, 5))))}]"]
            lines += [f'spec-decoding: "{rng.choice(["none", "mtp"])}"']
            if agentic:
                dram = rng.random() < 0.4
                lines += [f"kv-offloading: {'dram' if dram else 'none'}"]
                if dram:
                    lines += ['kv-offload-backend: { name: hicache, version: "0.5.1" }']
            if multi:
                for role in ("prefill", "decode"):
                    tp = rng.choice([1, 2, 4, 8])
                    lines += [f"{role}:", f"  num-worker: {rng.randrange(1, 6)}", f"  tp: {tp}", f"  ep: {tp}", f"  dp-attn: {rng.choice(['true', 'false'])}", "  additional-settings:",
                              f"  # https://example.org/recipes/{framework}/{gpu}/{role}{tp}", f'  - "CONFIG_FILE=recipes/{framework}/{gpu}-{precision}/8k1k/{role}_tp{tp}.yaml"']
            else:
                tp = rng.choice([1, 2, 4, 8])
                lines += [f"tp: {tp}"] + ([f"ep: {tp}", "dp-attn: true"] if rng.random() < 0.5 else [])
            out += ["      - " + lines[0]] + ["        " + line for line in lines[1:]]
        yield "\n".join(out) + "\n"


RUNNERS = """labels:
  h200: [h200-lab_0, h200-lab_1]
  cluster:h200-lab: [h200-lab_0]
hardware:
""" + "".join(f"  cluster:{gpu}-lab: {{available-cpu-dram-mib: 2_063_837, gpus-per-node: 8}}\n" for gpu in ("h200", "b200", "b300", "mi355x", "gb200"))


def generate(recipes, folder, seed):
    """Writes the invented catalogue; the size of its master file."""
    configs = pathlib.Path(folder) / "configs"
    configs.mkdir(parents=True, exist_ok=True)
    master = configs / "invented-master.yaml"
    with open(master, "w") as file:
        file.writelines(invented(recipes, seed))
    (configs / "runners.yaml").write_text(RUNNERS)
    return master.stat().st_size


def scale(options):
    points = []
    print(f"{'recipes':>8} {'YAML MiB':>9} {'rows':>9} {'CPU s':>8} {'µs a recipe':>12} {'peak MiB':>9} {'KiB a recipe':>13} {'MiB/s':>7}")
    for recipes in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            size = generate(recipes, folder, options.seed)
            arguments, _ = full_sweep(folder, "--max-input-mb", "4095")
            runs = [measure([PAWL, "matrix", *arguments]) for _ in range(options.rounds)]
            count = subprocess.run([str(PAWL), "matrix", *map(str, arguments), "--count", "--json"], capture_output=True, check=True) if recipes <= 20_000 else None
            rows = json.loads(count.stdout)["rows"] if count else None
        best = min(runs, key=lambda run: run["cpu_s"])
        point = {"recipes": recipes, "yaml_bytes": size, "output_bytes": best["bytes"], "rows": rows, "cpu_s": round(best["cpu_s"], 4),
                 "peak_mib": round(max(run["peak_mib"] for run in runs), 1)}
        points.append(point)
        print(f"{recipes:>8} {size / 2**20:>9.1f} {rows if rows else '':>9} {point['cpu_s']:>8.2f} {point['cpu_s'] / recipes * 1e6:>12.1f} {point['peak_mib']:>9.1f} "
              f"{point['peak_mib'] * 1024 / recipes:>13.1f} {size / 2**20 / point['cpu_s']:>7.1f}", flush=True)
    document = {"schema": "pawl.bench-expansion/1", "seed": options.seed, "rounds": options.rounds, "points": points}
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    if options.svg:
        pathlib.Path(options.svg).write_text(chart(document))
    return 0


def chart(document):
    """Cost a recipe over the size of the catalogue: flat is linear. Two panels on a logarithmic size axis."""
    points = document["points"]
    width, height, left, top, panel = 720, 300, 60, 40, 270
    import math

    low, high = math.log10(points[0]["recipes"]), math.log10(points[-1]["recipes"])
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">', f'<rect width="{width}" height="{height}" fill="white"/>']
    for index, (title, unit, value) in enumerate([("CPU a recipe", "µs", lambda p: p["cpu_s"] / p["recipes"] * 1e6), ("Peak memory a recipe", "KiB", lambda p: p["peak_mib"] * 1024 / p["recipes"])]):
        x0, bottom = left + index * (panel + 80), height - 50
        most = max(map(value, points)) * 1.25
        x = lambda p: x0 + (math.log10(p["recipes"]) - low) / max(high - low, 1e-9) * panel
        y = lambda v: bottom - v / most * (bottom - top)
        out.append(f'<text x="{x0}" y="22" font-weight="bold">{title} ({unit})</text>')
        for part in range(5):
            v = most * part / 4
            out.append(f'<line x1="{x0}" y1="{y(v):.1f}" x2="{x0 + panel}" y2="{y(v):.1f}" stroke="#ddd"/><text x="{x0 - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v:.0f}</text>')
        out.append(f'<polyline fill="none" stroke="#2563eb" stroke-width="2" points="{" ".join(f"{x(p):.1f},{y(value(p)):.1f}" for p in points)}"/>')
        for p in points:
            out.append(f'<circle cx="{x(p):.1f}" cy="{y(value(p)):.1f}" r="4" fill="#2563eb"/><text x="{x(p):.1f}" y="{y(value(p)) - 10:.1f}" text-anchor="middle">{value(p):.1f}</text>'
                       f'<text x="{x(p):.1f}" y="{bottom + 18}" text-anchor="middle">{p["recipes"]:,}</text>')
        out.append(f'<text x="{x0 + panel / 2}" y="{bottom + 38}" text-anchor="middle">recipes in the catalogue</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    compared = commands.add_parser("compare")
    compared.add_argument("--catalog", required=True, help="folder with configs/*-master.yaml and configs/runners.yaml")
    compared.add_argument("--reference", help="the reference's generator script; not part of this project")
    compared.add_argument("--rounds", type=int, default=5)
    compared.set_defaults(run=compare)
    scaled = commands.add_parser("scale")
    scaled.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    scaled.add_argument("--seed", type=int, default=1)
    scaled.add_argument("--rounds", type=int, default=2)
    scaled.add_argument("--json", help="write the numbers to this file")
    scaled.add_argument("--svg", help="write the chart to this file")
    scaled.set_defaults(run=scale)
    made = commands.add_parser("generate")
    made.add_argument("recipes", type=int)
    made.add_argument("folder")
    made.add_argument("--seed", type=int, default=1)
    made.set_defaults(run=lambda options: print(f"{generate(options.recipes, options.folder, options.seed)} bytes") or 0)
    options = parser.parse_args()
    sys.exit(options.run(options))


main()
