"""SVDPlusPlus of GraphX: learns SIZE ratings of items by users, each of which has a bias."""
import math

import spark
from pyspark.sql import functions as f

RANK, PASSES, NOISE = 10, 3, 0.2
LOWEST, HIGHEST = 0.0, 5.0
RATINGS_OF_A_USER, RATINGS_OF_AN_ITEM = 40, 100


def edges(session, graphx, ratings):
    """Returns the rows (user, item, rating) as GraphX's edges."""
    encoders = "org.apache.spark.sql.catalyst.encoders.AgnosticEncoders$"
    long_encoder, double_encoder = (graphx.module(f"{encoders}{name}Encoder$") for name in ("PrimitiveLong", "BoxedDouble"))
    no_metadata, none = graphx.java.org.apache.spark.sql.types.Metadata.empty(), graphx.module("scala.None$")
    field = getattr(graphx.java, f"{encoders}EncoderField")
    fields = [
        field(name, encoder, False, no_metadata, none, none)
        for name, encoder in (("srcId", long_encoder), ("dstId", long_encoder), ("attr", double_encoder))
    ]
    edge = graphx.java.java.lang.Class.forName("org.apache.spark.graphx.Edge")
    tag = graphx.module("scala.reflect.ClassTag$").apply(edge)
    to_seq = graphx.java.PythonUtils.toSeq
    product = getattr(graphx.java, f"{encoders}ProductEncoder")(tag, to_seq(fields), none)
    encoder = graphx.module("org.apache.spark.sql.catalyst.encoders.ExpressionEncoder$").apply(product)
    rows = ratings.select(f.col("user").alias("srcId"), f.col("item").alias("dstId"), f.col("rating").alias("attr"))
    return getattr(rows._jdf, "as")(encoder).rdd()


def prediction(mean, triplet):
    """Returns SVD++'s prediction: the mean, the two biases, and the product of the two vectors, within bounds."""
    user, item = triplet.srcAttr(), triplet.dstAttr()
    raw = mean + user._3() + item._3() + sum(u * i for u, i in zip(user._2(), item._1()))
    return raw if math.isnan(raw) else min(max(raw, LOWEST), HIGHEST)


heap, size = spark.arguments()
session = spark.start(heap)
graphx = spark.GraphX(session)

users, items = size // RATINGS_OF_A_USER, size // RATINGS_OF_AN_ITEM
bias = lambda column: f.pmod(f.hash(column), f.lit(1000)) / 1000 - 0.5  # noqa: E731
ratings = (
    session.range(0, size, 1, 4)
    .select((f.col("id") % users).alias("user"), (users + f.floor(f.rand(spark.SEED) * items)).alias("item"))
    .withColumn("rating", 3 + 2 * bias("user") + bias("item") + NOISE * f.randn(spark.SEED + 1))
)
conf = getattr(graphx.lib, "SVDPlusPlus$Conf")(RANK, PASSES, LOWEST, HIGHEST, 0.007, 0.007, 0.005, 0.015)
result = graphx.lib.SVDPlusPlus.run(edges(session, graphx, ratings), conf)
model, mean = result._1(), result._2()

# Its steps are as long as SparkBench's, too long to settle in a few passes: the checks are that every
# user and item has a model, that the mean is the ratings' own, and that no prediction has run away.
triplets = graphx.sample(model.triplets())
errors = [abs(triplet.attr() - prediction(mean, triplet)) for triplet in triplets]
print(f"mean {mean:.3f}, largest error of {len(errors)} predictions {max(errors):.3f}")
assert model.vertices().count() == users + items and abs(mean - 3) < 0.1
assert all(e < HIGHEST - LOWEST for e in errors)  # fails for NaN too
