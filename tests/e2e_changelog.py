"""pawl changelog: a branch in a real repository is judged, processed, merged and looked up; the golden outputs come out of
the command byte for byte."""
import base64
import gzip
import json
import shutil
import subprocess
import sys

from pawl_e2e import ENV, PAWL, ROOT, prove, run, run_json, scratch

GOLDEN = ROOT.parent / "shared/data/inferencex/golden"
PRIORITY = """version: 1
base-score: 1.0
adjustments:
  {event: {push: 2.0}, multi-node: 1.25, agentic: 1.0, eval-only: 0.0, precision: {fp4: 0.75}, spec-decoding: {mtp: 0.75},
   framework-prefix: {sglang: 0.5}, model-prefix: {qwen3.5: 0.75}}
labels:
  skip-queue: {name: skip_queue}
  checklist-complete: {names: [ci-checklist-complete], adjustment: 0.25}
  patchwork: {names: [ci-patchwork], score: 0.0, waived-by: [ci-patchwork-waived]}
"""
KEY = "demo-fp8-h200-sglang"


def entry(key, link="XXX", more=""):
    return f"- config-keys:\n    - {key}\n  description:\n    - \"Entry\"\n  pr-link: {link}\n{more}"


def link(number):
    return f"https://github.com/SemiAnalysisAI/InferenceX/pull/{number}"


def git(repo, *args, status=0):
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
           "GIT_AUTHOR_DATE": "2026-08-22T12:00:00Z", "GIT_COMMITTER_DATE": "2026-08-22T12:00:00Z"}
    done = subprocess.run(["git", *args], cwd=repo, env=ENV | who, capture_output=True, text=True)
    assert done.returncode == status, f"git {args}: {done.stdout}{done.stderr}"


def commit(repo, ledger=None):
    if ledger is not None:
        (repo / "perf-changelog.yaml").write_text(ledger)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "change")


