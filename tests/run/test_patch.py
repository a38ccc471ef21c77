import pytest

from drydock.run.patch import of_file, parts

PLAIN = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
RENAMED = "diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n"
QUOTED = 'diff --git "a/\\303\\244" "b/\\303\\244"\n--- "a/\\303\\244"\n+++ "b/\\303\\244"\n@@ -1 +1 @@\n-a\n+b\n'
MADE = "diff --git a/made b/made\nnew file mode 100644\n--- /dev/null\n+++ b/made\n@@ -0,0 +1 @@\n+diff --git a/x b\n"
EMPTY = "diff --git a/two words b/two words\nnew file mode 100644\n"
WHOLE = PLAIN + RENAMED + QUOTED + MADE + EMPTY


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("a.txt", PLAIN),
        ("old name", RENAMED),
        ("new name", RENAMED),
        ("ä", QUOTED),
        ("made", MADE),
        ("two words", EMPTY),
        ("x", None),
        ("", None),
    ],
)
def test_the_part_of_a_file_is_found_by_either_of_its_names(path: str, part: str | None) -> None:
    assert of_file(WHOLE, path) == part


def test_the_parts_are_the_whole() -> None:
    assert "".join(parts(WHOLE)) == WHOLE
    assert list(parts("")) == []
