"""What may be chosen, and what is refused before anything listens."""

import contextlib
import io

import pytest

from corml.cli._main import main
from corml.errors import DataError, UsageError
from corml.service.options import Options, is_loopback, named_files, read_token

SECRET = "x" * 32


def refused(*words):
    error = io.StringIO()
    with contextlib.redirect_stderr(error), pytest.raises(SystemExit) as left:
        main(["serve", *map(str, words)])
    assert error.getvalue().count("\n") == 1
    return left.value.code, error.getvalue()


def test_the_command_says_in_one_line_what_is_wrong(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("CORML_TOKEN", raising=False)
    model = folder / "plain.corml"
    for words, code, says in (
        ([model, "--host", "0.0.0.0"], 2, "give --token-file FILE"),
        ([model, "--host", "::"], 2, "give --token-file FILE"),
        ([model, "--host", "example.com"], 2, "give --token-file FILE"),
        ([model, "--workers", "500"], 2, "processors"),
        ([model, "--workers", "0"], 2, "1 or more"),
        ([model, "--port", "70000"], 2, "--port"),
        ([model, "--log", "xml"], 2, "plain or json"),
        ([model, "--timeout", "0"], 2, "--timeout"),
        ([model, "--timeout", "1e400"], 2, "--timeout"),
        ([model, "--timeout", "nan"], 2, "--timeout"),
        ([model, "--rate", "0"], 2, "--rate"),
        ([model, "--allow-host", "h\x1b[2J"], 2, "--allow-host"),
        ([model, "--cors", "https://shop.example,*"], 2, "There is no wildcard"),
        ([tmp_path / "nothing.corml"], 3, "No such file"),
        ([tmp_path], 2, "without models"),
        ([model, model], 2, "NAME=FILE"),
        ([f"a={folder}"], 2, "folder with a name"),
        ([tmp_path / "ä.corml"], 2, "cannot be the name"),
        (["/dev/null"], 5, "not a regular file"),
        ([model, "--token-file", tmp_path / "none"], 3, "No such file"),
        ([model, "--port", "1", "--host", "192.0.2.1", "--token-file", token_file(tmp_path)], 2, "Cannot listen"),
    ):
        got = refused(*words)
        assert got[0] == code, got
        assert says in got[1]


def token_file(folder, text=SECRET, mode=0o600):
    path = folder / "token"
    path.write_text(text + "\n")
    path.chmod(mode)
    return path


def test_tokens_are_long_and_private_and_come_from_a_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", SECRET + "y")
    assert read_token(None, "SOME_TOKEN") == SECRET + "y"
    assert read_token(str(token_file(tmp_path)), "SOME_TOKEN") == SECRET
    assert read_token(None, "NO_SUCH_TOKEN") is None
    for text in ("short", "", "ü" * 40, "two words " * 10):
        with pytest.raises(UsageError, match="32 or more"):
            read_token(str(token_file(tmp_path, text)), "SOME_TOKEN")
    with pytest.raises(UsageError, match="chmod 600"):
        read_token(str(token_file(tmp_path, mode=0o666)), "SOME_TOKEN")
    (tmp_path / "bytes").write_bytes(b"\xff" * 40)
    (tmp_path / "bytes").chmod(0o600)
    with pytest.raises(DataError, match="not text"):
        read_token(str(tmp_path / "bytes"), "SOME_TOKEN")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_no_token(host):
    assert is_loopback(host)
    options = Options(models={"a": "a"}, host=host)
    assert host.lower() in options.answered_hosts or f"[{host}]" in options.answered_hosts


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "localhost.example", "", "127.0.0.1.example"])
def test_everything_else_does(host):
    assert not is_loopback(host)
    with pytest.raises(UsageError, match="token"):
        Options(models={"a": "a"}, host=host)
    assert Options(models={"a": "a"}, host=host, token=SECRET).answered_hosts == frozenset()
    named = Options(models={"a": "a"}, host=host, token=SECRET, hosts=("Shop.example",))
    assert named.answered_hosts == {"shop.example"}


@pytest.mark.parametrize("host", ["h\x1b", "", "a b", "shop.example:8000", "http://shop.example", "::1", "*", "h\n"])
def test_a_host_that_no_header_can_name_is_refused(host):
    with pytest.raises(UsageError, match=r"No caller can name .* without its port") as fault:
        Options(models={"a": "a"}, hosts=("localhost", host))
    assert str(fault.value).isprintable()


@pytest.mark.parametrize("host", ["Shop.example", "a_b-c.", "10.0.0.1", "[::1]", "[::ffff:10.0.0.1]", "xn--caf-dma.fr"])
def test_every_name_of_a_header_can_be_allowed(host):
    assert Options(models={"a": "a"}, hosts=(host,)).answered_hosts == {host.lower()}


def test_files_have_the_names_they_are_given_or_their_own(folder):
    files = named_files([f"shop={folder / 'plain.corml'}", str(folder / "dial.corml")])
    assert list(files) == ["shop", "dial"]
    assert list(named_files([str(folder)])) == ["dial", "dial-2", "no-users", "plain", "popularity"]


def test_options_survive_the_way_to_a_worker():
    options = Options(models={"a": "/x"}, token=SECRET, hosts=("a", "b"), cors=("https://a",), host="0.0.0.0", rate=2.5)
    assert Options.of(options.plain()) == options
    assert SECRET not in repr(options)