with scratch() as tmp:
    repo = tmp / "repo"
    base = entry(KEY, link(1))
    ours = base + "\n" + entry(KEY).replace("Entry", "Mine")
    theirs = base + "\n" + entry(KEY, link(41)).replace("Entry", "Other")

    def make_repo():
        shutil.copytree(ROOT / "data/demo", repo)
        git(tmp, "init", "-q", "-b", "main", repo)
        commit(repo, base)
        git(repo, "checkout", "-qb", "change")
        commit(repo, ours)
        git(repo, "checkout", "-q", "main")
        commit(repo, theirs)

    def a_branch_that_is_behind_passes_and_the_reference_refuses_it():
        args = ("changelog", "check", "--repo", repo, "--base-ref", "main", "--head-ref", "change", "--number", 42)
        document = run_json(PAWL, *args, "--strict", schema="pawl.changelog-check/1")
        assert document["verdict"] == "accept" and document["base_ahead"] == 1 and len(document["entries"]) == 1, document
        assert "the branch is behind" in run(PAWL, *args).stdout
        document = run_json(PAWL, *args, "--compat", status=1)
        assert document["gate"]["rule"] == "C-50" and "Deletions are not allowed" in document["gate"]["message"], document
        assert document["strict"]["rule"] == "C-31", document
        refused = run(PAWL, *args, "--compat", status=1)
        assert "perf-changelog.yaml:" in refused.stderr, refused.stderr

    def process_prints_the_matrix_of_the_new_entry():
        done = run(PAWL, "changelog", "process", "--repo", repo, "--base-ref", "main", "--head-ref", "change", "--trim-conc")
        matrix = json.loads(done.stdout)
        assert list(matrix) == ["single_node", "multi_node", "evals", "agentic_evals", "multinode_evals", "multinode_agentic_evals", "changelog_metadata"]
        assert matrix["changelog_metadata"]["head_ref"] == "change" and matrix["single_node"], matrix

    def the_conflict_is_resolved_onto_the_bytes_of_main():
        git(repo, "checkout", "-q", "change")
        git(repo, "merge", "-q", "main", status=1)
        run(PAWL, "changelog", "merge", "--repo", repo, "--number", 42)
        assert (repo / "perf-changelog.yaml").read_text() == theirs + "\n" + entry(KEY, link(42)).replace("Entry", "Mine")
        again = run_json(PAWL, "changelog", "merge", "--repo", repo, "--number", 42, schema="pawl.changelog-merge/1")
        assert again["changed"] is False, again
        git(repo, "commit", "-qam", "merged")
        run(PAWL, "changelog", "check", "--repo", repo, "--base-ref", "main", "--head-ref", "HEAD", "--number", 42, "--strict", "--compat")

    def log_shows_the_entries_with_dates():
        document = run_json(PAWL, "changelog", "log", "--repo", repo, "--key", "demo-*-sglang", schema="pawl.changelog-log/1")
        assert [e["entry"]["pr-link"] for e in document["entries"]] == [link(1), link(41), link(42)], document
        assert {e["date"] for e in document["entries"]} == {"2026-08-22"}, document
        assert run_json(PAWL, "changelog", "log", "--repo", repo, "--key", KEY + "-mtp")["entries"][0]["touches"] == "sibling"

    def append_and_canonicalize_keep_every_byte():
        before, file = tmp / "before.yaml", tmp / "after.yaml"
        before.write_text(base)
        file.write_text(base)
        run(PAWL, "changelog", "append", "--file", file, "--key", KEY, "--description", "New", "--dry-run")
        assert file.read_text() == base
        run(PAWL, "changelog", "append", "--file", file, "--key", KEY, "--description", "New")
        assert file.read_text().startswith(base + "\n- config-keys:") and "pr-link: XXX" in file.read_text()
        run(PAWL, "changelog", "canonicalize", "--base", before, "--file", file, "--number", 42)
        assert link(42) in file.read_text() and "XXX" not in file.read_text()
        run(PAWL, "changelog", "check", "--base", before, "--head", file, "--catalog", ROOT / "data/demo", "--number", 42, "--strict")

    def append_writes_what_an_entry_may_ask_for():
        file = tmp / "modifiers.yaml"
        file.write_text(base)
        args = ("changelog", "append", "--file", file, "--key", KEY, "--description", "New")
        run(PAWL, *args, "--evals-only", "--eval-min-prefill-ep", "2", "--scenario-type", "agentic-coding")
        assert file.read_text() == base + "\n" + entry(KEY).replace('"Entry"', '"New"') + \
            "  evals-only: true\n  eval-min-prefill-ep: 2\n  scenario-type:\n    - agentic-coding\n", file.read_text()
        run(PAWL, "changelog", "check", "--base", tmp / "before.yaml", "--head", file, "--catalog", ROOT / "data/demo", "--number", 42, "--strict")
        refused = run(PAWL, *args, "--append-only", "--all-evals", status=3)
        assert "C-04" in refused.stderr
        run(PAWL, *args, "--scenario-type", "nosuch", status=2)

    def the_reference_s_ci_calls_us():
        """The wrappers, called as the reference's workflows call its scripts: same flags, same statuses, same bytes."""
        ci = tmp / "ci"
        shutil.copytree(ROOT / "data/demo", ci)
        git(tmp, "init", "-q", "-b", "main", ci)
        commit(ci, base)
        git(ci, "checkout", "-qb", "change")
        written = run_json(PAWL, "compat", "install", ci, schema="pawl.compat-install/1")["written"]
        assert len(written) == 5
        commit(ci, ours)

        def script(name, *args, status=0, stdin=None):
            done = subprocess.run([sys.executable, f"utils/{name}.py", *map(str, args)], cwd=ci, env=ENV, capture_output=True, text=True, input=stdin)
            assert done.returncode == status, (name, args, done.returncode, done.stdout, done.stderr)
            return done

        generator = "matrix_logic/generate_sweep_configs"
        masters = ("--config-files", *sorted(str(p.relative_to(ci)) for p in ci.glob("configs/*-master.yaml")))
        rows = script(generator, "full-sweep", *masters).stdout
        assert rows == run(PAWL, "matrix", "full-sweep", "--catalog", ci).stdout
        assert script(generator, "full-sweep", "--config-f", *masters[1:], "--single").stdout  # beginnings of flags, as argparse takes them
        script(generator, "test-config", *masters, "--config-keys", "nosuch", status=1)
        script(generator, "full-sweep", *masters, "--step-size", "1", status=2)
        script(generator, status=2)
        refs = ("--base-ref", "main", "--head-ref", "change", "--changelog-file", "perf-changelog.yaml")
        matrix = script("process_changelog", *refs, "--trim-conc").stdout
        assert json.loads(matrix)["changelog_metadata"]["base_ref"] == "main"
        assert script("validate_perf_changelog", *refs).stdout.count("\n") == 1
        refused = script("validate_perf_changelog", "--base-ref", "change", "--head-ref", "main", "--changelog-file", "perf-changelog.yaml", status=1)
        assert refused.stderr.startswith("ERROR: ") and not refused.stdout, refused
        (ci / "configs/ci-priority.yaml").write_text(PRIORITY)
        annotated = script("ci_priority", "--event-name", "pull_request", "--labels-json", '["skip_queue"]', "--pr-number", "42", stdin=matrix).stdout
        assert '"skip-queue-pr":42' in annotated
        script("prepare_perf_changelog_merge", "canonicalize", "--base-ref", "main", "--pr-number=42", "--changelog-file", "perf-changelog.yaml")
        assert link(42) in (ci / "perf-changelog.yaml").read_text()
        script("prepare_perf_changelog_merge", "resolve-conflict", "--pr-number", "42", "--changelog-file", "perf-changelog.yaml", "--repo",
               "SemiAnalysisAI/InferenceX", status=1)
        (ci / "utils/ci_priority.py").write_text("theirs\n")
        run(PAWL, "compat", "install", ci, status=3)
        run(PAWL, "compat", "install", ci, "--force")

    def wrong_inputs_are_told_apart_from_refusals():
        args = ("changelog", "check", "--base", tmp / "before.yaml", "--catalog", ROOT / "data/demo")
        run(PAWL, *args, "--head", tmp / "nowhere.yaml", status=3)
        run(PAWL, *args, status=2)
        run(PAWL, *args, "--head", tmp / "before.yaml", status=1)
        run(PAWL, "changelog", "check", "--repo", repo, "--base-ref", "nope", "--head-ref", "HEAD", status=3)

    def golden_outputs_come_out_byte_for_byte():
        if not GOLDEN.exists():
            print("  (the reference data is not here)")
            return
        mini, count = GOLDEN / "mini", 0
        for name in ("base", "append-only"):
            folder = tmp / f"mini-{name}"
            (folder / "configs").mkdir(parents=True)
            for file in ("nvidia-master.yaml", "runners.yaml"):
                shutil.copy(mini / file, folder / "configs" / file)
            shutil.copy(mini / ("amd-master.yaml" if name == "base" else "amd-master.append-only.yaml"), folder / "configs/amd-master.yaml")
            shutil.copy(mini / "perf-changelog.base.yaml", folder / "perf-changelog.yaml")
        real = GOLDEN.parent
        star = tmp / "star.yaml"
        star.write_bytes((real / "perf-changelog.yaml").read_bytes() + (GOLDEN / "changelog.star.appended.txt").read_bytes())

        def same(golden, *args):
            theirs = gzip.decompress(golden.read_bytes()) if golden.suffix == ".gz" else golden.read_bytes()
            assert run(PAWL, "changelog", "process", "--compat", *args).stdout.encode() == theirs, golden.name

        refs = ("--base-ref", "main", "--head-ref", "HEAD", "--base", mini / "perf-changelog.base.yaml")
        for variant in ("default", "trim-conc", "evals-only", "all-evals"):
            flag = [] if variant == "default" else ["--" + variant]
            same(mini / f"changelog.pr1.{variant}.json", *refs, "--head", mini / "perf-changelog.pr1.yaml", "--catalog", tmp / "mini-base", *flag)
            same(GOLDEN / f"changelog.star.{variant}.json.gz", "--base-ref", "golden-base", "--head-ref", "golden-head", "--base", real / "perf-changelog.yaml",
                 "--head", star, "--catalog", real, *flag)
            count += 2
        same(mini / "changelog.append-only.json", *refs, "--head", mini / "perf-changelog.append-only.yaml", "--catalog", tmp / "mini-append-only",
             "--base-catalog", tmp / "mini-base")
        vectors = json.loads((mini / "changelog-verdicts.json").read_text())["cases"]
        for case in vectors:
            for side in ("base", "head"):
                (tmp / f"v-{side}.yaml").write_bytes(base64.b64decode(case[side + "_b64"]))
            document = json.loads(run(PAWL, "changelog", "check", "--base", tmp / "v-base.yaml", "--head", tmp / "v-head.yaml", "--catalog", tmp / "mini-base",
                                      "--base-catalog", tmp / "mini-base", "--number", case["pr"], "--compat", "--json", *case["flags"], status=None).stdout)
            assert document["gate"]["verdict"] == case["gate"] and document["strict"]["verdict"] == case["strict_pr"], (case["name"], document)
        print(f"  {count + 1} golden outputs, {len(vectors)} vectors of verdicts")

    prove(make_repo, a_branch_that_is_behind_passes_and_the_reference_refuses_it, process_prints_the_matrix_of_the_new_entry,
          the_conflict_is_resolved_onto_the_bytes_of_main, log_shows_the_entries_with_dates, append_and_canonicalize_keep_every_byte, append_writes_what_an_entry_may_ask_for, the_reference_s_ci_calls_us,
          wrong_inputs_are_told_apart_from_refusals, golden_outputs_come_out_byte_for_byte)
