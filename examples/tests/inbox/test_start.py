"""`make inbox`: it starts, says where and for whom, and ends when it is told to."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import httpx2
import pytest
from inbox.__main__ import agent_at_work
from inbox.samples import REQUESTS, ask_for_samples
from inbox.screenshots import NoChromium, chromium
from inbox.serving import HOST
from inbox_support import Desk, threads_in, token_in
from refund_agent.approvals import Approvals
from refund_agent.resources import Resources
from refund_agent.worker import Worker

pytestmark = pytest.mark.timeout(120)

COMMAND = [sys.executable, "-m", "inbox", "--port"]


@pytest.fixture
def started() -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The process, its address, and the password, once five questions wait."""
    process = subprocess.Popen(
        [*COMMAND, "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    assert process.stdout
    try:
        told = ""
        while not (found := re.search(r"wait at +(\S+)\s+sign in as +mia or tom, password (\S+)", told)):
            line = process.stdout.readline()
            assert line, f"it ended: {told}"
            told += line
        yield process, found[1], found[2]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()


@pytest.mark.parametrize("how", ["the terminal's Ctrl-C, which everybody in it hears", "a polite kill"])
def test_it_shows_five_questions_and_ctrl_c_ends_all_of_it(
    started: tuple[subprocess.Popen[str], str, str], how: str
) -> None:
    process, address, password = started
    with httpx2.Client(base_url=address, timeout=30) as client:
        form = {
            "form_token": token_in(client.get("/").text),
            "name": "mia",
            "password": password,
            "back": "/",
        }
        page = client.post("/sign-in", data=form, follow_redirects=True)
        assert len(threads_in(page.text)) == len(REQUESTS) == 5
        assert page.text.count("Asked again") == 1
        with client.stream("GET", "/events") as response:
            next(response.iter_lines())
            if how == "a polite kill":
                process.send_signal(signal.SIGTERM)
            else:
                os.killpg(process.pid, signal.SIGINT)
            assert process.stdout
            rest = process.stdout.read()
    assert process.wait(timeout=30) == 0
    assert rest.strip().splitlines()[-1:] == ["All of it has ended."]
    assert "Traceback" not in rest
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_a_port_that_is_taken_is_told_with_the_cure() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = subprocess.run([*COMMAND, port], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert f"Port {port} of this machine cannot be had" in ended.stdout
    assert "--port 0" in ended.stdout


def test_an_agent_that_does_not_ask_is_told_of(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inbox.samples.PATIENCE_SECONDS", 0.0)
    with pytest.raises(TimeoutError):
        ask_for_samples(desk.resources, desk.approvals)


def test_the_agent_outlives_a_failure_of_its_queue(
    resources: Resources, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = iter([ConnectionError("once")])

    def run(self: Worker, stop: threading.Event) -> None:
        for failure in failures:
            raise failure
        original(self, stop)

    original = Worker.run
    monkeypatch.setattr(Worker, "run", run)
    with agent_at_work(resources):
        ask_for_samples(resources, Approvals(resources))
    assert [record.message for record in caplog.records if record.name == "inbox.__main__"] == [
        "starting over"
    ]


def test_without_chromium_the_cure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoChromium, match="apt-get install chromium"), chromium():
        pass
