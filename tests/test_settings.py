"""Every source of a setting, their order, and what an operator reads when one is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticUndefined

from drydock import settings
from drydock.errors import BadSetting
from drydock.settings import Settings, load

SAMPLES: dict[str, tuple[str, Any]] = {
    "host": ("127.0.0.2", "127.0.0.2"),
    "port": ("9001", 9001),
    "data": ("elsewhere", Path("elsewhere")),
    "only": ("code", "code"),
    "root": ("task", "task"),
    "bare": ("false", False),
    "open": ("1", True),
    "sandbox_mode": ("node", "node"),
    "isolation": ("process", "process"),
    "role": ("worker", "worker"),
    "log_level": ("debug", "debug"),
    "output_dir": ("out", "out"),
    "python": ("/usr/bin/python3.11", Path("/usr/bin/python3.11")),
    "max_concurrent": ("7", 7),
    "models": ('{"fast": "openai:small"}', {"fast": "openai:small"}),
}
"""For each setting a text that is allowed and not the default, and what it becomes; the rest is made by `sample`."""

WHOLE = [name for name, field in Settings.model_fields.items() if field.annotation is int]
NUMBERS = [name for name, field in Settings.model_fields.items() if field.annotation is float]


def sample(name: str) -> tuple[str, Any]:
    if name in SAMPLES:
        return SAMPLES[name]
    default = Settings.model_fields[name].default
    if isinstance(default, bool):
        return str(not default).lower(), not default
    if isinstance(default, int | float):
        changed = default * 2 or type(default)(3)
        return str(changed), changed
    return "some-text", "some-text"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`drydock.toml` and `.dev.vars` are read from the current folder, so each test has one of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(flags: dict[str, Any] | None = None, environ: dict[str, str] | None = None) -> BadSetting:
    with pytest.raises(BadSetting) as caught:
        load(flags, environ or {})
    return caught.value


def test_nothing_said_gives_the_defaults() -> None:
    assert load({}, {}) == Settings()


def test_every_setting_has_a_default_and_a_line_of_explanation() -> None:
    for name, field in Settings.model_fields.items():
        assert field.default is not PydanticUndefined, name
        assert (field.description or "").endswith("."), name


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_variable_sets_it(name: str) -> None:
    text, value = sample(name)
    assert getattr(load({}, {settings.variable(name): text}), name) == value != Settings.model_fields[name].default


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_flag_sets_it(name: str) -> None:
    text, value = sample(name)
    assert getattr(load({name: text}, {}), name) == value


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_line_of_drydock_toml_sets_it(name: str, own_folder: Path) -> None:
    text, value = sample(name)
    spelled = str(value).lower() if isinstance(value, bool | int | float) else f"'{text}'"
    (own_folder / "drydock.toml").write_text(f"{name} = {spelled}\n")
    assert getattr(load({}, {}), name) == value


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("SANDBOX_PORT", "port"),
        ("SANDBOX_MODE", "sandbox_mode"),
        ("SANDBOX_MAX_CONCURRENT", "max_concurrent"),
        ("SANDBOX_PYTHON_INDEX", "python_index"),
        ("SANDBOX_OUTPUT_DIR", "output_dir"),
        ("SERVER_AUTH_TOKEN", "server_auth_token"),
        ("ANTHROPIC_API_KEY", "anthropic_api_key"),
        ("ANTHROPIC_BASE_URL", "anthropic_base_url"),
        ("OPENAI_API_KEY", "openai_api_key"),
        ("OPENAI_BASE_URL", "openai_base_url"),
        ("MISTRAL_API_KEY", "mistral_api_key"),
        ("MISTRAL_BASE_URL", "mistral_base_url"),
        ("GOOGLE_API_KEY", "google_api_key"),
        ("GOOGLE_BASE_URL", "google_base_url"),
        ("SANDBOX_JWT_SECRET", "jwt_secret"),
        ("JWT_SECRET", "jwt_secret"),
        ("SANDBOX_DEFAULT_TIMEOUT_SECONDS", "run_timeout"),
        ("SANDBOX_MAX_TIMEOUT_SECONDS", "run_max_timeout"),
        ("SANDBOX_MAX_CONCURRENT_RUNS", "user_concurrent"),
        ("SANDBOX_MAX_RUN_STARTS_PER_MINUTE", "user_per_minute"),
        ("SANDBOX_MAX_RUNS_PER_DAY", "user_per_day"),
    ],
)
def test_the_contracts_own_variable_sets_it(alias: str, name: str) -> None:
    text, value = sample(name)
    assert alias in settings.aliases(name)
    assert getattr(load({}, {alias: text}), name) == value


def test_no_two_settings_share_a_contract_variable() -> None:
    aliases = [alias for name in Settings.model_fields for alias in settings.aliases(name)]
    assert len(aliases) == len(set(aliases)) == 22


@pytest.mark.parametrize("text", ["0", "-3", "2.5", "two", " ", "1e3", "99999999999"])
def test_what_is_no_positive_number_in_a_quota_of_the_contract_is_its_default(text: str) -> None:
    assert load({}, {"SANDBOX_MAX_CONCURRENT_RUNS": text}).user_concurrent == 2
    with pytest.raises(BadSetting):
        load({}, {"DRYDOCK_USER_CONCURRENT": "two"})


def test_the_workers_own_secret_is_stronger_than_the_shared_one_unless_it_is_blank() -> None:
    assert load({}, {"SANDBOX_JWT_SECRET": "a", "JWT_SECRET": "b"}).jwt_secret == "a"
    assert load({}, {"SANDBOX_JWT_SECRET": "  ", "JWT_SECRET": "b"}).jwt_secret == "b"


def test_each_source_yields_to_the_next_stronger_one(own_folder: Path) -> None:
    environ: dict[str, str] = {}
    (own_folder / ".dev.vars").write_text("SANDBOX_PORT=1001\n")
    assert load({}, environ).port == 1001
    (own_folder / ".dev.vars").write_text("SANDBOX_PORT=1001\nDRYDOCK_PORT=1002\n")
    assert load({}, environ).port == 1002
    environ["SANDBOX_PORT"] = "1003"
    assert load({}, environ).port == 1003
    (own_folder / "drydock.toml").write_text("port = 1004\n")
    assert load({}, environ).port == 1004
    environ["DRYDOCK_PORT"] = "1005"
    assert load({}, environ).port == 1005
    assert load({"port": "1006"}, environ).port == 1006


def test_a_flag_that_was_not_given_hides_nothing() -> None:
    assert load({"port": None}, {"DRYDOCK_PORT": "1005"}).port == 1005


@pytest.mark.parametrize("key", ["DRYDOCK_PORT", "SANDBOX_PORT", "DRYDOCK_HOST", "DRYDOCK_DATA", "SANDBOX_MODE"])
def test_an_empty_variable_counts_as_not_set(key: str) -> None:
    assert load({}, {key: ""}) == Settings()


def test_an_unknown_variable_names_the_nearest_right_one() -> None:
    wrong = refused(environ={"DRYDOCK_MAX_CONCURENT": "4"})
    assert wrong.message == "unknown setting DRYDOCK_MAX_CONCURENT in the environment"
    assert wrong.remedy == "Did you mean DRYDOCK_MAX_CONCURRENT?"


def test_an_unknown_variable_is_an_error_even_when_empty() -> None:
    assert "DRYDOCK_MEMROY" in refused(environ={"DRYDOCK_MEMROY": ""}).message


def test_an_unknown_key_of_drydock_toml_names_the_nearest_right_one(own_folder: Path) -> None:
    (own_folder / "drydock.toml").write_text("memmory = 1\n")
    wrong = refused()
    assert wrong.message == "unknown setting memmory in drydock.toml"
    assert wrong.remedy == "Did you mean memory?"


def test_an_unknown_drydock_name_in_dev_vars_names_the_nearest_right_one(own_folder: Path) -> None:
    (own_folder / ".dev.vars").write_text("DRYDOCK_PROT=1\n")
    wrong = refused()
    assert wrong.message == "unknown setting DRYDOCK_PROT in .dev.vars"
    assert wrong.remedy == "Did you mean DRYDOCK_PORT?"


def test_other_programs_variables_are_none_of_our_business(own_folder: Path) -> None:
    (own_folder / ".dev.vars").write_text("STRIPE_API_KEY=sk-1\n")
    elsewhere = {"PATH": "/bin", "DRYDOCK_URL": "http://127.0.0.1:1", "DRYDOCK_API_KEY": "k"}
    assert load({}, elsewhere) == Settings()


@pytest.mark.parametrize("text", ["fast=openai:small", "{", "[]", '"openai:small"', "7"])
def test_a_table_in_a_variable_is_a_json_object(text: str) -> None:
    assert refused(environ={"DRYDOCK_MODELS": text}).where == "DRYDOCK_MODELS"


def test_the_table_of_models_is_one_of_drydock_toml(own_folder: Path) -> None:
    (own_folder / "drydock.toml").write_text('[models]\nfast = "openai:small"\n[models.best]\nmodel = "openai:large"\n')
    assert load({}, {}).models == {"fast": "openai:small", "best": {"model": "openai:large"}}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("text", ["many", "3.0", "1e3", "1_000", "0x10", "true", "3 4", "٣", "-"])
def test_a_whole_number_is_nothing_else(name: str, text: str) -> None:
    key = settings.variable(name)
    assert refused(environ={key: text}).message == f"{key}: must be a whole number, not {text!r}"


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("spelled", ["true", "3.0", "'x'", "[1]"])
def test_a_whole_number_in_drydock_toml_is_nothing_else(name: str, spelled: str, own_folder: Path) -> None:
    (own_folder / "drydock.toml").write_text(f"{name} = {spelled}\n")
    assert refused().message.startswith(f"{name} in drydock.toml: must be a whole number, not ")


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "ten", "1,5", "."])
def test_a_number_is_finite_and_plain(name: str, text: str) -> None:
    key = settings.variable(name)
    assert refused(environ={key: text}).message == f"{key}: must be a number, not {text!r}"


@pytest.mark.parametrize("spelled", ["nan", "inf", "true"])
def test_a_number_in_drydock_toml_is_finite(spelled: str, own_folder: Path) -> None:
    (own_folder / "drydock.toml").write_text(f"cpus = {spelled}\n")
    assert refused().message.startswith("cpus in drydock.toml: ")


@pytest.mark.parametrize("key", ["SANDBOX_MAX_CONCURRENT", "DRYDOCK_MAX_CONCURRENT"])
@pytest.mark.parametrize("text", ["0", "-1", "three", "1.5"])
def test_executions_at_once_is_an_integer_from_one_on(key: str, text: str) -> None:
    assert refused(environ={key: text}).message.startswith(f"{key}: ")


@pytest.mark.parametrize("text", ["a/b", "/", "..", ".", "a\nb", "a\0b", "x" * 256])
def test_the_output_folder_is_one_plain_name(text: str) -> None:
    wrong = refused(environ={"SANDBOX_OUTPUT_DIR": text})
    assert wrong.message == f"SANDBOX_OUTPUT_DIR: must be one plain name, no `/` and no `..`, not {text!r}"


@pytest.mark.parametrize("mode", settings.LANGUAGES)
def test_each_language_can_be_the_default_one(mode: str) -> None:
    assert load({}, {"SANDBOX_MODE": mode}).sandbox_mode == mode


def test_an_unknown_mode_is_refused_in_the_contracts_words() -> None:
    wrong = refused(environ={"SANDBOX_MODE": "ruby"})
    assert wrong.message == 'SANDBOX_MODE: unsupported mode "ruby" (supported: python, golang, node, shell)'


@pytest.mark.parametrize(
    ("told", "where"),
    [
        ({"flags": {"port": "99999"}}, "--port"),
        ({"environ": {"DRYDOCK_PORT": "99999"}}, "DRYDOCK_PORT"),
        ({"environ": {"SANDBOX_PORT": "99999"}}, "SANDBOX_PORT"),
    ],
)
def test_a_bad_value_names_where_it_was_said(told: dict[str, Any], where: str) -> None:
    wrong = refused(**told)
    assert wrong.where == where
    assert wrong.message.startswith(f"{where}: ")
    assert wrong.message.endswith("not '99999'")


def test_a_bad_value_in_a_file_names_the_file(own_folder: Path) -> None:
    (own_folder / ".dev.vars").write_text("SANDBOX_PORT=nine\n")
    assert refused().where == "SANDBOX_PORT in .dev.vars"
    (own_folder / "drydock.toml").write_text("port = 'nine'\n")
    assert refused().where == "port in drydock.toml"


def test_no_secret_is_ever_shown(own_folder: Path) -> None:
    secrets = [name for name in Settings.model_fields if settings.is_secret(name)]
    keys = ["anthropic_api_key", "openai_api_key", "mistral_api_key", "google_api_key"]
    assert secrets == ["server_auth_token", "jwt_secret", "secrets_key", *keys]
    for name in secrets:
        (own_folder / "drydock.toml").write_text(f"{name} = 271828\n")
        wrong = refused()
        assert wrong.message.startswith(f"{name} in drydock.toml: ")
        assert "271828" not in f"{wrong.message} {wrong.remedy} {wrong.where}"


def test_a_line_of_dev_vars_that_is_no_setting_is_named_but_not_shown(own_folder: Path) -> None:
    (own_folder / ".dev.vars").write_text("# fine\n\nSERVER_AUTH_TOKEN\ns3cret\n")
    wrong = refused()
    assert wrong.message == ".dev.vars: Line 3 is not KEY=VALUE, a comment or blank."
    assert "s3cret" not in f"{wrong.message} {wrong.remedy} {wrong.where}"


def test_dev_vars_takes_comments_export_and_quotes(own_folder: Path) -> None:
    (own_folder / ".dev.vars").write_text(
        '# a comment\n\n  export SANDBOX_PORT = \'8181\'\nSERVER_AUTH_TOKEN="a=b#c"\nSANDBOX_MODE=\nKEY="1\n2"\n'
    )
    got = load({}, {})
    assert (got.port, got.server_auth_token, got.sandbox_mode) == (8181, "a=b#c", "")


def test_another_config_file_can_be_named_and_must_be_there(own_folder: Path) -> None:
    (own_folder / "mine.toml").write_text("port = 8282\n")
    assert load({}, {"DRYDOCK_CONFIG": "mine.toml"}).port == 8282
    assert "no such file" in refused(environ={"DRYDOCK_CONFIG": "missing.toml"}).message


@pytest.mark.parametrize("content", [b"port = ", b"\xff\xfe", b"port = 1\nport = 2\n"])
def test_a_config_file_that_cannot_be_read_stops_the_start(content: bytes, own_folder: Path) -> None:
    (own_folder / "drydock.toml").write_bytes(content)
    assert refused().message.startswith("drydock.toml cannot be read: ")


def test_settings_do_not_change_once_read() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().port = 1


def test_importing_the_module_reads_nothing() -> None:
    """A bad environment must be told by `load`, with its remedy, and never by an import."""
    done = subprocess.run(
        [sys.executable, "-c", "import drydock.settings"], env={"DRYDOCK_NONSENSE": "1"}, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_example_to_copy_names_only_variables_that_exist(own_folder: Path) -> None:
    example = (Path(__file__).parent.parent / ".dev.vars.example").read_text()
    offered = [line.lstrip("# ").partition("=")[0] for line in example.splitlines() if "=" in line]
    known = {settings.variable(n) for n in Settings.model_fields} | {
        alias for n in Settings.model_fields for alias in settings.aliases(n)
    }
    assert offered
    assert set(offered) <= known
    (own_folder / ".dev.vars").write_text(example)
    assert load({}, {}) == Settings()
