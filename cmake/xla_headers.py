"""Prints "version folder" of the XLA FFI headers in the jaxlib that this Python has, without importing it."""

import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

spec = find_spec("jaxlib")
if spec is None or spec.origin is None:
    sys.exit("no jaxlib where SWEEP was built, whose headers it needs")
headers = Path(spec.origin).parent / "include"
if not (headers / "xla/ffi/api/ffi.h").is_file():
    sys.exit(f"jaxlib {version('jaxlib')} brings no xla/ffi/api/ffi.h")
print(version("jaxlib"), headers)
