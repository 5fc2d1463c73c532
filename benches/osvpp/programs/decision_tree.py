"""DecisionTree: passes over SIZE labelled points in 20 dimensions, one for each level of the tree."""
import spark
from pyspark.ml.classification import DecisionTreeClassifier
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import functions as f

FEATURES, DEPTH = 20, 6

heap, size = spark.arguments()
session = spark.start(heap)

columns = [f"f{i}" for i in range(FEATURES)]
values = [f.rand(spark.SEED + i).alias(name) for i, name in enumerate(columns)]
# A tree of four levels: the half of one feature decides which feature is tested next.
label = f.when(f.col("f3") < 0.5, f.col("f7") < 0.3).otherwise((f.col("f11") < 0.6) & (f.col("f2") < 0.8))
table = session.range(0, size, 1, 4).select(*values).withColumn("label", label.cast("double"))
assembled = VectorAssembler(inputCols=columns, outputCol="features").transform(table)
points = assembled.select("features", "label").cache()

model = DecisionTreeClassifier(maxDepth=DEPTH, seed=spark.SEED).fit(points)
right = model.transform(points).where("prediction = label").count()
print(f"{model.numNodes} nodes, {100 * right / size:.1f} % right")
assert right > 0.97 * size
