"""S3 on this machine, played by moto: the files that are named as arguments are in the bucket
`traces`. Prints the address, and ends with standard input."""

import logging
import sys

import boto3
from moto.server import ThreadedMotoServer

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
address = f"http://{host}:{port}"
s3 = boto3.client(
    "s3",
    endpoint_url=address,
    region_name="us-east-1",
    aws_access_key_id="a",
    aws_secret_access_key="b",
)
s3.create_bucket(Bucket="traces")
for name in sys.argv[1:]:
    s3.upload_file(name, "traces", name)
print(address, flush=True)
sys.stdin.read()
server.stop()
