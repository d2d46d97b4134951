"""Both forms of signature, from both ends."""

import base64
import datetime
import hmac
from collections.abc import Sequence
from typing import Any

import pytest
from agent_wait import FakeClock, SystemClock, verify_signature, verify_webhook
from agent_wait._signing import secret_keys, signature_headers
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

KEY, OLD = b"the secret", b"the secret before"
WHSEC = "whsec_" + base64.b64encode(KEY).decode()
BODY = '{"note":"é😊","x":1.0}'.encode()
NOW = 1_760_000_000


def headers(
    keys: Sequence[bytes] = (KEY,), body: bytes = BODY, message_id: str = "wait.created:q:1"
) -> dict[str, str]:
    return signature_headers(keys, message_id, NOW, body)


def verified(
    changed: dict[str, str] | None = None, body: bytes = BODY, secrets: Any = KEY, at: float = NOW
) -> bool:
    return verify_webhook({**headers(), **(changed or {})}, body, secrets, clock=FakeClock(at))


def test_a_secret_is_bytes_as_they_are_or_whsec_text() -> None:
    assert secret_keys(KEY) == (KEY,)
    assert secret_keys(b"whsec_x") == (b"whsec_x",)
    assert secret_keys(WHSEC) == (KEY,)
    assert secret_keys(WHSEC.rstrip("=")) == (KEY,)
    assert secret_keys([WHSEC, OLD]) == (KEY, OLD)


@pytest.mark.requirement("REPLAYABLE-SIGNATURE")
@pytest.mark.parametrize(
    ("secret", "error", "said"),
    [
        ("", ValueError, "a secret in text begins with whsec_; for any other pass its bytes"),
        ("the secret", ValueError, "a secret in text begins with whsec_"),
        (b"", ValueError, "the secret is empty"),
        ([], ValueError, "no secret at all"),
        ([KEY, b""], ValueError, "the secret is empty"),
        ("whsec_", ValueError, "after whsec_ a secret has base64"),
        ("whsec_!", ValueError, "after whsec_ a secret has base64"),
        ("whsec_dGhl IHNlY3JldA==", ValueError, "after whsec_ a secret has base64"),
        ("whsec_é", ValueError, "after whsec_ a secret has base64"),
        ([7], TypeError, "not int"),
        ([None], TypeError, "not NoneType"),
        (None, TypeError, "NoneType"),
    ],
    ids=repr,
)
def test_any_other_secret_is_refused_and_not_quoted(secret: Any, error: type[Exception], said: str) -> None:
    signature = headers()["X-Agent-Wait-Signature"]

    with pytest.raises(error) as raised:
        verify_signature(secret, BODY, signature)
    with pytest.raises(error):
        verified(secrets=secret)
    assert said in str(raised.value)
    assert "the secret" not in str(raised.value).replace("the secret is empty", "")


def test_the_signature_of_the_body_has_the_shape_that_github_made_common() -> None:
    # Recorded with: printf '{"a":1}' | openssl dgst -sha256 -hmac key
    assert headers([b"key"], b'{"a":1}')["X-Agent-Wait-Signature"] == (
        "sha256=88a67f24bbcdaed0e6c997404bb79a743baf44c6bab2f4c27328e3009d22e342"
    )


def test_the_signature_of_the_body_is_verified() -> None:
    header = headers()["X-Agent-Wait-Signature"]

    assert verify_signature(KEY, BODY, header)
    assert verify_signature(WHSEC, BODY, header)
    assert not verify_signature(OLD, BODY, header)
    assert not verify_signature(KEY, BODY + b" ", header)


@pytest.mark.requirement("REPLAYABLE-SIGNATURE")
@pytest.mark.parametrize(
    "change",
    [
        lambda good: None,
        lambda good: "",
        lambda good: good[:-1],
        lambda good: good + "0",
        lambda good: good.upper(),
        lambda good: good.removeprefix("sha256="),
        lambda good: good.replace("sha256", "sha1"),
        lambda good: good[:-1] + "g",
        lambda good: good[:-1] + "é",
        lambda good: good[:-1] + "\ud800",
        lambda good: good[:-1] + "\x00",
        lambda good: good.encode(),
        lambda good: [good],
        lambda good: ",,, ,",
    ],
    ids=range(14),
)
def test_a_malformed_signature_of_the_body_is_false_and_no_exception(change: Any) -> None:
    assert verify_signature(KEY, BODY, change(headers()["X-Agent-Wait-Signature"])) is False


@pytest.mark.parametrize("body", [BODY.decode(), None, {"note": 1}])
def test_only_bytes_are_verified(body: Any) -> None:
    with pytest.raises(TypeError, match="body is the bytes as they were received"):
        verify_signature(KEY, body, headers()["X-Agent-Wait-Signature"])
    with pytest.raises(TypeError, match="body is the bytes as they were received"):
        verify_webhook(headers(), body, KEY)


def test_while_secrets_change_either_end_may_have_more_than_one() -> None:
    both, new = headers([KEY, OLD]), headers()

    for sent, secrets in [(both, KEY), (both, OLD), (both, [OLD, WHSEC]), (new, [OLD, KEY])]:
        assert verify_signature(secrets, BODY, sent["X-Agent-Wait-Signature"])
        assert verify_webhook(sent, BODY, secrets, clock=FakeClock(NOW))
    assert not verify_signature(OLD, BODY, new["X-Agent-Wait-Signature"])
    assert not verify_webhook(new, BODY, OLD, clock=FakeClock(NOW))


