"""What a webhook's receiver gets, and what its sender refuses to be given."""

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import pytest
from agent_wait import (
    AnnounceError,
    FakeClock,
    InMemoryAnnounce,
    Question,
    SystemClock,
    WaitEnvelope,
    WaitPolicy,
    WebhookAnnounce,
    publish,
    verify_signature,
    verify_webhook,
)
from agent_wait._envelope import envelope_for
from agent_wait.testing import AnnouncerContract
from receiver import Connection, Receiver, answers, body_of, hangs, header, headers_of, receiving
from standardwebhooks import Webhook

ENVELOPE = envelope_for(Question("q-1", {"note": "é😊", "x": 1.0}), "t-1", clock=FakeClock())


@pytest.fixture
def receiver() -> Generator[Receiver]:
    with receiving(answers(200, body=b"ok")) as receiver:
        yield receiver


class TestWebhookAnnounce(AnnouncerContract):
    def setup_method(self) -> None:
        self.receiver = Receiver(answers(204))

    def teardown_method(self) -> None:
        self.receiver.close()

    def make(self) -> WebhookAnnounce:
        return WebhookAnnounce(self.receiver.url(), secret=b"secret")

    def received(self) -> list[dict[str, Any]]:
        return self.receiver.bodies()

    def break_backend(self) -> None:
        self.receiver.behave = answers(500)

    def hang_backend(self) -> None:
        self.receiver.behave = hangs


def test_the_receiver_gets_one_post_with_the_envelope_and_what_names_it(receiver: Receiver) -> None:
    WebhookAnnounce(receiver.url("/hooks/7?team=a b".replace(" ", "%20"))).deliver(ENVELOPE, "created")

    (request,) = receiver.requests
    assert request.partition(b"\r\n")[0] == b"POST /hooks/7?team=a%20b HTTP/1.1"
    assert headers_of(request) == {
        "user-agent": "agent-wait",
        "host": f"127.0.0.1:{receiver.port}",
        "content-type": "application/json",
        "content-length": str(len(body_of(request))),
        "connection": "close",
        "x-agent-wait-event": "wait.created",
        "x-agent-wait-dedupe-key": ENVELOPE.dedupe_key,
        "idempotency-key": ENVELOPE.dedupe_key,
    }
    assert body_of(request) == ENVELOPE.to_json().encode()


@pytest.mark.parametrize(
    ("url", "host", "target"),
    [
        ("http://example.com", "example.com", "/"),
        ("http://EXAMPLE.com:80/a", "example.com", "/a"),
        ("https://example.com:443?x=1", "example.com", "/?x=1"),
        ("https://example.com:80/#part", "example.com:80", "/"),
        ("http://[::1]:8080/a;b=(c)", "[::1]:8080", "/a;b=(c)"),
        ("http://bücher.example/é?ü", "xn--bcher-kva.example", "/%C3%A9?%C3%BC"),
        ("http://a_b.example/%20%zz", "a_b.example", "/%20%zz"),
    ],
)
def test_where_it_goes_is_what_the_url_says(url: str, host: str, target: str) -> None:
    request = WebhookAnnounce(url)._request(ENVELOPE)

    assert request.startswith(f"POST {target} HTTP/1.1\r\n".encode())
    assert header(request, "host") == host


def test_an_address_of_version_6_is_reached() -> None:
    with receiving(answers(200), host="::1") as receiver:
        WebhookAnnounce(receiver.url()).deliver(ENVELOPE, "created")

    assert receiver.bodies() == [json.loads(ENVELOPE.to_json())]


