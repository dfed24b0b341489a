"""The files of deploy/, checked without Docker: they parse, they hold together, and they give nothing away."""

import configparser
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import corml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
SBIN = f"{os.environ['PATH']}:/usr/sbin"  # where it is found without rights as well
ROOT = DEPLOY.parent


def text(name):
    return (DEPLOY / name).read_text("utf-8")


def instructions():
    """Of the Dockerfile: keyword and the rest, with continued lines joined."""
    lines = re.sub(r"^\s*#.*\n", "", text("Dockerfile"), flags=re.M).replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]


def last_stage():
    rows = instructions()
    start = max(at for at, (word, _) in enumerate(rows) if word == "FROM")
    return rows[start:]


COMPOSE = yaml.safe_load(text("compose.yaml"))
SERVICES = COMPOSE["services"]


# --- the image -------------------------------------------------------------------------------------------------------


def test_base_images_have_a_version_and_can_be_pinned():
    rows = instructions()
    (argument,) = [rest for word, rest in rows[: [word for word, _ in rows].index("FROM")] if word == "ARG"]
    name, _, image = argument.partition("=")
    assert re.fullmatch(r"[a-z]+:\d+\.\d+[\w.-]*", image)
    assert {rest.split()[0] for word, rest in rows if word == "FROM"} == {f"${{{name}}}"}
    assert SERVICES["corml"]["build"]["args"] == {name: f"${{{name}:-{image}}}"}
    assert f"--build-arg {name}=" in (ROOT / "docs" / "deploy.md").read_text("utf-8")


def test_the_image_runs_as_nobody_in_particular():
    words = [word for word, _ in last_stage()]
    (user,) = [rest for word, rest in last_stage() if word == "USER"]
    assert all(part.isdigit() and int(part) > 0 for part in user.split(":"))
    assert "RUN" not in words[words.index("USER") :]  # what is run for the image is done before


def test_the_image_says_whether_it_is_healthy_and_stops_in_order():
    rows = dict(last_stage())
    assert "/healthz" in rows["HEALTHCHECK"]
    assert rows["STOPSIGNAL"] == "SIGTERM"
    assert rows["ENTRYPOINT"].startswith("[")  # no shell between a signal and the service
    assert rows["CMD"].startswith("[")
    assert text("entrypoint.sh").splitlines()[-1] == 'exec "$@"'


def test_versions_are_pinned_and_nothing_secret_is_built_in():
    runs = [part.strip() for word, rest in instructions() if word == "RUN" for part in rest.split("&&")]
    assert [part for part in runs if "requirements.lock" in part] == [
        f"grep -E 'hash=.* # (.* )?{groups}( |$)' requirements.lock > {name}.txt"
        for name, groups in (("serve", "(corml|serve)"), ("build", "build"))
    ]
    installs = [part for part in runs if "pip install" in part]
    assert [part.split()[-1] for part in installs] == ["serve.txt", "build.txt", "/wheel/*.whl"]
    assert all("--require-hashes --no-deps --only-binary :all: --requirement " in part for part in installs[:-1])
    assert "--no-deps --no-index" in installs[-1]  # ours, made of the source here
    assert all("--no-build-isolation" in part for part in runs if "pip wheel" in part)  # with what has hashes
    assert not [rest for word, rest in instructions() if word == "ADD" or "token=" in rest.lower()]
    assert not [rest for word, rest in instructions() if word in ("ENV", "ARG") and "TOKEN" in rest]