@pytest.mark.requirement("REPLAYABLE-SIGNATURE")
@pytest.mark.parametrize(
    ("away", "tolerance", "good"),
    [
        (0, 300, True),
        (300, 300, True),
        (301, 300, False),
        (-300, 300, True),
        (-301, 300, False),
        (1, 0, False),
    ],
)
def test_a_request_is_good_for_as_long_as_the_tolerance(away: int, tolerance: int, good: bool) -> None:
    clock = FakeClock(NOW + away)

    assert verify_webhook(headers(), BODY, KEY, tolerance=tolerance, clock=clock) is good


def test_without_a_clock_now_is_now() -> None:
    fresh = signature_headers([KEY], "id", int(SystemClock().now()), BODY)

    assert verify_webhook(fresh, BODY, KEY)
    assert not verify_webhook(headers(), BODY, KEY)


@pytest.mark.requirement("REPLAYABLE-SIGNATURE")
@given(st.sampled_from(["body", "webhook-id", "webhook-timestamp"]), st.data())
def test_every_change_of_a_single_byte_is_refused(part: str, data: st.DataObject) -> None:
    original = BODY if part == "body" else headers()[part].encode()
    at = data.draw(st.integers(0, len(original) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != original[at]))
    changed = original[:at] + bytes([byte]) + original[at + 1 :]

    if part == "body":
        assert not verified(body=changed)
    else:
        assert not verified({part: changed.decode("latin-1")})


@pytest.mark.requirement("REPLAYABLE-SIGNATURE")
@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", [None, "", " ", "\ud800", b"1760000000", 1_760_000_000], ids=range(6))
def test_a_header_that_is_missing_or_malformed_is_false_and_no_exception(name: str, value: Any) -> None:
    sent: dict[str, Any] = headers()
    del sent[name]
    if value is not None:
        sent[name] = value

    assert verify_webhook(sent, BODY, KEY, clock=FakeClock(NOW)) is False


@pytest.mark.parametrize(
    "timestamp",
    [
        "1760000000.0",
        "+1760000000",
        " 1760000000",
        "1_760_000_000",
        "-1",
        "1e9",
        "nan",
        "١٧٦٠٠٠٠٠٠٠",
        "9" * 5000,
        "0" * 20,
    ],
)
def test_a_timestamp_that_is_no_plain_number_is_false_whoever_signed_it(timestamp: str) -> None:
    signed = hmac.digest(KEY, f"id.{timestamp}.".encode() + BODY, "sha256")
    signature = base64.b64encode(signed).decode()
    sent = {"webhook-id": "id", "webhook-timestamp": timestamp, "webhook-signature": f"v1,{signature}"}

    assert verify_webhook(sent, BODY, KEY, clock=FakeClock(NOW), tolerance=float("inf")) is False


@pytest.mark.parametrize(
    "change",
    [
        lambda good: good.removeprefix("v1,"),
        lambda good: good.replace("v1,", "v1a,"),
        lambda good: good.replace("v1,", "v2,"),
        lambda good: good.rstrip("="),
        lambda good: good[:-2] + "==",
        lambda good: good + "\n",
        lambda good: f"v1, {good}x",
    ],
    ids=range(7),
)
def test_a_signature_in_any_other_form_is_false(change: Any) -> None:
    good = headers()["webhook-signature"]

    assert not verified({"webhook-signature": change(good)})
    assert verified({"webhook-signature": f"v1a,other  {good} v1,AAAA"})


def test_header_names_have_any_case_and_come_once() -> None:
    sent = headers()
    assert verify_webhook(
        {name.title(): value for name, value in sent.items()}, BODY, KEY, clock=FakeClock(NOW)
    )

    doubled: dict[Any, Any] = {**sent, "Webhook-Id": sent["webhook-id"]}
    assert not verify_webhook(doubled, BODY, KEY, clock=FakeClock(NOW))
    odd: dict[Any, Any] = {**sent, 7: "x", b"webhook-id": "x"}
    assert verify_webhook(odd, BODY, KEY, clock=FakeClock(NOW))


ids = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1)


@given(text=st.text(), message_id=ids, before=st.booleans())
def test_what_we_sign_the_reference_library_verifies(text: str, message_id: str, before: bool) -> None:
    body, keys = text.encode(), [OLD, KEY] if before else [KEY, OLD]
    sent = signature_headers(keys, message_id, int(SystemClock().now()), body)

    Webhook(WHSEC).verify(body, sent, json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook(WHSEC).verify(body + b" ", sent, json_parse=False)


@given(text=st.text(), message_id=ids)
def test_what_the_reference_library_signs_we_verify(text: str, message_id: str) -> None:
    signature = Webhook(KEY).sign(message_id, datetime.datetime.fromtimestamp(NOW, datetime.UTC), text)
    sent = {"webhook-id": message_id, "webhook-timestamp": str(NOW), "webhook-signature": signature}

    assert verify_webhook(sent, text.encode(), WHSEC, clock=FakeClock(NOW))
    assert not verify_webhook(sent, text.encode() + b" ", WHSEC, clock=FakeClock(NOW))
