"""ConnectedComponent of GraphX on a sparse log-normal graph of SIZE vertices."""
import spark

heap, size = spark.arguments()
graphx = spark.GraphX(spark.start(heap))

graph = graphx.log_normal(size, mu=0)
found = graphx.lib.ConnectedComponents.run(graph, graphx.tag["long"], graphx.tag["int"])
component = graphx.values(found.vertices())

# A component is named after its smallest vertex, and no edge leaves a component.
print(f"{len(component)} vertices, {len(set(component.values()))} components")
assert len(component) == size
assert all(name <= vertex and component[name] == name for vertex, name in component.items())
assert all(component[edge.srcId()] == component[edge.dstId()] for edge in graphx.sample(graph.edges()))
