"""Print "version folder" of the XLA FFI headers in the jaxlib of this Python, without an import of jaxlib."""

import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

spec = find_spec("jaxlib")
if spec is None or spec.origin is None:
    sys.exit("jaxlib, whose headers the build needs, is not installed in this Python")
headers = Path(spec.origin).parent / "include"
if not (headers / "xla/ffi/api/ffi.h").is_file():
    sys.exit(f"jaxlib {version('jaxlib')} has no header xla/ffi/api/ffi.h")
print(version("jaxlib"), headers)
