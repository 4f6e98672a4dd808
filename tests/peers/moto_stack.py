"""The project's stack in moto_server: the templates after the SAM transform, created by CloudFormation."""

import io
import json
import re
import sys
import zipfile
from pathlib import Path

from moto.cloudformation.parsing import get_model_map

TEMPLATES_BUCKET = "templates"
# Where infra/checks/transform.py says that the functions' code is.
CODE_BUCKET, CODE_KEY = "uploaded", "code.zip"


class Left:
    """What of the templates moto can't make, by type, and the types of what outlives the stack."""

    def __init__(self) -> None:
        self.types: dict[str, int] = {}
        self.kept: set[str] = set()

    def add(self, resource_type: str) -> None:
        self.types[resource_type] = self.types.get(resource_type, 0) + 1

    def __str__(self) -> str:
        return ", ".join(f"{kind.removeprefix('AWS::')} ({n})" for kind, n in sorted(self.types.items()))


def for_moto(template: dict, left: Left) -> dict:
    """The template without what moto can't make, `left` counts it; names that are read from those parts become plain words."""
    resources = template["Resources"]
    missing = {name for name, resource in resources.items() if resource["Type"] not in get_model_map()}
    for name in missing:
        left.add(resources[name]["Type"])
    left.kept |= {resource["Type"] for resource in resources.values() if resource.get("DeletionPolicy", "Delete") != "Delete"}
    kept = {name: resource for name, resource in resources.items() if name not in missing}
    for resource in kept.values():
        if resource.get("DeletionPolicy") == "RetainExceptOnCreate":
            resource["DeletionPolicy"] = "Retain"  # the same once the stack stands; moto doesn't know the longer word
        if resource["Type"] == "AWS::CloudFormation::Stack":
            name = Path(resource["Properties"]["TemplateURL"]).stem
            resource["Properties"]["TemplateURL"] = f"https://s3.amazonaws.com/{TEMPLATES_BUCKET}/{name}.json"
    return without(template | {"Resources": kept}, missing)


def without(node: object, missing: set[str]) -> object:
    """A part of a template in which nothing refers to what is missing."""
    if isinstance(node, list):
        return [without(item, missing) for item in node]
    if not isinstance(node, dict):
        return node
    match node:
        case {"Ref": name} if name in missing:
            return f"no-{name.lower()}"
        case {"Fn::GetAtt": reference}:
            name, attribute = reference.split(".", 1) if isinstance(reference, str) else reference
            if name in missing:
                return f"no-{name.lower()}"
            # the same of a topic, and moto knows only the one
            return {"Ref": name} if attribute == "TopicArn" else {"Fn::GetAtt": [name, attribute]}
        case {"Fn::Sub": str(text)}:
            instead = lambda word: f"no-{word[1].lower()}" if word[1] in missing else word[0]
            return {"Fn::Sub": re.sub(r"\$\{(\w+)[^}]*\}", instead, text)}
    return {key: without(value, missing) for key, value in node.items()}


def create(root: Path, session, name: str) -> tuple[dict, Left]:
    """Creates the stack `name` with the default parameters; returns its template and what was left out of it."""
    sys.path.insert(0, str(root / "infra" / "checks"))
    from transform import load, transformed  # of the project, not of this folder

    s3, cloudformation = session.client("s3"), session.client("cloudformation")
    for bucket in (TEMPLATES_BUCKET, CODE_BUCKET):
        s3.create_bucket(Bucket=bucket)
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("bootstrap", "")
    s3.put_object(Bucket=CODE_BUCKET, Key=CODE_KEY, Body=code.getvalue())
    left = Left()
    for path in sorted((root / "infra").glob("*.yaml")):
        s3.put_object(Bucket=TEMPLATES_BUCKET, Key=f"{path.stem}.json", Body=json.dumps(for_moto(load(path), left)))
    template = for_moto(transformed(load(root / "template.yaml")), left)
    cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM"])
    return template, left
