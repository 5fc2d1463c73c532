"""PregelOps: GraphX's shortest paths, which is Pregel's own example, on a log-normal graph of SIZE vertices."""
import spark

LANDMARKS = 4

heap, size = spark.arguments()
graphx = spark.GraphX(spark.start(heap))

graph = graphx.log_normal(size, mu=3)
landmarks = graphx.java.PythonUtils.toSeq([graphx.java.java.lang.Long(vertex) for vertex in range(LANDMARKS)])
found = graphx.lib.ShortestPaths.run(graph, landmarks, graphx.tag["int"])


def distances(paths):
    """Returns a Scala map from landmarks to hops."""
    return {mark: paths.apply(mark) for mark in range(LANDMARKS) if paths.contains(mark)}


# A vertex with an edge to another is at most one hop further from a landmark than the other.
reached = 0
for edge in graphx.sample(found.triplets()):
    near, far = distances(edge.dstAttr()), distances(edge.srcAttr())
    reached += len(far)
    assert all(far[mark] <= hops + 1 for mark, hops in near.items() if edge.srcId() != mark)
print(f"{reached} distances looked at")
assert found.vertices().count() == size and reached > 0
