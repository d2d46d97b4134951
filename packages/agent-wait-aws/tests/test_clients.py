import subprocess
import sys
import threading
from typing import Any

import boto3
import pytest
from agent_wait_aws import (
    DynamoDbAnnounce,
    EventBridgeAnnounce,
    SchedulerAnnounce,
    SnsAnnounce,
    SqsAnnounce,
    _clients,
)
from agent_wait_aws._clients import LazyClient, region_of_arn
from agent_wait_aws._sqs import region_of_url


class CountingSession:
    """A boto3 session that counts, and notes when two threads are in it at once."""

    def __init__(self, *, waits: float = 0) -> None:
        self.made: list[tuple[str, str | None]] = []
        self.crowded = threading.Event()
        self._waits = waits
        self._busy = threading.Lock()

    def client(self, service: str, *, region_name: str | None = None, config: Any = None) -> object:
        self.made.append((service, region_name))
        if not self._busy.acquire(blocking=False):
            self.crowded.set()
            return object()
        self.crowded.wait(self._waits)
        self._busy.release()
        return object()


def test_importing_and_building_load_no_boto3() -> None:
    code = """
import sys
from agent_wait_aws import *
SnsAnnounce("arn:aws:sns:eu-west-1:123456789012:t"), SqsAnnounce("https://sqs.eu-west-1.amazonaws.com/1/q")
EventBridgeAnnounce("bus"), DynamoDbAnnounce("table")
SchedulerAnnounce(group_name="g", target_arn="arn:aws:sqs:eu-west-1:1:q", role_arn="arn:aws:iam::1:role/r")
print(sorted(name for name in sys.modules if name.partition(".")[0] in ("boto3", "botocore")))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == "[]\n"


def test_a_client_is_made_once_however_many_threads_ask_first() -> None:
    session = CountingSession(waits=0.05)
    barrier = threading.Barrier(16, timeout=10)
    lazies = [LazyClient[object]("sns", client=None, region_name=None, session=session) for _ in range(4)]
    seen: list[object] = []

    def ask(number: int) -> None:
        barrier.wait()
        seen.append(lazies[number % 4].get())

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not session.crowded.is_set()
    assert len(session.made) == 4
    assert len(seen) == 16
    assert len(set(map(id, seen))) == 4


def test_a_forked_process_makes_clients_of_its_own_and_keeps_those_it_was_given() -> None:
    code = """
import os
from agent_wait_aws import _clients
class Session:
    def client(self, *args, **kwargs):
        return object()
class Holding:
    def client(self, *args, **kwargs):
        pid = os.fork()
        if pid:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            return object()
        assert made.get() is not first  # and takes no lock that nobody will ever release
        assert given.get() is injected
        os._exit(0)
injected = object()
made = _clients.LazyClient("sns", client=None, region_name=None, session=Session())
given = _clients.LazyClient("sns", client=injected, region_name=None, session=None)
first = made.get()
_clients.LazyClient("sqs", client=None, region_name=None, session=Holding()).get()
assert made.get() is first
print("done")
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False
    )

    assert (ran.stdout, ran.stderr) == ("done\n", "")


def test_what_starts_anew_makes_its_client_again_in_a_session_of_its_own() -> None:
    session = CountingSession()
    lazy = LazyClient[object]("sns", client=None, region_name=None, session=session)
    first, lock = lazy.get(), _clients._lock

    _clients._start_anew()

    assert lazy.get() is not first
    assert lazy.get() is lazy.get()
    assert len(session.made) == 2
    assert _clients._lock is not lock
    assert _clients._own_session is None


def test_an_injected_client_is_the_one() -> None:
    client = object()
    session = CountingSession()

    assert LazyClient("sns", client=client, region_name="x", session=session).get() is client
    assert session.made == []


def test_warm_makes_each_client_ahead_and_in_the_region_of_its_target() -> None:
    session = CountingSession()
    for announcer in (
        SnsAnnounce("arn:aws:sns:eu-west-1:123456789012:t", session=session),
        SqsAnnounce("https://sqs.eu-west-2.amazonaws.com/123456789012/q", session=session),
        EventBridgeAnnounce("arn:aws:events:eu-west-3:123456789012:event-bus/b", session=session),
        DynamoDbAnnounce("arn:aws:dynamodb:eu-north-1:123456789012:table/t", session=session),
        SchedulerAnnounce(
            group_name="g", target_arn="arn:aws:sqs:eu-south-1:1:q", role_arn="r", session=session
        ),
        SnsAnnounce("arn:aws:sns:eu-west-1:123456789012:t", region_name="us-east-2", session=session),
    ):
        announcer.warm()
        announcer.warm()

    assert session.made == [
        ("sns", "eu-west-1"),
        ("sqs", "eu-west-2"),
        ("events", "eu-west-3"),
        ("dynamodb", "eu-north-1"),
        ("scheduler", "eu-south-1"),
        ("sns", "us-east-2"),
    ]


