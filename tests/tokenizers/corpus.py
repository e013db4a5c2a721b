"""A text of our own that looks for trouble: many scripts, and the places where tokenizers differ."""
import random

LINES = [
    "The quick brown fox jumps over the lazy dog. It wasn't we'll-known; they've said I'd go, you're right, she'LL agree.",
    "DON'T SHOUT: IT'S 'TIS 'twas rock'n'roll 'S 'Re 'VE d'accord l'été o\u2019clock don\u2019t",
    "long s: \u017ft 's\u017f '\u017f Kelvin \u212a \u212aelvin",
    "  leading blanks, trailing blanks   ",
    "tabs\tand\t\ttabs \t mixed \t",
    "a\u00a0b\u00a0\u00a0c nbsp, \u2009thin\u2009, \u3000ideographic\u3000, \u202fnarrow\u202f, \u1680ogham\u1680, \u205fmath\u205f",
    "zero\u200bwidth \u200b\u200bspace, joiner\u200d, bom \ufeff, mongolian\u180evowel \u180e, next\u0085line, sep\u2028para\u2029end",
    "vertical\x0btab form\x0cfeed unit\x1f nul\x00 del\x7f escape\x1b[0m",
    "0 1 12 123 1234 12345 123456 1234567890 3.14159 1,000,000.00 1e-9 0xFF \u0661\u0662\u0663 \u0967\u0968\u0969\u096a \u00bd \u2167 \u2460 \u4e00\u4e8c\u4e09",
    "#include <vector>\nint main(int argc, char** argv) {\n\treturn argc > 1 ? std::stoi(argv[1]) : 0;  // \u2713\n}\n",
    "def f(x):\n    if x is None:\n        return {'a': [1, 2, 3], \"b\": (x or {})}\n\n\n    return lambda y: y ** 2 != x\n",
    "SELECT * FROM t WHERE a<>b AND c!='d' -- comment\n/* block */;;;;",
    "https://user:pw@example.org:8080/path/to?query=1&b=%20c#frag mailto:a.b+c@d.io /usr/local/bin C:\\Windows\\System32",
    "CamelCaseWords snake_case_words kebab-case-words SCREAMING_SNAKE iPhone McDonald HTTPServer2 x86_64 v1.2.3-rc.4",
    "!!! ??? ... --- === *** ### $$$ %%% ^^^ &&& ((( ))) [[[ ]]] {{{ }}} <<< >>> ~~~ ``` ''' \"\"\" ||| \\\\\\ ///",
    "\u4eca\u5929\u5929\u6c14\u5f88\u597d\uff0c\u6211\u4eec\u53bb\u516c\u56ed\u6563\u6b65\u5427\u3002\u4f60\u8ba4\u4e3a\u600e\u4e48\u6837\uff1f\u300a\u7ea2\u697c\u68a6\u300b\u7b2c\u4e00\u56de\u3002",
    "\u81fa\u7063\u7684\u7e41\u9ad4\u4e2d\u6587\u8207\u9999\u6e2f\u7684\u7cb5\u8a9e\uff1a\u4f62\u54cb\u5497\u5514\u77e5\u3002 \U00020000\U0002a6d6 \u3400\u9fff",
    "\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd\u3067\u3059\u3002\u30b3\u30fc\u30d2\u30fc\u3092\u4e00\u676f\u304f\u3060\u3055\u3044\u3002\uff76\uff80\uff76\uff85 \u3071\u30d1 \u306f\u309a",
    "\ub300\ud55c\ubbfc\uad6d\uc758 \uc218\ub3c4\ub294 \uc11c\uc6b8\uc774\ub2e4. \u1112\u1161\u11ab\u1100\u1173\u11af (\ubd84\ud574\ub41c \ud55c\uae00)",
    "\u041c\u043e\u0441\u043a\u0432\u0430 \u2014 \u0441\u0442\u043e\u043b\u0438\u0446\u0430 \u0420\u043e\u0441\u0441\u0438\u0438; \u0439\u043e\u0433\u0443\u0440\u0442 \u0438\u0306\u043e\u0433\u0443\u0440\u0442, \u0451\u043b\u043a\u0430.",
    "\u0397 \u0391\u03b8\u03ae\u03bd\u03b1 \u03b5\u03af\u03bd\u03b1\u03b9 \u03b7 \u03c0\u03c1\u03c9\u03c4\u03b5\u03cd\u03bf\u03c5\u03c3\u03b1. \u1f00\u03c1\u03c7\u03ae \u1fb3 \u0391\u0345",
    "\u0627\u0644\u0644\u063a\u0629 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u062c\u0645\u064a\u0644\u0629\u060c \u0645\u064f\u0634\u064e\u0643\u0651\u064e\u0644\u064e\u0629\u061f \u0661\u0662\u0663 \ufefb",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd \u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u092e\u0947\u0902 \u0932\u093f\u0916\u093e \u0939\u0941\u0906 \u0935\u093e\u0915\u094d\u092f\u0964 \u0958 \u0915\u093c",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01 \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22\u0e44\u0e21\u0e48\u0e21\u0e35\u0e0a\u0e48\u0e2d\u0e07\u0e27\u0e48\u0e32\u0e07",
    "Ti\u1ebfng Vi\u1ec7t c\u00f3 d\u1ea5u: Nguye\u0302\u0303n, tie\u0302\u0301ng, \u0111\u01b0\u1eddng ph\u1ed1",
    "Za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105 ja\u017a\u0144. P\u0159\u00edli\u0161 \u017elu\u0165ou\u010dk\u00fd k\u016f\u0148. \u00c5ngstr\u00f6m A\u030angstro\u0308m \u212b \ufb01n \u2460\u00b2\u2075",
    "\u0130stanbul \u0131\u015f\u0131k I\u0307 STRASSE stra\u00dfe \u1e9e \u01c5 \u01c8 \u02b0\u02b7 \u2c6f",
    "emoji \U0001f600 \U0001f44d\U0001f3fd \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f1e9\U0001f1ea \u2764\ufe0f #\ufe0f\u20e3 \U0001f3f4\U000e0067\U000e0062\U000e007f",
    "math \u2200x\u2208\u211d: \u2211\u1d62 x\u1d62\u00b2 \u2264 \u222b\u2080\u00b9 f(x) dx \u21d2 \u2202\u2207 \U0001d4d0\U0001d4d1 \u00b1\u221e \u00b5 \u03bc \u2126 \u03a9",
    "currency $5 \u20ac6 \u00a37 \u00a58 \u20b99 \u20bf; quotes \u201ca\u201d \u2018b\u2019 \u00abc\u00bb \u201ed\u201c; dashes a-b a\u2013b a\u2014b; bullets \u2022 \u25e6 \u2605",
    "combining z\u0351\u036a\u036ba\u0321l\u0322g\u0327o\u0328 \u0301lone mark \u0e31lone",
    "\ue000private\uf8ff \ufffdreplacement \uffff \U0010ffff last",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "=" * 130 + " " * 70 + "-" * 33 + "\t" * 9 + "\n" * 11,
    "antidisestablishmentarianism Donaudampfschifffahrtselektrizit\u00e4tenhauptbetriebswerkbauunterbeamtengesellschaft",
    "\r\nwindows\r\n\r\nlines\r\rold mac\n\r\n mixed \n \n  \n",
    "<s> </s> <|endoftext|> <|im_start|>user\nhello<|im_end|> <|begin_of_text|> <|eot_id|> [INST] [/INST] <unk> <pad> <bos> <eos>",
    "<\uff5cbegin\u2581of\u2581sentence\uff5c>hi<\uff5cUser\uff5c>there <think> </think> <|start|>assistant<|channel|>final <start_of_turn>x<end_of_turn>",
    "\u2581\u2581meta \u2581 space\u2581 \u2581",
    "<0x0A> <0xFF> <0x41>",
]


def noise(seed, lines):
    """Lines of characters drawn from blocks that tokenizers treat differently."""
    rng = random.Random(seed)
    blocks = [(0x20, 0x7e), (0x20, 0x7e), (0x9, 0xd), (0xa0, 0x24f), (0x300, 0x36f), (0x370, 0x52f), (0x590, 0x6ff), (0x900, 0x97f), (0xe00, 0xe7f),
              (0x1100, 0x11ff), (0x1e00, 0x1fff), (0x2000, 0x206f), (0x2070, 0x218f), (0x2190, 0x27bf), (0x3000, 0x30ff), (0x4e00, 0x9fff), (0xac00, 0xd7a3),
              (0xff00, 0xffef), (0x1f300, 0x1f64f)]
    out = []
    for _ in range(lines):
        parts = []
        for _ in range(rng.randint(1, 12)):
            low, high = rng.choice(blocks)
            parts.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 6))))
            if rng.random() < 0.4:
                parts.append(rng.choice([" ", "  ", "\n", "'s", "'ll", "1", "a", "\t", " \n"]))
        out.append("".join(parts))
    return out


def texts():
    """Every text that is compared, one by one."""
    return LINES + noise(7, 400) + ["\n".join(LINES), ""]
