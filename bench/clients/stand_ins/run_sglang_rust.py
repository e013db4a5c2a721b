"""SGLang's Rust client, the extension that `sglang.bench_serving --rust-client` calls, loaded alone."""
import importlib.util
import sys
from pathlib import Path

package = importlib.util.find_spec("sglang").submodule_search_locations[0]
spec = importlib.util.spec_from_file_location("_bench", next(Path(package).glob("srt/rust_extensions/_bench.*.so")))
extension = importlib.util.module_from_spec(spec)
spec.loader.exec_module(extension)
extension.run_argv(sys.argv)
