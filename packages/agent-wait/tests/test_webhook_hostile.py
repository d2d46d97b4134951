"""Receivers that hang, drip, lie, redirect and break off, on real sockets.

Whatever they do forever, they do until the test is over: a post that did not end by itself would hang it.
"""

import logging
import os
import socket
import threading
import traceback
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import pytest
from agent_wait import AnnounceError, InMemoryAnnounce, Question, WebhookAnnounce, publish
from agent_wait._envelope import envelope_for
from certificates import Authority
from receiver import LONG, Connection, Receiver, answers, hangs, over_tls, receiving, says

ENVELOPE = envelope_for(Question("q-1", {"iban": "DE02"}), "t-1")
SHORT = 0.25  # seconds that a post may take
WAITING = "while waiting for the answer: unknown, may have arrived"
OK = b"HTTP/1.1 200 OK\r\n\r\n"

Behave = Callable[[Receiver, Connection], None]


def post(url: str, *, timeout: float = LONG, envelope: Any = ENVELOPE) -> str | None:
    """What went wrong, if anything did."""
    try:
        WebhookAnnounce(url, timeout=timeout).deliver(envelope, "created")
    except AnnounceError as error:
        return str(error)
    return None


def post_to(behave: Behave, *, timeout: float = LONG, envelope: Any = ENVELOPE) -> str | None:
    with receiving(behave) as receiver:
        return post(receiver.url(), timeout=timeout, envelope=envelope)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    return authority


