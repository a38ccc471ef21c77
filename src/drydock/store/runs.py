"""The records of all runs: made within quotas, claimed by workers, ended once. A caller sees its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from drydock.errors import NotFound
from drydock.store.database import Database
from drydock.store.journal import StaleEpoch
from drydock.store.run import ENDED, Run, Status
from drydock.store.tables import runs

_FIELDS = Run.__dataclass_fields__


@dataclass(frozen=True, slots=True)
class Quota:
    """None is no limit. Counted over one caller's runs, in this order; the first that is reached refuses."""

    concurrent: int | None = None
    per_minute: int | None = None
    per_day: int | None = None


@dataclass(frozen=True, slots=True)
class OverQuota:
    which: str
    """concurrent, per_minute or per_day."""
    limit: int


@dataclass(frozen=True, slots=True)
class Used:
    """How much of each quota a caller has used up."""

    concurrent: int
    per_minute: int
    per_day: int


class Runs:
    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, run: Run, quota: Quota = Quota()) -> Run | OverQuota:
        """The run, now queued. The one that holds its (caller, client id) or (caller, idempotency key) if there is
        one: tell it by its id. Counting and reserving are one transaction, so that no crowd gets past a quota."""
        try:
            with self._database.write() as connection:
                self._one_at_a_time(connection, run.caller)
                if (earlier := _earlier(connection, run)) is not None:
                    return earlier
                if (over := _over(connection, run, quota)) is not None:
                    return over
                connection.execute(insert(runs).values(_values(run)))
            return run
        except IntegrityError:
            with self._database.read() as connection:
                holder = _earlier(connection, run)
            if holder is None:
                raise
            return holder

    def _one_at_a_time(self, connection: Connection, caller: str) -> None:
        """PostgreSQL lets two starts of one caller count at once; SQLite has one writer anyway."""
        if not self._database.is_sqlite:
            connection.execute(select(func.pg_advisory_xact_lock(func.hashtext("drydock-quota:" + caller))))

    def get(self, run: str, caller: str | None = None) -> Run | None:
        """None when there is none, or when it is another caller's."""
        with self._database.read() as connection:
            row = connection.execute(select(runs).where(runs.c.id == run)).one_or_none()
        found = None if row is None else _run(row)
        return found if found is not None and caller in (None, found.caller) else None

    def hold(self, connection: Connection, run: str) -> Run | None:
        """The run, which nobody else changes until the caller's transaction ends."""
        row = connection.execute(select(runs).where(runs.c.id == run).with_for_update()).one_or_none()
        return None if row is None else _run(row)

    def by_client_id(self, caller: str, client_id: str) -> Run | None:
        with self._database.read() as connection:
            row = connection.execute(
                select(runs).where(runs.c.caller == caller, runs.c.client_id == client_id)
            ).one_or_none()
        return None if row is None else _run(row)

    def list(
        self,
        caller: str,
        *,
        installation: int | None = None,
        repo: str | None = None,
        status: Sequence[Status] = (),
        before: tuple[datetime, str] | None = None,
        limit: int = 30,
    ) -> Sequence[Run]:
        """Latest change first. `before` is (updated_at, id) of the last one that was seen."""
        wanted = [runs.c.caller == caller]
        if installation is not None:
            wanted.append(runs.c.installation == installation)
        if repo is not None:
            wanted.append(runs.c.repo == repo.lower())
        if status:
            wanted.append(runs.c.status.in_(status))
        if before is not None:
            moment, last = before
            wanted.append(or_(runs.c.updated_at < moment, and_(runs.c.updated_at == moment, runs.c.id < last)))
        query = select(runs).where(*wanted).order_by(runs.c.updated_at.desc(), runs.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [_run(row) for row in connection.execute(query)]

    def used(self, caller: str, now: datetime) -> Used:
        with self._database.read() as connection:
            return Used(*(_count(connection, counted) for counted in _counted(caller, now)))

    def living(self) -> Sequence[Run]:
        """Those that have not ended, oldest first: what a start looks through."""
        query = select(runs).where(runs.c.ended_at.is_(None)).order_by(runs.c.created_at)
        with self._database.read() as connection:
            return [_run(row) for row in connection.execute(query)]

    def list_living(self, caller: str) -> Sequence[Run]:
        """The caller's, newest first."""
        query = (
            select(runs).where(runs.c.caller == caller, runs.c.ended_at.is_(None)).order_by(runs.c.created_at.desc())
        )
        with self._database.read() as connection:
            return [_run(row) for row in connection.execute(query)]

    def claim(self, run: str, worker: str) -> Run | None:
        """Take it over: a new epoch, by which every earlier holder is locked out. None when it has ended."""
        with self._database.write() as connection:
            done = connection.execute(
                update(runs)
                .where(runs.c.id == run, runs.c.ended_at.is_(None))
                .values(epoch=runs.c.epoch + 1, worker=worker)
            )
            if done.rowcount == 0:
                return None
            return _run(connection.execute(select(runs).where(runs.c.id == run)).one())

    def change(
        self,
        run: str,
        *,
        epoch: int | None = None,
        only_if: Sequence[Status] | None = None,
        control: Mapping[str, Any] | None = None,
        connection: Connection | None = None,
        **fields: Any,
    ) -> Run | None:
        """Set fields, and add to `control`. None when its status is not one of `only_if`; a run that has ended
        changes its result and expiry only. StaleEpoch when a newer worker has it."""
        if connection is not None:
            return self._change(connection, run, epoch, only_if, control, fields)
        with self._database.write() as own:
            return self._change(own, run, epoch, only_if, control, fields)

    def _change(
        self,
        connection: Connection,
        run: str,
        epoch: int | None,
        only_if: Sequence[Status] | None,
        control: Mapping[str, Any] | None,
        fields: dict[str, Any],
    ) -> Run | None:
        row = connection.execute(select(runs).where(runs.c.id == run).with_for_update()).one_or_none()
        if row is None:
            raise NotFound("there is no such run", where="id")
        if epoch is not None and row.epoch != epoch:
            raise StaleEpoch(f"run {run} is at epoch {row.epoch}, not {epoch}")
        if (only_if is not None and row.status not in only_if) or (row.status in ENDED and "status" in fields):
            return None
        if control:
            fields["control"] = {**row.control, **control}
        connection.execute(update(runs).where(runs.c.id == run).values(**fields))
        return _run(connection.execute(select(runs).where(runs.c.id == run)).one())


def _earlier(connection: Connection, run: Run) -> Run | None:
    same = [runs.c.id == run.id]
    if run.client_id is not None:
        same.append(and_(runs.c.caller == run.caller, runs.c.client_id == run.client_id))
    if run.idempotency_key is not None:
        same.append(and_(runs.c.caller == run.caller, runs.c.idempotency_key == run.idempotency_key))
    row = connection.execute(select(runs).where(or_(*same))).first()
    return None if row is None else _run(row)


def _over(connection: Connection, run: Run, quota: Quota) -> OverQuota | None:
    limits = (("concurrent", quota.concurrent), ("per_minute", quota.per_minute), ("per_day", quota.per_day))
    for (which, limit), counted in zip(limits, _counted(run.caller, run.created_at), strict=True):
        if limit is not None and _count(connection, counted) >= limit:
            return OverQuota(which, limit)
    return None


def _counted(caller: str, now: datetime) -> Sequence[ColumnElement[bool]]:
    """Which runs each quota counts, in the order in which they are asked."""
    mine = runs.c.caller == caller
    return (
        and_(mine, runs.c.ended_at.is_(None)),
        and_(mine, runs.c.created_at > now - timedelta(seconds=60)),
        and_(mine, runs.c.created_at > now - timedelta(days=1)),
    )


def _count(connection: Connection, counted: ColumnElement[bool]) -> int:
    return connection.scalar(select(func.count()).select_from(runs).where(counted)) or 0


def _values(run: Run) -> dict[str, Any]:
    values = {name: getattr(run, name) for name in _FIELDS}
    return values | {name: dict(values[name]) for name in ("spec", "control", "usage")}


def _run(row: Row[Any]) -> Run:
    return Run(**{name: value for name, value in row._mapping.items() if name in _FIELDS})
