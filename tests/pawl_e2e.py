"""What the end-to-end scripts share. Not a script itself: ./dev test passes it over.

A script defines functions named by what they prove and ends with prove(first, second, …). Each gets $PAWL, the binary.
"""
import contextlib
import functools
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAWL = pathlib.Path(os.environ.get("PAWL", ROOT / "build/release/pawl")).resolve()
LIMIT_S = 120  # of one command, and of everything that is waited for
# Nothing of the user's own settings reaches what is tested.
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("PAWL_", "GIT_"))} | {"GIT_CONFIG_GLOBAL": "/dev/null", "NO_COLOR": "1"}

if importlib.util.find_spec("jsonschema") is None:  # another python3 stands before Debian's in PATH
    sys.path.append("/usr/lib/python3/dist-packages")


@contextlib.contextmanager
def scratch():
    """A folder for one script, gone afterwards. Holds a copy of the binary, so that processes of this script are known by
    their path."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-e2e-"))
    try:
        shutil.copy2(PAWL, folder / "pawl")
        yield folder
    finally:
        for pid in processes_of(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def processes_of(folder):
    """Processes that run a binary in `folder` or name it on their command line: {pid: command line}."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if line and (str(folder) in line or os.readlink(entry / "exe").startswith(str(folder))):
                found[int(entry.name)] = line.strip()
    return found


def run(pawl, *args, status=0, cwd=None, stdin=None):
    """Runs a command to its end and checks its exit status; None accepts any."""
    command = [str(pawl), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, cwd=cwd, env=ENV, input=stdin)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}, expected {status}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done


def run_json(pawl, *args, schema=None, **how):
    """Runs a command with --json: its document, whose schema is checked."""
    document = json.loads(run(pawl, *args, "--json", **how).stdout)
    if schema is not None:
        assert document["schema"] == schema, f"{args}: schema {document['schema']}, expected {schema}"
    return document


@contextlib.contextmanager
def running(pawl, *args, log):
    """A command in the background, ended afterwards; its standard output goes to the file `log`, its errors to `log`.err."""
    with open(log, "wb") as out, open(f"{log}.err", "wb") as err:
        process = subprocess.Popen([str(pawl), *map(str, args)], stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=ENV)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def wait_for(what, condition, limit_s=LIMIT_S):
    """The first true value of `condition`; fails after the limit, naming `what`."""
    deadline = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {limit_s} s in vain for {what}")
        time.sleep(0.02)


def get(url):
    """(status, content type, body) of a GET; (0, "", "") when nobody listens."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=30) as answer:
            return answer.status, answer.headers.get("Content-Type", ""), answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Content-Type", ""), error.read().decode()
    except OSError:
        return 0, "", ""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@functools.cache
def validator(name):
    import jsonschema

    schema = json.loads(run(PAWL, "schema", name).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check_against_schema(document, name):
    """Validates a document against a schema that the binary ships."""
    errors = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in validator(name).iter_errors(document)]
    assert not errors, f"not a {name}:\n  " + "\n  ".join(errors)


def prove(*functions, first=None):
    """Calls each function and exits: 0 when none failed. The later ones run even when an earlier one failed, except that
    none runs after a failure of `first`."""
    failed = []
    for function in ([first] if first else []) + list(functions):
        began = time.monotonic()
        try:
            function()
            print(f"  ok      {time.monotonic() - began:5.1f} s  {function.__name__.replace('_', ' ')}", flush=True)
        except Exception:  # noqa: BLE001: whatever it is, the script goes on and fails at the end
            failed.append(function)
            print(f"  FAILED  {function.__name__.replace('_', ' ')}\n{traceback.format_exc()}", flush=True)
            if function is first:
                break
    sys.exit(1 if failed else 0)
