"""The attempts, one file for each kind of thing that they are after."""

from drydock.box.proof.attempts.escape import ESCAPE
from drydock.box.proof.attempts.leaks import LEAKS
from drydock.box.proof.attempts.limits import LIMITS
from drydock.box.proof.attempts.survivors import SURVIVORS

ATTEMPTS = (*ESCAPE, *LEAKS, *LIMITS, *SURVIVORS)

__all__ = ["ATTEMPTS"]
