"""A connection to Redis, and the values that the benchmarks keep in it."""

import random
import socket

VALUE = 4000


class Redis:
    """A connection. Commands can be sent in bunches, and their answers are taken in order."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.answers = self.socket.makefile("rb")

    def send(self, *commands):
        self.socket.sendall(b"".join(encoded(command) for command in commands))

    def answer(self):
        line = self.answers.readline()
        if line[:1] == b"$":
            size = int(line[1:])
            return self.answers.read(size + 2)[:-2] if size >= 0 else None
        if line[:1] == b"*":
            return [self.answer() for _ in range(int(line[1:]))]
        if line[:1] in (b"+", b":"):
            return line[1:-2]
        raise SystemExit(f"resp.py: Redis answers {line.decode(errors='replace').strip()!r}")

    def ask(self, *command):
        self.send(command)
        return self.answer()


def encoded(command):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in command]
    parts = [b"$%d\r\n%s\r\n" % (len(word), word) for word in words]
    return b"*%d\r\n%s" % (len(words), b"".join(parts))


def value(key):
    """Returns the value of a key: a third of it is of chance, so it can be compressed to that."""
    return (random.Random(key).randbytes(VALUE // 3) * 4)[:VALUE]


def fill(connection, keys, bunch=256):
    """Sets all keys."""
    for first in range(0, keys, bunch):
        some = range(first, min(first + bunch, keys))
        connection.send(*(("SET", key, value(key)) for key in some))
        for _ in some:
            connection.answer()
