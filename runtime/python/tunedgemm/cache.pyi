# The types of cache.py: with as_frame=True a view gives a pandas.DataFrame, else dicts.
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Optional, Protocol, Union, overload

_Path = Union[str, PathLike[str], None]

class _View(Protocol):
    @overload
    def __call__(
        self, path: _Path = ..., *, as_frame: Literal[False] = ..., **equal: Any
    ) -> list[dict[str, Any]]: ...
    @overload
    def __call__(self, path: _Path = ..., *, as_frame: Literal[True], **equal: Any) -> Any: ...

best: _View
missing: _View
trials: _View
failures: _View
stale: _View
coverage: _View
help: _View

def default_path() -> Optional[Path]: ...
