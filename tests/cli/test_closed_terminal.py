"""What is printed to a terminal that was closed goes nowhere: it ends no command."""

import errno
import os

import pytest

from steelyard.cli.safe_output import Output


def test_writing_to_a_closed_terminal_is_no_error():
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as stream:
        output = Output(stream)
        assert output.isatty()
        print("before", file=output, flush=True)
        assert os.read(ours, 100) == b"before\r\n"
        os.close(ours)
        with pytest.raises(OSError) as bare:  # what a bare stream does
            os.write(theirs, b"x")
        assert bare.value.errno == errno.EIO
        print("after", file=output, flush=True)
        assert not output.isatty()
