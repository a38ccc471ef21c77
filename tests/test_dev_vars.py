import pytest

from drydock.dev_vars import parse
from drydock.errors import Invalid


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("# nothing\n\n   # more\n", {}),
        ("A=1\nB = 2 \nexport C=3", {"A": "1", "B": "2", "C": "3"}),
        ("A=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("\ufeffA=1", {"A": "1"}),
        ("A=\nB= \nC=  # later\nD=''\n", {"A": "", "B": "", "C": "", "D": ""}),
        ("A=x # said\nB=x#y\nC=a b  c\n", {"A": "x", "B": "x#y", "C": "a b  c"}),
        ('A=a=b==\nB=it\'s\nC=sk-ant-"x"', {"A": "a=b==", "B": "it's", "C": 'sk-ant-"x"'}),
        ("A=\"x # y\" # said\nB=' z '\nC=`\"'`\n", {"A": "x # y", "B": " z ", "C": "\"'"}),
        ('A="a\\nb\\"c\\\\n\\d"\nB=\'a\\nb\'\n', {"A": 'a\nb"c\\n\\d', "B": "a\\nb"}),
        ('A="-----BEGIN\nkey\n-----END"\nB=1\n', {"A": "-----BEGIN\nkey\n-----END", "B": "1"}),
        ("A=1\nA=2\n", {"A": "2"}),
        ("  A=1\n\t B=2", {"A": "1", "B": "2"}),
    ],
)
def test_a_file_is_read_as_wrangler_reads_it(text: str, found: dict[str, str]) -> None:
    assert parse(text) == found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("hunter2", 1),
        ("A=1\n\n# x\nhunter2\n", 4),
        ('A="a\nb"\nB="hunter2', 3),
        ("A='x' hunter2", 1),
        ("1A=hunter2", 1),
        ("A-B=hunter2", 1),
        ("=hunter2", 1),
        ("A=#hunter2", 1),
    ],
)
def test_a_line_of_another_form_is_told_by_its_number_alone(text: str, line: int) -> None:
    with pytest.raises(Invalid) as refused:
        parse(text)
    assert refused.value.where == f"line {line}"
    assert "hunter2" not in refused.value.message + refused.value.remedy