@pytest.mark.requirement("URL-SECRET-IN-LOG")
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://example.com/S3CRET", "url is neither http nor https"),
        ("example.com/S3CRET", "url is neither http nor https"),
        ("/S3CRET", "url is neither http nor https"),
        ("", "url is neither http nor https"),
        ("file:///S3CRET", "url is neither http nor https"),
        ("http://S3CRET:pass@example.com/", "url has a user or password: put them into headers="),
        ("http://S3CRET@example.com/", "url has a user or password"),
        ("http://example.com\\@S3CRET/", "url has a user or password"),
        ("http:///S3CRET", "url has no host and port that can be used"),
        ("http://:80/S3CRET", "url has no host and port that can be used"),
        ("http://example.com:0/S3CRET", "url has no host and port that can be used"),
        ("http://exa%6dple.com/S3CRET", "url has no host and port that can be used"),
        ("http://example.com:S3CRET/", "url cannot be read"),
        ("http://example.com:99999/S3CRET", "url cannot be read"),
        ("http://[::1/S3CRET", "url cannot be read"),
        (f"http://{'S3CRET' * 20}.example/", "url cannot be read"),
        ("http://example.com/\ud800S3CRET", "url cannot be read"),
        ("http://example.com/S3CRET\r\nX-Evil: 1", "url has white space or control characters"),
        ("http://example.com/S3CRET HTTP/1.0", "url has white space or control characters"),
        (" http://example.com/S3CRET", "url has white space or control characters"),
    ],
    ids=range(20),
)
def test_a_url_that_cannot_be_used_is_refused_and_not_quoted(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        WebhookAnnounce(url)

    assert "S3CRET" not in str(raised.value)
    assert (raised.value.__cause__, raised.value.__context__) == (None, None)


@pytest.mark.parametrize("url", [None, 7, b"http://example.com"])
def test_a_url_is_text(url: Any) -> None:
    with pytest.raises(TypeError, match="url is text"):
        WebhookAnnounce(url)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_is_a_positive_number_of_seconds(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout is a positive number of seconds"):
        WebhookAnnounce("http://example.com", timeout=timeout)


@pytest.mark.requirement("REPLAYABLE-SIGNATURE")
@pytest.mark.parametrize("secret", ["", "plain text", b"", [], "whsec_"], ids=repr)
def test_a_secret_that_would_sign_nothing_is_refused(secret: Any) -> None:
    with pytest.raises(ValueError, match="secret"):
        WebhookAnnounce("http://example.com", secret=secret)


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"X-Team\r\nX-Evil": "a"}, "headers= has a name that is none"),
        ({"": "a"}, "headers= has a name that is none"),
        ({"X-Team": "S3CRET\r\nX-Evil: 1"}, "headers= has a value for X-Team that no header can carry"),
        ({"X-Team": "S3CRET\x00"}, "headers= has a value for X-Team that no header can carry"),
        ({"X-Team": " S3CRET"}, "headers= has a value for X-Team that no header can carry"),
        ({"X-Team": "S3CRETé"}, "headers= has a value for X-Team that no header can carry"),
        ({"Transfer-encoding": "chunked"}, "headers= has Transfer-encoding, which would change how"),
        ({"Expect": "100-continue"}, "headers= has Expect, which would change how"),
    ],
    ids=range(8),
)
def test_headers_that_would_break_the_request_are_refused_and_not_quoted(
    headers: dict[str, str], said: str
) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        WebhookAnnounce("http://example.com", headers=headers)
    assert "S3CRET" not in str(raised.value)


@pytest.mark.requirement("RETRY-WITHOUT-KEY")
def test_headers_of_ones_own_are_sent_and_ours_win() -> None:
    theirs = {
        "Authorization": "Bearer T0K",
        "user-agent": "refunds/2",
        "X-Empty": "",
        "idempotency-key": "mine",
        "WEBHOOK-ID": "mine",
        "host": "elsewhere",
        "content-length": "1",
        "Connection": "keep-alive",
        "content-type": "text/plain",
    }
    request = WebhookAnnounce("http://example.com", headers=theirs, secret=b"s")._request(ENVELOPE)

    sent = headers_of(request)
    assert sent["authorization"] == "Bearer T0K"
    assert sent["user-agent"] == "refunds/2"
    assert sent["x-empty"] == ""
    assert sent["idempotency-key"] == sent["webhook-id"] == ENVELOPE.dedupe_key
    assert sent["host"] == "example.com"
    assert sent["content-length"] == str(len(body_of(request)))
    assert sent["connection"] == "close"
    assert sent["content-type"] == "application/json"


@pytest.mark.requirement("RETRY-WITHOUT-KEY")
def test_a_repeat_after_a_timeout_has_the_same_key() -> None:
    question = Question("q-1", "?")

    def stalls_once(receiver: Receiver, connection: Connection) -> None:
        receiver.behave = answers(200)
        hangs(receiver, connection)

    with receiving(stalls_once) as receiver:
        webhook = WebhookAnnounce(receiver.url(), headers={"Idempotency-Key": "mine"}, timeout=0.25)
        first = publish([question], "t-1", webhook)
        second = publish([question], "t-1", WebhookAnnounce(receiver.url()))

    assert [str(failure.error) for failure in first.failures] == [
        "TimeoutError while waiting for the answer: unknown, may have arrived"
    ]
    assert second.failures == ()
    keys = [header(request, "Idempotency-Key") for request in receiver.requests]
    assert keys == [first[0].dedupe_key, first[0].dedupe_key]


