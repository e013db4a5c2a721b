"""pawl catalog, pawl matrix and pawl priority: the reference's own outputs byte for byte, every violation with its place, exit statuses."""
import gzip
import json
import shutil
import subprocess

from pawl_e2e import ENV, PAWL, ROOT, prove, run, run_json, scratch

REAL = ROOT.parent / "shared/data/inferencex"
GOLDEN = REAL / "golden"
OCTOBER = ROOT.parent / "shared/data/inferencex-october/inferencex-e2e"
DEMO = ROOT / "data/demo"
REFERENCE = ("--config-files", REAL / "configs/amd-master.yaml", REAL / "configs/nvidia-master.yaml", "--runner-config", REAL / "configs/runners.yaml")


def output(*args, status=0, stdin=None):
    done = subprocess.run([str(a) for a in (PAWL, *args)], capture_output=True, env=ENV, input=stdin)
    assert done.returncode == status, (args, done.returncode, done.stderr.decode())
    return done.stdout


def golden(name):
    path = GOLDEN / name
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def expanding_loads_no_library_of_the_network():
    """Libraries are loaded when they are first called (apps/delayed), and an expansion calls none of them but libyaml, and that
    only for files that are not of the usual form."""
    delayed = PAWL.parent / "delayed/delayed.txt"
    if not delayed.exists():
        print("  this build links its libraries in the ordinary way: skipped")
        return
    done = subprocess.run([str(PAWL), "matrix", "full-sweep", "--catalog", str(DEMO)], capture_output=True, text=True, env=ENV | {"LD_DEBUG": "files"})
    loaded = {line.split("/")[-1].strip() for line in done.stderr.splitlines() if "calling init:" in line}
    assert done.returncode == 0 and "libc.so.6" in loaded, done.stderr[-500:]
    late = {line.split()[0] for line in delayed.read_text().splitlines()}
    assert len(late) >= 10 and late & loaded <= {"libyaml-0.so.2"} and len(loaded) <= 8, loaded


def full_sweeps_equal_the_reference():
    if not REAL.exists():
        print("  no ../shared/data beside the project: skipped")
        return
    for flags, name in [((), "default"), (("--no-evals",), "no-evals"), (("--evals-only",), "evals-only"), (("--all-evals",), "all-evals"),
                        ("--single-node --seq-lens 8k1k --min-conc 6 --max-conc 200 --max-tp 4 --max-ep 4 --step-size 3".split(), "filtered")]:
        assert output("matrix", "full-sweep", *REFERENCE, *flags) == golden(f"full-sweep.{name}.json.gz"), name
    assert output("matrix", "test-config", *REFERENCE, "--config-keys", "*", "--no-evals") == golden("full-sweep.no-evals.json.gz")


def priorities_equal_the_reference():
    if not REAL.exists():
        return
    args = ("priority", "--policy", REAL / "configs/ci-priority.yaml", "--event-name", "push", "--queue-namespace", "100:1", "--labels-json", "null", "--pr-number", "0")
    wanted = golden("changelog.843c6254.priority.json")
    assert output(*args, "--input", GOLDEN / "changelog.843c6254.json") == wanted
    assert output(*args, stdin=golden("changelog.843c6254.json")) == wanted


def views_of_a_matrix():
    args = ("matrix", "full-sweep", "--catalog", DEMO)
    rows = json.loads(output(*args))
    count = run_json(PAWL, *args, "--count", schema="pawl.matrix-count/1")
    assert count["rows"] == len(rows) and count["evals"] == sum(row["run-eval"] for row in rows)
    assert len(output(*args, "--table").decode().splitlines()) == len(rows) + 1
    assert len(json.loads(output(*args, "--trim-conc"))) < len(rows)
    assert json.loads(output(*args, "--smoke"))
    first = run_json(PAWL, *args, "--explain", "1", schema="pawl.matrix-explain/1")["rows"][0]
    line = (DEMO / first["file"].split("demo/")[-1]).read_text().splitlines()[first["entry_line"] - 1]
    assert line == first["text"] and ("tp" in line or "-" in line)


