"""The reference's own processing scripts on what a sweep of ours leaves. Arguments: a repository that has the commit, and the commit.

process_result.py makes a row of the raw result of each point: the same numbers as our row. collect_results.py makes the same aggregate.
compare_results.py reads every row's identity and metrics. validate_reusable_sweep_artifacts.py accepts the run's folder."""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from pawl_e2e import ENV, ROOT, prove, run, run_json, scratch  # noqa: E402

RECIPE = "demo-fp8-h200-sglang"
UTILS = ["aggregate_power.py", "collect_results.py", "compare_results.py", "process_result.py", "validate_reusable_sweep_artifacts.py"]

with scratch() as tmp:
    pawl, w = tmp / "pawl", tmp / "w"
    utils = tmp / "utils"
    utils.mkdir()
    for name in UTILS:
        (utils / name).write_bytes(subprocess.run(["git", "-C", sys.argv[1], "show", f"{sys.argv[2]}:utils/{name}"], check=True, capture_output=True, timeout=60).stdout)
    # It asks a database for baselines; what it makes of our rows before that is looked at here.
    (utils / "psycopg2.py").write_text("")
    (utils / "tabulate.py").write_text("tabulate = None\n")

    def python(*args, cwd, env=None):
        done = subprocess.run([sys.executable, *map(str, args)], cwd=cwd, env=ENV | (env or {}) | {"PYTHONPATH": str(utils), "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(pawl, "sweep", "run", "--workspace", w, "--catalog", ROOT / "data/demo", "--recipe", RECIPE, "--scale", "1/256", "--progress", "none")
    status = run_json(pawl, "sweep", "status", "1", "--workspace", w)
    folder = w / "runs/1/1"
    rows = status["rows"]

    def process_result_makes_the_same_rows():
        work = tmp / "process"
        work.mkdir()
        for row in rows:
            bench = json.loads((folder / row["pawl"]["job"] / "result.json").read_text())["bench"]
            # The client's own file: the measured metrics under its names.
            raw = {"max_concurrency": bench["max_concurrency"], "model_id": row["model"], "total_token_throughput": bench["total_token_throughput"], "output_throughput": bench["output_throughput"]}
            for family in ("ttft", "tpot", "itl", "e2el"):
                for ours, name in (("mean", "mean"), ("p50", "median"), ("std", "std"), ("p90", "p90"), ("p99", "p99"), ("p99_9", "p99.9")):
                    raw[f"{name}_{family}_ms"] = bench["metrics"][f"{family}_ms"][ours]
            (work / "point.json").write_text(json.dumps(raw))
            python(utils / "process_result.py", cwd=work, env={
                "RUNNER_TYPE": row["hw"], "FRAMEWORK": row["framework"], "PRECISION": row["precision"], "SPEC_DECODING": row["spec_decoding"], "RESULT_FILENAME": "point", "ISL": str(row["isl"]),
                "OSL": str(row["osl"]), "DISAGG": "false", "MODEL_PREFIX": row["infmax_model_prefix"], "IMAGE": row["image"], "RECIPE_FINGERPRINT": row["recipe_fingerprint"], "TP": str(row["tp"]),
                "EP_SIZE": str(row["ep"]), "DP_ATTENTION": row["dp_attention"]})
            theirs = json.loads((work / "agg_point.json").read_text())
            for key, value in row.items():
                if key == "pawl":
                    continue
                assert key in theirs, f"{key} is not in their row"
                same = math.isclose(theirs[key], value, rel_tol=1e-6, abs_tol=1e-9) if isinstance(value, float) else theirs[key] == value
                assert same, (key, value, theirs[key])

    def collect_results_makes_the_same_aggregate():
        work = tmp / "collect"
        for index, row in enumerate(rows):
            (work / f"bmk_{index}").mkdir(parents=True)
            (work / f"bmk_{index}/agg_{index}.json").write_text(json.dumps(row))
        python(utils / "collect_results.py", work, "bmk", cwd=tmp)
        theirs = json.loads((tmp / "agg_bmk.json").read_text())
        key = lambda row: row["pawl"]["point_key"]  # noqa: E731
        assert sorted(theirs, key=key) == sorted(json.loads((folder / "results_bmk/agg_bmk.json").read_text()), key=key)

    def compare_results_reads_identity_and_metrics():
        (tmp / "rows.json").write_text(json.dumps(rows))
        out = python("-c", "import json, sys\nimport compare_results as c\nrows = json.load(open(sys.argv[1]))\nfor r in rows:\n    p = c.build_config_params(r)\n    assert p['tp'] == r['tp'] if 'tp' in p else True\n"
                     "    assert all(c.get_metric_value(r, k) is not None for k in ('tput_per_gpu', 'median_ttft', 'p99_ttft', 'median_intvty', 'p90_e2el'))\nprint(len(rows))", tmp / "rows.json", cwd=utils)
        assert out.strip() == str(len(rows)), out

    def the_validator_accepts_the_folder_of_a_run():
        artifacts = tmp / "artifacts"
        for name in ("results_bmk", "run-stats", "changelog-metadata"):
            shutil.copytree(folder / name, artifacts / name)
        out = python(utils / "validate_reusable_sweep_artifacts.py", "--artifacts-dir", artifacts, cwd=tmp)
        assert f"{len(rows)} fixed-sequence row(s)" in out, out
        print("  " + out.strip())

    prove(process_result_makes_the_same_rows, collect_results_makes_the_same_aggregate, compare_results_reads_identity_and_metrics, the_validator_accepts_the_folder_of_a_run)
