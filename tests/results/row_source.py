"""Runs of a made-up fleet, as archives of artifacts: what the load job and the kill job take in. Deterministic."""
import io
import json
import random
import zipfile

MODELS = ("dsr1", "dsv4", "kimik3", "minimaxm3", "glm5.2", "qwen3.5", "gptoss120b", "llama70b", "kimik2.5", "glm5")
HARDWARE = ("gb300", "gb200", "b300", "b200", "mi355x", "h200", "h100", "mi300x")
FRAMEWORKS = ("vllm", "sglang", "trt", "atom")
SEQUENCES = ((1024, 1024), (1024, 8192), (8192, 1024))
STATISTICS = ("mean", "median", "p90", "p99", "p99.9", "std")
FAMILIES = ("ttft", "tpot", "itl", "e2el", "intvty")


def archive(number, rows_a_run=100):
    """(run number, day, bytes of a zip): one run of one engine on one kind of hardware."""
    r = random.Random(number)
    model, hardware = MODELS[number % len(MODELS)], HARDWARE[number // 10 % len(HARDWARE)]
    framework, precision = FRAMEWORKS[number // 80 % 4], ("fp4", "fp8")[number // 320 % 2]
    rows = []
    for i in range(rows_a_run):
        isl, osl = SEQUENCES[i % 3]
        tp, conc = (1, 2, 4, 8)[i // 3 % 4], 2 ** (i // 12 % 9)
        tput = 100 + 20000 * conc / (conc + 64) / tp * r.uniform(0.9, 1.1)
        tpot = conc * (isl + osl) / (tput * tp) / osl * r.uniform(0.95, 1.0)
        base = {"ttft": 0.05 * conc, "tpot": tpot, "itl": tpot, "e2el": 0.05 * conc + (osl - 1) * tpot, "intvty": 1 / tpot}
        row = {"hw": hardware, "framework": framework, "infmax_model_prefix": model, "precision": precision, "spec_decoding": "none", "image": f"org/{framework}:v{number // 640}",
               "tp": tp, "ep": 1, "dp_attention": "false", "conc": conc, "isl": isl, "osl": osl, "tput_per_gpu": tput, "output_tput_per_gpu": tput * osl / (isl + osl),
               "input_tput_per_gpu": tput * isl / (isl + osl)}
        if framework == "sglang":
            row["pp"] = row["pcp_size"] = 1
        for statistic, factor in zip(STATISTICS, (1.02, 1, 1.2, 1.5, 1.9, 0.1), strict=True):
            for family, value in base.items():
                row[f"{statistic}_{family}"] = value * factor
        rows.append(row)
    seen = {}
    for row in rows:
        seen[row["isl"], row["osl"], row["tp"], row["conc"]] = row
    day = f"{2024 + number // 4000}-{1 + number // 334 % 12:02d}-{1 + number // 12 % 28:02d}"
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_STORED) as z:
        z.writestr("results_bmk/agg_bmk.json", json.dumps(list(seen.values())))
        z.writestr("run-stats/run_stats.json", json.dumps({hardware: {"n_success": len(seen), "total": len(seen) + number % 3}}))
        z.writestr("run.json", json.dumps({"id": 10**10 + number, "run_attempt": 1, "name": f"run {number}", "status": "completed", "conclusion": "success", "head_sha": f"{number:040x}",
                                           "html_url": f"https://ci.example/runs/{10**10 + number}", "created_at": f"{day}T00:00:00Z"}))
    return 10**10 + number, day, body.getvalue(), len(seen)
