"""`vllm bench serve` of the unpacked wheel (stand_ins.py)."""
import argparse
import gc
import logging

from stand_ins import Absent, install, tokenizer

install("vllm", ["benchmarks"], names={
    "vllm.logger": {"init_logger": logging.getLogger},
    "vllm.tokenizers": {"get_tokenizer": tokenizer},
    "vllm.utils.argparse_utils": {"FlexibleArgumentParser": argparse.ArgumentParser},
    "vllm.utils.gc_utils": {"freeze_gc_heap": lambda: (gc.collect(), gc.freeze())},
    "vllm.utils.import_utils": {"PlaceholderModule": Absent},
    "vllm.utils.network_utils": {"join_host_port": lambda host, port: f"{host}:{port}"},
    "vllm.utils.mistral": {"is_mistral_tokenizer": lambda _: False},
})

from vllm.benchmarks.serve import add_cli_args, main  # noqa: E402

parser = argparse.ArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
