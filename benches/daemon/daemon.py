"""terraced and terraced-web, as the benchmarks start and end them."""

import json
import os
import signal
import socket
import time
import urllib.error
import urllib.request

from machine import PAGE, end, fail, read, wait_for

TICKS = os.sysconf("SC_CLK_TCK")


class Daemon:
    """terraced with targets: by name the directory of a control group, and a goal as in a file."""

    def __init__(self, machine, programs, name, targets, wear=None):
        self.machine = machine
        self.program = os.path.join(programs, "terraced")
        if not os.path.exists(self.program):
            fail(f"{self.program} is missing; cargo build --release -p terrace-daemon")
        self.home = machine.path(name)
        self.process, self.version = None, 1
        for folder in ("etc", "state", "run"):
            os.makedirs(os.path.join(self.home, folder))
        tables = [f'[target.{name}]\ncgroup = "{group.path}"\n{goal}\n'
                  for name, (group, goal) in targets.items()]
        if wear:
            endurance, life = wear
            tables.append(f'[tier]\nendurance = "{endurance}"\nlife = "{life}"\n')
        with open(os.path.join(self.home, "etc", "bench.toml"), "w", encoding="ascii") as file:
            file.write("\n".join(tables))
        self.log = os.path.join(self.home, "log")

    def file(self, *names):
        return os.path.join(self.home, *names)

    @property
    def socket(self):
        return self.file("run", "control")

    def start(self):
        places = {"CONFIGURATION_DIRECTORY": "etc", "STATE_DIRECTORY": "state",
                  "RUNTIME_DIRECTORY": "run"}
        environment = os.environ | {key: self.file(name) for key, name in places.items()}
        with open(self.log, "ab") as log:
            self.process = self.machine.start([self.program], env=environment, stderr=log)

    def wait(self):
        """Waits until it answers."""
        wait_for("an answer of terraced", lambda: self.is_ended() or self.status())
        if self.is_ended():
            self.require()

    def is_ended(self):
        return self.process.poll() is not None

    def require(self):
        """Ends the benchmark if terraced has ended by itself."""
        if self.is_ended():
            with open(self.log, encoding="utf-8", errors="replace") as log:
                last = log.read()[-2000:]
            fail(f"terraced ended with {self.process.returncode}: {last}")

    def stop(self):
        self.require()
        end(self.process)
        if self.process.returncode != 0:
            self.require()

    def kill(self):
        end(self.process, signal.SIGKILL)

    def ask(self, request, **more):
        """Returns what it answers to a request; None if it does not. It is asked in the version of
        the protocol that it speaks, of which the fields that are read here are the same."""
        asked = {"version": self.version, "request": request} | more
        try:
            with socket.socket(socket.AF_UNIX) as peer:
                peer.settimeout(10)
                peer.connect(self.socket)
                peer.sendall(json.dumps(asked).encode() + b"\n")
                with peer.makefile(encoding="utf-8") as answers:
                    answer = json.loads(answers.readline())
        except (OSError, ValueError):
            return None
        if answer["version"] == self.version:
            return answer
        self.version = answer["version"]
        return self.ask(request, **more)

    def status(self):
        return (self.ask("status") or {}).get("status")

    def cost(self):
        """Returns its processor time in seconds, and its memory in bytes: RSS and PSS."""
        pid = self.process.pid
        stat = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        rollup = read(f"/proc/{pid}/smaps_rollup").splitlines()
        pss = next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
        ticks = int(stat[11]) + int(stat[12])
        return {"time": time.time(), "cpu": ticks / TICKS, "rss": int(stat[21]) * PAGE,
                "pss": pss * 1024}


class Web:
    """terraced-web beside a daemon."""

    def __init__(self, machine, programs, daemon):
        self.machine, self.daemon, self.process = machine, daemon, None
        self.program = os.path.join(programs, "terraced-web")
        if not os.path.exists(self.program):
            fail(f"{self.program} is missing; cargo build --release -p terrace-web")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.log = machine.path("web.log")

    def start(self):
        command = [self.program, "--listen", self.address, "--socket", self.daemon.socket]
        with open(self.log, "ab") as log:
            self.process = self.machine.start(command, stderr=log)

    def kill(self):
        end(self.process, signal.SIGKILL)

    def is_up(self):
        """Returns what it says of terraced: whether it answers; None if it says nothing itself."""
        try:
            with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except (urllib.error.URLError, OSError):
            return None
        up = [float(line.split()[1]) for line in lines if line.startswith("terrace_up ")]
        return bool(up[0]) if up else None
