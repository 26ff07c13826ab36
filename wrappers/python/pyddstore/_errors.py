"""One exception class for each class of error of libddstore, each also the closest built-in.

``except ValueError`` and the like work as they do elsewhere in Python; ``except DDSError`` catches
whatever the library reports.
"""

import errno


class DDSError(Exception):
    """What libddstore reported.

    Parameters
    ----------
    code : int
        The class of error, a ``DDS_ERR_*`` of ``ddstore.h``.
    name : str
        The name of that macro.
    rank : int
        The rank that the error is about, or -1.
    text : str
        What happened, with the names and numbers, and what to do about it.
    """

    _errno: int | None = None  # of the classes that are an OSError

    def __init__(self, code: int, name: str, rank: int, text: str) -> None:
        if isinstance(self, OSError):
            super().__init__(self._errno, text)
        else:
            super().__init__(text)
        self.code = code
        self.name = name
        self.rank = rank
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type["DDSError"], tuple[int, str, int, str]]:
        return type(self), (self.code, self.name, self.rank, self.text)


class ArgError(DDSError, ValueError):
    """An argument is negative, malformed or too small."""


class RangeError(DDSError, IndexError, ValueError):
    """A row or a range is past the end."""


class ElementTypeError(DDSError, TypeError):
    """No such element type."""


class NotFoundError(DDSError, KeyError, ValueError):
    """No variable of that name."""


class ExistsError(DDSError, KeyError):
    """A variable of that name is there already."""


class MismatchError(DDSError, ValueError):
    """The ranks of a collective call do not agree; every rank gets this error."""


class SizeError(DDSError, OverflowError):
    """A size does not fit in 63 bits."""


class DeadlineError(DDSError, TimeoutError):
    """A deadline passed."""

    _errno = errno.ETIMEDOUT


class PeerError(DDSError, ConnectionError):
    """Another rank died or left: ``rank`` tells which."""

    _errno = errno.ECONNRESET


class PoisonedError(DDSError, RuntimeError):
    """An earlier collective call was not completed: reads only."""


class StaleError(DDSError, OSError):
    """The data belongs to an earlier run."""

    _errno = errno.ESTALE


class CorruptError(DDSError, OSError):
    """A file or a message is damaged."""

    _errno = errno.EBADMSG


class VersionError(DDSError, OSError):
    """Another version of the library wrote it."""

    _errno = errno.EPROTO


class AccessError(DDSError, PermissionError):
    """Permission was refused."""

    _errno = errno.EACCES


class NoSpaceError(DDSError, OSError):
    """The file system is full."""

    _errno = errno.ENOSPC


class InputOutputError(DDSError, OSError):
    """A file or a socket failed; the text says how."""

    _errno = errno.EIO


class NoMemoryError(DDSError, MemoryError):
    """No memory."""


class LimitError(DDSError, OSError):
    """A limit of the system was hit: descriptors, locked memory, a cgroup."""

    _errno = errno.EMFILE


class StateError(DDSError, RuntimeError):
    """The store is not open, or the call does not fit its state."""


class ForkedError(DDSError, RuntimeError):
    """The store belongs to the parent process."""


class InterruptError(DDSError, KeyboardInterrupt):
    """The wait was interrupted, by something else than a Python signal handler."""


class DeviceError(DDSError, RuntimeError):
    """A GPU failed."""


class UnsupportedError(DDSError, NotImplementedError):
    """Not possible with these peers, this method or this machine."""


class BusyError(DDSError, OSError):
    """In use."""

    _errno = errno.EBUSY


class TruncatedError(DDSError, OSError):
    """The buffer is too small."""

    _errno = errno.EMSGSIZE


class InternalError(DDSError, RuntimeError):
    """A bug in the library."""


# By DDS_ERR_*, from 1.  The numbers of ddstore.h are only ever appended to.
CLASSES: tuple[type[DDSError], ...] = (
    ArgError,
    RangeError,
    ElementTypeError,
    NotFoundError,
    ExistsError,
    MismatchError,
    SizeError,
    DeadlineError,
    PeerError,
    PoisonedError,
    StaleError,
    CorruptError,
    VersionError,
    AccessError,
    NoSpaceError,
    InputOutputError,
    NoMemoryError,
    LimitError,
    StateError,
    ForkedError,
    InterruptError,
    DeviceError,
    UnsupportedError,
    BusyError,
    TruncatedError,
    InternalError,
)
