"""TriangleCount of GraphX on a log-normal graph of SIZE vertices."""
import spark

heap, size = spark.arguments()
graphx = spark.GraphX(spark.start(heap))

graph = graphx.log_normal(size, mu=3)
counted = graphx.lib.TriangleCount.run(graph, graphx.tag["long"], graphx.tag["int"])
triangles = graphx.values(counted.vertices())
degrees = graphx.values(graph.ops().degrees())

# Each triangle is counted at its three vertices, and at each it takes two of the edges.
total = sum(triangles.values())
print(f"{total // 3} triangles")
assert len(triangles) == size and total > 0 and total % 3 == 0
assert all(2 * count <= degrees.get(vertex, 0) * (degrees.get(vertex, 0) - 1) for vertex, count in triangles.items())
