"""PageRank of GraphX on a log-normal graph of SIZE vertices."""
import spark

heap, size = spark.arguments()
graphx = spark.GraphX(spark.start(heap))

graph = graphx.log_normal(size, mu=3)
ranked = graphx.lib.PageRank.run(graph, 6, 0.15, graphx.tag["long"], graphx.tag["int"])
ranks = graphx.values(ranked.vertices())

# The rank of a vertex without edges out is given back to all vertices, so no rank is lost.
total = sum(ranks.values())
print(f"{len(ranks)} ranks, in all {total:.3f}")
assert len(ranks) == size and abs(total - size) < 1e-6 * size and min(ranks.values()) > 0