def a_reader_that_leaves_is_no_defect():
    for view in ("--table", "--explain=conc"):
        done = subprocess.Popen([str(PAWL), "matrix", "full-sweep", "--catalog", str(REAL if REAL.exists() else DEMO), view], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
        done.stdout.close()
        assert done.stderr.read() == b"" and done.wait() in (0, 4), view


def refusals_have_their_exit_status():
    args = ("matrix", "full-sweep", "--catalog", DEMO)
    output(*args, "--step-size", "1", status=2)
    output(*args, "--min-conc", "16", "--max-conc", "8", status=2)
    output(*args, "--no-evals", "--all-evals", status=2)
    output(*args, "--no-evals", "--evals-only", status=2)
    output("matrix", "full-sweep", status=2)
    output(*args, "--smoke", "--all-evals", status=2)
    output("matrix", "test-config", "--catalog", DEMO, "--config-keys", "zz*", "--compat", status=1)
    assert b"did you mean root?" in subprocess.run([str(PAWL), *map(str, args), "--layout", "rot"], capture_output=True, env=ENV).stderr
    assert not output(*args, "--runner-type", "nosuch", status=3)
    assert not output("matrix", "test-config", "--catalog", DEMO, "--config-keys", "zz*", status=3)
    assert not output("matrix", "full-sweep", "--config-files", "nowhere.yaml", status=3)


def hostile_files_are_refused_with_the_limit_named(tmp):
    folder = tmp / "hostile"
    shutil.copytree(DEMO, folder)
    master = next(folder.glob("configs/*-master.yaml"))
    good = master.read_bytes()

    def refused(data, *flags, status=3):
        master.write_bytes(data)
        done = subprocess.run([PAWL, "matrix", "full-sweep", "--catalog", folder, *flags], capture_output=True, env=ENV)
        assert done.returncode == status and not done.stdout, (data[:40], done.returncode, done.stderr)
        return done.stderr.decode(errors="replace")

    large = b"# " + b"x" * 62 + b"\n"
    with open(master, "wb") as file:  # 100 MB of comments behind a good catalogue
        file.write(good + large * (100_000_000 // len(large)))
    done = subprocess.run([PAWL, "matrix", "full-sweep", "--catalog", folder], capture_output=True, env=ENV)
    assert done.returncode == 3 and b"larger than the 64 MiB" in done.stderr and b"--max-input-mb" in done.stderr, done.stderr
    done = subprocess.run([PAWL, "matrix", "full-sweep", "--catalog", folder, "--max-input-mb", "200", "--count"], capture_output=True, env=ENV)
    assert done.returncode == 0, done.stderr
    bomb = b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 12))
    assert "more than 1000000" in refused(bomb)
    assert "nesting deeper than 300 levels" in refused(b"a: " + b"[" * 5000)
    assert "U+0000" in refused(good + b"\0")
    assert "not valid UTF-8" in refused(good + b"# \xff\n")
    assert "tab" in refused(good + b"\tx: 1\n")
    # A terminal obeys escapes: none of a file comes to the screen.
    for escape in (b'x: {image: "\\e[31mred\\x9b"}\n', b'"\\e]0;title\\a*": {}\n'):
        master.write_bytes(good + escape)
        for command in (("matrix", "full-sweep"), ("catalog", "check")):
            done = subprocess.run([PAWL, *command, "--catalog", folder], capture_output=True, env=ENV)
            shown = (done.stdout + done.stderr).decode()
            assert done.returncode != 0 and shown and not any(c < " " and c not in "\n\t" or "\x7f" <= c < "\xa0" for c in shown), shown
    # These are no attack: read, and the places stay true.
    for data in (b"\xef\xbb\xbf" + good, good.replace(b"\n", b"\r\n")):
        master.write_bytes(data)
        assert output("matrix", "full-sweep", "--catalog", folder) == output("matrix", "full-sweep", "--catalog", DEMO)


def check_reports_every_violation(tmp):
    assert run_json(PAWL, "catalog", "check", "--catalog", DEMO, schema="pawl.catalog-check/1") == {"schema": "pawl.catalog-check/1", "ok": True, "violations": []}
    broken = tmp / "broken"
    shutil.copytree(DEMO, broken)
    master = next(broken.glob("configs/nvidia-master.yaml"))
    text = master.read_text()
    text = text.replace("precision:", "precison:", 1).replace("multinode: false", "multinode: 7", 1) + "other: []\n"
    master.write_text(text)
    found = json.loads(output("catalog", "check", "--catalog", broken, "--json", status=1))["violations"]
    assert any(v["nearest"] == "precision" and v["line"] > 0 and v["column"] > 0 and v["file"].endswith("nvidia-master.yaml") for v in found if "nearest" in v), found
    assert any(v["config"] == "other" for v in found)
    sarif = json.loads(output("catalog", "check", "--catalog", broken, "--format", "sarif", status=1))
    assert sarif["version"] == "2.1.0" and len(sarif["runs"][0]["results"]) == len(found)
    github = output("catalog", "check", "--catalog", broken, "--format", "github", status=1).decode().splitlines()
    assert len(github) == len(found) and all(line.startswith("::error file=") for line in github)
    assert f"{len(found)} violations" in output("catalog", "check", "--catalog", broken, status=1).decode()
    master.write_text("a:\t1\n")
    assert "tab" in output("catalog", "check", "--catalog", broken, status=1).decode()


def show_has_the_text_of_a_recipe():
    key = run_json(PAWL, "catalog", "list", "--catalog", DEMO, schema="pawl.recipes/1")["recipes"][0]["key"]
    shown = run_json(PAWL, "catalog", "show", key, "--catalog", DEMO, schema="pawl.recipe/1")
    assert shown["key"] == key and shown["line"] > 0 and shown["points"] > 0 and shown["violations"] == 0
    text = output("catalog", "show", key, "--catalog", DEMO).decode()
    assert key in text and "search-space" in text
    output("catalog", "show", "nosuch", "--catalog", DEMO, status=3)


def the_schema_for_editors_agrees_with_the_check():
    """Every real file is valid under it, and of the reference's vectors exactly those are refused that break a rule of one object."""
    try:
        import jsonschema
        import yaml
    except ImportError:
        print("  no python3-jsonschema or python3-yaml: skipped")
        return
    validators = {}
    for file in ("master", "runners", "changelog"):
        for generation in ("2026-08", "2026-10"):
            schema = json.loads(output("catalog", "schema", file, "--generation", generation))
            jsonschema.Draft202012Validator.check_schema(schema)
            validators[file, generation] = jsonschema.Draft202012Validator(schema)

    def valid(file, text, generation="2026-08"):
        return validators[file, generation].is_valid(yaml.safe_load(text))

    for master in DEMO.glob("configs/*-master.yaml"):
        assert valid("master", master.read_text()), master
    output("catalog", "schema", "--generation", "2026-11", status=3)
    if not REAL.exists():
        return
    for path, file in [("configs/nvidia-master.yaml", "master"), ("configs/amd-master.yaml", "master"), ("configs/runners.yaml", "runners"),
                       ("perf-changelog.yaml", "changelog")]:
        errors = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in validators[file, "2026-08"].iter_errors(yaml.safe_load((REAL / path).read_text()))]
        assert not errors, (path, errors[:3])
    for path, file in [("configs/nvidia-master.excerpt.yaml", "master"), ("configs/nvidia-master.excerpt-norecipes.yaml", "master"),
                       ("configs/runners.yaml", "runners"), ("perf-changelog.excerpt.yaml", "changelog")]:
        assert valid(file, (OCTOBER / path).read_text(), "2026-10"), path
        assert file == "changelog" or not valid(file, (OCTOBER / path).read_text()), path
    agree, looser, stricter = 0, [], []
    for case in json.loads(golden("schema-verdicts.json.gz"))["cases"]:
        kind = {"runners": "runners", "changelog-entry": "changelog"}.get(case["kind"], "master")
        try:
            data = yaml.safe_load(case["text"])
        except (yaml.YAMLError, ValueError):
            continue
        ours = validators[kind, "2026-08"].is_valid([data] if kind == "changelog" and not isinstance(data, list) else data)
        theirs = case["schema"] == "accept"
        agree += ours == theirs
        (looser if ours else stricter).extend([] if ours == theirs else [case["id"]])
    # Stricter: the spelling with '_', which the generator ignores anyway. Looser: rules over several objects.
    print(f"  the editor's schema agrees on {agree} vectors, is looser on {len(looser)}, stricter on {len(stricter)}")
    assert agree > 550, (agree, looser, stricter)


