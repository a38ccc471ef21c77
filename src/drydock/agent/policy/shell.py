"""A command line, read as a shell reads it: which programs it starts, and what of it is only quoted text."""

from __future__ import annotations

from dataclasses import dataclass, field

DEEPEST = 8
_SKIPPED = {"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}", "!", "time"}
"""Words of the shell's grammar after which a command begins, or nothing does."""
_STRANGE = {"case", "esac", "select", "function", "coproc", "[["}
"""Grammar that is not read here."""


class Unread(Exception):
    """The line is more than this reader understands."""


class Malformed(Exception):
    """No shell would run it."""


@dataclass(slots=True)
class Simple:
    """One program with its words, quotes removed. `$name` stays as it is written."""

    words: list[str] = field(default_factory=list)
    piped: bool = False
    """Its input comes from the program before it."""
    into: bool = False
    """Its output goes into the program after it."""
    redirected: bool = False


@dataclass(slots=True)
class Line:
    commands: list[Simple] = field(default_factory=list)
    chained: bool = False
    """A chain, pipe or background sign outside quotes."""
    evaluated: bool = False
    """A substitution, which a shell evaluates inside double quotes too."""


def read(text: str) -> Line:
    line = Line()
    _Reader(text, line, 0).read()
    return line


class _Reader:
    """One level of a line; a substitution's inside is read by another, into the same Line."""

    def __init__(self, text: str, line: Line, depth: int) -> None:
        if depth > DEEPEST:
            raise Unread("it is nested too deeply")
        self._text, self._line, self._depth = text, line, depth
        self._at = 0
        self._simple = Simple()
        self._word: str | None = None
        self._quoted = False
        self._is_target = False

    def read(self, closing: str = "") -> int:
        """Up to its end, or behind the `closing` sign; gives where that is."""
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign == closing:
                self._end_command()
                return self._at + 1
            self._sign(sign)
        if closing:
            raise Malformed(f"a `{closing}` is missing")
        self._end_command()
        return self._at

    def _sign(self, sign: str) -> None:
        if sign in " \t":
            self._end_word()
            self._at += 1
        elif sign in "'\"\\`$":
            self._quote(sign)
        elif sign in "|&;\n()":
            self._operator(sign)
        elif sign in "<>":
            self._redirect(sign)
        elif sign == "#" and self._word is None:
            end = self._text.find("\n", self._at)
            self._at = end if end >= 0 else len(self._text)
        else:
            self._add(sign)
            self._at += 1

    def _quote(self, sign: str) -> None:
        if sign == "\\":
            if self._at + 1 >= len(self._text):
                raise Malformed("it ends with a backslash")
            self._add(self._text[self._at + 1], quoted=True)
            self._at += 2
        elif sign == "'":
            end = self._text.find("'", self._at + 1)
            if end < 0:
                raise Malformed("a single quote is not closed")
            self._add(self._text[self._at + 1 : end], quoted=True)
            self._at = end + 1
        elif sign == '"':
            self._double()
        else:
            self._substitute(sign)

    def _double(self) -> None:
        self._add("", quoted=True)
        self._at += 1
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign == '"':
                self._at += 1
                return
            if sign == "\\" and self._text[self._at + 1 : self._at + 2] in tuple('"\\$`'):
                self._add(self._text[self._at + 1])
                self._at += 2
            elif sign in "$`":
                self._substitute(sign)
            else:
                self._add(sign)
                self._at += 1
        raise Malformed("a double quote is not closed")

    def _substitute(self, sign: str) -> None:
        """`$(...)`, backticks, or a plain `$`."""
        if sign == "`":
            end = self._text.find("`", self._at + 1)
            if end < 0:
                raise Malformed("a backtick is not closed")
            self._inner(self._text[self._at + 1 : end])
            self._add("$")
            self._at = end + 1
        elif self._text.startswith("$((", self._at):
            end = self._text.find("))", self._at)
            if end < 0 or "`" in self._text[self._at : end] or "$(" in self._text[self._at + 2 : end]:
                raise Unread("its arithmetic is not plain")
            self._line.evaluated = True
            self._add("$")
            self._at = end + 2
        elif self._text.startswith("$(", self._at):
            self._line.evaluated = True
            self._add("$")
            self._nested(self._at + 2)
        else:
            self._add("$")
            self._at += 1

    def _inner(self, text: str) -> None:
        self._line.evaluated = True
        _Reader(text, self._line, self._depth + 1).read()

    def _nested(self, begin: int) -> None:
        inner = _Reader(self._text, self._line, self._depth + 1)
        inner._at = begin
        self._at = inner.read(")")

    def _operator(self, sign: str) -> None:
        if sign == "(":
            if self._word is not None or self._simple.words:
                raise Unread("it defines a function or uses an array")
            self._line.chained = True
            self._nested(self._at + 1)
            return
        if sign == ")":
            raise Malformed("a `)` has no beginning")
        if self._text.startswith("&>", self._at):
            self._redirect(sign)
            return
        self._line.chained = True
        width = 2 if self._text[self._at : self._at + 2] in ("&&", "||", "|&", ";;") else 1
        pipe = sign == "|" and self._text[self._at : self._at + 2] != "||"
        self._simple.into = pipe
        self._end_command()
        self._simple.piped = pipe
        self._at += width

    def _redirect(self, sign: str) -> None:
        if self._text.startswith(("<(", ">("), self._at):
            self._line.evaluated = True
            self._add("$")
            self._nested(self._at + 2)
            return
        if self._text.startswith("<<", self._at) and not self._text.startswith("<<<", self._at):
            raise Unread("it holds a here-document")
        if self._word is not None and self._word.isdigit() and not self._quoted:
            self._word = None  # the number of a descriptor
        self._end_word()
        self._simple.redirected = self._is_target = True
        while self._at < len(self._text) and self._text[self._at] in "<>&|":
            self._at += 1

    def _add(self, text: str, *, quoted: bool = False) -> None:
        self._word = (self._word or "") + text
        self._quoted = self._quoted or quoted

    def _end_word(self) -> None:
        word, quoted = self._word, self._quoted
        self._word, self._quoted = None, False
        if word is None:
            return
        if self._is_target:
            self._is_target = False
            return
        if not self._simple.words and not quoted:
            if word in _SKIPPED:
                return
            if word in _STRANGE:
                raise Unread(f"it holds `{word}`")
        self._simple.words.append(word)

    def _end_command(self) -> None:
        self._end_word()
        if self._simple.words or self._simple.redirected:
            self._line.commands.append(self._simple)
        self._simple = Simple()
