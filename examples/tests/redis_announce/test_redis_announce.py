import json
import shlex
import signal
import socket
import subprocess
from typing import Any

from agent_wait.testing import AnnouncerContract
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis_announce import RedisAnnounce

ONCE = Retry(NoBackoff(), 0)


class TestRedisAnnounce(AnnouncerContract):
    def make(self) -> RedisAnnounce:
        return RedisAnnounce(self.client)

    def received(self) -> list[dict[str, Any]]:
        return [json.loads(fields["envelope"]) for _, fields in self.client.xrange("questions")]

    def break_backend(self) -> None:
        self.server.kill()

    def hang_backend(self) -> None:
        self.server.send_signal(signal.SIGSTOP)

    def setup_method(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = f"redis-server --bind 127.0.0.1 --port {port} --save '' --appendonly no"
        self.server = subprocess.Popen(shlex.split(command), stdout=subprocess.PIPE, text=True)
        assert self.server.stdout is not None
        assert any("Ready to accept connections" in line for line in self.server.stdout)
        self.client: Any = Redis(port=port, decode_responses=True, socket_timeout=5, retry=ONCE)

    def teardown_method(self) -> None:
        self.client.close()
        self.server.kill()
        self.server.communicate()
