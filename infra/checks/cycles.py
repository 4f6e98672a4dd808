"""Finds circular dependencies, which the linters pass and CloudFormation refuses.

Usage: cycles.py TEMPLATE...

Run on the source template, the SAM transform is done first, since it is the transform that ties a bucket to the function it
notifies. Prints the cycle as a path and exits with 1.
"""

import re
import sys

from transform import load, transformed

SUB_VARIABLE = re.compile(r"\$\{([^!}][^}]*)\}")


def references(node):
    """Names that a part of a template refers to: resources, parameters and pseudo parameters alike."""
    if isinstance(node, list):
        for item in node:
            yield from references(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "Ref":
                yield value
            elif key == "Fn::GetAtt":
                yield value.split(".")[0] if isinstance(value, str) else value[0]
            elif key == "Fn::Sub":
                text, variables = value if isinstance(value, list) else (value, {})
                for name in SUB_VARIABLE.findall(text):
                    if name not in variables:
                        yield name.split(".")[0]
                yield from references(variables)
            else:
                yield from references(value)


def dependencies(template):
    """For each resource, the resources that must exist before it."""
    resources = template["Resources"]
    graph = {}
    for name, resource in resources.items():
        explicit = resource.get("DependsOn", [])
        explicit = [explicit] if isinstance(explicit, str) else explicit
        named = {*explicit, *references(resource.get("Properties", {}))}
        graph[name] = sorted(named & resources.keys())
    return graph


def find_cycle(graph):
    """A cycle as the list of its resources, the first one again at the end; None when there is none."""
    done = set()

    def visit(name, path):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return None
        for needed in graph[name]:
            if cycle := visit(needed, [*path, name]):
                return cycle
        done.add(name)
        return None

    return next((cycle for name in sorted(graph) if (cycle := visit(name, []))), None)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for template_path in sys.argv[1:]:
        if cycle := find_cycle(dependencies(transformed(load(template_path)))):
            sys.exit(f"{template_path}: circular dependency: {' -> '.join(cycle)}")
