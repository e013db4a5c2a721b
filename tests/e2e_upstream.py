"""pawl upstream: two invented versions of SGLang audited for a launch script; history and culprit; hostile sources; image packages."""
import json
import os
import shutil
import subprocess

from pawl_e2e import ENV, PAWL, ROOT, prove, run, run_json, scratch

OLD = """class ServerArgs:
    model_path: A[str, Arg(help="Weights.", aliases=["--model"])]
    tp_size: A[int, Arg(help="Tensor parallel size.", aliases=["--tp"])] = 1
    retries: A[int, "How often."] = 0
    backend: A[Optional[str], Arg(help="Which.", choices=["fast", "slow"])] = None
    window: A[int, "Window."] = 4

    def __post_init__(self):
        if self.retries > 0:
            limit(self.retries)
        if self.backend is None:
            self.backend = "slow"
"""
NEW = OLD.replace("retries", "attempts").replace('"slow"]', '"new"]').replace("window: A[int, \"Window.\"] = 4", "window: A[int, \"Window.\"] = 8").replace(
    'self.backend = "slow"', 'self.backend = "new" if is_sm100_supported() else "fast"')
SCRIPT = "export SGLANG_OLD=1\npython3 -m sglang.launch_server --model $MODEL --tp 8 --retries 3 --backend fast > log 2>&1 &\n"


def version(folder, args, torch, environment):
    package = folder / "sglang/srt"
    package.mkdir(parents=True)
    (package / "server_args.py").write_text(args)
    (package / "environ.py").write_text(f"class Envs:\n    {environment} = EnvInt(1)\n")
    (folder / "sglang-1.dist-info").mkdir()
    (folder / "sglang-1.dist-info/METADATA").write_text(f"Name: sglang\nRequires-Dist: torch=={torch}\n")
    return folder


def two_versions(folder):
    (folder / "launch.sh").write_text(SCRIPT)
    return version(folder / "old", OLD, "2.11.0", "SGLANG_OLD"), version(folder / "new", NEW, "2.13.0", "SGLANG_NEW")


def a_renamed_flag_is_found_with_its_evidence():
    with scratch() as folder:
        old, new = two_versions(folder)
        args = ("upstream", "audit", "--engine", "sglang", "--from", old, "--to", new, "--script", folder / "launch.sh", "--gpu", "h200")
        report = run_json(PAWL, *args, schema="pawl.upstream-audit/1", status=1)
        flags = {f["flag"]: f for f in report["flags"]}
        assert flags["--retries"]["verdict"] == "renamed" and flags["--retries"]["successor"] == "--attempts", flags["--retries"]
        assert "server_args.py:9" in flags["--retries"]["evidence"], flags["--retries"]
        assert flags["--tp"]["verdict"] == "alias" and flags["--backend"]["verdict"] == "defined"
        assert [e["verdict"] for e in report["environment"]] == ["removed"]
        assert [(d["name"], d["direction"]) for d in report["dependencies"]] == [("torch", "up")]
        effects = {d["dest"]: d["effect"] for d in report["defaults"]}
        assert effects == {"window": "affects", "backend": "pinned"}, effects
        both = run(PAWL, *args, "--lang", "both", status=1).stdout
        assert "must be changed" in both and "参数审计" in both and "`--retries 3`" in both


def a_recipe_names_its_engine_image_and_script():
    with scratch() as folder:
        old, new = two_versions(folder)
        shutil.copytree(ROOT / "data/demo", folder / "catalog")
        scripts = folder / "catalog/benchmarks/single_node/fixed_seq_len"
        scripts.mkdir(parents=True, exist_ok=True)
        for name in scripts.glob("*_fp8_h200_sglang.sh"):
            name.write_text(SCRIPT)
        recipe = f"{folder}/catalog/configs/nvidia-master.yaml/demo-fp8-h200-sglang"
        report = run_json(PAWL, "upstream", "audit", "--recipe", recipe, "--from", old, "--to", new, status=1)
        assert {f["flag"]: f["verdict"] for f in report["flags"]}["--retries"] == "renamed", report["flags"]
        missing = run(PAWL, "upstream", "audit", "--recipe", recipe.replace("sglang", "sgland"), "--to", new, status=3)
        assert "demo-fp8-h200-sglang" in missing.stderr, missing.stderr


def nothing_changed_says_so():
    with scratch() as folder:
        old, _ = two_versions(folder)
        report = run_json(PAWL, "upstream", "audit", "--engine", "sglang", "--from", old, "--to", old, "--script", folder / "launch.sh", "--gpu", "h200")
        assert report["breaking"] == 0 and not report["defaults"] and not report["dependencies"] and not report["others"] and not report["added"], report


