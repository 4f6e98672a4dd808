"""Runs checkov on the templates as CloudFormation sees them; what it is told to skip has its reason here.

Usage: checkov_scan.py FOLDER    (template.json after the SAM transform, and infra/ beside it)
"""

import subprocess
import sys
from pathlib import Path

SKIPPED = {
    "CKV_AWS_68": "a firewall costs some $6 a month however few come; the page and the API are public, read-only and throttled",
    "CKV_AWS_86": "access logs of the page cost by the request and keep visitors' addresses, which nobody here needs",
    "CKV_AWS_95": "as for the page: what fails in the API is in its function's log",
    "CKV_AWS_174": "under CloudFront's own domain and certificate AWS chooses the version; it can be set for a domain of one's own only",
    "CKV_AWS_18": "access logs of S3 need one more bucket and cost by the request; who wants them can switch on CloudTrail's data events",
    "CKV_AWS_26": "CloudWatch cannot publish to a topic under AWS's own key, and alarms say nothing of submitters",
    "CKV_AWS_27": "the queues are encrypted (SqsManagedSseEnabled), the check only knows keys of KMS",
    "CKV_AWS_115": "concurrency is reserved by choice (ReserveConcurrency); promises.py checks who has how much",
    "CKV_AWS_116": "failures go to the destination of an EventInvokeConfig, which keeps the error too; promises.py checks that",
    "CKV_AWS_117": "no network of its own: functions use S3, DynamoDB and Lambda only, and endpoints in a VPC cost by the hour",
    "CKV_AWS_119": "the table is encrypted with AWS's key of this account; one's own costs a month and guards against nobody else",
    "CKV_AWS_149": "as for the table: AWS's own key guards the secret, one's own costs a month",
    "CKV_AWS_158": "CloudWatch encrypts logs itself; as for the table",
    "CKV_AWS_173": "the variables are names, and the key of cursors, which protects no data",
}


def main(folder):
    files = [folder / "template.json", *sorted((folder / "infra").glob("*.yaml"))]
    command = ["checkov", "--framework", "cloudformation", "--quiet", "--compact", "--skip-download"]
    for file in files:
        command += ["--file", str(file)]
    return subprocess.run([*command, "--skip-check", ",".join(SKIPPED)], check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