@pytest.mark.requirement("NO-TIMEOUT")
@pytest.mark.parametrize(
    "behave",
    [
        hangs,
        says(b"O", first=b"HTTP/1.1 200 "),
        says(b"X: 1\r\n", first=b"HTTP/1.1 100 Continue\r\n"),
        says(b"HTTP/1.1 100 Continue\r\n\r\n"),
        says(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
    ],
    ids=["never answers", "drips a status", "drips a head", "continues for ever", "hints for ever"],
)
def test_a_receiver_that_does_not_come_to_an_answer_costs_the_timeout(behave: Behave) -> None:
    assert post_to(behave, timeout=SHORT) == f"TimeoutError {WAITING}"


@pytest.mark.requirement("NO-TIMEOUT")
def test_a_receiver_that_does_not_read_costs_the_timeout() -> None:
    def deaf(receiver: Receiver, connection: Connection) -> None:
        receiver.over.wait()

    large = replace(ENVELOPE, question="x" * 20_000_000)

    failed = post_to(deaf, timeout=SHORT, envelope=large)
    assert failed == "TimeoutError while sending: unknown, may have arrived"


@pytest.fixture
def full_port() -> Generator[int]:
    """A port whose queue of connections is full, so that a further one is neither taken nor refused."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = int(full.getsockname()[1])
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield port
        for one in waiting:
            one.close()


@pytest.mark.requirement("NO-TIMEOUT")
def test_a_receiver_that_does_not_take_the_connection_costs_the_timeout(full_port: int) -> None:
    failed = post(f"http://127.0.0.1:{full_port}/", timeout=SHORT)

    assert failed == "TimeoutError while connecting: not sent"


@pytest.mark.requirement("NO-TIMEOUT")
def test_a_timeout_that_is_over_before_anything_was_done_sends_nothing() -> None:
    with receiving(answers(200)) as receiver:
        failed = post(receiver.url(), timeout=1e-9)

    assert failed == "TimeoutError while connecting: not sent"
    assert receiver.connections == 0


def resolved(monkeypatch: pytest.MonkeyPatch, look_up: Callable[[], list[tuple[str, int]]]) -> None:
    """What names stand for from now on."""
    numeric = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *args: Any, flags: int = 0, **kwargs: Any) -> Any:
        if flags & socket.AI_NUMERICHOST:
            return numeric(host, port, *args, flags=flags, **kwargs)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in look_up()]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.requirement("NO-TIMEOUT")
def test_looking_up_the_host_costs_no_more_than_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def hangs_too() -> list[tuple[str, int]]:
        over.wait()
        return []

    resolved(monkeypatch, hangs_too)
    failed = post("http://example.invalid/", timeout=SHORT)
    over.set()

    assert failed == "TimeoutError while looking up the host: not sent"


def test_a_host_of_several_addresses_is_reached_through_the_one_that_works(
    monkeypatch: pytest.MonkeyPatch, full_port: int
) -> None:
    with receiving(answers(200)) as receiver, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        addresses = [unused.getsockname(), ("127.0.0.1", full_port), ("127.0.0.1", receiver.port)]
        resolved(monkeypatch, lambda: addresses)

        assert post("http://example.invalid/", timeout=1.5) is None
        assert receiver.connections == 1


def test_a_host_of_no_address_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved(monkeypatch, list)

    assert post("http://example.invalid/") == "no address while connecting: not sent"


def test_a_port_where_nobody_listens_is_a_failure() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        failed = post(f"http://127.0.0.1:{unused.getsockname()[1]}/")

    assert failed == "ConnectionRefusedError while connecting: not sent"


@pytest.mark.requirement("NO-TIMEOUT")
@pytest.mark.parametrize(
    "behave",
    [
        says(b"x" * 65536, first=b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n"),
        says(b"X: 1\r\n", first=b"HTTP/1.1 204 No Content\r\n"),
        says(first=b"HTTP/1.1 200\r\n"),
        says(first=b"HTTP/1.0 200 OK\n\n"),
        says(first=b"HTTP/1.1 100 Continue\r\n\r\n" + OK),
        says(first=b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\n\n" + OK),
    ],
    ids=["huge body", "endless head", "no reason", "bare lines", "continue", "hints"],
)
def test_an_answer_is_taken_as_soon_as_its_status_is_known(behave: Behave) -> None:
    assert post_to(behave) is None


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        (b"", "connection closed"),
        (b"HTTP/1.1 20", "connection closed"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "connection closed"),
        (b"SSH-2.0-OpenSSH\r\n", "something that is not HTTP"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "something that is not HTTP"),
        (b"HTTP/1.1 099\r\n", "something that is not HTTP"),
        (b"HTTP/1.1 OK\r\n\r\n", "something that is not HTTP"),
        (b"HTTP/2 200\r\n\r\n", "something that is not HTTP"),
        (b"\r\n\r\n" + OK, "something that is not HTTP"),
        (b"HTTP/1.1 200 " + b"x" * 40_000, "too long a head"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000, "too long a head"),
    ],
    ids=range(11),
)
def test_what_is_no_answer_is_a_failure_that_quotes_nothing(said: bytes, failed: str) -> None:
    assert post_to(says(first=said)) == f"{failed} {WAITING}"


def test_a_receiver_that_breaks_off_is_a_failure() -> None:
    def rude(receiver: Receiver, connection: Connection) -> None:
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # with a reset

    failed = post_to(rude)
    assert failed is not None
    assert failed.endswith("unknown, may have arrived")


def early(status: bytes) -> Behave:
    """Answers and breaks off before it has read more than the beginning."""

    def behave(receiver: Receiver, connection: Connection) -> None:
        connection.recv(10)
        connection.sendall(b"HTTP/1.1 " + status + b"\r\n\r\n")

    return behave


@pytest.mark.parametrize("_", range(20))
def test_a_receiver_that_answers_and_closes_before_it_has_read_everything_is_heard(_: int) -> None:
    assert post_to(early(b"200 OK")) is None
    assert post_to(early(b"503 Busy")) == "answered HTTP 503"


def test_an_answer_that_comes_while_much_is_unsent_is_heard_and_a_200_is_not_believed() -> None:
    def behave(status: bytes) -> Behave:
        def refuses(receiver: Receiver, connection: Connection) -> None:
            connection.recv(10)
            connection.sendall(b"HTTP/1.1 " + status + b"\r\n\r\n")
            connection.shutdown(socket.SHUT_RD)

        return refuses

    large = replace(ENVELOPE, question="x" * 20_000_000)

    assert post_to(behave(b"413 Too Large"), envelope=large) == "answered HTTP 413"
    assert post_to(behave(b"200 OK"), envelope=large) == (
        "answered HTTP 200 to a part of the request: unknown, may have arrived"
    )


@pytest.mark.requirement("REDIRECT-SSRF")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_nobody_goes_there(status: int) -> None:
    with receiving(answers(200)) as inner:
        failed = post_to(answers(status, f"Location: {inner.url('/admin')}"))

    assert failed == f"answered HTTP {status}"
    assert inner.connections == 0


@pytest.mark.requirement("PROXY-LEAK")
def test_the_proxies_of_the_environment_see_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    with receiving(answers(200)) as proxy, receiving(answers(200)) as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url(""))

        assert post(receiver.url()) is None
        assert (receiver.connections, proxy.connections) == (1, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_over_tls_it_is_delivered(trusted: Authority, host: str) -> None:
    context = trusted.server("127.0.0.1", "localhost")
    with receiving(over_tls(context, answers(200))) as receiver:
        assert post(f"https://{host}:{receiver.port}/hook") is None
        assert receiver.bodies() == [ENVELOPE.to_dict()]


def test_over_tls_the_context_is_made_once(trusted: Authority) -> None:
    with receiving(over_tls(trusted.server("127.0.0.1"), answers(200))) as receiver:
        webhook = WebhookAnnounce(receiver.url(scheme="https"))
        webhook.deliver(ENVELOPE, "created")
        context = webhook._context
        webhook.deliver(ENVELOPE, "created")

    assert webhook._context is context is not None
    assert len(receiver.requests) == 2


@pytest.mark.parametrize(
    ("hosts", "days", "trusts"),
    [(["127.0.0.1"], 1, False), (["example.com"], 1, True), (["127.0.0.1"], -1, True)],
    ids=["unknown authority", "another host", "expired"],
)
def test_a_certificate_that_proves_nothing_is_refused_before_anything_is_sent(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, hosts: list[str], days: int, trusts: bool
) -> None:
    if trusts:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    with (
        receiving(over_tls(authority.server(*hosts, days=days), answers(200))) as receiver,
        pytest.raises(AnnounceError) as raised,
    ):
        WebhookAnnounce(receiver.url(scheme="https"), timeout=LONG).deliver(ENVELOPE, "created")

    assert str(raised.value) == "SSLCertVerificationError while in the TLS handshake: not sent"
    assert not raised.value.retryable
    assert receiver.requests == []


def test_a_receiver_that_speaks_no_tls_is_a_failure() -> None:
    def plain(receiver: Receiver, connection: Connection) -> None:
        connection.recv(10)
        connection.sendall(OK)

    with receiving(plain) as receiver:
        failed = post(receiver.url(scheme="https"))

    assert failed is not None
    assert failed.endswith("while in the TLS handshake: not sent")


@pytest.mark.requirement("NO-TIMEOUT")
@pytest.mark.parametrize("piece", [b"", b"\x16"], ids=["silent", "dripping"])
def test_a_handshake_that_does_not_end_costs_the_timeout(piece: bytes) -> None:
    def stalls(receiver: Receiver, connection: Connection) -> None:
        connection.sendall(b"\x16\x03\x03\x40\x00" if piece else b"")
        while not receiver.over.wait(0.005):
            connection.sendall(piece)

    with receiving(stalls) as receiver:
        failed = post(receiver.url(scheme="https"), timeout=SHORT)

    assert failed == "TimeoutError while in the TLS handshake: not sent"


@pytest.mark.requirement("NO-TIMEOUT")
@pytest.mark.parametrize("behave", [hangs, says(b"O", first=b"HTTP/1.1 200 ")], ids=["hangs", "drips"])
def test_over_tls_an_answer_that_does_not_come_costs_the_timeout(trusted: Authority, behave: Behave) -> None:
    with receiving(over_tls(trusted.server("127.0.0.1"), behave)) as receiver:
        assert post(receiver.url(scheme="https"), timeout=SHORT * 4) == f"TimeoutError {WAITING}"


@pytest.mark.parametrize("_", range(20))
def test_over_tls_a_receiver_that_answers_before_it_has_read_everything_is_heard(
    trusted: Authority, _: int
) -> None:
    with receiving(over_tls(trusted.server("127.0.0.1"), early(b"200 OK"))) as receiver:
        assert post(receiver.url(scheme="https")) is None


def locked(receiver: Receiver, connection: Connection) -> None:
    """Takes the connection and says nothing."""
    receiver.over.wait()


@pytest.mark.requirement("URL-SECRET-IN-LOG")
@pytest.mark.parametrize(
    ("behave", "scheme"),
    [
        (None, "https"),
        (hangs, "http"),
        (answers(404, body=b"no hook S3CRET"), "http"),
        (answers(302, "Location: /hooks/S3CRET"), "http"),
        (says(first=b"S3CRET T0K DE02\r\n"), "http"),
        (locked, "https"),
        (answers(200), "https"),
    ],
    ids=["unknown host", "hang", "404", "302", "nonsense", "handshake", "no tls"],
)
def test_neither_the_url_nor_a_secret_nor_the_question_is_in_what_anyone_gets_to_see(
    behave: Behave | None, scheme: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with receiving(behave or hangs) as receiver:
        host = "host.invalid" if behave is None else f"127.0.0.1:{receiver.port}"
        webhook = WebhookAnnounce(
            f"{scheme}://{host}/hooks/S3CRET?token=T0K",
            secret=b"S1GN",
            headers={"Authorization": "Bearer B34R"},
            timeout=SHORT * 4,
        )
        publication = publish([Question("q-1", {"iban": "DE02"})], "t-1", [webhook, InMemoryAnnounce()])

    (failure,) = publication.failures
    seen = [repr(webhook), str(webhook), repr(failure), repr(publication), repr(failure.error)]
    seen += [caplog.text, *map(str, failure.error.args), *everything_in(failure.error)]
    for hidden in ("S3CRET", "T0K", "S1GN", "B34R", "DE02", "host.invalid"):
        assert not [text for text in seen if hidden in text], hidden


def everything_in(error: BaseException) -> Generator[str]:
    """The whole chain, with every frame's variables but the envelope and the thread's own."""
    assert error.__cause__ is None
    assert error.__context__ is None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for name, value in frame.f_locals.items():
            if not name.startswith("envelope"):
                yield repr(value)