def git(folder, *args):
    subprocess.run(["git", "-C", str(folder), *args], check=True, capture_output=True,
                   env=ENV | {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t"})


def history_and_culprit_of_a_clone():
    with scratch() as folder:
        old, new = two_versions(folder)
        clone = folder / "clone"
        (clone / "python").mkdir(parents=True)
        git(folder, "init", "-q", "-b", "main", str(clone))
        shutil.copytree(old / "sglang", clone / "python/sglang")
        git(clone, "add", ".")
        git(clone, "commit", "-qm", "start")
        git(clone, "tag", "v1")
        (clone / "notes").write_text("n")
        git(clone, "add", ".")
        git(clone, "commit", "-qm", "notes (#7)")
        shutil.copytree(new / "sglang", clone / "python/sglang", dirs_exist_ok=True)
        git(clone, "commit", "-qam", "server: attempts (#8)")
        git(clone, "tag", "v2")
        report = run_json(PAWL, "upstream", "audit", "--engine", "sglang", "--from", f"git:{clone}@v1", "--to", f"git:{clone}@v2", "--script", folder / "launch.sh", "--gpu", "h200", status=1)
        assert [c["number"] for c in report["history"]["changes"]] == ["#8"] and "docker" in report["history"]["none"], report["history"]
        found = run_json(PAWL, "upstream", "culprit", "--repo", clone, "--from", "v1", "--to", "v2", "--path", "python", "--symptom", "unrecognized arguments: --retries 3",
                         schema="pawl.upstream-culprit/1")
        assert found["suspects"][0]["change"]["number"] == "#8" and found["suspects"][0]["change"]["parent"], found
        run(PAWL, "upstream", "culprit", "--repo", clone, "--from", "v1", "--to", "v2", "--path", "notes", "--symptom", "--retries", status=1)


def hostile_sources_are_survived():
    with scratch() as folder:
        old, new = two_versions(folder)
        hooks = new / "sglang/srt/arg_groups"
        hooks.mkdir()
        (hooks / "deep.py").write_text("x = " + "(" * 50000 + "1" + ")" * 50000 + "\n")
        (hooks / "indented.py").write_text("".join(" " * i + "if a:\n" for i in range(400)) + " " * 400 + "self.backend = 'x'\n")
        (hooks / "huge.py").write_text("a = 1\n" * 2_000_000)
        (hooks / "newer.py").write_text("type X[T] = list[T]\ndef f[T](x: T = t'{y}') -> T: ...\nmatch z:\n    case {'a': 1, **r} if r: pass\n")
        (hooks / "bytes.py").write_bytes(bytes(range(256)) * 100)
        (folder / "secret.py").write_text("class ServerArgs:\n    stolen: A[int, 'h'] = 1\n")
        os.symlink(folder / "secret.py", hooks / "link.py")
        os.symlink(folder, new / "sglang/srt/up")
        report = run_json(PAWL, "upstream", "audit", "--engine", "sglang", "--from", old, "--to", new, "--script", folder / "launch.sh", "--gpu", "h200", status=1)
        assert "stolen" not in json.dumps(report)
        assert any("huge.py" in u for u in report["uncertain"]) and any("bytes.py" in u for u in report["uncertain"]), report["uncertain"]
        assert {f["flag"]: f["verdict"] for f in report["flags"]}["--retries"] == "renamed"


def bad_input_names_itself():
    with scratch() as folder:
        old, new = two_versions(folder)
        script = ("--script", folder / "launch.sh")
        wrong = run(PAWL, "upstream", "audit", "--engine", "sgland", "--from", old, "--to", new, *script, status=3)
        assert "sgland" in wrong.stderr and "sglang" in wrong.stderr
        assert "launches" not in run(PAWL, "upstream", "audit", "--engine", "sglang", "--from", old, "--to", "/nowhere/at/all", *script, status=3).stdout
        (folder / "empty.sh").write_text("echo\n")
        assert "empty.sh" in run(PAWL, "upstream", "audit", "--engine", "sglang", "--from", old, "--to", new, "--script", folder / "empty.sh", status=3).stderr
        (folder / "x-1-py3-none-any.whl").write_bytes(b"PK\x03\x04 no")
        assert "x-1" in run(PAWL, "upstream", "schema", "--engine", "sglang", folder / "x-1-py3-none-any.whl", status=3).stderr


def packages_of_an_unpacked_image():
    with scratch() as folder:
        root = folder / "root/usr/lib/python3/dist-packages/torch-2.13.0.dist-info"
        root.mkdir(parents=True)
        (root / "METADATA").write_text("Name: torch\nVersion: 2.13.0\n")
        facts = run_json(PAWL, "upstream", "packages", folder / "root", schema="pawl.image-facts/1")
        assert [(p["name"], p["version"]) for p in facts["packages"]] == [("torch", "2.13.0")]


prove(a_renamed_flag_is_found_with_its_evidence, a_recipe_names_its_engine_image_and_script, nothing_changed_says_so, history_and_culprit_of_a_clone, hostile_sources_are_survived, bad_input_names_itself,
      packages_of_an_unpacked_image)
