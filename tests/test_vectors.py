"""spec/vectors/ is what the library does, for whoever writes another implementation."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import make_vectors
import pytest
from agent_wait import Question, WaitEnvelope, verify_signature, verify_webhook
from agent_wait._clock import FakeClock
from jsonschema import Draft202012Validator

VECTORS = make_vectors.VECTORS
SCHEMA = json.loads((VECTORS.parent / "envelope.schema.json").read_text())
RELEASED = sorted(VECTORS.glob("packed-*.json"))


def read(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [name for name in make_vectors.FILES if not name.startswith("packed-")])
def test_the_committed_vectors_are_what_the_library_does(name: str) -> None:
    committed = (VECTORS / name).read_text(encoding="utf-8")
    assert committed == make_vectors.text_of(make_vectors.FILES[name]()), "python tests/make_vectors.py"


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_what_a_release_has_parked_loads_for_ever(path: Path) -> None:
    for entry in json.loads(path.read_text()):
        question = Question.unpack(entry["id"], entry["value"])
        # A later release may know more fields; those of that release read as they did.
        now = make_vectors.described(question)
        assert {name: now[name] for name in entry["reads_as"]} == entry["reads_as"]
        assert Question.unpack(question.id, question.pack()) == question or question.source is None


def test_this_release_parks_what_its_vectors_say() -> None:
    assert version("agent-wait") == make_vectors.RELEASE, "name the new release there and commit its vectors"
    assert read(f"packed-{make_vectors.RELEASE}.json") == make_vectors.packed()


def test_the_schema_is_one_and_takes_every_golden_envelope_and_nothing_that_lacks_a_field() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    validator = Draft202012Validator(SCHEMA)
    for entry in read("envelopes.json"):
        envelope = entry["envelope"]
        assert [error.message for error in validator.iter_errors(envelope)] == []
        assert validator.is_valid({**envelope, "a field of a later release": 1})
        for name in envelope:
            assert not validator.is_valid({k: v for k, v in envelope.items() if k != name})


@pytest.mark.parametrize("entry", read("envelopes.json"), ids=lambda entry: entry["name"])
def test_a_golden_envelope_is_built_alike_apart_from_its_event_id_and_reads_back_equal(entry: Any) -> None:
    golden = WaitEnvelope.from_json(entry["json"])
    assert golden.to_json() == entry["json"]
    assert golden.to_dict() == entry["envelope"]
    built = make_vectors.built(entry)
    assert {**built.to_dict(), "event_id": golden.event_id} == entry["envelope"]
    schema = entry["envelope"]["answer_schema"]
    if schema is not None:
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("entry", read("signatures.json"), ids=lambda entry: entry["id"])
def test_a_golden_signature_verifies_and_only_with_its_own_body(entry: Any) -> None:
    clock = FakeClock(entry["timestamp"])
    body, headers, secret = entry["body"].encode(), entry["headers"], entry["secret"]
    assert verify_webhook(headers, body, secret, clock=clock)
    assert verify_signature(secret, body, headers["X-Agent-Wait-Signature"])
    assert not verify_webhook(headers, body + b" ", secret, clock=clock)
    assert not verify_signature(secret, body + b" ", headers["X-Agent-Wait-Signature"])
