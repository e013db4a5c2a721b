#!/usr/bin/env python3
"""Power beside a load, from a simulated NVML (tests/support/fake_nvml.cc): no number here comes from a GPU."""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pawl_e2e as e2e


def library(folder):
    path = folder / "libfake-nvml.so"
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        return None
    if not path.exists():
        subprocess.run([compiler, "-std=c++17", "-shared", "-fPIC", "-o", path, e2e.ROOT / "tests/support/fake_nvml.cc"], check=True)
    return path


def engine(folder, pawl):
    port = e2e.free_port()
    context = e2e.running(pawl, "twin", "--profile", "generic-new", "--port", port, "--served-model-name", "demo", log=folder / "twin.log")
    return context, f"http://127.0.0.1:{port}"


def a_run_carries_power_and_the_engines_counters(folder, pawl):
    fake = library(folder)
    context, url = engine(folder, pawl)
    with context:
        e2e.wait_for("the engine", lambda: e2e.get(url + "/health")[0] == 200)
        result = folder / "run.json"
        e2e.run(pawl, "bench", "--url", url, "--model", "demo", "--concurrency", 4, "--isl", 32, "--osl", 16, "--requests", 40, "--power", "nvml",
                "--nvml-library", fake, "--power-samples", folder / "gpu.csv", "--scrape-metrics", "auto", "--output", result, status=None)
        document = json.loads(result.read_text())
        power = document["power"]
        assert power["valid"] and power["reasons"] == [], power
        assert abs(power["avg_total_gpu_power_w"] - 400) < 0.01, power
        assert abs(power["joules_per_output_token"] - power["total_gpu_energy_j"] / document["total_output_tokens"]) < 1e-6
        assert "Simulated" in power["gpus"][0]["name"]
        counters = document["engine_counters"][0]
        assert counters["change"]["sglang:generation_tokens_total"] == document["total_output_tokens"], counters
        again = e2e.run_json(pawl, "power", "check", "--samples", folder / "gpu.csv", "--result", result, "--expect", 1, schema="pawl.power/1")["power"]
        assert again["total_gpu_energy_j"] == power["total_gpu_energy_j"]
        wrong = e2e.run_json(pawl, "power", "check", "--samples", folder / "gpu.csv", "--result", result, "--expect", 8, status=1)["power"]
        assert [r["code"] for r in wrong["reasons"]] == ["expected_gpu_count_mismatch"]
        gone = e2e.run_json(pawl, "power", "check", "--samples", folder / "none.csv", "--result", result, "--expect", 1, status=1)["power"]
        assert [r["code"] for r in gone["reasons"]] == ["telemetry_file_missing"]


def a_sweep_carries_power_of_each_point(folder, pawl):
    context, url = engine(folder, pawl)
    with context:
        e2e.wait_for("the engine", lambda: e2e.get(url + "/health")[0] == 200)
        document = e2e.run_json(pawl, "bench", "--url", url, "--model", "demo", "--sweep-concurrency", "1,4", "--isl", 32, "--osl", 16, "--power", "nvml",
                                "--nvml-library", library(folder), status=None)
        powers = [point["result"]["power"] for point in document["points"]]
        assert [p["valid"] for p in powers] == [True, True], powers
        assert powers[0]["window_end_unix_s"] < powers[1]["window_begin_unix_s"]


def without_a_gpu_auto_goes_on_and_a_name_does_not(folder, pawl):
    if os.path.exists("/dev/nvidiactl") or shutil.which("nvidia-smi") or shutil.which("amd-smi"):
        print("skipped: this machine has a source of power")
        return
    context, url = engine(folder, pawl)
    with context:
        e2e.wait_for("the engine", lambda: e2e.get(url + "/health")[0] == 200)
        load = ["bench", "--url", url, "--model", "demo", "--concurrency", 2, "--isl", 16, "--osl", 8, "--requests", 8]
        document = e2e.run_json(pawl, *load, "--power", "auto", status=None)
        assert not document["power"]["valid"]
        assert [r["code"] for r in document["power"]["reasons"]] == ["telemetry_file_missing"]
        e2e.run(pawl, *load, "--power", "auto", "--require-power", status=1)
        failed = e2e.run(pawl, *load, "--power", "nvml", status=4)
        assert "NVML" in failed.stderr


def watching_ends_with_what_it_came_to(folder, pawl):
    done = e2e.run(pawl, "power", "watch", "--nvml-library", library(folder), "--duration", 1, "--every", 0.5, "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["schema"] for line in lines] == ["pawl.power-sample/1"] * 2 + ["pawl.power-watch/1"], done.stdout
    assert lines[-1]["power"]["valid"]
    broken = folder / "broken.so"
    broken.write_text("")
    e2e.run(pawl, "power", "watch", "--source", "nvml", "--nvml-library", broken, "--duration", 1, status=4)


with e2e.scratch() as FOLDER:
    if library(FOLDER) is None:
        print("SKIP: no C++ compiler for the simulated NVML")
        sys.exit(0)
    SELF = FOLDER / "pawl"

    def bound(function):
        return functools.wraps(function)(lambda: function(FOLDER, SELF))

    e2e.prove(*map(bound, (a_run_carries_power_and_the_engines_counters, a_sweep_carries_power_of_each_point,
                           without_a_gpu_auto_goes_on_and_a_name_does_not, watching_ends_with_what_it_came_to)))
