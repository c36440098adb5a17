"""Print "version folder" of the XLA FFI headers in this Python's jaxlib, without importing it."""

import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

spec = find_spec("jaxlib")
if spec is None or spec.origin is None:
    sys.exit("there is no jaxlib, whose headers the build of SWEEP needs")
headers = Path(spec.origin).parent / "include"
if not (headers / "xla/ffi/api/ffi.h").is_file():
    sys.exit(f"jaxlib {version('jaxlib')} has no xla/ffi/api/ffi.h")
print(version("jaxlib"), headers)
