"""The tree of errors. Each leaf has a stable code, an HTTP status and a remedy.

Rooms raise these and know nothing of HTTP replies; the one border that turns them into a reply is the door
(api/ and dialects/), each in its own shape. `message` is for the caller and must never hold a stack, a path of
this machine or a secret; what an operator needs beside it goes to the log.
"""

from __future__ import annotations

from typing import ClassVar


class DrydockError(Exception):
    """Something the caller or the operator can be told about in one sentence: fact, effect, remedy."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    hint: ClassVar[str] = "Report it with the X-Request-ID of this reply; the server's log has the cause under it."

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = hint or self.hint


class Invalid(DrydockError):
    """The request is not of the form asked for."""

    code = "invalid"
    status = 400
    hint = "Mend the field named in `where` and send the request again."


class TooLarge(Invalid):
    """The request's body is over the limit."""

    code = "too_large"
    status = 413
    hint = "Send a smaller body; the limit is DRYDOCK_BODY_LIMIT."


class RepositoryRefused(Invalid):
    """The address, branch or folder of a repository is none that this server works with."""

    code = "repository_refused"
    hint = "Give https://HOST/OWNER/NAME.git and plain names of branches; the message says which one is not."


class Unauthorized(DrydockError):
    """A credential is configured and none valid was sent."""

    code = "unauthorized"
    status = 401
    hint = "Send `Authorization: Bearer KEY`; an operator makes one with `drydock keys add NAME`."


class Forbidden(DrydockError):
    """The server is open to local callers only, and this one is not."""

    code = "forbidden"
    status = 403
    hint = "Call it from this machine by a loopback name, or make a key with `drydock keys add NAME`."


class NotFound(DrydockError):
    """No such thing, or not the caller's."""

    code = "not_found"
    status = 404
    hint = "Look at the id; a result is kept only as long as the retention setting says."


class MethodNotAllowed(DrydockError):
    """The path is known, the method is not."""

    code = "method_not_allowed"
    status = 405
    hint = "Use a method of the `Allow` header."


class Conflict(DrydockError):
    """The request contradicts one made before."""

    code = "conflict"
    status = 409
    hint = "Use a new Idempotency-Key for a new request."


class AtCapacity(DrydockError):
    """No room now; asking again later is right."""

    code = "at_capacity"
    status = 429
    hint = "Try again after the seconds in Retry-After."


class PushRefused(Conflict):
    """The branch is not one that a run may write, or somebody else wrote it first; nothing was pushed."""

    code = "push_refused"
    hint = "Deliver to another branch; the commit is kept."


class RepositoryFailed(DrydockError):
    """The repository could not be fetched, read or written to; what was there before is unchanged."""

    code = "repository_failed"
    status = 502
    hint = "Look at the repository's address and the credential, then start the run again."

    def __init__(
        self, message: str, *, where: str | None = None, hint: str | None = None, retryable: bool = False
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.retryable = retryable


class QuotaReached(AtCapacity):
    """The caller has as many runs as it may have, or starts them faster than it may."""

    code = "quota"
    hint = "Wait for one of your runs to end, or try again after the seconds in Retry-After."


class ModelFailed(DrydockError):
    """No model answered: neither the one that was asked nor any that stands in for it."""

    code = "model_error"
    status = 502
    hint = "Try again later, or name another model; `fallback` in [models] of drydock.toml does that by itself."

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.retryable = retryable
        """Whether the same request may succeed later."""
        self.retry_after = retry_after
        """Seconds that the provider asks for, when it said."""


class ModelMissing(ModelFailed):
    """No model is configured, or there is no key for the one that is."""

    code = "model_missing"
    status = 503
    hint = "Set DRYDOCK_MODEL and its provider's key, ANTHROPIC_API_KEY for instance, or `drydock secrets set` the key."


class ModelAuth(ModelFailed):
    """The provider refused the key."""

    code = "model_auth"
    hint = "Look at the provider's key: whether it is valid, and whether it may use this model."


class ModelRateLimited(ModelFailed):
    """The provider limits the rate of requests, and went on doing so."""

    code = "model_rate_limited"
    status = 429
    hint = "Try again later, ask the provider for a higher limit, or name a `fallback` in [models] of drydock.toml."


class ModelBadAnswer(ModelFailed):
    """The model's answers were empty or cannot be read."""

    code = "model_bad_answer"
    hint = "Try again, or name another model; an address in [models] must speak its provider's protocol."


class BoxFailed(DrydockError):
    """The box could not be made or broke; the program was not at fault."""

    code = "box_failed"
    status = 500
    hint = "Run `drydock doctor` on the server, and look in its log under this X-Request-ID."


class Draining(DrydockError):
    """The server is stopping and takes no new work."""

    code = "shutting_down"
    status = 503
    hint = "Send it again to another server, or to this one once it is back."


class Unavailable(DrydockError):
    """A part that the request needs is missing on this server."""

    code = "unavailable"
    status = 503
    hint = "The message names the part; its page in docs/ says how to add it."


class CannotStart(DrydockError):
    """The server or a command cannot start; printed by the command line, never sent."""

    code = "cannot_start"
    status = 500
    hint = "Mend what the message names and start again."


class BadSetting(CannotStart):
    """A setting is unknown or its value is not allowed."""

    code = "bad_setting"
    hint = "docs/reference/settings.md lists every setting."
