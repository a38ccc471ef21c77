"""A try that failed, read from what a provider's library raised: what kind, and whether another try may help.

What a provider says in its body is shown, shortened: it is often the only useful line ("input is too long"). Not so
when it refuses the key, since some repeat the key in that; and the key itself is cut out of every text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from drydock.model.patience import RETRIED

if TYPE_CHECKING:
    from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError

Kind = Literal["missing", "auth", "rate_limited", "error", "bad_answer"]
LONGEST_TEXT = 300
SHORTEST_KEY = 4
"""The placeholder of a model without a key may be shorter, and would be cut out of words."""


@dataclass(frozen=True, slots=True)
class Failure:
    kind: Kind
    text: str
    """What happened, to follow the model's name in a sentence."""
    retryable: bool
    retry_after: float | None = None


MISSING = Failure("missing", "has no key", retryable=False)
EMPTY = Failure("bad_answer", "answered with nothing in it", retryable=True)
UNREADABLE = Failure("bad_answer", "sent an answer that cannot be read", retryable=True)


def read(raised: Exception, key: str) -> Failure | None:
    """None for what is no failure of the provider's: a fault of this program."""
    from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior

    if isinstance(raised, ModelHTTPError):
        return _by_status(raised, key)
    if isinstance(raised, ModelAPIError):
        return _without_status(raised)
    if isinstance(raised, UnexpectedModelBehavior | ValueError | KeyError | TypeError | AttributeError):
        # Libraries read answers with little care: a shape that they do not expect ends in any of these.
        return UNREADABLE
    return None


def _without_status(raised: ModelAPIError) -> Failure:
    """The network's, or told inside a stream that had begun well."""
    from pydantic_ai import exceptions as theirs

    if isinstance(raised, theirs.ModelTimeoutError | theirs.ModelRequestTimeout):
        return Failure("error", "did not answer in time", retryable=True)
    if isinstance(raised, theirs.ModelConnectionError):
        return Failure("error", f"could not be reached, or broke off ({_innermost(raised)})", retryable=True)
    if isinstance(raised, theirs.ModelRateLimitError):
        return Failure("rate_limited", "limits the rate of requests", True, raised.retry_after)
    if isinstance(raised, theirs.ModelAuthenticationError):
        return Failure("auth", "refused the key", retryable=False)
    if isinstance(raised, theirs.ModelServerError | theirs.ModelUnavailableError):
        return Failure("error", "failed in the middle of its answer", True, raised.retry_after)
    if isinstance(raised, theirs.ModelRequestRejectedError | theirs.ModelQuotaExceededError):
        return Failure("error", "refused the request", retryable=False)
    return UNREADABLE


def _by_status(raised: ModelHTTPError, key: str) -> Failure:
    status = raised.status_code
    if status in (401, 403):
        return Failure("auth", f"refused the key ({status})", retryable=False)
    if status == 429:
        return Failure("rate_limited", "limits the rate of requests (429)", True, raised.retry_after)
    said = _said(raised.body, key)
    text = f"answered {status}" + (f": {said}" if said else "")
    return Failure("error", text, status in RETRIED, raised.retry_after)


def _innermost(raised: BaseException) -> str:
    """The type of the first cause alone: texts on the way can hold addresses with anything in them."""
    while raised.__cause__ is not None:
        raised = raised.__cause__
    return type(raised).__name__


def _said(body: Any, key: str) -> str:
    """The message in a provider's error body; they nest it differently."""
    if isinstance(body, str | bytes):
        try:
            body = json.loads(body)
        except ValueError:
            return ""
    for name in ("error", "message", "detail"):
        if isinstance(body, dict) and name in body:
            body = body[name]
    if not isinstance(body, str):
        return ""
    text = body.replace(key, "[secret]") if len(key) >= SHORTEST_KEY else body
    return " ".join(text.split())[:LONGEST_TEXT]
