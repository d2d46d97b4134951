"""Every promise of the project, and where it comes from.

A test names the promise that it keeps: `@pytest.mark.requirement("FALSY-ANSWERS")`. `test_requirements.py`
holds the two together: no promise without a test, and no test for a promise that is not here.
"""

from typing import NamedTuple


class Requirement(NamedTuple):
    """One promise: what it is about, and the sentence that its tests make true."""

    about: str
    sentence: str


REQUIREMENTS = {
    # docs/delivery-guarantees.md
    "PROMISE-1": Requirement(
        "The router",
        "No question is lost: whatever is parked is announced at least once through every announcer.",
    ),
    "PROMISE-2": Requirement(
        "The router", "No question appears under two identities because a message was delivered twice."
    ),
    "PROMISE-3": Requirement("The router", "No body runs without an approval of exactly what it runs with."),
    "PROMISE-4": Requirement("The router", "An effect keyed by the idempotency key happens once."),
    "PROMISE-5": Requirement(
        "The router",
        "No message is acknowledged before what it caused is durable, and no bad answer wedges a thread.",
    ),
    "PROMISE-6": Requirement(
        "The router",
        "Nothing is swallowed: what failed, was refused or skipped is in a return value and one log line.",
    ),
    "PROMISE-7": Requirement(
        "The router",
        "What an answer closed is announced as resumed at least once, if the answer names its ask.",
    ),
    # Which question does this answer belong to?
    "STALE-Q1-APPROVES-Q2": Requirement(
        "Which question does this answer belong to?",
        "An answer to a node's first question never answers its second.",
    ),
    "REPUBLISH-BY-INVOKE-NONE": Requirement(
        "Which question does this answer belong to?",
        "A redelivered start announces what is open again and runs nothing.",
    ),
    "BAD-ANSWER-POISONS-THREAD": Requirement(
        "Which question does this answer belong to?",
        "After an answer that cannot be used, a better one to the question asked again runs the body once.",
    ),
    "WRONG-SHAPE-FOR-MIDDLEWARE": Requirement(
        "Which question does this answer belong to?",
        "An answer of another shape than the middleware's is refused before it can wedge the thread.",
    ),
    "SAME-ID-FOR-NEXT-QUESTION": Requirement(
        "Which question does this answer belong to?",
        "Two questions of one task never share an id or a dedupe key.",
    ),
    "STRANDS-SAME-NAME-SHARES-APPROVAL": Requirement(
        "Which question does this answer belong to?",
        "Two waits within one tool call are two questions, and one approval serves one.",
    ),
    "SCALAR-RESUME-AMBIGUOUS": Requirement(
        "Which question does this answer belong to?",
        "With several questions open each answer reaches the one it names, in any order.",
    ),
    "UNKNOWN-THREAD-STARTS-A-RUN": Requirement(
        "Which question does this answer belong to?",
        "An answer for a thread that has never run starts nothing.",
    ),
    "CONCURRENT-DOUBLE-APPROVE": Requirement(
        "Which question does this answer belong to?",
        "Of two answers at the same moment one is applied and the other comes too late.",
    ),
    "SEQUENTIAL-DOUBLE-ANSWER": Requirement(
        "Which question does this answer belong to?",
        "An answer delivered again runs nothing and raises nothing.",
    ),
    "CLAIM-THEN-CRASH": Requirement(
        "Which question does this answer belong to?",
        "An answer whose run fails can be delivered again, and takes effect once.",
    ),
    "ANSWERED-ROW-RESET": Requirement(
        "Which question does this answer belong to?",
        "Publishing a question again never opens a row that somebody has answered.",
    ),
    "LATE-ANSWER-STILL-WORKS": Requirement(
        "Which question does this answer belong to?",
        "With late answers refused, one at or after the deadline runs nothing.",
    ),
    "START-WHILE-PARKED": Requirement(
        "Which question does this answer belong to?",
        "Another start on a parked thread runs nothing and leaves the question answerable.",
    ),
    "LATE-CLICK-SHOWN-AS-SUCCESS": Requirement(
        "Which question does this answer belong to?",
        "Whoever answers too late is told so, and nothing is sent.",
    ),
    "MALFORMED-EXPIRY-FAILS-OPEN": Requirement(
        "Which question does this answer belong to?", "A deadline that cannot be read lets nothing through."
    ),
    "APPROVAL-BOUND-TO-NAME": Requirement(
        "Which question does this answer belong to?",
        "An approval covers one call with its arguments, not the next of the same name.",
    ),
    "ANSWERS-IN-DISPLAY-ORDER": Requirement(
        "Which question does this answer belong to?", "Answers in any order reach the calls they name."
    ),
    # LangGraph
    "CACHED-APPROVAL": Requirement(
        "LangGraph", "A wait in a cached node is refused, since one approval would serve every thread."
    ),
    "TOOLNODE-ONE-OF-N": Requirement(
        "LangGraph",
        "Of several waiting calls in one ToolNode each is asked, answered and run with its own arguments.",
    ),
    "SECOND-PASS-SIDE-EFFECTS": Requirement(
        "LangGraph", "Ids, keys and deadlines stay the same however often the code before the question runs."
    ),
    "WHEN-FLIPS-ON-REPLAY": Requirement(
        "LangGraph",
        "An answer already given is honoured whatever `when` says on the re-run, and serves no other call.",
    ),
    "EXCEPT-EXCEPTION-EATS-IT": Requirement(
        "LangGraph",
        "A park passes our own code unchanged; where a user's `except` swallows it, no body runs.",
    ),
    "STREAM-AND-V2-SHAPES": Requirement(
        "LangGraph",
        "Every shape of a run's result gives each question once, and nothing else passes for a result.",
    ),
    "NO-CHECKPOINTER": Requirement(
        "LangGraph", "Without a checkpointer a wait fails at the ask, with the cure."
    ),
    "NULL-ANSWER": Requirement("LangGraph", "A null answer is data on every framework."),
    "CUSTOM-TYPES-IN-PARKED-VALUE": Requirement(
        "LangGraph", "What is parked is plain JSON data and equals what is announced."
    ),
    "SIBLING-RUNS-AGAIN": Requirement(
        "LangGraph",
        "A tool beside a waiting one runs again in a ToolNode and not in create_agent, as documented.",
    ),
    "SUBGRAPH-REPLAY": Requirement(
        "LangGraph", "A question in a subgraph keeps its id, and its body runs once."
    ),
    "STATIC-BREAKPOINT-INVISIBLE": Requirement(
        "LangGraph", "A static breakpoint publishes nothing and goes on only by its host."
    ),
    "NEXT-IS-EMPTY": Requirement("LangGraph", "What is open is read from the tasks, never from `next`."),
    "RESOLVED-KEEPS-FIRING": Requirement(
        "LangGraph", "After a partial answer only what is still open is announced, under its old id."
    ),
    "INTERRUPT-FIELDS-MOVED": Requirement(
        "LangGraph", "Interrupts as plain dicts give the same envelope as interrupts."
    ),
    "FALSY-ANSWERS": Requirement(
        "LangGraph", "False, 0, an empty text and an empty list are answers and come through unchanged."
    ),
    "OLD-PYTHON-ASYNC": Requirement(
        "LangGraph", "The packages require Python 3.11, below which an async node cannot park."
    ),
    "GATHERED-QUESTIONS": Requirement("LangGraph", "Questions awaited together each get their own answer."),
    "SERVERLESS-MEMORY-SAVER": Requirement(
        "LangGraph", "A question asked in one process is answered in another, and the body runs once."
    ),
    # create_agent and its middleware
    "EDIT-THEN-RETRY-ORIGINAL": Requirement(
        "create_agent and its middleware", "A call that the model repeats after an edit is asked again."
    ),
    "CROSS-TOOL-EDIT": Requirement(
        "create_agent and its middleware", "An answer never runs another function than the one that asked."
    ),
    "REJECT-RUNS-ANYWAY": Requirement(
        "create_agent and its middleware", "A rejected call does not run, and the model sees the answer."
    ),
    # The decorator
    "PARTIAL-EDIT-DROPS-ARGS": Requirement(
        "The decorator", "An edit replaces the arguments it names and keeps the rest."
    ),
    "EDIT-TYPES-NOT-RESTORED": Requirement(
        "The decorator", "Edited and unedited arguments reach the body in their declared types."
    ),
    "UNKNOWN-EDIT-KEY": Requirement(
        "The decorator", "An edit of a name that was not shown is refused and named."
    ),
    "INJECTED-IN-PAYLOAD": Requirement("The decorator", "What a framework injects is in no published byte."),
    "DECISION-IN-SCHEMA": Requirement(
        "The decorator",
        "The decision parameter is not in the model's schema; a value sent for it never reaches the body.",
    ),
    "WRAPPER-HIDES-SIGNATURE": Requirement(
        "The decorator", "A waiting function shows the signature of its own, postponed annotations included."
    ),
    "DEFAULTS-SHOWN": Requirement("The decorator", "Defaults that will apply are published."),
    # What counts as an approval
    "ANSWER-IS-A-JSON-STRING": Requirement(
        "What counts as an approval", "An answer encoded twice is asked again with a hint."
    ),
    "EXTRA-FIELDS": Requirement(
        "What counts as an approval", "An approval of another shape than documented runs nothing."
    ),
    # Pydantic AI
    "TOOL-CALL-ID-REPEATS": Requirement(
        "Pydantic AI",
        "Equal tool-call ids of two turns or threads are two questions; one's answer never serves the other.",
    ),
    "PARTIAL-APPROVALS": Requirement(
        "Pydantic AI", "An answer is kept until the others are in; then each body runs once with its own."
    ),
    "REPLAY-EXECUTES-AGAIN": Requirement(
        "Pydantic AI", "The same approval delivered twice runs the body once."
    ),
    "HISTORY-ENDS-UNAPPROVED": Requirement(
        "Pydantic AI", "A redelivered start of a parked history approves nothing."
    ),
    "ORIGINAL-ARGS-SHOWN": Requirement("Pydantic AI", "What is announced is what runs."),
    "METADATA-LOST": Requirement("Pydantic AI", "What a tool says about its approval reaches the envelope."),
    # Strands
    "NON-JSON-REASON": Requirement("Strands", "Decimals, UUIDs and dates park under a session manager."),
    "SIBLING-REENTERED": Requirement(
        "Strands", "A sibling that still waits is not announced as new when another is answered."
    ),
    "MULTI-AGENT-RESULT": Requirement("Strands", "Questions of graphs and swarms are published, each once."),
    "SNAPSHOT-BEFORE-PAUSE": Requirement(
        "Strands", "A question that was announced is known to the restored session."
    ),
    # Publishing
    "DEDUPE-TOO-WIDE": Requirement(
        "Publishing", "The same call asked again in a later turn is a new question."
    ),
    "FIFO-WINDOW": Requirement("Publishing", "A corrected answer is not taken for a repeat of the first."),
    "ANNOUNCER-EXCEPTION": Requirement(
        "Publishing", "Whatever an announcer raises is contained and stops no other; what must pass, passes."
    ),
    "FAILED-IS-VISIBLE": Requirement(
        "Publishing", "A failed announce is in the return value and in one log line without content."
    ),
    # The host behind a queue
    "POISON-BODY": Requirement(
        "The host behind a queue", "A body that is no message is refused, and nothing behind it is blocked."
    ),
    "ERROR-DROPS-MESSAGE": Requirement(
        "The host behind a queue", "A message whose handling raises is delivered again."
    ),
    "GROUP-ID-CHARSET": Requirement(
        "The host behind a queue",
        "Any thread id gives group and deduplication ids that SQS takes, equal for equal threads alone.",
    ),
    "VISIBILITY-DOUBLE-RUN": Requirement(
        "The host behind a queue", "The queue's visibility timeout is well above the function's."
    ),
    "WARM-STATE-LEAK": Requirement(
        "The host behind a queue", "Nothing of one invocation is remembered by the next in a warm process."
    ),
    "WRAPPED-BODIES": Requirement(
        "The host behind a queue", "An answer wrapped by SNS or EventBridge is handled as it would be bare."
    ),
    "AMBIGUOUS-MESSAGE": Requirement(
        "The host behind a queue", "A message that is both a start and an answer, or neither, is refused."
    ),
    "CHECKPOINT-400KB": Requirement(
        "The host behind a queue", "A state that the saver cannot hold fails before anything is announced."
    ),
    # SNS, EventBridge, DynamoDB
    "DDB-FLOAT": Requirement(
        "SNS, EventBridge, DynamoDB", "Numbers are stored in DynamoDB and read back exactly."
    ),
    "DDB-NUMBER-EDGES": Requirement(
        "SNS, EventBridge, DynamoDB", "Numbers that DynamoDB cannot hold are stored re-readably or reported."
    ),
    "DDB-TYPES": Requirement(
        "SNS, EventBridge, DynamoDB", "Arguments of any type are stored as the envelope has them."
    ),
    "DDB-RESERVED": Requirement(
        "SNS, EventBridge, DynamoDB", "No expression names an attribute without a placeholder."
    ),
    "DDB-TTL-LINGERS": Requirement(
        "SNS, EventBridge, DynamoDB", "An expired row that still stands is not open."
    ),
    "EB-FAILED-COUNT": Requirement(
        "SNS, EventBridge, DynamoDB", "A failed entry inside a success is the failure of its own question."
    ),
    "SNS-SUBJECT": Requirement(
        "SNS, EventBridge, DynamoDB", "The subject fits SNS's rules whatever the question says."
    ),
    "ATTR-EMPTY": Requirement("SNS, EventBridge, DynamoDB", "Empty tag values are no message attributes."),
    "ATTR-COUNT": Requirement(
        "SNS, EventBridge, DynamoDB", "No more than ten message attributes are sent, chosen by rule."
    ),
    "SIZE-IN-BYTES": Requirement(
        "SNS, EventBridge, DynamoDB", "Limits are counted in bytes, attributes included."
    ),
    "DDB-400KB": Requirement(
        "SNS, EventBridge, DynamoDB", "A row above 400 KB is a failure of its question alone."
    ),
    "EB-LIMITS": Requirement(
        "SNS, EventBridge, DynamoDB", "EventBridge calls keep within its limits of entries and bytes."
    ),
    "ATTR-NAMES": Requirement(
        "SNS, EventBridge, DynamoDB", "Tags whose names SNS and SQS forbid are left out of the attributes."
    ),
    "ATTR-TYPES": Requirement(
        "SNS, EventBridge, DynamoDB", "Tags are text, and anything else is refused where it is written."
    ),
    # The webhook
    "SIGNED-BYTES": Requirement("The webhook", "The signature is over the exact bytes that are sent."),
    "REDIRECT-SSRF": Requirement("The webhook", "A redirect is not followed."),
    "NO-TIMEOUT": Requirement(
        "The webhook", "The whole exchange ends within its timeout, whatever the receiver does."
    ),
    "URL-SECRET-IN-LOG": Requirement("The webhook", "The URL and the secret are in no log, repr or error."),
    "REPLAYABLE-SIGNATURE": Requirement(
        "The webhook", "A signature holds for its body, id and time alone, and not for long."
    ),
    "PROXY-LEAK": Requirement("The webhook", "Proxies of the environment are not used."),
    "RETRY-WITHOUT-KEY": Requirement(
        "The webhook", "A repeat carries the same idempotency key, which no custom header replaces."
    ),
    # Serialization
    "DECIMAL-TO-FLOAT": Requirement(
        "Serialization", "Money keeps every digit and its trailing zero, in every channel."
    ),
    "JS-NUMBER-ROUNDING": Requirement(
        "Serialization", "An integer beyond 2^53 that nobody edited reaches the body as it was."
    ),
    "NAN-TOKEN": Requirement("Serialization", "What is published is strict JSON."),
    "TYPE-ZOO": Requirement(
        "Serialization", "Values of any type are published, secrets masked, and the body gets the real ones."
    ),
    "KEY-COLLISION": Requirement(
        "Serialization", "Keys that would collide as text are refused, and none is lost."
    ),
    # Durations, deadlines, clocks
    "MONTH-VS-MINUTE": Requirement(
        "Durations, deadlines, clocks", "Durations of no fixed length are refused where they are written."
    ),
    "NAIVE-VS-AWARE": Requirement(
        "Durations, deadlines, clocks",
        "Deadlines are UTC whatever the local time zone, and local times are never assumed.",
    ),
    "Z-SUFFIX-310": Requirement(
        "Durations, deadlines, clocks", "Timestamps are read with every form of offset that RFC 3339 has."
    ),
    # Security, privacy, the approvals page
    "ADK-FORGED": Requirement(
        "Security, privacy, the approvals page", "A chat text that looks like an answer is input."
    ),
    "SECRETS-IN-NOTIFICATION": Requirement(
        "Security, privacy, the approvals page",
        "A redacted value is in no published byte, and the body still gets it.",
    ),
    "SELF-APPROVAL": Requirement(
        "Security, privacy, the approvals page",
        "Who answered comes from who signed in, never from what was sent.",
    ),
    "NO-APPROVER-RECORDED": Requirement(
        "Security, privacy, the approvals page", "Who answered, when and with which edits is on record."
    ),
    "OPEN-ENDPOINT": Requirement(
        "Security, privacy, the approvals page",
        "The inbox shows and takes nothing without a signed-in person.",
    ),
    "GET-PREFETCH": Requirement(
        "Security, privacy, the approvals page",
        "A GET changes nothing, and an answer needs an anti-forgery token.",
    ),
    "PAGE-XSS": Requirement(
        "Security, privacy, the approvals page", "Text from a question never becomes part of the page."
    ),
}
"""By id. Most ids name a public report of what went wrong for somebody who does this job."""
