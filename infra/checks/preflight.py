"""Looks for what would make a first deployment fail, before anything is made. Makes read-only calls alone.

Usage: infra/preflight [--name NAME] [--stack STACK] [--reserve]

  --name NAME      the parameter Name of the deployment, `dataperf` unless given
  --stack STACK    the name of the stack, `dataperf` unless given
  --reserve        the deployment will have ReserveConcurrency=true

Needs the credentials and the region that `sam deploy` will use, and rights to read: sts:GetCallerIdentity,
lambda:GetAccountSettings, cloudfront:ListDistributions, cloudformation:DescribeStacks, s3:ListBucket,
dynamodb:DescribeTable, sqs:GetQueueUrl, secretsmanager:DescribeSecret, kms:ListAliases.

Exit code: 0 nothing will make it fail, perhaps with warnings; 1 something will.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

# Before the next imports, which set a region for the transform. `sam` reads the second variable, `dataperf` both.
REGION = os.environ.get("AWS_DEFAULT_REGION") or os.environ.get("AWS_REGION") or boto3.Session().region_name

from deployment import NAMES, PSEUDO_PARAMETERS, Stack
from regions import REGIONS

PROJECT = Path(__file__).parent.parent.parent
# The oldest versions that build this project, each with the reason.
SAM = (1, 165), "older ones build the workspace once for each function"
RUST = (1, 95), "the programs' engine needs it"
# What new accounts have at most, until AWS lifts it.
NEW_ACCOUNT_MEMORY_MB = 3008
USUAL_CONCURRENCY = 1000
# How many Lambda keeps unreserved.
UNRESERVED = 100


class Findings:
    """What was looked at, in order."""

    def __init__(self):
        self.n_failures = 0

    def ok(self, text):
        print(f"ok    {text}")

    def warn(self, text, remedy):
        print(f"warn  {text}\n      {remedy}")

    def fail(self, text, remedy):
        self.n_failures += 1
        print(f"FAIL  {text}\n      {remedy}")


def version(command):
    """The first version number that a program prints, and None where there is no such program."""
    try:
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    number = re.search(r"(\d+)\.(\d+)", printed)
    return number and tuple(map(int, number.groups()))


def check_tools(findings):
    for command, (least, reason), remedy in [
        (["sam", "--version"], SAM, "`pip install --upgrade aws-sam-cli`, or put ~/.cache/dataperf/infra-venv/bin on the PATH"),
        (["rustc", "--version"], RUST, "`rustup update`"),
        (["cargo", "lambda", "--version"], ((1, 0), "SAM builds with it"), "`pip install cargo-lambda ziglang`"),
    ]:
        name, found, wanted = " ".join(command[:-1]), version(command), ".".join(map(str, least))
        if found is None:
            findings.fail(f"`{name}` is missing", remedy)
        elif found < least:
            findings.fail(f"`{name}` is {'.'.join(map(str, found))}, {wanted} is needed: {reason}", remedy)
        else:
            findings.ok(f"{name} {'.'.join(map(str, found))}")


def check_region(findings, region):
    lacks = REGIONS.get(region)
    if lacks is None:
        findings.fail(f"the region `{region}` is not one of {', '.join(REGIONS)}", "set AWS_DEFAULT_REGION and AWS_REGION to one of them")
    elif lacks:
        findings.warn(f"the region `{region}` has no {', '.join(lacks)}", f"deploy with {' '.join(lacks.values())}")
    else:
        findings.ok(f"the region `{region}` has all that is deployed")


def check_concurrency(findings, session, stack, reserves):
    limit = session.client("lambda").get_account_settings()["AccountLimit"]
    total, free = limit["ConcurrentExecutions"], limit["UnreservedConcurrentExecutions"]
    functions = [r["Properties"] for _, r in stack.all_resources() if r["Type"] == "AWS::Lambda::Function"]
    wanted = sum(int(function.get("ReservedConcurrentExecutions", 0)) for function in functions)
    quota = "ask AWS for more (Service Quotas, Lambda, \"Concurrent executions\")"
    if reserves and wanted > free - UNRESERVED:
        findings.fail(f"the functions reserve {wanted}, and {free - UNRESERVED} of the account's {total} can be reserved", f"leave ReserveConcurrency=false, or {quota}")
    elif total < USUAL_CONCURRENCY:
        findings.warn(f"the account runs {total} functions at once, {USUAL_CONCURRENCY} are usual", f"uploads wait for each other: {quota}")
    else:
        findings.ok(f"the account runs {total} functions at once")
    largest = max(int(function["MemorySize"]) for function in functions)
    if total < USUAL_CONCURRENCY and largest > NEW_ACCOUNT_MEMORY_MB:
        findings.warn(
            f"new accounts often have functions of at most {NEW_ACCOUNT_MEMORY_MB} MB, the largest here has {largest}; no call tells the limit",
            'if the deployment fails with "Member must have value less than or equal to 3008", ask AWS to lift it',
        )


def check_page(findings, session):
    n = session.client("cloudfront").list_distributions().get("DistributionList", {}).get("Quantity", 0)
    if n:
        findings.ok(f"the account has {n} distributions of CloudFront")
    else:
        findings.warn(
            "the account has no distribution of CloudFront; AWS verifies some new accounts first",
            'if the deployment fails with "Your account must be verified", ask AWS, or deploy with Page=false until then',
        )


def answers(call, missing):
    """Whether a call finds its resource; a code that says that there is none is no error."""
    try:
        call()
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in missing:
            return False
        if code in ("403", "AccessDenied", "Forbidden"):
            return True  # a bucket of another account
        raise
    return True


def taken(session, stack):
    """Names of the deployment that something has already."""
    clients = {name: session.client(name) for name in ("s3", "dynamodb", "sqs", "secretsmanager", "kms")}
    aliases = {alias["AliasName"] for page in clients["kms"].get_paginator("list_aliases").paginate() for alias in page["Aliases"]}
    looks = {
        "AWS::S3::Bucket": lambda name: answers(lambda: clients["s3"].head_bucket(Bucket=name), ("404", "NoSuchBucket")),
        "AWS::DynamoDB::Table": lambda name: answers(lambda: clients["dynamodb"].describe_table(TableName=name), ("ResourceNotFoundException",)),
        "AWS::SQS::Queue": lambda name: answers(
            lambda: clients["sqs"].get_queue_url(QueueName=name), ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")
        ),
        "AWS::SecretsManager::Secret": lambda name: answers(
            lambda: clients["secretsmanager"].describe_secret(SecretId=name), ("ResourceNotFoundException",)
        ),
        "AWS::KMS::Alias": lambda name: name in aliases,
    }
    for _, resource in stack.all_resources():
        if look := looks.get(resource["Type"]):
            name = resource["Properties"][NAMES[resource["Type"]][0]]
            if look(name):
                yield f"{resource['Type'].split('::')[1]} `{name}`"


def check_names(findings, session, stack, stack_name):
    try:
        [there] = session.client("cloudformation").describe_stacks(StackName=stack_name)["Stacks"]
    except ClientError:
        there = None
    if there and there["StackStatus"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"):
        findings.ok(f"the stack `{stack_name}` is there: `sam deploy` updates it")
        return
    if there:
        findings.fail(f"the stack `{stack_name}` is {there['StackStatus']}", "docs/operations.md, \"If the first deployment fails\", removes what is left")
    clashes = sorted(set(taken(session, stack)))
    for clash in clashes:
        findings.fail(f"{clash} is there already", "choose another Name, or remove it: docs/operations.md, \"If the first deployment fails\"")
    if not clashes:
        findings.ok("no name is taken")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--name", default="dataperf")
    parser.add_argument("--stack", default="dataperf")
    parser.add_argument("--reserve", action="store_true")
    args = parser.parse_args()
    findings, session = Findings(), boto3.Session(region_name=REGION)
    check_tools(findings)
    if not session.region_name:
        findings.fail("no region is set", "export AWS_DEFAULT_REGION and AWS_REGION, such as eu-central-1")
        sys.exit(1)
    if not os.environ.get("AWS_DEFAULT_REGION") and os.environ.get("AWS_REGION"):
        findings.fail("`sam` doesn't read AWS_REGION", f"export AWS_DEFAULT_REGION={REGION} too")
    check_region(findings, session.region_name)
    account = {}

    def check_account():
        account["id"] = session.client("sts").get_caller_identity()["Account"]
        findings.ok(f"credentials of the account {account['id']}")

    def run(check):
        """One check; what AWS refuses is a finding, and the next check is made all the same."""
        try:
            check()
        except (BotoCoreError, ClientError) as error:
            reason = " ".join(re.sub(r"<[^>]*>", " ", str(error)).split())
            findings.fail(reason, "give credentials, and the rights that `infra/preflight --help` lists")

    run(check_account)
    if account:
        PSEUDO_PARAMETERS.update({"AWS::AccountId": account["id"], "AWS::Region": session.region_name})
        stack = Stack(PROJECT / "template.yaml", {"Name": args.name, "ReserveConcurrency": json.dumps(args.reserve)})
        run(lambda: check_concurrency(findings, session, stack, args.reserve))
        run(lambda: check_page(findings, session))
        run(lambda: check_names(findings, session, stack, args.stack))
    sys.exit(1 if findings.n_failures else 0)


if __name__ == "__main__":
    main()
