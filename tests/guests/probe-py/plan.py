import json
from functools import cache
from typing import Any

MARK = b"lathe-" + b"probe-plan:"

# The extension of a case, as it stands in the case: the mark by which the harness finds the place, JSON, a line's end,
# spaces. It is part of the file and not of the settings, so that `describe` tells the truth about each file.
PLACE = bytearray((MARK + b'{"name":"probe"}\n').ljust(64 << 10))


@cache
def plan() -> dict[str, Any]:
    return json.loads(PLACE[len(MARK) : PLACE.index(b"\n")])
