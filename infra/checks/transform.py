"""Performs the SAM transform without AWS: what CloudFormation will see, Globals and triggers resolved.

Usage: transform.py TEMPLATE [PARAMETER=VALUE ...] > transformed.json
"""

import json
import logging
import os
import sys
from pathlib import Path

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
logging.getLogger("samtranslator.metrics").setLevel(logging.ERROR)  # it warns that nobody publishes its timings

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

# The transform wants the code uploaded already; nothing looks at the address.
UPLOADED_CODE = "s3://uploaded/code.zip"


class ManagedPolicies:
    """Stands in for the list of managed policies, which the transform would ask IAM for."""

    def load(self):
        name = "service-role/AWSLambdaBasicExecutionRole"
        return {name.split("/")[1]: f"arn:aws:iam::aws:policy/{name}"}


def load(path):
    """The template in the file, short forms such as `!Ref` spelt out."""
    return yaml_parse(Path(path).read_text())


def transformed(template, parameters=None):
    """The template as CloudFormation sees it after the SAM transform; a plain template comes back as it is."""
    if "Transform" not in template:
        return template
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = UPLOADED_CODE
    return transform(template, parameters or {}, ManagedPolicies())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    given = dict(argument.split("=", 1) for argument in sys.argv[2:])
    json.dump(transformed(load(sys.argv[1]), given), sys.stdout, indent=2)
