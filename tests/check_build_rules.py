"""The rules of cmake/modules.cmake hold, and a breach of each fails the build: the include checker on a copy of src/."""
import contextlib
import re
import shutil
import subprocess

from pawl_e2e import ROOT, prove, scratch

WORDS = ("LEVEL", "DIR", "USES", "EXTERNAL", "PURE")


def modules():
    """The table: {name: {"LEVEL": …, "USES": […], …}}."""
    table = {}
    for call in re.findall(r"^pawl_module\(([^)]*)\)", (ROOT / "cmake/modules.cmake").read_text(), re.MULTILINE):
        name, *rest = call.split()
        table[name] = module = {}
        for word in rest:
            if word in WORDS:
                values = module.setdefault(word, [])
            else:
                values.append(word)
    return table


def check(source, name, module, stamp):
    """Runs the checker as the build does: (passed, what it says)."""
    done = subprocess.run(
        ["cmake", f"-DMODULE={name}", f"-DMODULE_DIR={module.get('DIR', [name])[0]}", f"-DUSES={','.join(module.get('USES', []))}",
         f"-DPURE={'TRUE' if 'PURE' in module else 'FALSE'}", f"-DSOURCE_DIR={source}", f"-DSTAMP={stamp}", "-P", ROOT / "cmake/check_includes.cmake"],
        capture_output=True, text=True, timeout=60)
    return done.returncode == 0, " ".join((done.stdout + done.stderr).split())


with scratch() as tmp:
    source, table = tmp / "src", modules()
    shutil.copytree(ROOT / "src", source)

    @contextlib.contextmanager
    def with_line(file, line):
        path = source / file
        before = path.read_text()
        path.write_text(f"{line}\n{before}")
        yield
        path.write_text(before)

    def refused(name, file, line, reason):
        with with_line(file, line):
            passed, says = check(source, name, table[name], tmp / "stamp")
        assert not passed and f"src/{file}" in says and reason in says, says

    def table_names_every_module():
        folders = {p.name for p in source.iterdir() if p.is_dir()}
        assert folders == {module.get("DIR", [name])[0].split("/")[0] for name, module in table.items()}, (folders, list(table))

    def every_module_uses_lower_levels_only():
        level = {name: int(module["LEVEL"][0]) for name, module in table.items()}
        wrong = [(name, used) for name, module in table.items() for used in module.get("USES", []) if level[used] >= level[name]]
        assert not wrong, wrong

    def pure_modules_use_pure_modules_and_base():
        pure = {name for name, module in table.items() if "PURE" in module}
        wrong = [(name, used) for name in pure for used in table[name].get("USES", []) if used not in pure | {"base"}]
        assert not wrong, wrong

    def the_tree_passes():
        for name, module in table.items():
            passed, says = check(source, name, module, tmp / "stamp")
            assert passed, says

    def include_from_above_is_refused():
        refused("plan", "plan/catalogue.cc", '#include "store/database.h"', "plan may not use store")

    def include_through_internal_is_refused():
        refused("store", "store/database.h", '#include "forge/internal/git.h"', "store may not use forge")

    def thread_in_a_pure_module_is_refused():
        refused("control", "control/decide.cc", "inline void nap() { std::this_thread::yield(); }", "control is pure")

    def clock_in_a_pure_module_is_refused():
        refused("compare", "compare/comparison.cc", "inline auto now() { return std::chrono::steady_clock::now(); }", "compare is pure")

    def test_of_a_pure_module_may_do_more():
        with with_line("control/decide_test.cc", '#include "store/database.h"'):
            passed, says = check(source, "control", table["control"], tmp / "stamp")
        assert passed, says

    prove(table_names_every_module, every_module_uses_lower_levels_only, pure_modules_use_pure_modules_and_base, the_tree_passes,
          include_from_above_is_refused, include_through_internal_is_refused, thread_in_a_pure_module_is_refused, clock_in_a_pure_module_is_refused,
          test_of_a_pure_module_may_do_more)
