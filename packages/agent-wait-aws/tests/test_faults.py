import pytest
from agent_wait import AnnounceError
from agent_wait_aws._faults import as_announce_error, code_of, entry_error, too_large
from botocore import exceptions


def client_error(code: str, message: str = "") -> exceptions.ClientError:
    return exceptions.ClientError({"Error": {"Code": code, "Message": message}}, "Publish")


def test_a_code_comes_without_its_namespace() -> None:
    assert code_of(client_error("AWS.SimpleQueueService.NonExistentQueue")) == "NonExistentQueue"
    assert code_of(ValueError()) == ""


def test_an_error_of_the_service_says_whose_it_is_and_keeps_its_cause() -> None:
    raised = client_error("AccessDenied", "User: arn:... is not authorized to perform: sns:Publish")

    error = as_announce_error(raised, "sns:topic")

    assert str(error) == "AccessDenied: User: arn:... is not authorized to perform: sns:Publish"
    assert (error.announcer, error.retryable) == ("sns:topic", True)
    assert error.__cause__ is raised


@pytest.mark.parametrize(
    "code", ["ValidationException", "InvalidMessageContents", "InvalidParameter", "MalformedDetail"]
)
def test_what_is_refused_for_what_it_is_is_never_quoted_nor_worth_a_repeat(code: str) -> None:
    error = as_announce_error(client_error(code, "Value 'TOP SECRET' at 'detail' failed"), "sns:topic")

    assert "SECRET" not in str(error)
    assert code in str(error)
    assert not error.retryable


def test_our_own_error_stays_as_it_is() -> None:
    ours = AnnounceError("as it is", retryable=False)

    assert as_announce_error(ours, "sns:topic") is ours


def test_a_reply_that_never_came_is_unknown_and_not_unsent() -> None:
    for raised in (
        exceptions.ReadTimeoutError(endpoint_url="http://x"),
        exceptions.ConnectionClosedError(endpoint_url="http://x"),
    ):
        error = as_announce_error(raised, "sns:topic")
        assert "unknown whether it arrived" in str(error)
        assert error.retryable


def test_what_could_not_be_reached_says_so() -> None:
    error = as_announce_error(exceptions.EndpointConnectionError(endpoint_url="http://x"), "sns:topic")

    assert "Could not connect" in str(error)
    assert error.retryable


@pytest.mark.parametrize(
    "raised",
    [
        TypeError("Object of type SECRET is not JSON serializable"),
        UnicodeEncodeError("utf-8", "SECRET", 0, 1, "surrogates not allowed"),
        RecursionError("SECRET"),
        exceptions.ParamValidationError(report="Invalid type for Message, value: SECRET"),
    ],
)
def test_what_may_quote_the_question_is_told_by_its_type(raised: Exception) -> None:
    error = as_announce_error(raised, "sns:topic")

    assert "SECRET" not in str(error)
    assert type(raised).__name__ in str(error)
    assert not error.retryable


def test_an_entry_of_a_batch_fails_in_the_same_words() -> None:
    error = entry_error("InternalError", "try again", "sqs:queue")

    assert (str(error), error.announcer, error.retryable) == ("InternalError: try again", "sqs:queue", True)
    assert not entry_error("InvalidMessageContents", "SECRET", "sqs:queue").retryable


def test_what_is_too_large_says_by_how_much_and_what_to_do() -> None:
    error = too_large(300_000, 262_144, "sns:topic")

    assert (
        str(error)
        == "300000 bytes, and at most 262144 are carried: store what is large and ask with a reference to it"
    )
    assert not error.retryable
