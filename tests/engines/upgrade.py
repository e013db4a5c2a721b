"""An upgrade of a real engine on one box, on the process executor: baseline, smoke, full sweep, comparison, with what it says on the way."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import pawl_e2e  # noqa: E402
from pawl_e2e import ENV, ROOT, run, run_json  # noqa: E402

ENV.update({name: os.environ[name] for name in ("PAWL_CACHE_DIR", "PAWL_PYTHON") if name in os.environ})
pawl_e2e.LIMIT_S = 3600  # real engines load for minutes, and are installed first


def git(*args, cwd):
    subprocess.run(["git", "-c", "user.name=engineer", "-c", "user.email=engineer@localhost", *map(str, args)], cwd=cwd, check=True, capture_output=True, env=ENV, timeout=60)


def show_rows(rows):
    for row in rows:
        print(f"  conc {row['conc']}: {row['output_tput_per_gpu']:.1f} output tok/s, TPOT {row['mean_tpot'] * 1000:.2f} ms, TTFT {row['mean_ttft'] * 1000:.0f} ms, {row['pawl']['verdict']};"
              f" {pathlib.Path(row['pawl']['engine_args'][0]).name} {row['pawl'].get('engine_version', '')} {row['pawl']['digest'][:19]}")


class Box:
    """A workspace with a catalogue of one recipe."""

    def __init__(self, tmp, recipe, master, script_path, script, scale):
        self.pawl, self.w, self.tmp, self.recipe, self.script_path, self.scale = tmp / "pawl", tmp / "w", tmp, recipe, script_path, scale
        self.catalog = tmp / "catalog"
        shutil.copytree(ROOT / "data/demo", self.catalog)
        (self.catalog / "configs/nvidia-master.yaml").write_text(master)
        (self.catalog / script_path).write_text(script)

    def baseline(self):
        print("baseline: the old version", flush=True)
        run(self.pawl, "sweep", "run", "--workspace", self.w, "--catalog", self.catalog, "--recipe", self.recipe, "--scale", self.scale, "--publish", "--progress", "none")
        status = run_json(self.pawl, "sweep", "status", "1", "--workspace", self.w)
        assert status["run"]["state"] == "success" and not any(row["pawl"]["simulated"] for row in status["rows"]), status["run"]
        show_rows(status["rows"])
        return status["rows"]

    def upgrade(self, image, *more):
        """Whether it was validated."""
        print(f"upgrade to {image}", flush=True)
        done = run(self.pawl, "upgrade", "start", "--workspace", self.w, "--recipe", self.recipe, "--image", image, "--scale", self.scale, "--progress", "none", *more, status=None)
        print("  " + (done.stdout.strip() or done.stderr.strip()).splitlines()[0], flush=True)
        newest = run_json(self.pawl, "sweep", "list", "--workspace", self.w)["runs"][-1]["id"]
        for row in run_json(self.pawl, "sweep", "status", str(newest), "--workspace", self.w, status=None).get("rows", []):
            for reason in row["pawl"].get("reasons") or []:
                print(f"    conc {row['conc']} {row['pawl']['verdict']}: {reason['code']}: {reason['text']}")
        return done.returncode == 0

    def without_repairs(self):
        """Flags of an upgrade whose policy lets no planner repair anything."""
        policies = self.tmp / "data/policies"
        policies.mkdir(parents=True)
        text = (ROOT / "data/policies/2026-10.yaml").read_text().replace('profile: "2026-10"', 'profile: "by-hand"').replace("repairs: 5", "repairs: 0")
        (policies / "by-hand.yaml").write_text(text)
        return ["--data", self.tmp / "data", "--policy", "by-hand"]

    def thread(self, request):
        return run_json(self.pawl, "cr", "show", str(request), "--workspace", self.w)

    def repair_on_main(self, script, words):
        """What somebody does who has read the thread."""
        print("repair by hand: " + words, flush=True)
        git("clone", "--branch", "main", self.w / "forge.git", self.tmp / "clone", cwd=self.tmp)
        (self.tmp / "clone" / self.script_path).write_text(script)
        git("commit", "-am", words, cwd=self.tmp / "clone")
        git("push", "origin", "main", cwd=self.tmp / "clone")

    def show_validated(self, request):
        shown = self.thread(request)
        assert shown["change_request"]["state"] == "ready", shown["change_request"]
        bodies = [comment["body"] for comment in shown["comments"]]
        (final,) = [body for body in bodies if body.startswith("## Final full sweep")]
        assert "passed" in final.splitlines()[0] and any("**validated**" in body for body in bodies), final
        runs = run_json(self.pawl, "sweep", "list", "--workspace", self.w)["runs"]
        show_rows(run_json(self.pawl, "sweep", "status", str(runs[-1]["id"]), "--workspace", self.w)["rows"])
        print("validated. Its last report:\n" + final.split("<details>")[0])
