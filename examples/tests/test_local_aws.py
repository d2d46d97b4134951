import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
from local_aws import LocalAws, LocalAwsError

HOLDS_ONE = """
import sys
from local_aws import LocalAws
with LocalAws() as local_aws:
    print(local_aws.endpoint, local_aws._folder, flush=True)
    sys.stdin.read()
"""


def listening_addresses(pid: int) -> set[str]:
    """The local addresses of the process's listening TCP sockets, as /proc writes them."""
    mine = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir()}
    return {
        columns[1].split(":")[0]
        for table in ("tcp", "tcp6")
        for columns in map(str.split, Path(f"/proc/net/{table}").read_text().splitlines()[1:])
        if columns[3] == "0A" and f"socket:[{columns[9]}]" in mine
    }


def kill(local_aws: LocalAws) -> None:
    os.kill(local_aws.pid, signal.SIGKILL)
    local_aws._process.wait(20)


def test_it_listens_on_the_loopback_address_only(local_aws: LocalAws) -> None:
    assert listening_addresses(local_aws.pid) == {"0100007F"}


def test_boto3_comes_here_and_afterwards_goes_where_it_went(
    local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_PROFILE", "somebody's own")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "example.org")
    with local_aws.in_environment():
        boto3.Session().client("sqs").create_queue(QueueName="found")
    assert os.environ["AWS_PROFILE"] == "somebody's own"
    assert os.environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:9"
    assert os.environ["no_proxy"] == "example.org"
    assert "AWS_ACCESS_KEY_ID" not in os.environ


def test_it_ends_with_the_block() -> None:
    with LocalAws() as local_aws:
        assert local_aws._process.poll() is None
    assert local_aws._process.poll() is not None


def test_it_ends_with_its_parent_even_when_that_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_ONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        endpoint, folder = parent.stdout.readline().split()
        port = int(endpoint.rpartition(":")[2])
        assert Path(folder).is_dir()
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            parent.kill()
            # Until the other end has closed, which nobody asks it to.
            assert connection.recv(1) == b""
    assert not Path(folder).exists()


def test_when_it_dies_its_log_is_shown() -> None:
    def use_a_dead_one() -> None:
        with LocalAws() as local_aws:
            kill(local_aws)

    with pytest.raises(LocalAwsError, match=r"(?s)has died.*the end of its log:.*Ready"):
        use_a_dead_one()


def test_when_it_dies_what_failed_of_it_carries_its_log() -> None:
    def fail_of_a_dead_one() -> None:
        with LocalAws() as local_aws:
            kill(local_aws)
            raise OSError("nobody answers")

    with pytest.raises(OSError, match="nobody answers") as raised:
        fail_of_a_dead_one()
    assert "the end of its log:" in raised.value.__notes__[0]


def test_one_that_cannot_start_says_why() -> None:
    with pytest.raises(LocalAwsError, match="No module named 'ministack'"), LocalAws(Path(sys.executable)):
        pass


def test_a_missing_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_WAIT_MINISTACK_PYTHON", "/nowhere/python")
    with pytest.raises(LocalAwsError, match="/nowhere/python"):
        LocalAws()