def test_what_is_copied_is_there_and_is_let_in():
    let_in = {line[1:] for line in text("Dockerfile.dockerignore").splitlines() if line.startswith("!")}
    assert text("Dockerfile.dockerignore").splitlines()[1] == "*"
    copied = [rest.split()[:-1] for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    files = {file for files in copied for file in files}
    assert files == let_in
    assert all((ROOT / file).exists() for file in files)


def test_kernels_are_compiled_where_the_start_looks_for_them():
    (compiled,) = [rest for word, rest in last_stage() if word == "RUN" and "compile_kernels" in rest]
    folder = re.search(r"NUMBA_CACHE_DIR=(\S+)", compiled)[1]
    assert f"kernels=${{CORML_KERNELS:-{folder}}}" in text("entrypoint.sh")


def test_the_start_hands_the_kernels_over_in_a_folder_that_can_be_written(tmp_path):
    kernels, place = tmp_path / "kernels", tmp_path / "tmp"
    (kernels / "inner").mkdir(parents=True)
    (kernels / "inner" / "a.nbi").write_text("code")
    place.mkdir()
    given = {**os.environ, "CORML_KERNELS": str(kernels), "TMPDIR": str(place)}
    command = ["/bin/sh", DEPLOY / "entrypoint.sh", "sh", "-c", 'cat "$NUMBA_CACHE_DIR/inner/a.nbi"; exit 7']
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("code", 7)
    (folder,) = place.iterdir()
    assert folder.stat().st_mode & 0o077 == 0  # code is loaded from it


# Loads a model as a service does, and prints how many kernels had to be compiled.
SERVE = """
import sys
from corml._runtime.compiled import compilation
from corml.service import served

sys.path.insert(0, sys.argv[1])
from compile_kernels import interactions
import corml

counts = [(0, 0)]
path = sys.argv[2] + "/m.corml"
model = corml.CoRML(rank=64, adapt=False, max_steps=2, tol=0).fit(interactions(5_000))
model.save(path)
with compilation(lambda done, begun: counts.append((done, begun))):
    served.load("m", path).model.recommend(history=[["1", "2"]], k=10)
print(counts[-1][1])
"""


@pytest.mark.slow
def test_an_image_compiles_nothing_when_it_starts(tmp_path):
    pytest.importorskip("corml.service.served")
    kernels = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "built")}
    subprocess.run([sys.executable, DEPLOY / "compile_kernels.py"], env=kernels, check=True)
    start = {**os.environ, "CORML_KERNELS": str(tmp_path / "built"), "TMPDIR": str(tmp_path)}
    command = ["/bin/sh", DEPLOY / "entrypoint.sh", sys.executable, "-c", SERVE, DEPLOY, tmp_path]
    assert subprocess.run(command, env=start, capture_output=True, text=True, check=True).stdout == "0\n"


# --- compose, Prometheus ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SERVICES)
def test_no_container_can_write_gain_rights_or_drift(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    image = re.sub(r"^\$\{\w+:-(.+)\}$", r"\1", service["image"])  # what it is if nobody says otherwise
    assert re.search(r":v?\d+\.\d+\.\d+$", image)
    assert not service.get("privileged")


def test_nothing_is_open_to_other_machines():
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_image_has_the_version_of_the_package():
    assert SERVICES["corml"]["image"] == f"corml:{corml.__version__}"
    for page in (text("Dockerfile"), (ROOT / "docs" / "deploy.md").read_text("utf-8")):
        assert set(re.findall(r"--tag corml:(\S+)", page)) == {corml.__version__}
    assert (DEPLOY / SERVICES["corml"]["build"]["context"]).resolve() == ROOT
    assert (ROOT / SERVICES["corml"]["build"]["dockerfile"]).is_file()


def test_every_secret_network_and_volume_is_declared_and_every_file_is_there():
    for service in SERVICES.values():
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])
        assert set(service.get("networks", [])) <= set(COMPOSE["networks"])
        for volume in service.get("volumes", []):
            source, _, mode = volume.partition(":")
            if source.startswith("./") and source != "./models":  # that folder is the reader's
                assert (DEPLOY / source).is_file()
                assert mode.endswith(":ro")
            elif not source.startswith("./"):
                assert source in COMPOSE["volumes"]
    assert SERVICES["corml"]["volumes"] == ["./models:/models:ro"]