def october(tmp):
    """The October tree is found, checked, expanded and spliced; its changelog is read."""
    if not OCTOBER.exists():
        print("  no ../shared/data/inferencex-october beside the project: skipped")
        return
    tree = tmp / "october"
    shutil.copytree(OCTOBER.parent, tree, copy_function=shutil.copyfile)
    configs = tree / "inferencex-e2e/configs"
    master = configs / "nvidia-master.yaml"
    shutil.copyfile(OCTOBER / "configs/nvidia-master.excerpt.yaml", master)
    shutil.copyfile(OCTOBER / "perf-changelog.excerpt.yaml", tree / "inferencex-e2e/perf-changelog.yaml")
    assert run_json(PAWL, "catalog", "check", "--catalog", tree)["violations"] == []
    rows = json.loads(output("matrix", "full-sweep", "--catalog", tree))
    assert len(rows) == 23 and all(row["node-count"] > 0 for row in rows if "prefill" in row)
    assert rows == json.loads(output("matrix", "full-sweep", "--config-files", master, "--runner-config", configs / "runners.yaml"))
    august = json.loads(output("catalog", "check", "--catalog", tree, "--generation", "2026-08", "--json", status=1))["violations"]
    assert "known from generation 2026-10 on" in august[0]["message"], august[0]
    output("catalog", "check", "--catalog", tree, "--layout", "root", status=3)
    entries = run_json(PAWL, "changelog", "log", "--catalog", tree, "--key", "kimik3-*", schema="pawl.changelog-log/1")["entries"]
    assert len(entries) == 2 and entries[0]["entry"]["pr-link"].endswith("/3088")
    before = master.read_bytes()
    done = run_json(PAWL, "catalog", "set-image", "glm5.2-fp4-gb300-*", "lmsysorg/sglang:nightly-dev-20261015-deadbeef", "--catalog", tree, schema="pawl.set-image/1")
    assert [c["key"] for c in done["changed"]] == ["glm5.2-fp4-gb300-dynamo-sglang-agentic-agg", "glm5.2-fp4-gb300-dynamo-sglang-agentic-disagg"]
    assert master.read_bytes() == before.replace(b"nightly-dev-20260914-4358a161", b"nightly-dev-20261015-deadbeef")
    again = run_json(PAWL, "catalog", "set-image", "glm5.2-fp4-gb300-*", "lmsysorg/sglang:nightly-dev-20261015-deadbeef", "--catalog", tree)
    assert again["changed"] == [] and again["already_there"] == 2
    shutil.copyfile(OCTOBER / "configs/nvidia-master.excerpt.yaml", master)


