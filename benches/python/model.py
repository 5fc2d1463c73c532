"""A sweep on a cluster, simulated in virtual time: a client, a scheduler, workers and a store.

The client lists what is finished and sends all tasks. The scheduler serves one task after the other
and gives it to a worker that is free. A task waits for the requests that it sends to the store, which
answers so many a second, reads its trace and simulates. Workers die and come again; what they did is
done again. At the end the client reads all results.
"""

import heapq
import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Parameters:
    """What is simulated. Times are in seconds."""

    traces: int
    workers: int
    #: Tasks of a trace: passes of 16 machines at most.
    passes: int = 8
    #: Median of a task's time, and the deviation of its logarithm.
    task: float = 60.0
    spread: float = 0.5
    #: Share of tasks that take `straggling` times as long.
    stragglers: float = 0.01
    straggling: float = 4.0
    #: Time of the scheduler for a task, from its coming to its end.
    scheduler: float = 0.0011
    #: Time of the client to send a task.
    sending: float = 0.0001
    #: Mean time until a worker dies, and until another is in its place; none dies without.
    lives: float | None = None
    returns: float = 60.0
    #: Requests that the store answers in a second, the time of one, and bytes a second of a worker.
    requests: float = 5500.0
    latency: float = 0.03
    bandwidth: float = 100e6
    #: Requests of a task that read or list; one more writes the file of the pass.
    reads: int = 13
    #: Bytes that a task reads for each second that it simulates, and that it writes.
    read: float = 2.5e6
    written: float = 50e3
    #: Traces and files that the client reads at once; how often it opens all traces and reads all files.
    at_once: int = 32
    opening: int = 4
    begins: int = 1
    ends: int = 1
    #: Names that one request lists; whether each task lists all.
    names: int = 1000
    lists_all: bool = False
    #: Time of the client to decode a file.
    decoding: float = 0.0059


@dataclass(frozen=True)
class Found:
    """What was simulated. Times are in seconds, of virtual time."""

    tasks: int
    begin: float
    makespan: float
    end: float
    again: int
    utilisation: float
    scheduler: float
    requests: int
    requests_each_second: float
    read: float
    written: float


def reading(p, files):
    """Returns the client's time to open all traces and to read these files, and its requests."""
    lists = max(1, -(-files // p.names))
    seconds = p.traces * p.opening * p.latency / p.at_once + lists * p.latency
    asked = max(files * p.latency / p.at_once, files / p.requests)
    seconds += max(asked, files * p.written / p.bandwidth) + files * p.decoding
    return seconds, p.traces * p.opening + lists + files


def lengths(p, seed):
    """Returns the time that each task simulates."""
    draw = random.Random(seed)

    def one():
        seconds = p.task * draw.lognormvariate(0, p.spread) if p.spread else p.task
        return seconds * (p.straggling if draw.random() < p.stragglers else 1)

    return [one() for _ in range(p.traces * p.passes)]


def simulate(p, tasks=None, finished=0, seed=1):
    """Simulates a sweep of which the first `finished` tasks are done already."""
    tasks = lengths(p, seed) if tasks is None else tasks
    draw = random.Random(seed + 1)
    before, requests = reading(p, finished)
    begin = before * p.begins
    after, more = reading(p, len(tasks))
    requests = requests * p.begins + more * p.ends
    # Events: (time, number, what, task, worker, its life).
    events, number = [], 0

    def later(time, *what):
        nonlocal number
        number += 1
        heapq.heappush(events, (time, number, *what))

    waiting = list(range(len(tasks) - 1, finished - 1, -1))
    free = list(range(p.workers))
    life, task_of, since = [0] * p.workers, {}, {}
    busy = served = store = read = 0.0
    done, again, now = finished, 0, begin
    # All tasks come in one message, each after the time to send it.
    ready = begin + p.sending * len(waiting)
    if p.lives:
        for worker in range(p.workers):
            later(ready + draw.expovariate(1 / p.lives), "dies", worker, 0)

    def dispatch(now):
        """Gives tasks to workers that are free, one after the other, by a scheduler that is busy."""
        nonlocal served, store, requests, read
        while waiting and free:
            task, worker = waiting.pop(), free.pop()
            served = max(served, now, ready) + p.scheduler
            lists = max(1, -(-done // p.names)) if p.lists_all else 1
            asks = p.reads + lists
            requests += asks + 1
            read += tasks[task] * p.read
            # The store answers requests in their order, at its rate.
            store = max(store, served) + (asks + 1) / p.requests
            # A worker asks for one thing after the other.
            alone = served + (asks + 1) * p.latency + tasks[task] * p.read / p.bandwidth
            end = max(store, alone) + tasks[task]
            task_of[worker], since[worker] = task, served
            later(end, "ends", worker, life[worker])

    dispatch(begin)
    while done < len(tasks):
        now, _, what, worker, of = heapq.heappop(events)
        if of != life[worker]:
            continue
        if what == "ends":
            busy += now - since.pop(worker)
            del task_of[worker]
            done += 1
            free.append(worker)
        elif what == "dies":
            life[worker] += 1
            if worker in task_of:
                waiting.append(task_of.pop(worker))
                busy += max(0.0, now - since.pop(worker))
                again += 1
            elif worker in free:
                free.remove(worker)
            later(now + p.returns, "comes", worker, life[worker])
        else:
            free.append(worker)
            later(now + draw.expovariate(1 / p.lives), "dies", worker, life[worker])
        dispatch(now)
    makespan = now - begin
    simulated = len(tasks) - finished + again
    return Found(
        tasks=len(tasks),
        begin=begin,
        makespan=makespan,
        end=after * p.ends,
        again=again,
        utilisation=busy / (p.workers * makespan) if makespan else 0.0,
        scheduler=simulated * p.scheduler / makespan if makespan else 0.0,
        requests=requests,
        requests_each_second=requests / (begin + makespan + after * p.ends or 1),
        read=read,
        written=(len(tasks) - finished) * p.written,
    )


def limit(p):
    """Returns the length of a task below which the scheduler keeps workers waiting."""
    return p.workers * p.scheduler

