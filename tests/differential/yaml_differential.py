#!/usr/bin/env python3
"""Our YAML reader against PyYAML's own loader, on invented documents and on every real file there is.

  yaml_differential.py YAML_DUMP [DOCUMENTS] [SEED]

Both must accept the same texts and read the same values; docs/yaml.md lists the differences that are known, each with its reason. Anything else fails the
test and is printed. Exit status 77: skipped, PyYAML is not installed.
"""
import json
import math
import pathlib
import random
import re
import subprocess
import sys

try:
    import yaml
except ImportError:
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import yaml
    except ImportError:
        print("skipped: PyYAML is not installed (python3-yaml)")
        sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = ROOT.parent / "shared"

# Refused by pawl and read by PyYAML: what our message says, and what PyYAML's reading hangs on. docs/yaml.md.
KNOWN = [
    ("a tag for binary data, sets or ordered pairs", lambda text, message: "tag" in message and re.search(r"!!(binary|set|omap|pairs)|yaml\.org,2002:(binary|set|omap|pairs)", text)),
    ("an alias inside its own anchor", lambda text, message: "undefined alias" in message),
    ("a key without value, or '?' alone, in a flow collection", lambda text, message: re.search(r"[\[{,][^\]}]*[:?]|[:?][\]},]", text) is not None and re.search(r"(:|\?)\s*[\]},\[]", text) is not None),
    ("':' or '?' next to flow punctuation", lambda text, message: re.search(r"[:?][,\[\]{}]", text) is not None),
    ("a directive other than %YAML 1.1, 1.2 and %TAG", lambda text, message: re.search(r"(^|[\n\r\x85\u2028\u2029])%", text) is not None),
    ("half of a surrogate pair as an escape", lambda text, message: re.search(r"\\u[dD][89a-fA-F]|\\U", text) is not None),
    ("a byte-order mark at the start of a later line", lambda text, message: "\ufeff" in text[1:]),
    ("a tab before folded text of several lines", lambda text, message: "\t" in text and "tab" in message),
    ("nesting", lambda text, message: "nesting" in message),
]


