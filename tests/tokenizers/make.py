"""Makes the small tokenizers of this folder and golden.json, with PyPI's `tokenizers`, `sentencepiece` and `numpy` as the reference.

usage: python3 tests/tokenizers/make.py   (from any folder; needs tokenizers 0.23, sentencepiece 0.2, numpy)
"""
import json
import os
import pathlib
import tempfile

import numpy
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import corpus

HERE = pathlib.Path(__file__).parent
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LATIN = [line for line in corpus.LINES if len(line.encode()) < 1.3 * len(line)]


def byte_level():
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(corpus.LINES * 4, trainers.BpeTrainer(vocab_size=700, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    made.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in ("<|begin_of_text|>", "<|eot_id|>", "<|im_end|>")])
    made.add_tokens([AddedToken("<think>", normalized=False), AddedToken("fox", single_word=True, normalized=True), AddedToken("<pad>", lstrip=True, rstrip=True)])
    made.post_processor = processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", made.token_to_id("<|begin_of_text|>"))])
    return made


def metaspace():
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    # Words are cut for training only, as SentencePiece does it.
    made.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    made.train_from_iterator(LATIN * 4, trainers.BpeTrainer(vocab_size=600, special_tokens=special, show_progress=False))
    text = json.loads(made.to_str())
    text["pre_tokenizer"] = None
    text["added_tokens"] = [item for item in text["added_tokens"] if not item["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(text))


def unigram():
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Replace(Regex(r"\s+"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    made.decoder = decoders.Metaspace(prepend_scheme="first")
    made.train_from_iterator(corpus.LINES * 4, trainers.UnigramTrainer(vocab_size=400, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False))
    return made


def old_style():
    """GPT-2's own expression and a prefix blank; merges as lines."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=True)])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(LATIN * 4, trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    text = json.loads(made.to_str())
    text["model"]["merges"] = [" ".join(pair) for pair in text["model"]["merges"]]
    text["model"]["ignore_merges"] = True
    return Tokenizer.from_str(json.dumps(text)), text


def reference_prompts(made, n, isl, osl, ratio):
    """The fixed-sequence data set by its description, with NumPy itself; null for prompts that needed padding."""
    numpy.random.seed(0)
    inputs = numpy.random.randint(int(isl * ratio), isl + 1, size=n)
    outputs = numpy.random.randint(int(osl * ratio), osl + 1, size=n)
    vocabulary = made.get_vocab_size(with_added_tokens=False)
    offsets = numpy.random.randint(0, vocabulary, size=n)
    rows = []
    for i in range(n):
        wanted = int(inputs[i])
        ids = [int((offsets[i] + i + j) % vocabulary) for j in range(wanted)]
        text = None
        for _ in range(11):
            text = made.decode(ids, skip_special_tokens=False)
            ids = made.encode(text, add_special_tokens=False).ids
            if len(ids) <= wanted:
                break
            ids = ids[:wanted]
        rows.append([wanted, int(outputs[i]), text if len(ids) == wanted else None])
    return rows


def main():
    golden = {"texts": corpus.LINES, "ids": {}, "decoded": {}}
    old, old_text = old_style()
    for name, made in (("byte_level", byte_level()), ("metaspace", metaspace()), ("unigram", unigram()), ("old_style", old)):
        text = old_text if name == "old_style" else json.loads(made.to_str())
        (HERE / f"{name}.json").write_text(json.dumps(text, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
        golden["ids"][name] = [made.encode(line, add_special_tokens=False).ids for line in corpus.LINES]
        golden["decoded"][name] = [made.decode(ids, skip_special_tokens=False) for ids in golden["ids"][name]]

    golden["reference"] = reference_prompts(byte_level(), 40, 60, 20, 0.8)
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "text")
        pathlib.Path(source).write_text("\n".join(LATIN * 4), encoding="utf-8")
        sentencepiece.SentencePieceTrainer.train(input=source, model_prefix=os.path.join(folder, "m"), vocab_size=600, model_type="bpe", byte_fallback=True,
                                                 normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2)
        (HERE / "sentencepiece.model").write_bytes(pathlib.Path(folder, "m.model").read_bytes())
    model = sentencepiece.SentencePieceProcessor(model_file=str(HERE / "sentencepiece.model"))
    golden["ids"]["sentencepiece"] = [model.encode(line) for line in corpus.LINES]
    golden["decoded"]["sentencepiece"] = [model.decode(ids) for ids in golden["ids"]["sentencepiece"]]
    (HERE / "golden.json").write_text(json.dumps(golden, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
