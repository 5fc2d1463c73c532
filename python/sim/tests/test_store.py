"""Traces in object storage."""

from __future__ import annotations

from pathlib import Path

import pytest
import terrace_sim as ts


def put(endpoint: str, bucket: str, key: str, body: bytes) -> None:
    import boto3

    client = boto3.client("s3", endpoint_url=endpoint)
    client.create_bucket(Bucket=bucket)
    client.put_object(Bucket=bucket, Key=key, Body=body)


def test_a_trace_in_a_bucket_is_as_the_file(store: str, zipf: Path) -> None:
    put(store, "traces", "zipf.parquet", zipf.read_bytes())
    there, here = ts.open("s3://traces/zipf.parquet"), ts.open(zipf)
    assert there.name == "s3://traces/zipf.parquet"
    assert there.to_arrow() == here.to_arrow()
    found = [
        ts.pages(trace, dram="100p", memory="pcm", warmup=1000).to_dict()["runs"]
        for trace in (there, here)
    ]
    assert found[0] == found[1] and found[0][0]["misses"] > 100


def test_what_is_refused_is_one_sentence_without_secrets(store: str) -> None:
    with pytest.raises(ts.Failure, match="s3://nobody/none.parquet") as raised:
        ts.open("s3://nobody/none.parquet")
    assert "secret-of-nobody" not in str(raised.value) and "\n" not in str(raised.value)
    with pytest.raises(ts.TerraceError):
        ts.open("s3://key:secret-of-nobody@nobody/none.parquet")