class Ours:
    """The reader under test, as a process that answers document by document."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, data):
        self.process.stdin.write(b"%d\n" % len(data) + data)
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def value_of(tree):
    """Our tree as the values that PyYAML makes."""
    (kind, content), = tree.items()
    if kind == "seq":
        return [value_of(item) for item in content]
    if kind == "map":
        return {value_of(key): value_of(value) for key, value in content}
    if kind == "int":
        return int(content)
    if kind == "float":
        return float(content)
    if kind == "date":
        return yaml.SafeLoader("").construct_yaml_timestamp(yaml.ScalarNode("tag:yaml.org,2002:timestamp", content))
    return {"null": lambda: None, "bool": lambda: content, "str": lambda: content}[kind]()


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return len(a) == len(b) and all(type(x) is type(y) and (x == y or (x != x and y != y)) and same(a[x], b[y]) for x, y in zip(a, b))
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def theirs(data):
    """(value, None) or (None, error) of PyYAML."""
    try:
        return yaml.load(data.decode("utf-8", "strict"), yaml.SafeLoader), None
    except RecursionError:
        return None, "recursion"
    except Exception as error:  # whatever it raises is a refusal; it does not wrap everything (ValueError of dates, TypeError of keys)
        return None, f"{type(error).__name__}: {error}".replace("\n", " ")


def difference(ours, data):
    """None when both agree; else (class of a known difference or None, sentence)."""
    value, refused = theirs(data)
    tree = ours.read(data)
    if "error" in tree and len(tree) == 1:
        if refused is not None:
            return None
        text = data.decode("utf-8", "replace")
        known = next((name for name, fits in KNOWN if fits(text, tree["error"])), None)
        return known, f"only pawl refuses: {tree['error']}"
    if refused is not None:
        return None if refused == "recursion" else (None, f"only PyYAML refuses: {refused}")
    try:
        mine = value_of(tree)
    except Exception as error:
        return None, f"our tree has no value: {error}"
    return None if same(mine, value) else (None, f"read as {mine!r} and as {value!r}")


SCALARS = ("a", "b c", "010", "0x1F", "0b1_0", "1:30", "1_000", "+12", "-0", "0.5", ".5", "5.", "1.5e+3", "1e3", ".inf", "-.INF", ".nan", "yes", "No", "TRUE", "off", "y", "~", "null", "",
           "2026-07-20", "2026-07-20 01:02:03", "2026-07-20T1:02:03.5Z", "2026-13-01", "2026-1-1", "1.2.3", "13c59a3", "08", "1__0", "0_7", "=", "<<", "é", "中文", "\U0001F680", "a#b", "a #b",
           "a: b", "- x", "[x]", "{x: y}", "'q'", '"d"', '"\\u00e9\\x41\\n"', "'it''s'", "*a", "&a x", "!!str 1", "!!int '010'", "! 5", "!!float 1", "!!null ''", "!!bool yes", "?", ":", "-",
           "|", ">", "%", "@", "`", "x\ty", "\t", "\u0085", "\u2028", "\ufeff", "40" * 20, "1.0e+400", "!foo x", "#", "a:", ":a", "http://h/?q=1", "...", "---")


def invented(rng, depth=0):
    """Text of a node, mostly well-formed."""
    kind = rng.random()
    if depth > 3 or kind < 0.45:
        return rng.choice(SCALARS)
    pad = "  " * depth
    count = rng.randrange(1, 4)
    if kind < 0.6:
        return "[" + ", ".join(invented(rng, 4) for _ in range(count)) + "]"
    if kind < 0.7:
        return "{" + ", ".join(rng.choice(("k", "k2", "'k'", "1", "<<", "é")) + ": " + invented(rng, 4) for _ in range(count)) + "}"
    if kind < 0.78:
        header = rng.choice(("|", ">", "|-", ">-", "|+", ">+", "|2", ">1-"))
        return header + "\n" + "".join(pad + "  " + rng.choice(("line", "", " more", "\ttab", "é # x", "- y")) + "\n" for _ in range(count))
    if kind < 0.9:
        return rng.choice(("", "&a ", "!!map ", "")) + "\n" + "".join(
            f"{pad}{rng.choice(('a', 'b', 'c', 'c', '1', '<<', 'é', '? d'))}:{rng.choice((' ', ' ', ' ', '  '))}{invented(rng, depth + 1)}\n" for _ in range(count))
    return "\n" + "".join(f"{pad}-{rng.choice((' ', ' ', '  '))}{invented(rng, depth + 1)}\n" for _ in range(count))


def document(rng):
    text = rng.choice(("", "", "", "# é\n", "---\n", "%YAML 1.1\n---\n", "\ufeff")) + invented(rng).lstrip("\n") + rng.choice(("", "\n", "\n# end", "\n...\n", "\n\n"))
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice((" ", "\n", "\t", ":", "-", "#", ",", "'", '"', "\r", "]", "&a ", "*a", "\u0085", "\x7f", "\0", "  ", "")) + text[at + rng.randrange(2):]
    if rng.random() < 0.1:
        text = text.replace("\n", "\r\n")
    return text.encode("utf-8", "surrogatepass")


def real_files():
    folders = [ROOT / "data", SHARED / "data/inferencex", SHARED / "data/inferencex-october"]
    return sorted(path for folder in folders if folder.exists() for pattern in ("*.yaml", "*.yml") for path in folder.rglob(pattern))


def main():
    ours = Ours(sys.argv[1])
    documents = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 20261130)
    failed, known, accepted = 0, {}, 0
    for _ in range(documents):
        data = document(rng)
        found = difference(ours, data)
        if found is None:
            continue
        name, sentence = found
        if name is not None:
            known[name] = known.get(name, 0) + 1
            continue
        failed += 1
        if failed <= 20:
            print(f"{data!r}\n  {sentence}")
    files = real_files()
    for path in files:
        found = difference(ours, path.read_bytes())
        if found is not None:
            failed += 1
            print(f"{path}\n  {found[1]}")
    print(f"{documents} invented documents and {len(files)} real files: {failed} differences that are not known; known ones: "
          + (", ".join(f"{count} {name}" for name, count in sorted(known.items())) or "none met"))
    return 1 if failed else 0


sys.exit(main())