@pytest.mark.parametrize(
    "odd",
    ["q\r\nX-Evil: 1\r\n\r\n", "q\x00\x7f", "é😊", "with space", "q" * 300],
    ids=["lines", "controls", "unicode", "space", "long"],
)
def test_no_id_makes_a_header_and_two_ids_never_share_a_key(odd: str, receiver: Receiver) -> None:
    webhook = WebhookAnnounce(receiver.url(), secret=b"s")
    first, second = publish([Question(odd, "?"), Question(odd + "2", "?")], odd.replace("\0", ""), webhook)

    one, other = receiver.requests
    key = "sha256:" + hashlib.sha256(first.dedupe_key.encode()).hexdigest()
    assert set(headers_of(one)) == set(headers_of(webhook._request(ENVELOPE)))
    assert header(one, "Idempotency-Key") == header(one, "webhook-id") == key
    assert header(other, "Idempotency-Key") != key
    assert receiver.bodies() == [first.to_dict(), second.to_dict()]


@pytest.mark.odd_envelope("built by hand")
def test_the_envelope_s_own_type_makes_no_header_either() -> None:
    forged = replace(ENVELOPE)
    object.__setattr__(forged, "type", "wait.created\r\nX-Evil: 1")  # it is frozen
    request = WebhookAnnounce("http://example.com")._request(forged)

    assert header(request, "X-Agent-Wait-Event").startswith("sha256:")


@pytest.mark.requirement("SIGNED-BYTES")
def test_the_signatures_are_those_of_the_bytes_that_arrive(receiver: Receiver) -> None:
    now = SystemClock().now()
    webhook = WebhookAnnounce(receiver.url(), secret=[b"new", b"old"], clock=FakeClock(now))
    webhook.deliver(ENVELOPE, "created")

    (request,) = receiver.requests
    body, sent = body_of(request), headers_of(request)
    digests = [hmac.new(key, body, "sha256").hexdigest() for key in (b"new", b"old")]
    assert sent["x-agent-wait-signature"] == f"sha256={digests[0]}, sha256={digests[1]}"
    assert sent["webhook-timestamp"] == str(int(now))
    for key in (b"new", b"old"):
        assert verify_signature(key, body, sent["x-agent-wait-signature"])
        assert verify_webhook(sent, body, key)
        assert Webhook(key).verify(body, sent) == json.loads(ENVELOPE.to_json())


def test_without_a_secret_nothing_is_signed() -> None:
    sent = headers_of(WebhookAnnounce("http://example.com")._request(ENVELOPE))

    assert not [name for name in sent if "signature" in name or name.startswith("webhook-")]


def test_headers_and_body_leave_in_one_write(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    send: Callable[..., int] = socket.socket.send

    def counted(self: socket.socket, data: Any, *flags: int) -> int:
        writes.append(len(data))
        return send(self, data, *flags)

    monkeypatch.setattr(socket.socket, "send", counted)
    WebhookAnnounce(receiver.url()).deliver(ENVELOPE, "created")

    assert writes == [len(receiver.requests[0])]


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_means_taken(status: int) -> None:
    with receiving(answers(status)) as receiver:
        WebhookAnnounce(receiver.url()).deliver(ENVELOPE, "created")


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        (101, False),
        (300, False),
        (304, False),
        (400, False),
        (401, False),
        (404, False),
        (408, True),
        (409, False),
        (410, False),
        (413, False),
        (425, True),
        (429, True),
        (500, True),
        (502, True),
        (503, True),
        (599, True),
        (700, True),
    ],
)
def test_every_other_status_is_a_failure_that_says_whether_a_repeat_may_help(
    status: int, retryable: bool
) -> None:
    with (
        receiving(answers(status, body=b"S3CRET")) as receiver,
        pytest.raises(AnnounceError) as raised,
    ):
        WebhookAnnounce(receiver.url()).deliver(ENVELOPE, "created")

    assert str(raised.value) == f"answered HTTP {status}"
    assert raised.value.retryable is retryable


def test_one_announcer_serves_many_threads(receiver: Receiver) -> None:
    webhook, failed = WebhookAnnounce(receiver.url(), secret=b"s"), list[Exception]()
    envelopes = publish([Question(f"q-{n}", "?") for n in range(24)], "t-1", InMemoryAnnounce())

    def post(envelope: WaitEnvelope) -> None:
        if error := webhook.announce(envelope, "created"):
            failed.append(error)

    threads = [threading.Thread(target=post, args=(envelope,)) for envelope in envelopes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert {body["event_id"] for body in receiver.bodies()} == {envelope.event_id for envelope in envelopes}


def test_only_restricts_it(receiver: Receiver) -> None:
    webhook = WebhookAnnounce(receiver.url(), only=("resumed",))
    policy = WaitPolicy(tags={"group": "finance"})

    publish([Question("q-1", "?", policy)], "t-1", webhook)
    publish([Question("q-1", "?", policy)], "t-1", webhook, transition="resumed")

    assert [header(request, "X-Agent-Wait-Event") for request in receiver.requests] == ["wait.resumed"]
