"""StronglyConnectedComponent of GraphX on a log-normal graph of SIZE vertices."""
import spark

ITERATIONS = 2

heap, size = spark.arguments()
graphx = spark.GraphX(spark.start(heap))

graph = graphx.log_normal(size, mu=1)
found = graphx.lib.StronglyConnectedComponents.run(graph, ITERATIONS, graphx.tag["long"], graphx.tag["int"])
component = graphx.values(found.vertices())
leads, led_to = (set(graphx.values(degrees)) for degrees in (graph.ops().outDegrees(), graph.ops().inDegrees()))

# A component is called after one of its vertices; a vertex without edges out, or without edges in, is alone.
print(f"{len(component)} vertices, {len(set(component.values()))} components")
assert len(component) == size and all(component[name] == name for name in set(component.values()))
assert all(name == vertex for vertex, name in component.items() if vertex not in leads & led_to)
