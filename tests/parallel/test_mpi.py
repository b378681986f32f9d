"""MPI's collectives with 2 and 4 processes; without mpi4py and an MPI library there is nothing to test."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.plain
ROOT = Path(__file__).parents[2]
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]))


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None or MPIEXEC is None, reason="mpi4py or mpiexec is not there")
@pytest.mark.parametrize("processes", [2, 4])
def test_processes(processes: int, tmp_path: Path) -> None:
    """See collectives.py. The second time code comes from the disk: handles are those of the new process."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "IRAD_CACHE": "1", "IRAD_CACHE_DIR": str(tmp_path / "cache"), "IRAD_CHECK": "",
           "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # fmt: skip
    command = [str(MPIEXEC), "-n", str(processes), sys.executable, str(Path(__file__).with_name("collectives.py"))]
    for _ in range(2):
        run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
        assert run.returncode == 0, run.stdout[-1000:] + run.stderr[-3000:]
        assert sorted(l for l in run.stdout.splitlines() if l.endswith("right")) == [
            f"{k} of {processes} is right" for k in range(processes)
        ]
    assert len(list((tmp_path / "cache").glob("*.entry"))) > 5
