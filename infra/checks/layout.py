"""Checks that a benchmark has the same name everywhere: folder, block, trigger, access, binary, sample event.

Usage: layout.py PROJECT
"""

import json
import sys
import tomllib
from pathlib import Path

from transform import load

# Benchmarks with a function for each kind of upload: its own prefix, and rights that a template gives by the kind.
BY_KIND = {"adversarial-nibbler": "infra/nibbler.yaml", "adversarial-text": "infra/text.yaml"}
# Benchmarks with one function whose names begin as those do.
ONE_FUNCTION = {"adversarial-text-models"}
# Functions that are no benchmark's.
SERVANTS = {"caretaker", "closed", "leaderboards", "uploads"}
# What the caretaker needs of each benchmark in the table.
CARETAKER_PARTITIONS = ("submission#*", "submitter#*", "unfinished*", "failed*", "count#*", "sweep")
RECORD_KEYS = {"eventVersion", "eventSource", "awsRegion", "eventTime", "eventName", "userIdentity", "s3"}
OBJECT_KEYS = {"key", "size", "eTag", "versionId", "sequencer"}


def pascal_case(benchmark):
    return "".join(part.capitalize() for part in benchmark.split("-"))


def parts(function):
    """The benchmark of a function, and the kind of upload that it takes, if it takes one kind."""
    for benchmark in BY_KIND:
        kind = function.removeprefix(f"{benchmark}-")
        if kind != function and function not in ONE_FUNCTION:
            return benchmark, kind
    return function, None


def prefix(function):
    """What the keys of a function's uploads begin with."""
    benchmark, kind = parts(function)
    return f"{benchmark}/" if kind is None else f"{benchmark}/{kind}/"


def wanted_access(function):
    """The template that makes a function's role, and the parameters that say whose it is."""
    benchmark, kind = parts(function)
    if kind is None:
        return "infra/evaluator.yaml", {"Benchmark": benchmark}
    return BY_KIND[benchmark], {"Benchmark": benchmark, "Kind": kind}


def broken_block(benchmark, resources):
    """What is wrong with a benchmark's block in the template."""
    name = f"{pascal_case(benchmark)}Function"
    block = resources.get(name)
    if block is None:
        yield f"template.yaml has no `{name}` for functions/{benchmark}"
        return
    metadata, properties = block.get("Metadata", {}), block["Properties"]
    expected = {
        "Metadata.BuildMethod": (metadata.get("BuildMethod"), "rust-cargolambda"),
        "Metadata.BuildProperties.Binary": (metadata.get("BuildProperties", {}).get("Binary"), benchmark),
        "CodeUri": (properties.get("CodeUri"), "functions"),
        "FunctionName": (properties.get("FunctionName"), {"Fn::Sub": f"${{Name}}-{benchmark}"}),
    }
    for what, (found, wanted) in expected.items():
        if found != wanted:
            yield f"`{name}`: {what} is `{found}`, it must be `{wanted}`"
    triggers = [event["Properties"] for event in properties.get("Events", {}).values() if event["Type"] == "S3"]
    wanted = {
        "Bucket": {"Ref": "SubmissionsBucket"},
        "Events": "s3:ObjectCreated:*",
        "Filter": {"S3Key": {"Rules": [{"Name": "prefix", "Value": prefix(benchmark)}]}},
    }
    if triggers != [wanted]:
        yield f"`{name}` must have one S3 trigger: every object created in SubmissionsBucket with the prefix `{prefix(benchmark)}`"
    concurrency = {"Fn::If": ["ReservesConcurrency", {"Ref": f"{pascal_case(benchmark)}Concurrency"}, {"Ref": "AWS::NoValue"}]}
    if properties.get("ReservedConcurrentExecutions") != concurrency:
        yield f"`{name}` must reserve the concurrency of the parameter `{pascal_case(benchmark)}Concurrency`"
    access = resources.get(f"{pascal_case(benchmark)}Access", {}).get("Properties", {})
    template, parameters = wanted_access(benchmark)
    if access.get("TemplateURL") != template or not parameters.items() <= access["Parameters"].items():
        yield f"`{pascal_case(benchmark)}Access` must be an {template} with the parameters {parameters}"
    if properties.get("Role") != {"Fn::GetAtt": [f"{pascal_case(benchmark)}Access", "Outputs.RoleArn"]}:
        yield f"`{name}` must have the role of `{pascal_case(benchmark)}Access`"