def test_a_client_of_ours_retries_as_boto3s_standard_mode_and_ends() -> None:
    client: Any = LazyClient[Any]("sqs", client=None, region_name=None, session=None).get()

    config = client.meta.config
    assert config.retries == {"mode": "standard", "total_max_attempts": 3}
    assert (config.connect_timeout, config.read_timeout) == (3, 5)
    assert client.meta.region_name == "us-east-1"


def test_all_share_one_session_until_the_process_has_set_up_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    made: list[object] = []
    session = boto3.session.Session

    def count(**kwargs: Any) -> boto3.session.Session:
        made.append(kwargs)
        return session(**kwargs)

    monkeypatch.setattr(boto3.session, "Session", count)
    LazyClient[Any]("sqs", client=None, region_name=None, session=None).get()
    LazyClient[Any]("sns", client=None, region_name=None, session=None).get()
    assert made == [{}]

    default = CountingSession()
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", default)
    LazyClient[Any]("sns", client=None, region_name=None, session=None).get()
    assert default.made == [("sns", None)]


@pytest.mark.parametrize(
    ("arn", "region"),
    [
        ("arn:aws:sns:eu-west-1:123456789012:topic", "eu-west-1"),
        ("arn:aws:iam::123456789012:role/r", None),
        ("a-name", None),
        ("", None),
    ],
)
def test_an_arn_names_its_region(arn: str, region: str | None) -> None:
    assert region_of_arn(arn) == region


@pytest.mark.parametrize(
    ("url", "region"),
    [
        ("https://sqs.eu-west-1.amazonaws.com/123456789012/q", "eu-west-1"),
        ("https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q", "cn-north-1"),
        ("https://eu-west-1.queue.amazonaws.com/123456789012/q", "eu-west-1"),
        ("http://127.0.0.1:4566/000000000000/q", None),
    ],
)
def test_a_queues_url_names_its_region(url: str, region: str | None) -> None:
    assert region_of_url(url) == region


def test_an_announcer_shows_where_it_announces() -> None:
    assert repr(SnsAnnounce("arn:aws:sns:eu-west-1:123456789012:questions")) == "SnsAnnounce(sns:questions)"
    assert SqsAnnounce("https://sqs.eu-west-1.amazonaws.com/1/q.fifo").name == "sqs:q.fifo"
    assert EventBridgeAnnounce("arn:aws:events:eu-west-3:1:event-bus/b").name == "eventbridge:b"
    assert DynamoDbAnnounce("approvals").name == "dynamodb:approvals"


def test_what_names_nothing_is_refused_at_once() -> None:
    for build in (
        lambda: SnsAnnounce(""),
        lambda: SqsAnnounce(""),
        lambda: SqsAnnounce("https://q", group_id=""),
        lambda: EventBridgeAnnounce(""),
        lambda: EventBridgeAnnounce("bus", source=""),
        lambda: EventBridgeAnnounce("bus", source="aws.mine"),
        lambda: DynamoDbAnnounce(""),
        lambda: DynamoDbAnnounce("t", ttl_seconds=0),
        lambda: SchedulerAnnounce(group_name="", target_arn="t", role_arn="r"),
        lambda: SchedulerAnnounce(group_name="g", target_arn="", role_arn="r"),
        lambda: SchedulerAnnounce(group_name="g", target_arn="t", role_arn=""),
        lambda: SnsAnnounce("arn:t", max_bytes=1023),
        lambda: SqsAnnounce("https://q", max_bytes=1_048_577),
        lambda: SnsAnnounce("arn:t", only=()),
    ):
        with pytest.raises(ValueError, match=r"empty|max_bytes|ttl_seconds|aws|only"):
            build()


def test_boto3s_own_clients_and_sessions_are_taken_as_they_are_typed() -> None:
    session = boto3.session.Session()
    announcers = (
        SnsAnnounce("arn:t", client=session.client("sns")),
        SqsAnnounce("https://q", client=session.client("sqs")),
        EventBridgeAnnounce("b", client=session.client("events")),
        DynamoDbAnnounce("t", client=session.client("dynamodb")),
        SchedulerAnnounce(group_name="g", target_arn="t", role_arn="r", client=session.client("scheduler")),
        SnsAnnounce("arn:t", session=session),
    )

    for announcer in announcers:
        announcer.warm()
        assert announcer.supports("created")
