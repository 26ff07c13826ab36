"""Reads that go on while the program does something else."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._binding import check, failed, ffi, hold, lib, milliseconds
from ._errors import DDSError, StateError

if TYPE_CHECKING:
    from ._store import Store


class Request:
    """A read under way, of `Store.iget_batch`.  Keeps its buffers alive until it has ended.

    One thread at a time.  A request that is dropped is cancelled.
    """

    def __init__(self, store: "Store", out: NDArray[Any], buffers: Any) -> None:
        self._c = ffi.new("dds_request_t *")
        self._store = store  # a store that is collected ends its reads
        self._out = out
        self._buffers = buffers
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        """Whether it has ended, as far as is known; `test` moves it on and looks."""
        return not self._c[0]

    def _note(self, code: int) -> None:
        # Of a call that may have ended it: keeps the read's own error for all who ask.
        if code:
            try:
                failed(code)
            except DDSError as error:
                if not self.done:
                    raise
                self._error = error
                hold(self._store._handle, self._buffers)
        if self.done:
            self._buffers = None

    def wait(self, timeout: float | None = None) -> NDArray[Any]:
        """Wait for the end and return the rows.

        Parameters
        ----------
        timeout : float, optional
            Seconds; default: the deadline of reads, counted from the last progress.

        Raises
        ------
        DeadlineError
            Not ended yet: the read goes on, where ``done`` is false.
        DDSError
            What the read itself failed with, also when asked again.
        """
        if not self.done:
            self._note(lib.dds_wait(self._c, milliseconds(timeout)))
        if self._error is not None:
            raise self._error
        return self._out

    result = wait

    def test(self) -> bool:
        """Move the read on and tell whether it has ended; never waits.

        Raises
        ------
        DDSError
            What the read itself failed with.
        """
        if not self.done:
            ended = ffi.new("int *")
            self._note(lib.dds_test(self._c, ended))
        if self._error is not None:
            raise self._error
        return self.done

    def cancel(self) -> None:
        """End it without its data; the buffers are the caller's again on return."""
        if self.done:
            return
        check(lib.dds_cancel(self._c))
        hold(self._store._handle, self._buffers)
        self._buffers = None
        text = "the request was cancelled"
        self._error = StateError(lib.DDS_ERR_STATE, "DDS_ERR_STATE", -1, text)

    def __del__(self) -> None:
        if self._c and self._c[0]:
            lib.dds_cancel(self._c)
            hold(self._store._handle, self._buffers)

    def __repr__(self) -> str:
        state = "open" if not self.done else "failed" if self._error else "ended"
        return f"<pyddstore.Request of {len(self._out)} rows, {state}>"


def waitany(requests: Sequence[Request], timeout: float | None = None) -> int | None:
    """Wait until one of `requests` has ended and return its place.

    Parameters
    ----------
    requests : sequence of Request
    timeout : float, optional
        Seconds; default: the deadline of reads.

    Returns
    -------
    int or None
        None where all of them had ended before.

    Raises
    ------
    DeadlineError
        None of them has ended in time.
    DDSError
        What the one that ended failed with; it is then ``done``, and tells again when asked.
    """
    handles = ffi.new("dds_request_t[]", [request._c[0] for request in requests])
    place = _wait_any(requests, handles, milliseconds(timeout))
    if place is not None:
        requests[place].wait()
    return place


def _wait_any(requests: Sequence[Request], handles: Any, timeout_ms: int) -> int | None:
    index = ffi.new("int *", -1)
    code = lib.dds_waitany(len(requests), handles, timeout_ms, index)
    place: int = index[0]
    if place < 0:
        check(code)
        return None
    requests[place]._c[0] = handles[place]
    requests[place]._note(code)
    return place


def waitall(requests: Sequence[Request], timeout: float | None = None) -> list[NDArray[Any]]:
    """Wait for all of `requests` and return their rows, in their order.

    Parameters
    ----------
    requests : sequence of Request
    timeout : float, optional
        Seconds for all of them; default: the deadline of reads, counted from the last progress.

    Raises
    ------
    DeadlineError
        Not all have ended in time; the others go on.
    DDSError
        What the first that failed, in their order, failed with, once all have ended.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    handles = ffi.new("dds_request_t[]", [request._c[0] for request in requests])
    wait_ms = milliseconds(timeout)
    # One by one, so that each keeps its own error.
    while not all(request.done for request in requests):
        _wait_any(requests, handles, wait_ms)
        if deadline is not None:
            wait_ms = milliseconds(max(deadline - time.monotonic(), 0.001))
    return [request.wait() for request in requests]


def as_status(status: NDArray[np.int32] | None, n: int) -> Any:
    """Return the buffer of one code a row, or NULL."""
    if status is None:
        return ffi.NULL
    if status.dtype != np.int32 or status.shape != (n,):
        raise ValueError(f"status is one int32 a row: {n} of them")
    return ffi.from_buffer("int32_t[]", status, require_writable=True)
