"""The commands that the documentation shows. Of README.md, CONTRIBUTING.md and docs/*.md:

- ```sh blocks run top to bottom, in one scratch folder a file, with `pawl` and the demo catalogue at hand: the folder
  holds a copy of data/demo as `catalog`. A command that fails, fails the test.
- ```sh no-run blocks, ```console lines after "$ " and ``` blocks without a word are not run: each `pawl …` command in them
  must exist with all its flags, each `./file` must be there.
- Lines that start with ./quickstart or ./dev are never run, only looked up: they would build or test again.
"""
import re
import shlex
import shutil
import subprocess

from pawl_e2e import ENV, ROOT, prove, run, scratch

FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text):
    """(first line number, info string, lines) of every fenced block."""
    found, open_block = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip().startswith("```"):
            if open_block:
                open_block[2].append(line.strip() if open_block[3] else line)
        elif open_block:
            found.append(open_block[:3])
            open_block = None
        else:
            open_block = (number + 1, line.strip()[3:].strip(), [], line.startswith(" "))
    return found


def commands(info, lines):
    """The command lines of a block, continuation lines joined, comments left out."""
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines()
    if info == "console":
        joined = [line.strip()[2:] for line in joined if line.strip().startswith("$ ")]
    return [line.strip() for line in joined if line.strip() and not line.strip().startswith("#")]


def simple_commands(line):
    """The words of each command of a pipeline or list."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words = []
    for token in lexer:
        if re.fullmatch(r"[|&;()]+", token):
            yield words
            words = []
        else:
            words.append(token)
    yield words


with scratch() as tmp:
    pawl, helps = tmp / "pawl", {}

    def help_of(*path):
        if path not in helps:
            helps[path] = run(pawl, *path, "--help").stdout
        return helps[path]

    def assert_pawl_command_exists(words):
        """Follows the words down the subcommands, then looks every --flag up in the help of the last one."""
        path = []
        for word in words:
            if not re.search(rf"^  {re.escape(word)} ", help_of(*path).partition("\nSubcommands:")[2], re.MULTILINE):
                break
            path.append(word)
        rest = words[len(path):]
        assert "\nSubcommands:" not in help_of(*path) or rest[:1] in ([], ["…"]) or rest[0].startswith("--"), f"pawl {' '.join(path)} has no command {rest[0]}"
        for word in rest:
            if word == "--":
                break
            if word.startswith("--"):
                flag = word.partition("=")[0]
                assert re.search(rf"(^|[\s,]){re.escape(flag)}(?![\w-])", help_of(*path)), f"pawl {' '.join(path)} has no flag {flag}"

    def assert_exists(line):
        for words in simple_commands(line):
            while words and re.fullmatch(r"\w+=.*", words[0]):
                words = words[1:]
            if words and words[0] == "pawl":
                assert_pawl_command_exists(words[1:])
            elif words and words[0].startswith("./"):
                assert (ROOT / words[0]).exists(), f"there is no {words[0]}"

    def run_block(where, folder, lines):
        for line in lines:
            if line.startswith("./"):
                assert_exists(line)
        script = "\n".join(line for line in lines if not line.startswith(("./quickstart", "./dev")))
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True, timeout=300,
                              env=ENV | {"PATH": f"{tmp}:{ENV['PATH']}"}, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"{where}: exit status {done.returncode}\n{script}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"

    def proof_of(file):
        text, short = file.read_text(), str(file.relative_to(ROOT))
        folder = tmp / short.replace("/", "-")
        folder.mkdir()
        shutil.copytree(ROOT / "data/demo", folder / "catalog")

        def proof():
            for number, info, lines in blocks(text):
                if info not in ("", "sh", "sh no-run", "console"):
                    continue
                if info == "sh":
                    run_block(f"{short}, block of line {number}", folder, lines)
                    continue
                for line in commands(info, lines):
                    if info == "" and not line.startswith(("pawl ", "./")):
                        continue
                    try:
                        assert_exists(line)
                    except (AssertionError, ValueError) as error:
                        raise AssertionError(f"{short}, block of line {number}: {line}\n{error}") from None
        proof.__name__ = f"commands of {short}"
        return proof

    prove(*(proof_of(file) for file in FILES if file.exists()))
