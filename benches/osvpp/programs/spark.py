"""Common parts of the programs: Spark on one thread with a fixed heap, and GraphX through the JVM gateway.

Every program takes HEAP (the JVM's heap, in MiB) and SIZE (in its own unit, which its docstring names) from
its command line.
"""
import sys
from pathlib import Path

from pyspark import RDD
from pyspark.serializers import AutoBatchedSerializer, CPickleSerializer
from pyspark.sql import SparkSession

SEED = 1
# Options that make the collector of a heap of fixed size with one thread the same on every machine and
# under every budget; otherwise the JVM would choose by the memory and cores that it sees.
JAVA_OPTIONS = "-Xms{heap}m -XX:+UseParallelGC -XX:ParallelGCThreads=1 -XX:-UseContainerSupport"


def arguments():
    """Returns HEAP and SIZE."""
    heap, size = sys.argv[1:]
    return int(heap), int(size)


def start(heap):
    """Returns a session whose only executor is this machine's JVM with `heap` MiB and one thread."""
    session = (
        SparkSession.builder.master("local[1]")
        .appName(Path(sys.argv[0]).stem)
        .config("spark.driver.memory", f"{heap}m")
        .config("spark.driver.extraJavaOptions", JAVA_OPTIONS.format(heap=heap))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        # A thread is not dead because a collection waits long for the tier.
        .config("spark.network.timeout", "10h")
        .config("spark.executor.heartbeatInterval", "1h")
        # Spark keeps 300 MiB of any heap to itself unless told otherwise.
        .config("spark.testing.reservedMemory", str(heap << 17))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


class GraphX:
    """Scala's GraphX, which has no Python interface of its own."""

    def __init__(self, session):
        self.context = session.sparkContext
        self.java = self.context._jvm
        self.lib = self.java.org.apache.spark.graphx.lib
        tags = self.module("scala.reflect.ClassTag$")
        self.tag = {"int": tags.Int(), "long": tags.Long(), "double": tags.Double()}

    def module(self, name):
        """Returns the one instance of a Scala object."""
        return getattr(getattr(self.java, name), "MODULE$")

    def log_normal(self, vertices, mu, sigma=1.3):
        """Returns SparkBench's input: edges to random vertices, their number per vertex drawn log-normally."""
        generators = self.java.org.apache.spark.graphx.util.GraphGenerators
        return generators.logNormalGraph(self.context._jsc.sc(), vertices, 4, float(mu), float(sigma), SEED)

    def values(self, pairs):
        """Returns an RDD of vertices with numbers as a dict."""
        serde = self.java.org.apache.spark.api.python.SerDeUtil
        pickled = serde.pairRDDToPython(pairs, 1000).toJavaRDD()
        return dict(RDD(pickled, self.context, AutoBatchedSerializer(CPickleSerializer())).collect())

    def sample(self, rdd, count=200):
        """Returns some elements, as objects of the JVM."""
        return list(rdd.toJavaRDD().takeSample(False, count, SEED))
