"""What we hold for AWS's limits, against the service models that the installed botocore ships."""

import html
import re
from typing import Any

import botocore.session
import pytest
from agent_wait_aws import _dynamodb, _eventbridge, _keys, _scheduler, _sns, _sqs
from agent_wait_aws._announce import message_limit
from agent_wait_aws._text import is_carried

KIB = 1024


def shape(service: str, name: str) -> Any:
    return botocore.session.get_session().get_service_model(service).shape_for(name)


def text(service: str, operation: str, member: str = "") -> str:
    model = botocore.session.get_session().get_service_model(service)
    found: Any = model.operation_model(operation)
    documentation: str = found.input_shape.members[member].documentation if member else found.documentation
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", "", documentation))


def test_eventbridge_takes_this_many_entries() -> None:
    assert shape("events", "PutEventsRequestEntryList").metadata["max"] == _eventbridge.BATCH


def test_eventbridge_takes_this_many_bytes() -> None:
    assert "total entry size must be less than 1MB" in text("events", "PutEvents")
    assert _eventbridge.MAX_BYTES == 10**6 - 1


def test_a_trace_header_fits() -> None:
    header = _eventbridge.trace_header("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

    assert len(header or "") <= shape("events", "TraceHeader").metadata["max"]


def test_dynamodb_takes_this_many_items() -> None:
    assert shape("dynamodb", "TransactWriteItemList").metadata["max"] == _dynamodb.TRANSACTION
    assert "cannot exceed 4 MB" in text("dynamodb", "TransactWriteItems")
    assert _dynamodb.TRANSACTION_BYTES == 4 * KIB * KIB


def test_dynamodb_items_are_this_large() -> None:
    assert "400 KB" in text("dynamodb", "TransactWriteItems") + text("dynamodb", "BatchWriteItem")
    assert _dynamodb.ITEM_BYTES == 400 * KIB


def test_scheduler_names_are_this_long() -> None:
    name = shape("scheduler", "Name")

    assert name.metadata["max"] == _scheduler.NAME
    assert re.fullmatch(name.metadata["pattern"], _scheduler.schedule_name("q"))


def test_scheduler_inputs_are_this_large() -> None:
    documentation = shape("scheduler", "Target").members["Input"].documentation

    assert "maximum size of the <code>Input</code> field is 256 KB" in documentation
    assert _scheduler.INPUT_BYTES == 256 * KIB


@pytest.mark.parametrize(
    ("service", "operation", "limit"),
    [("sqs", "SendMessageBatch", _sqs.BATCH), ("sns", "PublishBatch", _sns.BATCH)],
)
def test_a_batch_is_of_ten(service: str, operation: str, limit: int) -> None:
    assert re.search(rf"up to {limit} messages", text(service, operation))


def test_sqs_messages_and_batches_are_this_large() -> None:
    assert "are both 1 MiB 1,048,576 bytes" in text("sqs", "SendMessageBatch")
    assert _sqs.MAX_BYTES == KIB * KIB


def test_sns_messages_and_batches_are_this_large_unless_the_topic_says_otherwise() -> None:
    assert "are both 256 KiB (262,144 bytes)" in text("sns", "PublishBatch")
    assert "less than 100 characters" in text("sns", "Publish", "Subject")
    assert (_sns.MAX_BYTES, _sns.SUBJECT) == (256 * KIB, 99)


@pytest.mark.parametrize("member", ["MessageGroupId", "MessageDeduplicationId"])
@pytest.mark.parametrize(("service", "operation"), [("sqs", "SendMessage"), ("sns", "Publish")])
def test_fifo_ids_are_of_this_length_and_alphabet(service: str, operation: str, member: str) -> None:
    documentation = html.unescape(text(service, operation, member))
    found = re.search(r"punctuation \((\S+)\)", documentation)
    assert found is not None
    punctuation = found[1]

    assert re.search(r"\b128 (alphanumeric )?characters", documentation)
    assert _keys.fit(punctuation.ljust(128, "a")).startswith(punctuation)
    assert all(_keys.fit(letter) == letter for letter in map(chr, range(128)) if letter.isalnum())
    others = [letter for letter in map(chr, range(256)) if not letter.isascii() or not letter.isalnum()]
    assert [letter for letter in others if _keys.fit(letter) == letter] == sorted(punctuation)
    assert _keys.fit("a" * 129) != "a" * 129


@pytest.mark.parametrize(("service", "operation"), [("sqs", "CreateQueue"), ("sns", "CreateTopic")])
def test_a_maximum_message_size_is_one_of_these(service: str, operation: str) -> None:
    documentation = text(service, operation, "Attributes").partition("MaximumMessageSize")[2]
    found = re.search(r"(1,?024)\D.*?(1,?048,?576)\D", documentation)
    assert found is not None
    lowest, highest = (int(number.replace(",", "")) for number in found.groups())

    assert (message_limit(lowest), message_limit(highest)) == (lowest, highest)
    for beyond in (lowest - 1, highest + 1):
        with pytest.raises(ValueError, match="max_bytes is 1,024 to 1,048,576"):
            message_limit(beyond)


def test_sqs_takes_these_characters() -> None:
    ranges = re.findall(r"#x([0-9A-F]+)(?: to #x([0-9A-F]+))?", text("sqs", "SendMessage"))
    edges = [(int(first, 16), int(last or first, 16)) for first, last in ranges]

    for point in {point for edge in edges for end in edge for point in (end - 1, end, end + 1)}:
        allowed = any(first <= point <= last for first, last in edges)
        assert point > 0x10FFFF or is_carried(chr(point)) == allowed, hex(point)
