import os
import re
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

Usage = namedtuple("Usage", "registers stack")


@pytest.fixture
def interpreted():
    """Run a file of tests in a process where Triton's kernels are interpreted, on CPU tensors."""
    pytest.importorskip("triton", reason="Triton is missing")

    def run(path):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
        environment = {**os.environ, "TRITON_INTERPRET": "1"}
        root = Path(__file__).parents[2]
        done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    return run


@pytest.fixture(scope="session")
def machine_code(tmp_path_factory):
    """Compile a kernel for a GPU that need not be there: what a thread takes of registers, and of memory for spills."""
    triton = pytest.importorskip("triton", reason="Triton is missing")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    def compile_for(capability, kernel, types, constants, warps):
        signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
        built = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": warps})
        path = tmp_path_factory.mktemp("machine_code") / "kernel.cubin"
        path.write_bytes(built.asm["cubin"])
        command = [triton.knobs.nvidia.cuobjdump.path, "--dump-resource-usage", path]
        report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return Usage(*(int(re.search(rf"{name}:(\d+)", report)[1]) for name in ("REG", "STACK")))

    return compile_for
