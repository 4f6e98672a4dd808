"""Writes the rights of every function's role as the local cloud holds them to it, or checks that they are written.

Usage: policies.py TEMPLATE POLICIES.json [--check]

The policies of the functions' roles with all names resolved for the account and region of the local cloud, and then as the local
cloud calls them (`submissions`, `speech-selection`), so that functions run there under the rights they will have in AWS.
"""

import json
import sys
from pathlib import Path

from deployment import PSEUDO_PARAMETERS, Stack

LOCAL = {"AWS::AccountId": "000000000000", "AWS::Region": "us-east-1"}


def policies(template_path):
    """Function without the deployment's name -> policy document with the statements of all policies of its role."""
    PSEUDO_PARAMETERS.update(LOCAL)
    stack = Stack(template_path, {"Programs": "true"})
    name, suffix = stack.values["Name"], f"-{LOCAL['AWS::AccountId']}-{LOCAL['AWS::Region']}"
    roles = {
        nested.attribute(role, "Arn"): resource["Properties"].get("Policies", [])
        for nested in stack.nested.values()
        for role, resource in nested.resources.items()
        if resource["Type"] == "AWS::IAM::Role"
    }
    found = {}
    for resource in stack.resources.values():
        if resource["Type"] == "AWS::Lambda::Function":
            properties = resource["Properties"]
            statements = [s for policy in roles[properties["Role"]] for s in policy["PolicyDocument"]["Statement"]]
            found[properties["FunctionName"].removeprefix(f"{name}-")] = {"Version": "2012-10-17", "Statement": statements}
    found["submitter"] = {"Version": "2012-10-17", "Statement": of_submitters(stack)}
    text = json.dumps(found, indent=1) + "\n"
    for kind in ("submissions", "datasets", "results"):
        text = text.replace(f"{name}-{kind}{suffix}", kind)
    return text.replace(f":function:{name}-", ":function:")


def of_submitters(stack):
    """What the tagged policy allows, and what the submissions bucket refuses to everybody about the form of keys: local buckets have no policies."""
    managed = stack.nested["Submitters"].resources["Policy"]["Properties"]["PolicyDocument"]["Statement"]
    of_bucket = stack.resources["SubmissionsBucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    of_keys = [{key: value for key, value in one.items() if key != "Principal"} for one in of_bucket if one["Sid"] == "NoFurtherFolders"]
    return managed + of_keys


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    text = policies(sys.argv[1])
    path = Path(sys.argv[2])
    if "--check" not in sys.argv:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        sys.exit(f"{path} is not what the templates say: write it with infra/checks/policies.py {sys.argv[1]} {path}")
