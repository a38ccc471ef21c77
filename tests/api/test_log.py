"""The log: one JSON object a line, no secrets, and never in the server's way."""

from __future__ import annotations

import io
import json
import logging
import os
import threading

from drydock.observe.log import Behind, Forward, Log


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_an_object_with_time_level_event_and_fields() -> None:
    stream = io.StringIO()
    Log(stream=stream).info("request", status=200, path="/a\nb")
    [line] = lines(stream)
    assert list(line) == ["time", "level", "event", "status", "path"]
    assert (line["level"], line["event"], line["path"]) == ("info", "request", "/a\nb")


def test_lines_below_the_level_are_left_out() -> None:
    stream = io.StringIO()
    log = Log("warning", stream)
    log.debug("a")
    log.info("b")
    log.warning("c")
    assert [line["event"] for line in lines(stream)] == ["c"]


def test_known_secrets_are_cut_out_also_from_stacks() -> None:
    stream = io.StringIO()
    try:
        raise ValueError("it was s3cret-token")
    except ValueError as wrong:
        Log(stream=stream, secrets=["s3cret-token", ""]).error("internal", wrong, note="s3cret-token")
    assert "s3cret-token" not in stream.getvalue()
    assert "it was [secret]" in stream.getvalue()


def test_lines_of_libraries_have_the_same_form() -> None:
    stream = io.StringIO()
    logger = logging.getLogger("drydock.test")
    handler = Forward(Log(stream=stream))
    logger.addHandler(handler)
    logger.warning("it is %d", 5)
    logger.removeHandler(handler)
    assert lines(stream)[0]["message"] == "it is 5"


def test_a_reader_that_has_stopped_stops_nobody_and_is_told_what_it_missed() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        behind = Behind(stream, most=50)
        for _ in range(1000):
            behind.write("x" * 1000 + "\n")
        text: list[str] = []

        def read() -> None:
            with os.fdopen(reading) as end:
                text.append(end.read())

        reader = threading.Thread(target=read)
        reader.start()
        behind.write("last\n")
        behind.close()
    reader.join()
    assert '"event": "log_dropped"' in text[0]
