"""`python -m inbox`: a local AWS, the agent, the page, and five questions. Ctrl-C ends all of it."""

import argparse
import contextlib
import logging
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Generator

from local_aws import LocalAws
from refund_agent import host
from refund_agent.approvals import Approvals
from refund_agent.resources import Resources
from refund_agent.sweep import sweep
from refund_agent.worker import Worker

from inbox.app import build_app, make_templates
from inbox.samples import REQUESTS, ask_for_samples
from inbox.serving import listen, served
from inbox.sign_in import LocalSignIn

log = logging.getLogger(__name__)

PORT = 8000
PEOPLE = ("mia", "tom")
SWEEP_SECONDS = 15.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="inbox", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT, help=f"of 127.0.0.1; left out: {PORT}; 0: any")
    port = parser.parse_args().port
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        listener = listen(port)
    except OSError as error:
        print(f"Port {port} of this machine cannot be had ({error.strerror}): ARGS='--port 0' takes any.")
        return 1
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    print("Starting a local AWS and the agent ...", flush=True)
    with (
        contextlib.suppress(KeyboardInterrupt),
        listener,
        LocalAws() as local_aws,
        local_aws.in_environment(),
    ):
        resources = Resources.create("refund")
        password = secrets.token_urlsafe(6)
        templates = make_templates()
        sign_in = LocalSignIn(dict.fromkeys(PEOPLE, password), templates)
        app = build_app(
            resources,
            current_user=sign_in.current_user,
            signed_out=sign_in.signed_out,
            routes=sign_in.routes,
            templates=templates,
            session_secret=secrets.token_urlsafe(32),
        )
        with agent_at_work(resources), served(app, listener) as address:
            ask_for_samples(resources, Approvals(resources))
            print(f"\n  {len(REQUESTS)} questions wait at  {address}")
            print(f"  sign in as          {' or '.join(PEOPLE)}, password {password}")
            print("\nCtrl-C ends all of it.", flush=True)
            threading.Event().wait()
    print("\nAll of it has ended.")
    return 0


@contextlib.contextmanager
def agent_at_work(resources: Resources) -> Generator[None]:
    """The agent and its sweep, each in a thread of its own, for one `with` block."""
    publisher = host.build_publisher(resources)
    worker = Worker(resources, lambda it: host.handle(publisher, it.body, sent_at=it.sent_at))
    approvals = Approvals(resources)
    stop = threading.Event()

    def sweep_now_and_then() -> None:
        while not stop.wait(SWEEP_SECONDS):
            sweep(approvals, publisher)

    jobs: tuple[Callable[[], None], ...] = (lambda: worker.run(stop), sweep_now_and_then)
    threads = [threading.Thread(target=_keep_going, args=(job, stop)) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _keep_going(job: Callable[[], None], stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            job()
        except Exception:
            # Ctrl-C reaches the local AWS too.
            if not stop.is_set():
                log.exception("starting over")
            stop.wait(1)


if __name__ == "__main__":
    sys.exit(main())
