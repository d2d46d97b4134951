"""`StrandsAdapter`: an agent, as `WaitPublisher` drives it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_wait import JSON, Clock, Question, QuestionClosed, Taken, ThreadState
from strands import Agent
from strands.agent import AgentResult
from strands.hooks import AfterInvocationEvent

from strands_wait._call import interrupt_state
from strands_wait._looking import look, stop_at_unknown_sessions
from strands_wait._resume import interrupt_responses, refusal
from strands_wait._thread import kept_starts, mark, marked_input, questions_of, thread_state

_STARTS = "agent_wait_starts"


@dataclass(frozen=True, slots=True)
class _Resume:
    message: Mapping[str, Any]


class _Continue:
    """Go on with what there is."""


class StrandsAdapter:
    """Agents whose threads a session manager of Strands keeps.

    Args:
        make_agent: Makes a thread's agent, with a session manager whose session is the thread's. It is called
            anew for every message and every look, on a worker thread by the async methods: what it makes
            must not be shared.
        clock: For when an answer was given. None: the machine's.
    """

    name = "strands"

    def __init__(self, make_agent: Callable[[str], Agent], *, clock: Clock | None = None) -> None:
        stop_at_unknown_sessions()
        self._make_agent = make_agent
        self._clock = clock

    def config_for(self, thread_id: str, starts: Sequence[str] = ()) -> Mapping[str, Any]:
        """The thread, its start ids and an `invocation_state`; more of a host goes to the agent's call."""
        return {
            "thread_id": thread_id,
            _STARTS: tuple(starts),
            "invocation_state": {"thread_id": thread_id},
        }

    def state(self, thread_id: str) -> ThreadState:
        """What the thread is, from its session. One that has no session gets none."""
        return thread_state(look(self._make_agent, thread_id))

    async def astate(self, thread_id: str) -> ThreadState:
        """As `state`, awaited."""
        return await asyncio.to_thread(self.state, thread_id)

    def invoke(self, value: Any, config: Mapping[str, Any]) -> AgentResult:
        """Run the thread's agent.

        Args:
            value: A prompt, interrupt responses of the host's own, or what this adapter made.
            config: See `config_for`.

        Raises:
            QuestionClosed: The question is no longer open; nothing was run.
        """
        agent = self._make_agent(config["thread_id"])
        prompt, options = self._prepare(agent, value, config)
        return agent(prompt, **options)

    async def ainvoke(self, value: Any, config: Mapping[str, Any]) -> AgentResult:
        """As `invoke`, awaited."""
        agent = await asyncio.to_thread(self._make_agent, config["thread_id"])
        prompt, options = self._prepare(agent, value, config)
        return await agent.invoke_async(prompt, **options)

    def resume_value(
        self, message: Mapping[str, Any], question: Question, *, taken: Taken | None = None
    ) -> Any:
        """What `invoke` takes to give the message's answer to the question."""
        del question, taken
        return _Resume(message)

    def continue_value(self) -> Any:
        """What `invoke` takes to go on with unfinished work: nothing new."""
        return _Continue()

    def refusal(self, question: Question, answer: JSON) -> str | None:
        """Why Strands could not carry the answer: null to a bare interrupt."""
        return refusal(question, answer)

    def _prepare(self, agent: Agent, value: Any, config: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        starts: tuple[str, ...] = config.get(_STARTS, ())
        options = {key: config[key] for key in config if key not in ("thread_id", _STARTS)}
        if isinstance(value, _Resume):
            try:
                prompt: Any = interrupt_responses(value.message, questions_of(agent), clock=self._clock)
            except ValueError as error:
                raise QuestionClosed("the question is no longer open") from error
        elif isinstance(value, _Continue):
            # With a prompt, if only an empty list, Strands would close the calls of a dead run as failed.
            prompt = [] if interrupt_state(agent)["activated"] else None
        else:
            new = [start for start in starts if start not in thread_state(agent).starts]
            prompt = marked_input(value, new[-1] if new else None)
        mark(agent, starts, running=True)
        agent.add_hook(_finished, AfterInvocationEvent)
        return prompt, options


def _finished(event: AfterInvocationEvent) -> None:
    """Say that the run is over, in time for the session manager to store it, which it does after this."""
    if event.result is not None:
        mark(event.agent, kept_starts(event.agent), running=False)
