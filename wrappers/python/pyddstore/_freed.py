"""What is given back by ``free()``, by the end of a ``with`` too."""

from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self  # typing's own from Python 3.11 on


class Freed:
    """Base of what holds a handle of the library."""

    def free(self) -> None:
        """Give it back."""
        raise NotImplementedError

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.free()
