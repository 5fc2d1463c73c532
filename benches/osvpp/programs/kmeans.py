"""KMeans: passes over SIZE points in 20 dimensions, cached by Spark as objects of the JVM."""
import spark
from pyspark.ml.clustering import KMeans
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import functions as f

FEATURES, CLUSTERS, PASSES, NOISE = 20, 10, 8, 0.1

heap, size = spark.arguments()
session = spark.start(heap)

# Each cluster's centre is drawn from its number; a point is its cluster's centre and noise.
columns = [f"f{i}" for i in range(FEATURES)]
centre = [f.pmod(f.hash(f.col("id") % CLUSTERS, f.lit(i)), f.lit(1000)) / 100 for i in range(FEATURES)]
noise = [f.randn(spark.SEED + i) * NOISE for i in range(FEATURES)]
table = session.range(0, size, 1, 4).select(*[(c + n).alias(name) for c, n, name in zip(centre, noise, columns)])
points = VectorAssembler(inputCols=columns, outputCol="features").transform(table).select("features").cache()

model = KMeans(k=CLUSTERS, maxIter=PASSES, tol=0.0, seed=spark.SEED).fit(points)
cost, sizes = model.summary.trainingCost, model.summary.clusterSizes

# All clusters are found when nothing but the noise is left.
noise_alone = size * FEATURES * NOISE**2
print(f"cost {cost:.0f}, noise alone {noise_alone:.0f}")
assert sum(sizes) == size and abs(cost / noise_alone - 1) < 0.05
