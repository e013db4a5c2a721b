"""sglang.benchmark.serving of the unpacked wheel (stand_ins.py)."""
from stand_ins import install, tokenizer

install("sglang", ["benchmark"], missing=["datasets"], names={
    "sglang.srt.disaggregation.utils": {"FAKE_BOOTSTRAP_HOST": "2.2.2.2"},
    "sglang.srt.utils.network": {"resolve_base_url": lambda base, *_: base, "resolve_host_port": lambda host, port, *_: (host, port)},
    "sglang.srt.utils.hf_transformers_utils": {"get_tokenizer": tokenizer},
})

from sglang.benchmark.serving import cli_main  # noqa: E402

cli_main()