def test_prometheus_asks_the_service_with_its_token():
    asked = yaml.safe_load(text("prometheus.yml"))
    (job,) = asked["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    host, _, port = target.partition(":")
    assert host in SERVICES
    assert f"--port={port}" in SERVICES[host]["command"]
    assert f"--allow-host={host}" in SERVICES[host]["command"]
    token = job["authorization"]["credentials_file"]
    assert f"--token-file={token}" in SERVICES[host]["command"]
    assert Path(token).name in SERVICES["prometheus"]["secrets"]
    assert all((DEPLOY / file).is_file() for file in asked["rule_files"])


def test_every_alert_is_a_sentence():  # tests/service/test_figures.py asks the service for what they speak of
    groups = yaml.safe_load(text("alerts.yml"))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert all(rule["annotations"]["summary"].endswith(".") for rule in rules)


# --- the service's own options ---------------------------------------------------------------------------------------


def commands():
    """Every call of `corml serve` in these files, as words."""
    yield SERVICES["corml"]["command"]
    yield [*yaml.safe_load(dict(last_stage())["CMD"])]
    yield shlex.split(re.search(r"^ExecStart=(.+)$", text("corml.service"), re.M)[1])


def test_options_are_those_of_the_service():
    for words in commands():
        assert Path(words[0]).name == "corml"
        assert words[1] == "serve"
        assert any(word.startswith("--token-file") for word in words)
    if importlib.util.find_spec("corml.cli.serve") is None:
        pytest.skip("the service is not here")
    import typer

    from corml.cli.serve import serve

    app = typer.Typer()
    app.command()(serve)
    known = {name for option in typer.main.get_command(app).params for name in option.opts}
    for words in commands():
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known


def test_the_service_answers_to_the_name_that_the_proxy_passes_on():
    name = re.search(r"server_name (\S+);", text("nginx.conf"))[1]
    assert "proxy_set_header Host $host;" in text("nginx.conf")
    for words in commands():
        joined = " ".join(words).replace("=", " ")
        assert "--allow-host" not in joined or f"--allow-host {name}" in joined
    assert f"--allow-host {name}" in text("corml.service")  # one that hears this machine alone answers to no other name


# --- systemd, nginx --------------------------------------------------------------------------------------------------


@pytest.fixture
def unit(tmp_path):
    """The unit with a program that is here, as its own is not."""
    path = tmp_path / "corml.service"
    path.write_text(text("corml.service").replace("/opt/corml/bin/corml", "/bin/true"))
    return path


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_accepts_the_unit(unit):
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_finds_the_unit_hardly_exposed(unit):
    words = ["systemd-analyze", "security", "--offline=yes", "--threshold=20", unit]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-300:]


def test_the_unit_has_no_rights_and_takes_new_models():
    unit = configparser.RawConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(text("corml.service"))
    service = unit["Service"]
    assert service["DynamicUser"] == service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert "-HUP" in service["ExecReload"]
    assert "MemoryDenyWriteExecute" not in service  # Numba compiles
    assert "--host 127.0.0.1" in service["ExecStart"]


def test_the_proxy_has_no_directive_that_stable_distributions_lack():
    proxy = re.sub(r"#.*", "", text("nginx.conf"))
    assert not re.search(r"^\s*http2\b", proxy, re.M)  # of nginx 1.25.1; Debian 12 has 1.22
    assert "listen 443 ssl http2;" in proxy


@pytest.mark.skipif(shutil.which("nginx", path=SBIN) is None, reason="nginx is not here")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl, which makes a certificate, is not here")
def test_nginx_accepts_the_proxy(tmp_path):
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", tmp_path / "privkey.pem"]
    certificate = ["-x509", "-out", tmp_path / "fullchain.pem", "-subj", "/CN=recommend.example.com"]
    subprocess.run(["openssl", "req", *certificate, *key], check=True, capture_output=True)
    site = text("nginx.conf").replace("/etc/ssl/recommend.example.com", str(tmp_path))
    site = site.replace("/var/log/nginx", str(tmp_path)).replace("443 ssl", "44343 ssl")  # a port that needs no rights
    if not Path("/proc/net/if_inet6").exists():
        site = re.sub(r"^\s*listen \[::\].*\n", "", site, flags=re.M)
    (tmp_path / "corml.conf").write_text(site)
    whole = f"events {{}}\npid {tmp_path}/pid;\nhttp {{ include {tmp_path}/corml.conf; }}\n"
    (tmp_path / "nginx.conf").write_text(whole)
    command = [shutil.which("nginx", path=SBIN), "-t", "-c", tmp_path / "nginx.conf", "-e", tmp_path / "error.log"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "[warn]" in line]
    assert all("http2" in line for line in warnings)  # of newer ones, which still take the older form


def test_the_proxy_keeps_the_inside_inside():
    proxy = re.sub(r"#.*", "", text("nginx.conf"))
    assert proxy.count("{") == proxy.count("}")
    assert all(re.search(r"[;{}]\s*$", line) for line in proxy.splitlines() if line.strip() and "'" not in line)
    for inside in ("= /metrics", "/v1/admin/"):
        assert f"location {inside} {{ return 404; }}" in proxy
    assert "$request " not in proxy  # it has the arguments
    assert "$args" not in proxy
    assert "TLSv1.2 TLSv1.3" in proxy
    assert "TLSv1;" not in proxy
