"""What the simulated cluster needs to know, measured on this machine by the package that is installed."""

import asyncio
import collections
import hashlib
import os
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from unittest.mock import patch

FOLDER = Path(__file__).resolve().parent
#: 114 machines are 8 passes, each of 14 or 15.
MACHINES = 15
SETTINGS = {"dram": ["10%", "20%", "30%"], "replacement": ["lru", "fifo", "arc", "s3fifo", "clock"], "memory": "pcm"}


def nothing(file, machines, common):
    """A task that does nothing, of the shape of a sweep's."""
    return []


def cpu(process):
    """Returns the processor time of a process in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def trace(path, accesses, pages=20_000, seed=1):
    """Writes a trace whose addresses have Zipf's distribution; a third is written."""
    import numpy
    import pyarrow
    import pyarrow.parquet

    draw = numpy.random.default_rng(seed)
    address = draw.zipf(1.2, accesses) % pages * 4096
    columns = {
        "address": pyarrow.array(address, "uint64"),
        "write": pyarrow.array(draw.random(accesses) < 0.3),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return str(path)


async def serve(address, number):
    """Runs workers in this process until the scheduler has gone."""
    from distributed import Worker

    workers = [Worker(address, nthreads=1, dashboard=False) for _ in range(number)]
    await asyncio.gather(*workers)
    print("ready", flush=True)
    await asyncio.gather(*(worker.finished() for worker in workers))


def scheduler(tasks=2000, workers=16, seconds=150):
    """Returns the processor time of scheduler, workers and client for a task, in seconds."""
    import terrace_sim as ts
    from distributed import Client
    from terrace_sim import _sweeps

    with tempfile.TemporaryDirectory() as folder:
        ways = dict(stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": f"{FOLDER}:{os.environ.get('PYTHONPATH', '')}"})
        file = Path(folder, "scheduler.json")
        words = ["-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file]
        begun = [subprocess.Popen([sys.executable, *words], **ways)]
        try:
            ends = time.monotonic() + seconds
            while not file.exists():
                if time.monotonic() > ends:
                    raise TimeoutError("the scheduler does not begin")
                time.sleep(0.1)
            with Client(scheduler_file=str(file), set_as_default=False) as client:
                address = client.scheduler.address
                code = f"import asyncio, measured; asyncio.run(measured.serve({address!r}, {workers}))"
                begun.append(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, **ways))
                begun[1].stdout.readline()
                client.wait_for_workers(workers, timeout=seconds)
                one = ts.open(trace(Path(folder, "t.parquet"), 1000))
                keys = [hashlib.sha256(str(task).encode()).hexdigest() for task in range(tasks)]
                parts = [(task // 8, list(range(MACHINES)), key) for task, key in enumerate(keys)]
                left = iter([(0, parts), (0, [])])
                native = types.SimpleNamespace(left=lambda bar: next(left))
                common = ({name: str(value) for name, value in SETTINGS.items()}, {}, None, None, folder)
                processes = [begun[0].pid, begun[1].pid, os.getpid()]
                import measured

                before, wall = [cpu(one) for one in processes], time.perf_counter()
                with patch.object(_sweeps, "_part", measured.nothing):
                    list(_sweeps._on_cluster(native, [one] * (tasks // 8 + 1), common, client, None))
                wall = time.perf_counter() - wall
                after = [cpu(one) for one in processes]
        finally:
            for process in begun:
                process.kill()
                process.wait()
    spent = [(end - begin) / tasks for begin, end in zip(before, after)]
    return dict(zip(["scheduler", "worker", "client"], spent)) | {"wall": wall / tasks, "tasks": tasks, "workers": workers}


def task(accesses=5_000_000):
    """Returns the time of a pass over a trace, in seconds: with its survey, and without it."""
    import terrace_sim as ts

    with tempfile.TemporaryDirectory() as folder:
        one = ts.open(trace(Path(folder, "t.parquet"), accesses))
        times = {}
        # Sizes in pages need no survey.
        for name, dram in [("surveyed", SETTINGS["dram"]), ("alone", ["2000p", "4000p", "6000p"])]:
            begins = time.perf_counter()
            ts.pages(one, **(SETTINGS | {"dram": dram}))
            times[name] = time.perf_counter() - begins
        size = os.path.getsize(one.name)
    return times | {"accesses": accesses, "machines": MACHINES, "bytes": size}


def client(traces=200):
    """Returns the client's times for a trace and a file, in seconds, and the bytes of a file."""
    import terrace_sim as ts
    from terrace_sim import _native
    from terrace_sim._simulation import asked

    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results")
        grid = ts.grid(**SETTINGS)
        all_ = [ts.open(trace(Path(folder, f"{seed}.parquet"), 2000, 200, seed)) for seed in range(traces)]

        def timed(do):
            begins = time.perf_counter()
            do()
            return (time.perf_counter() - begins) / traces

        def left():
            made = asked(grid._texts, None, None, None)
            _native.Sweep([one._native for one in all_], made, str(results)).left(None)

        found = {"open": timed(left)}
        ts.sweep(all_, grid, results=results, progress=False)
        found["left"] = timed(left)
        found["results"] = timed(lambda: ts.sweep(all_, grid, results=results, progress=False))
        found["collect"] = timed(lambda: ts.collect(results))
        sizes = [file.stat().st_size for file in results.iterdir()]
    return found | {"files": len(sizes), "bytes": sum(sizes) / len(sizes)}


def requests(accesses=1_000_000):
    """Returns the requests to a store, and the bytes that are read of a trace, of each step."""
    import logging

    import boto3
    import moto.server
    import terrace_sim as ts
    from terrace_sim import _native
    from terrace_sim._simulation import asked
    from werkzeug.serving import WSGIRequestHandler

    counted = collections.Counter()

    def count(handler, code="-", size="-"):
        listed = handler.command == "GET" and "list-type" in handler.path
        what = "trace" if "/t.parquet" in handler.path else "results"
        counted[f"{what} {'LIST' if listed else handler.command}"] += 1
        if what == "trace" and handler.command == "GET":
            first, _, last = handler.headers.get("Range", "bytes=0-0")[6:].partition("-")
            counted["trace bytes"] += int(last) + 1 - int(first) if first else int(last)

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.server.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    secrets = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
    secrets |= {"AWS_ACCESS_KEY_ID": "moto", "AWS_SECRET_ACCESS_KEY": "moto"}
    found = {}
    try:
        with patch.dict(os.environ, secrets), patch.object(WSGIRequestHandler, "log_request", count):
            store = boto3.client("s3", endpoint_url=secrets["AWS_ENDPOINT_URL"], region_name="us-east-1")
            store.create_bucket(Bucket="traces")
            with tempfile.TemporaryDirectory() as folder:
                file = trace(Path(folder, "t.parquet"), accesses)
                found["size"] = os.path.getsize(file)
                store.upload_file(file, "traces", "t.parquet")
            made = asked(ts.grid(**SETTINGS)._texts, None, None, None)

            def step(name, do):
                counted.clear()
                done = do()
                found[name] = dict(counted)
                return done

            one = step("open", lambda: ts.open("s3://traces/t.parquet"))
            made_of = lambda: _native.Sweep([one._native], made, "s3://traces/results")  # noqa: E731
            step("list", lambda: made_of().left(None))
            step("task", lambda: made_of().run(None))
            step("results", lambda: made_of().run(None))
            step("collect", lambda: ts.collect("s3://traces/results"))
    finally:
        server.stop()
    return found
