"""Publish the question that an agent run stopped on, and make the way back one safe line.

>>> from agent_wait import InMemoryAnnounce, Question, publish
>>> announced = InMemoryAnnounce()
>>> publication = publish([Question("q-1", {"refund": "41000.00"})], "thread-1", announced)
>>> publication.raise_for_failures()
>>> announced.last.reply_with["question_id"]
'q-1'
"""

from agent_wait._adapter import FrameworkAdapter, Taken, ThreadState
from agent_wait._announcer import AnnounceAdapter, BaseAnnounce
from agent_wait._answer import Verdict, WrappedAnswer, is_answer, judge, unwrap_answer, wrap_answer
from agent_wait._canonical import encode as canonical_json
from agent_wait._canonical import to_plain
from agent_wait._clock import Clock, FakeClock, SystemClock
from agent_wait._convert import convert_edits, schema_for
from agent_wait._current import CurrentWait, current_wait
from agent_wait._deliver import CompositeAnnounce
from agent_wait._envelope import EntryPoint, WaitEnvelope
from agent_wait._errors import (
    AnnounceError,
    AnnounceFailed,
    PolicyError,
    QuestionClosed,
    QuestionError,
    QuestionTooLarge,
    WaitError,
)
from agent_wait._framework import Framework
from agent_wait._identity import ask_id, fingerprint
from agent_wait._log import LogAnnounce
from agent_wait._memory import FailingAnnounce, InMemoryAnnounce
from agent_wait._outcome import Outcome
from agent_wait._policy import WaitPolicy
from agent_wait._publication import Failure, Publication
from agent_wait._publish import apublish, make_apublish_interrupts, make_publish_interrupts, publish
from agent_wait._publisher import WaitPublisher
from agent_wait._question import Question
from agent_wait._signing import verify_signature, verify_webhook
from agent_wait._types import JSON, Transition
from agent_wait._wait import Ask, Wait, make_ask, make_wait
from agent_wait._webhook import WebhookAnnounce

__all__ = [
    "JSON",
    "AnnounceAdapter",
    "AnnounceError",
    "AnnounceFailed",
    "Ask",
    "BaseAnnounce",
    "Clock",
    "CompositeAnnounce",
    "CurrentWait",
    "EntryPoint",
    "FailingAnnounce",
    "Failure",
    "FakeClock",
    "Framework",
    "FrameworkAdapter",
    "InMemoryAnnounce",
    "LogAnnounce",
    "Outcome",
    "PolicyError",
    "Publication",
    "Question",
    "QuestionClosed",
    "QuestionError",
    "QuestionTooLarge",
    "SystemClock",
    "Taken",
    "ThreadState",
    "Transition",
    "Verdict",
    "Wait",
    "WaitEnvelope",
    "WaitError",
    "WaitPolicy",
    "WaitPublisher",
    "WebhookAnnounce",
    "WrappedAnswer",
    "apublish",
    "ask_id",
    "canonical_json",
    "convert_edits",
    "current_wait",
    "fingerprint",
    "is_answer",
    "judge",
    "make_apublish_interrupts",
    "make_ask",
    "make_publish_interrupts",
    "make_wait",
    "publish",
    "schema_for",
    "to_plain",
    "unwrap_answer",
    "verify_signature",
    "verify_webhook",
    "wrap_answer",
]
