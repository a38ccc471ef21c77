"""Counters, gauges and histograms, rendered in the text format that Prometheus reads (version 0.0.4).

One thread writes (the event loop's), so there are no locks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
Labels = tuple[str, ...]


class Counter:
    kind = "counter"

    def __init__(self, name: str, what: str, labels: Labels = ()) -> None:
        self.name, self.what, self.labels = name, what, labels
        self._counts: dict[Labels, int] = {}

    def add(self, *values: str) -> None:
        self._counts[values] = self._counts.get(values, 0) + 1

    def lines(self) -> list[str]:
        return [f"{self.name}{_braces(self.labels, values)} {count}" for values, count in sorted(self._counts.items())]


class Gauge:
    """A number that is looked up when somebody asks."""

    kind = "gauge"

    def __init__(self, name: str, what: str, read: Callable[[], float]) -> None:
        self.name, self.what, self._read = name, what, read

    def lines(self) -> list[str]:
        return [f"{self.name} {self._read():g}"]


class Histogram:
    kind = "histogram"

    def __init__(self, name: str, what: str, labels: Labels = ()) -> None:
        self.name, self.what, self.labels = name, what, labels
        self._seen: dict[Labels, tuple[list[int], list[float]]] = {}

    def observe(self, seconds: float, *values: str) -> None:
        if values not in self._seen:
            self._seen[values] = ([0] * (len(BUCKETS) + 1), [0.0])
        counts, total = self._seen[values]
        counts[bisect_left(BUCKETS, seconds)] += 1
        total[0] += seconds

    def lines(self) -> list[str]:
        lines = []
        for values, (counts, total) in sorted(self._seen.items()):
            running = 0
            for bound, count in zip([*(f"{edge:g}" for edge in BUCKETS), "+Inf"], counts, strict=True):
                running += count
                lines.append(f"{self.name}_bucket{_braces((*self.labels, 'le'), (*values, bound))} {running}")
            lines.append(f"{self.name}_sum{_braces(self.labels, values)} {total[0]:.6f}")
            lines.append(f"{self.name}_count{_braces(self.labels, values)} {running}")
        return lines


Metric = Counter | Gauge | Histogram


class Metrics:
    """Every number that this server keeps, by name."""

    def __init__(self, gauges: Mapping[str, tuple[str, Callable[[], float]]] | None = None) -> None:
        self.requests = Counter(
            "drydock_requests_total", "HTTP requests answered, by door and status.", ("door", "status")
        )
        self.seconds = Histogram(
            "drydock_request_seconds", "Time from a request's head to its answer's end.", ("door",)
        )
        self.executions = Counter(
            "drydock_executions_total", "Executions ended, by door and reason.", ("door", "reason")
        )
        self.refused = Counter("drydock_refused_total", "Executions refused for want of room, by door.", ("door",))
        self._all: list[Metric] = [self.requests, self.seconds, self.executions, self.refused]
        for name, (what, read) in (gauges or {}).items():
            self.gauge(name, what, read)

    def gauge(self, name: str, what: str, read: Callable[[], float]) -> None:
        self._all.append(Gauge(name, what, read))

    def render(self) -> str:
        lines = []
        for metric in self._all:
            lines += [f"# HELP {metric.name} {metric.what}", f"# TYPE {metric.name} {metric.kind}", *metric.lines()]
        return "\n".join(lines) + "\n"


def _braces(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    return "{" + ",".join(f'{name}="{_quoted(value)}"' for name, value in zip(names, values, strict=True)) + "}"


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