def a_family_moves_to_another_image_and_the_matrices_tell(tmp):
    old, new = tmp / "old", tmp / "new"
    shutil.copytree(DEMO, old)
    shutil.copytree(DEMO, new)
    recipes = run_json(PAWL, "catalog", "list", "--catalog", old)["recipes"]
    image = recipes[0]["image"]
    family = [r["key"] for r in recipes if r["image"] == image]
    wanted = image.split(":")[0] + ":v9.9.9"
    planned = run_json(PAWL, "catalog", "set-image", "*", wanted, "--from", image, "--catalog", new, "--dry-run")
    assert planned["written"] is False and [c["key"] for c in planned["changed"]] == family
    assert run_json(PAWL, "matrix", "diff", old, new, schema="pawl.matrix-diff/1")["changes"] == []
    output("catalog", "set-image", "*", wanted, "--from", image, "--catalog", new)
    changes = run_json(PAWL, "matrix", "diff", old, new)["changes"]
    assert changes and {c["recipe"] for c in changes} == set(family)
    assert all(c["change"] == "changed" and [f["path"] for f in c["fields"]] == ["image"] for c in changes)
    assert "image: " + image + " -> " + wanted in output("matrix", "diff", old, new).decode()
    output("catalog", "set-image", "nosuch", wanted, "--catalog", new, status=3)
    output("catalog", "set-image", family[0], "no version", "--catalog", new, status=3)
    output("catalog", "set-image", wanted, "--catalog", new, status=2)


def patches_on_the_path_of_a_recipe_are_found(tmp):
    folder = tmp / "patched"
    shutil.copytree(DEMO, folder)
    scripts = sorted(folder.glob("benchmarks/**/*.sh"))
    for script in scripts:
        script.write_text(script.read_text() + "pip install --no-deps https://example.org/engine.whl\n")
    found = 0
    for recipe in run_json(PAWL, "catalog", "list", "--catalog", folder)["recipes"]:
        shown = run_json(PAWL, "catalog", "show", recipe["key"], "--patches", "--catalog", folder, schema="pawl.recipe-patches/1")
        assert len([p for p in shown["patches"] if p["kind"] == "wheel"]) == len(shown["files"]), shown
        found += len(shown["patches"])
    assert found or not scripts


with scratch() as tmp:
    def the_october_tree():
        october(tmp)

    def a_family_moves():
        a_family_moves_to_another_image_and_the_matrices_tell(tmp)

    def patches():
        patches_on_the_path_of_a_recipe_are_found(tmp)

    def check_reports_every_violation_of_a_broken_catalogue():
        check_reports_every_violation(tmp)

    def hostile_files():
        hostile_files_are_refused_with_the_limit_named(tmp)

    prove(expanding_loads_no_library_of_the_network, full_sweeps_equal_the_reference, priorities_equal_the_reference, views_of_a_matrix, a_reader_that_leaves_is_no_defect, refusals_have_their_exit_status,
          check_reports_every_violation_of_a_broken_catalogue, show_has_the_text_of_a_recipe, the_schema_for_editors_agrees_with_the_check,
          hostile_files, the_october_tree, a_family_moves, patches)