def broken_servant(name, resources):
    """What is wrong with the block of a function that serves all benchmarks."""
    block = resources.get(f"{pascal_case(name)}Function")
    if block is None:
        yield f"template.yaml has no `{pascal_case(name)}Function` for functions/{name}"
        return
    properties = block["Properties"]
    for what, found, wanted in [
        ("CodeUri", properties.get("CodeUri"), "functions"),
        ("FunctionName", properties.get("FunctionName"), {"Fn::Sub": f"${{Name}}-{name}"}),
        ("Binary", block.get("Metadata", {}).get("BuildProperties", {}).get("Binary"), name),
    ]:
        if found != wanted:
            yield f"`{pascal_case(name)}Function`: {what} is `{found}`, it must be `{wanted}`"


def broken_events(benchmarks, folder):
    """What is wrong with the sample events: each is an S3 event or a probe, and each benchmark has one of its name."""
    for benchmark in benchmarks:
        if not (folder / f"{benchmark}.json").exists():
            yield f"events/{benchmark}.json is missing: each benchmark has a sample event"
    index = (folder / "README.md").read_text()
    for path in sorted(folder.glob("*.json")):
        event = json.loads(path.read_text())
        if path.name not in index:
            yield f"events/{path.name} has no line in events/README.md"
        if event.get("Event") == "s3:TestEvent" or "probe" in event:
            continue
        for n, record in enumerate(event["Records"]):
            if missing := (RECORD_KEYS - record.keys()) | (OBJECT_KEYS - record["s3"]["object"].keys()):
                yield f"events/{path.name}: record {n} lacks {sorted(missing)}"
            if not record["s3"]["object"]["key"].startswith(tuple(map(prefix, benchmarks))):
                yield f"events/{path.name}: the key of record {n} begins with no benchmark's prefix"


def broken_layout(project):
    folders = sorted(path.parent.name for path in (project / "functions").glob("*/main.rs"))
    benchmarks = [folder for folder in folders if folder not in SERVANTS]
    resources = load(project / "template.yaml")["Resources"]
    for benchmark in benchmarks:
        yield from broken_block(benchmark, resources)
    known = {f"{pascal_case(folder)}Function" for folder in folders}
    for servant in sorted(SERVANTS & set(folders)):
        yield from broken_servant(servant, resources)
    invoked = (project / "infra/caretaker.yaml").read_text()
    for benchmark in benchmarks:
        if f":function:${{Name}}-{benchmark}\n" not in invoked:
            yield f"infra/caretaker.yaml does not let the caretaker have `{benchmark}` evaluate again"
        for kind in CARETAKER_PARTITIONS:
            if f"- {prefix(benchmark).split('/')[0]}#{kind}\n" not in invoked:
                yield f"infra/caretaker.yaml does not let the caretaker end submissions of `{benchmark}`: `#{kind}` is missing"
    for name, resource in resources.items():
        if resource["Type"] == "AWS::Serverless::Function" and name not in known:
            yield f"`{name}` in template.yaml has no folder in functions/"
    yield from broken_events(benchmarks, project / "events")
    cargo = tomllib.loads((project / "Cargo.toml").read_text())
    if cargo["profile"]["release"].get("panic") != "unwind":
        yield 'Cargo.toml: [profile.release] must say `panic = "unwind"`, otherwise cargo-lambda builds with "abort"'
    if tomllib.loads((project / "samconfig.toml").read_text())["default"]["build"]["parameters"].get("cached") is not False:
        yield "samconfig.toml: build must say `cached = false`, a cached build does not see changes in shared/"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if problems := list(broken_layout(Path(sys.argv[1]))):
        sys.exit("\n".join(problems))
