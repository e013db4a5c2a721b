"""pawl upgrade plan: which points and evals an upgrade measures, and that its diff is what git can apply: one image line,
one appended entry."""
import shutil
import subprocess

from pawl_e2e import ENV, PAWL, ROOT, prove, run, run_json, scratch

REAL = ROOT.parent / "shared/data/inferencex"
NEW = "lmsysorg/sglang:v0.5.19-cu130"
LINK = "https://example.org/pull/1"


def labels(rows):
    return [f"TP{row['tp']}/EP{row['ep']} conc {row['conc']}" for row in rows]


def plan(catalog, recipe):
    return run_json(PAWL, "upgrade", "plan", "--catalog", catalog, "--recipe", recipe, "--image", NEW, "--link", LINK, schema="pawl.upgrade-plan/1")


def copy_of(catalog, to):
    """The files of a catalogue that plan reads."""
    (to / "configs").mkdir(parents=True)
    for file in [*catalog.glob("configs/*-master.yaml"), catalog / "configs/runners.yaml"]:
        shutil.copy(file, to / "configs")
    shutil.copy(catalog / "perf-changelog.yaml", to)
    return to


def assert_diff_applies(before, work, document):
    after = copy_of(before, work)
    subprocess.run(["git", "init", "-q", after], check=True, env=ENV)
    subprocess.run(["git", "apply", "-"], input=document["diff"].encode(), check=True, cwd=after, env=ENV)
    for file in before.rglob("*.yaml"):
        name = file.relative_to(before)
        old, new = file.read_bytes(), (after / name).read_bytes()
        if str(name) == document["file"]:
            pairs = list(zip(old.splitlines(True), new.splitlines(True), strict=True))
            changed = [(a.strip(), b.strip()) for a, b in pairs if a != b]
            assert changed == [(f"image: {document['image_old']}".encode(), f"image: {NEW}".encode())], changed
        elif name.name == "perf-changelog.yaml":
            appended = new[len(old):].decode()
            assert new.startswith(old) and appended.count("- config-keys:") == 1, appended
            assert document["recipe"] in appended and appended.endswith(f"pr-link: {LINK}\n"), appended
        else:
            assert old == new, name


with scratch() as tmp:
    def demo_catalogue_plans_five_points():
        catalog = copy_of(ROOT / "data/demo", tmp / "demo")
        document = plan(catalog, "demo-fp8-h200-sglang")
        assert labels(document["points"]) == ["TP4/EP1 conc 4"] + [f"TP2/EP1 conc {c}" for c in (4, 8, 16, 32)], labels(document["points"])
        assert labels(document["evals"]) == ["TP2/EP1 conc 32"], labels(document["evals"])
        assert labels(document["smoke"]["points"]) == ["TP4/EP1 conc 4", "TP2/EP1 conc 4"]
        assert_diff_applies(catalog, tmp / "demo-after", document)

    def text_and_json_show_the_same_diff():
        args = ("upgrade", "plan", "--catalog", tmp / "demo", "--recipe", "demo-fp8-h200-sglang", "--image", NEW, "--link", LINK)
        assert run(PAWL, *args).stdout.startswith(run_json(PAWL, *args)["diff"])

    def plan_changes_nothing():
        before = {f: f.read_bytes() for f in (tmp / "demo").rglob("*") if f.is_file()}
        plan(tmp / "demo", "demo-fp8-h200-sglang")
        assert before == {f: f.read_bytes() for f in (tmp / "demo").rglob("*") if f.is_file()}

    def a_pin_is_never_moved_backward():
        for image, status in (("lmsysorg/sglang:v0.5.9-cu130", 3), ("lmsysorg/sglang:v0.5.14.post1-cu130", 0), ("lmsysorg/sglang:my-branch", 0)):
            done = run(PAWL, "upgrade", "plan", "--catalog", tmp / "demo", "--recipe", "demo-fp8-h200-sglang", "--image", image, status=status)
            assert status == 0 or "never backward" in done.stderr, done.stderr

    def listings_of_the_catalogue_are_json():
        recipes = run_json(PAWL, "catalog", "list", "--catalog", tmp / "demo", schema="pawl.recipes/1")["recipes"]
        assert [r["key"] for r in recipes] == ["demo-fp8-h200-sglang", "demo-fp8-h200-vllm"], recipes

    def real_fp4_thread_has_seven_points_and_two_evals():
        catalog = copy_of(REAL, tmp / "fp4")
        document = plan(catalog, "qwen3.5-fp4-b200-sglang")
        assert labels(document["points"]) == ["TP4/EP1 conc 4"] + [f"TP2/EP1 conc {c}" for c in (4, 8, 16, 32, 64, 128)], labels(document["points"])
        assert labels(document["evals"]) == ["TP2/EP1 conc 64", "TP2/EP1 conc 128"], labels(document["evals"])
        assert_diff_applies(catalog, tmp / "fp4-after", document)

    def real_fp8_thread_has_five_points():
        catalog = copy_of(REAL, tmp / "fp8")
        document = plan(catalog, "qwen3.5-fp8-h200-sglang")
        assert len(document["points"]) == 5, labels(document["points"])
        assert_diff_applies(catalog, tmp / "fp8-after", document)

    proofs = [demo_catalogue_plans_five_points, text_and_json_show_the_same_diff, plan_changes_nothing, a_pin_is_never_moved_backward, listings_of_the_catalogue_are_json]
    if REAL.is_dir():
        proofs += [real_fp4_thread_has_seven_points_and_two_evals, real_fp8_thread_has_five_points]
    else:
        print(f"  skipped: the real catalogue, because there is no {REAL}")
    prove(*proofs)
