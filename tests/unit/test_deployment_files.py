"""What puts Huginn on a host: the compose file, the systemd units, the Kubernetes example, and their settings."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from huginn import settings

ROOT = Path(__file__).parents[2]
DEPLOYMENTS = ROOT / "deployments"
UNITS = sorted([*DEPLOYMENTS.glob("systemd/*.service"), *DEPLOYMENTS.glob("systemd/*.timer")])
OBJECTS: list[dict[str, Any]] = [
    thing
    for path in sorted(DEPLOYMENTS.glob("kubernetes/*.yaml"))
    for thing in yaml.safe_load_all(path.read_text(encoding="utf-8"))
]


def objects(kind: str) -> dict[str, dict[str, Any]]:
    """The objects of Kubernetes of one kind by name."""
    return {thing["metadata"]["name"]: thing for thing in OBJECTS if thing["kind"] == kind}


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOYMENTS / "compose.yaml").read_text(encoding="utf-8"))
    return loaded


def examples() -> Iterator[tuple[str, str]]:
    """The text of every example of settings."""
    for path in sorted(DEPLOYMENTS.rglob("*.toml")):
        yield str(path.relative_to(DEPLOYMENTS)), path.read_text(encoding="utf-8")
    for name, thing in objects("ConfigMap").items():
        yield f"kubernetes {name}", thing["data"]["huginn.toml"]


@pytest.mark.parametrize(("name", "text"), [pytest.param(*example, id=example[0]) for example in examples()])
def test_every_example_of_settings_can_be_loaded_and_holds_no_secret(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "huginn.toml").write_text(text, encoding="utf-8")
    loaded = settings.load(tmp_path / "huginn.toml", environment={})
    assert loaded.forge.repos
    assert loaded.state.is_absolute()
    assert not re.search(r"(token|key|password)\s*=", text)


def test_the_compose_file_is_one_by_the_published_schema() -> None:
    schema = json.loads((ROOT / "tests" / "support" / "compose-spec.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(compose())


def test_what_a_container_names_is_defined_and_its_files_are_there() -> None:
    whole = compose()
    for name, service in whole["services"].items():
        assert set(service.get("networks", [])) <= whole["networks"].keys(), name
        assert set(service.get("secrets", [])) <= whole["secrets"].keys(), name
        assert {config["source"] for config in service.get("configs", [])} <= whole["configs"].keys(), name
        assert {volume.partition(":")[0] for volume in service.get("volumes", [])} <= whole["volumes"].keys(), name
        assert service.get("depends_on", {}).keys() <= whole["services"].keys(), name
        assert ("build" in service) or re.search(r":v?\d", service["image"]), f"{name}: an image without a version"
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name}: a port that others reach"
    for config in whole["configs"].values():
        assert (DEPLOYMENTS / config["file"]).is_file()


def test_containers_that_talk_to_each_other_share_a_network() -> None:
    services = compose()["services"]
    shared = {name: set(service["networks"]) for name, service in services.items()}
    for pair in (
        "worker prefect",
        "worker qdrant",
        "worker ollama",
        "prefect postgres",
        "setup prefect",
        "model ollama",
    ):
        one, other = pair.split()
        assert shared[one] & shared[other], pair
    assert not shared["qdrant"] & shared["prefect"]
    loaded = settings.load(DEPLOYMENTS / "compose.toml", environment={})
    assert loaded.index.url == "http://qdrant:6333"
    assert [*loaded.embedder.urls] == ["http://ollama:11434"]
    assert services["model"]["entrypoint"][-1] == loaded.embedder.model
    assert services["worker"]["configs"][0]["target"] == "/etc/huginn/huginn.toml"


def test_the_image_is_made_of_what_is_there() -> None:
    kept = {line[1:] for line in (DEPLOYMENTS / "Dockerfile.dockerignore").read_text().splitlines() if line[0] == "!"}
    text = (DEPLOYMENTS / "Dockerfile").read_text(encoding="utf-8")
    copied = {name for line in re.findall(r"^COPY (.+) \S+$", text, re.M) for name in line.split()}
    assert copied == kept
    assert all((ROOT / name).exists() for name in copied)
    assert re.search(r"^USER huginn$", text, re.M)


@pytest.mark.skipif(shutil.which("docker") is None, reason="needs docker")
def test_docker_reads_the_compose_file() -> None:
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("this docker has no compose")
    command = ["docker", "compose", "-f", str(DEPLOYMENTS / "compose.yaml"), "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    for path in UNITS:
        text = path.read_text(encoding="utf-8")
        (tmp_path / path.name).write_text(text.replace("/srv/huginn/.venv/bin/", "/bin/true "), encoding="utf-8")
    command = ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / path.name) for path in UNITS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "huginn" in line]
    assert (done.returncode, told) == (0, [])


@pytest.mark.parametrize("path", [unit for unit in UNITS if unit.suffix == ".service"], ids=lambda path: path.stem)
def test_every_service_is_shut_in_and_gets_no_secret_through_its_environment(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    for wanted in (
        "User=huginn",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "PrivateTmp=yes",
        "StateDirectory=huginn",
    ):
        assert wanted in lines
    assert not [line for line in lines if re.match(r"Environment=.*(TOKEN|PASSWORD|KEY)", line)]


def test_the_page_of_prefect_is_copied_to_where_it_may_be_written() -> None:
    unit = (DEPLOYMENTS / "systemd" / "huginn-prefect.service").read_text(encoding="utf-8")
    assert re.search(r"^Environment=PREFECT_SERVER_UI_STATIC_DIRECTORY=/var/lib/huginn/", unit, re.M)
    assert "PREFECT_SERVER_UI_STATIC_DIRECTORY=/tmp/" in (DEPLOYMENTS / "Dockerfile").read_text(encoding="utf-8")
    assert "/tmp" in compose()["services"]["prefect"]["tmpfs"]


def test_the_credentials_of_the_worker_are_those_its_settings_read() -> None:
    unit = (DEPLOYMENTS / "systemd" / "huginn-worker.service").read_text(encoding="utf-8")
    loaded = settings.load(DEPLOYMENTS / "systemd" / "huginn.toml", environment={})
    read = {loaded.chat.token_file if loaded.chat else None, *(one.token_file for one in loaded.forge.repos)}
    given = re.findall(r"^LoadCredential=([^:]+):", unit, re.M)
    assert read == {Path("/run/credentials/huginn-worker.service") / name for name in given}


@pytest.mark.parametrize("thing", OBJECTS, ids=lambda thing: f"{thing['kind']} {thing['metadata']['name']}")
def test_every_object_of_kubernetes_is_complete_and_its_pods_are_shut_in(thing: dict[str, Any]) -> None:
    assert thing["apiVersion"]
    assert thing["metadata"]["namespace"] == "huginn"
    template = thing["spec"].get("template") if "spec" in thing else None
    if template is None:
        return
    spec = thing["spec"]
    assert spec.get("selector", {}).get("matchLabels", {}).items() <= template["metadata"]["labels"].items()
    assert template["spec"]["securityContext"]["runAsNonRoot"] is True
    assert template["spec"]["automountServiceAccountToken"] is False
    volumes = {volume["name"] for volume in template["spec"].get("volumes", [])}
    volumes |= {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])}
    for container in template["spec"]["containers"]:
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert re.search(r":v?\d", container["image"])


def test_what_kubernetes_objects_name_is_there() -> None:
    workloads = {**objects("Deployment"), **objects("StatefulSet"), **objects("Job")}
    labels = [workload["spec"]["template"]["metadata"]["labels"].items() for workload in workloads.values()]
    services = objects("Service")
    for name, service in services.items():
        assert any(service["spec"]["selector"].items() <= of_pod for of_pod in labels), name
    policies = objects("NetworkPolicy")
    assert policies.keys() == services.keys(), "every service is for some pods alone"
    for policy in policies.values():
        [rule] = policy["spec"]["ingress"]
        for pods in (policy["spec"]["podSelector"], *(source["podSelector"] for source in rule["from"])):
            assert any(pods["matchLabels"].items() <= of_pod for of_pod in labels)
    worker = objects("Deployment")["huginn-worker"]["spec"]
    assert (worker["replicas"], worker["strategy"]["type"]) == (1, "Recreate"), "there is one writer"
    for volume in worker["template"]["spec"]["volumes"]:
        assert volume.get("configMap", {}).get("name", "huginn") in objects("ConfigMap")
        assert volume.get("persistentVolumeClaim", {}).get("claimName", "huginn-state") in objects(
            "PersistentVolumeClaim"
        )
