"""What an agent framework has to offer for `wait`, `ask` and `publish_interrupts` to work on it."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from agent_wait._json_types import check_edits
from agent_wait._types import JSON


class Framework(ABC):
    """One agent framework: three methods and a name; everything else has a default.

    `call_args` is the call at hand: every parameter of the function by its name with its real value,
    defaults applied, `self` and the decision parameter left out, the framework's injected parameters and
    the one from `added_parameter` included; `*args` and `**kwargs` under their own names. For `ask()` it
    is empty. Methods are called on whatever thread or loop the call runs on, and may be called again for
    the same call each time the framework runs it again; they must then give the same answer.

    Whatever a method raises goes to the function's caller. A framework that parks by raising does so
    from `interrupt`, and nothing here catches it.

    The parked value's `__ask__.call` is what `call_identity` returned, so that `interrupt` and `answered`
    know the call they are about.
    """

    name: str
    """What the envelope's `source.framework` says, such as `langgraph`."""

    hidden_params: tuple[str, ...] = ()
    """Names of parameters that the framework injects whatever their annotation."""

    @abstractmethod
    def interrupt(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> Any:
        """Park the run on `value`, or return the answer on the run that resumes.

        Called again with `__ask__.attempt` one higher, and `__ask__.error` set, when the answer returned
        before could not be used. Of wrapped answers only one with `value["__ask__"]["fingerprint"]` serves
        this call, and of several the newest: a framework that can tell answers apart returns no other;
        for one that cannot the caller checks. A raw answer was given by the framework's own means and is
        returned as it comes; once returned, it must go on naming the call that took it.

        A framework that finds this ask stored already, from an earlier run of the call, parks on what is
        stored, so that `asked_at` does not move.

        Args:
            value: `Question.pack()`: plain JSON data, to be stored and handed back unchanged.
            call_args: See the class.

        Returns:
            The answer, wrapped as `resume_command` and its kin hand it on, or raw.
        """

    @abstractmethod
    def interrupts_in(self, result: Any) -> list[tuple[str, Any]]:
        """What a finished run stopped on: `(id, value)`, each once, in order; `[]` when it ran through.

        Reads the return value alone. `value` is what `interrupt` parked on, or whatever else the
        framework's user did. Anything that is no result of this framework is a `TypeError`.
        """

    @abstractmethod
    def current_thread_id(self, call_args: Mapping[str, Any]) -> str:
        """The thread of the run that is going on."""

    def is_injected(self, parameter: inspect.Parameter, annotation: Any) -> bool:
        """Whether the framework fills this parameter, so that it is neither published nor edited.

        Args:
            parameter: As the function has it.
            annotation: Resolved where it can be, else as written (a string); `Parameter.empty` for none.
        """
        del annotation
        return parameter.name in self.hidden_params

    def added_parameter(self, signature: inspect.Signature) -> inspect.Parameter | None:
        """One parameter that the decorator adds so that the framework hands over its context.

        Args:
            signature: The function's own, annotations resolved where they can be.

        Returns:
            None when the function already has what is needed. A keyword-only parameter goes to the end,
            any other first (after `self`). Its value is never trusted without a look at its type, since a
            model may send one by that name.
        """
        del signature
        return None

    def is_context(self, value: object) -> bool:
        """Whether a value that arrives for `added_parameter` is the framework's; any other is ignored."""
        del value
        return False

    def call_identity(self, question: JSON, call_args: Mapping[str, Any]) -> JSON:
        """What tells this call from every other that asks an equal question; the same on every re-run.

        Called exactly once for each run of a call that parks or that `when` lets through, in the order of
        the calls, so that an adapter may count equal calls here.
        """
        del question, call_args
        return None

    def call_failed(
        self, error: Exception, question: JSON, identity: JSON, call_args: Mapping[str, Any]
    ) -> None:
        """The body of this call raised `error`, which may be a park further in.

        After a real failure an equal call that follows is a retry of this one and bears its identity.
        """
        del error, question, identity, call_args

    def answered(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> bool:
        """Whether an answer for this ask is there, seen without parking and without taking it."""
        del value, call_args
        return False

    def call_scope(self, call_args: Mapping[str, Any]) -> JSON:
        """Goes into `idempotency_key` beside the thread and the fingerprint."""
        del call_args
        return None

    def asked_at(self, call_args: Mapping[str, Any]) -> float | None:
        """When this question was first asked, in seconds since the epoch; None: ask the clock."""
        del call_args
        return None

    def convert_edits(self, function: Callable[..., Any], args: Mapping[str, JSON]) -> Mapping[str, Any]:
        """The approver's edited arguments as the function takes them.

        The default knows JSON types only (`str`, `int`, `float`, `bool`, `None`, lists and objects of
        them) and refuses every other annotation, since it could not make the value the body expects.

        Args:
            function: Bears in `__signature__` the published parameters alone, annotations resolved.
            args: Only names of that signature, and only values that differ from what was shown.

        Raises:
            QuestionError: With the argument's name as its `path`; the question is asked again with it.
        """
        return check_edits(function, args)

    def schema_for(self, function: Callable[..., Any]) -> JSON | None:
        """A JSON Schema 2020-12 object of the published arguments (`properties`), or None.

        Args:
            function: As for `convert_edits`.
        """
        del function
        return None
