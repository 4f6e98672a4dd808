"""Writes the rights of every function's role as the local cloud holds them to it, or checks that they are written.

Usage: policies.py TEMPLATE POLICIES.json [--check]

The policies of the roles in infra/ with all names resolved for the account and region of the local cloud, so that functions run
there under the rights they will have in AWS.
"""

import json
import sys
from pathlib import Path

from deployment import PSEUDO_PARAMETERS, Stack

LOCAL = {"AWS::AccountId": "000000000000", "AWS::Region": "us-east-1"}


def policies(template_path):
    """Function -> policy document with the statements of all policies of its role."""
    PSEUDO_PARAMETERS.update(LOCAL)
    stack = Stack(template_path)
    found = {}
    for nested in stack.nested.values():
        for resource in nested.resources.values():
            if resource["Type"] == "AWS::IAM::Role":
                name = nested.values.get("Benchmark", nested.path.stem)
                statements = [s for policy in resource["Properties"]["Policies"] for s in policy["PolicyDocument"]["Statement"]]
                found[name] = {"Version": "2012-10-17", "Statement": statements}
    return found


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    text = json.dumps(policies(sys.argv[1]), indent=1) + "\n"
    path = Path(sys.argv[2])
    if "--check" not in sys.argv:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        sys.exit(f"{path} is not what the templates say: write it with infra/checks/policies.py {sys.argv[1]} {path}")
