"""The announcer that docs/writing-an-announcer.md writes."""

from redis_announce._redis_announce import RedisAnnounce

__all__ = ["RedisAnnounce"]
