"""An array file returns its arrays exactly, or raises an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from covey.errors import StoreError
from covey.store.storage.array_file import EncodedFile, encode_arrays, open_array_file

NUMBERS = st.sampled_from(["|b1", "<i1", ">i4", "<i8", "<u8", ">f4", "<f8"])
ARRAYS = NUMBERS.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0)))


def write_file(packed: EncodedFile, folder: Path) -> Path:
    path = folder / packed.sha256
    path.write_bytes(b"".join(packed.pieces))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("arrays")


@given(arrays=st.dictionaries(st.text("ab.", min_size=1), ARRAYS, max_size=4))
def test_arrays_are_restored(folder: Path, arrays: dict[str, np.ndarray]) -> None:
    packed = encode_arrays(arrays, {"a": [1, None]})
    found = open_array_file(write_file(packed, folder), packed.sha256)
    assert found.meta == {"a": [1, None]}
    assert found.size_bytes == packed.size_bytes
    assert list(found.arrays) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array)
        assert found.arrays[name].dtype == array.dtype.newbyteorder("<")
        assert found.arrays[name].shape == array.shape


def test_arrays_are_read_only_views(folder: Path) -> None:
    packed = encode_arrays({"x": np.arange(1000)}, {})
    array = open_array_file(write_file(packed, folder), packed.sha256).arrays["x"]
    assert not array.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_arrays_start_at_multiples_of_64_bytes(folder: Path) -> None:
    packed = encode_arrays({"a": np.zeros(3, np.uint8), "b": np.arange(5)}, {})
    found = open_array_file(write_file(packed, folder), packed.sha256)
    assert all(array.ctypes.data % 64 == 0 for array in found.arrays.values())


@pytest.mark.parametrize("array", [np.array([None]), np.array(["a"]), np.array([1j])])
def test_only_plain_numbers_are_stored(array: np.ndarray) -> None:
    with pytest.raises(
        StoreError, match=r"array 'x' has dtype .*only booleans, integers and floats"
    ):
        encode_arrays({"x": array}, {})


def test_every_truncation_is_noticed(folder: Path) -> None:
    packed = encode_arrays({"x": np.arange(10)}, {})
    path = folder / "cut"
    for size in range(packed.size_bytes):
        path.write_bytes(b"".join(packed.pieces)[:size])
        with pytest.raises(StoreError, match="truncated"):
            open_array_file(path, packed.sha256)


def test_every_changed_byte_is_noticed(folder: Path) -> None:
    packed = encode_arrays({"x": np.arange(10)}, {})
    content, path = b"".join(packed.pieces), folder / "changed"
    for position in range(packed.size_bytes):
        path.write_bytes(
            content[:position] + bytes([content[position] ^ 64]) + content[position + 1 :]
        )
        with pytest.raises(StoreError, match=r"damaged|has format"):
            open_array_file(path, packed.sha256)


def test_a_foreign_file_is_named_as_such(folder: Path) -> None:
    path = folder / "foreign"
    path.write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(StoreError, match="foreign is not a file of covey"):
        open_array_file(path, "0" * 64)


def test_a_file_with_another_checksum_is_refused(folder: Path) -> None:
    path = write_file(encode_arrays({"x": np.arange(10)}, {}), folder)
    with pytest.raises(StoreError, match="its SHA-256 is"):
        open_array_file(path, encode_arrays({"x": np.arange(11)}, {}).sha256)


def test_a_missing_file_raises_a_store_error(folder: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        open_array_file(folder / "nowhere", "0" * 64)


LIMITED = """
import resource, sys
from pathlib import Path
from covey.errors import StoreError
from covey.store.storage.array_file import open_array_file

used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20),) * 2)
try:
    open_array_file(Path(sys.argv[1]), sys.argv[2])
except StoreError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_limited_address_space_is_explained(folder: Path) -> None:
    packed = encode_arrays({"x": np.zeros(64 << 20, np.uint8)}, {})
    path = write_file(packed, folder)
    command = [sys.executable, "-c", LIMITED, str(path), packed.sha256]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "limited to" in said
    assert "spark.executor.pyspark.memory" in said
