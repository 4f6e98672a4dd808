"""What the buckets' policies deny, as IAM would read them: requests that must be denied, and requests that must not.

Understands the operators that these policies use and stops at anything else. IAM's rule for a key that a request does not have:
operators that say `Not` hold, all others don't, `Null` asks for just that.
"""

from fnmatch import fnmatchcase

ACCOUNT = "arn:aws:iam::111122223333:"
ORGANIZER, BREAK_GLASS = f"{ACCOUNT}user/organizer", f"{ACCOUNT}role/dataperf-break-glass"
DIGEST = "0123456789abcdef" * 4
CREATES, PREPARES = {"s3:ObjectCreationOperation": "true"}, {"s3:ObjectCreationOperation": "false"}

SUBMISSION, DATA, CURRENT = "speech-selection/en-25/ada/x.json", f"speech-selection/{DIGEST}/en/eval.safetensors", "speech-selection/current.json"
# bucket, what is tried, action, key, what the request has beside it; whether it must be denied
REQUESTS = [
    ("submissions", "an upload", "s3:PutObject", SUBMISSION, CREATES, False),
    ("submissions", "an upload that names the usual class", "s3:PutObject", SUBMISSION, CREATES | {"s3:x-amz-storage-class": "STANDARD"}, False),
    ("submissions", "an upload with S3's own encryption", "s3:PutObject", SUBMISSION, CREATES | {"s3:x-amz-server-side-encryption": "AES256"}, False),
    *(
        ("submissions", f"an upload of class {name}", "s3:PutObject", SUBMISSION, CREATES | {"s3:x-amz-storage-class": name}, True)
        for name in ("GLACIER", "DEEP_ARCHIVE", "GLACIER_IR", "INTELLIGENT_TIERING", "STANDARD_IA", "A_CLASS_TO_COME")
    ),
    *(
        ("submissions", f"an upload encrypted by {name}", "s3:PutObject", SUBMISSION, CREATES | {"s3:x-amz-server-side-encryption": name}, True)
        for name in ("aws:kms", "aws:kms:dsse")
    ),
    ("submissions", "an upload with SSE-C", "s3:PutObject", SUBMISSION, CREATES | {"s3:x-amz-server-side-encryption-customer-algorithm": "AES256"}, True),
    ("submissions", "the begin of an upload in parts", "s3:PutObject", SUBMISSION, PREPARES, True),
    ("submissions", "a key with a further folder", "s3:PutObject", "speech-selection/en-25/bo/ada/x.json", CREATES, True),
    ("submissions", "the output of a program", "s3:PutObject", "speech-selection/_/closed/0123", CREATES, False),
    ("submissions", "reading", "s3:GetObjectVersion", SUBMISSION, {}, False),
    ("submissions", "an upload without TLS", "s3:PutObject", SUBMISSION, CREATES | {"aws:SecureTransport": "false"}, True),
    ("datasets", "a new file of a data set", "s3:PutObject", DATA, CREATES | {"s3:if-none-match": "*"}, False),
    ("datasets", "a file of a data set, whatever was there", "s3:PutObject", DATA, CREATES, True),
    ("datasets", "the same by the role for emergencies", "s3:PutObject", DATA, CREATES | {"aws:PrincipalArn": BREAK_GLASS}, True),
    ("datasets", "a part of a large file", "s3:PutObject", DATA, PREPARES, False),
    ("datasets", "another data set in force", "s3:PutObject", CURRENT, CREATES, False),
    ("datasets", "another challenge", "s3:PutObject", "speech-selection/challenge.json", CREATES, False),
    ("datasets", "deleting a file of a data set", "s3:DeleteObject", DATA, {}, True),
    ("datasets", "deleting a version of it for good", "s3:DeleteObjectVersion", DATA, {}, True),
    ("datasets", "the same by the role for emergencies", "s3:DeleteObjectVersion", DATA, {"aws:PrincipalArn": BREAK_GLASS}, False),
    ("datasets", "reading", "s3:GetObject", DATA, {}, False),
    ("results", "a receipt in place of a failure's", "s3:PutObject", "speech-selection/en-25/ada/id.json", CREATES, False),
]


def as_list(value):
    return value if isinstance(value, list) else [value]


def holds(operator, key, values, context):
    """Whether one line of a condition holds for a request."""
    found, values = context.get(key), [str(value) for value in as_list(values)]
    match operator:
        case "Null":
            return (found is None) == (values == ["true"])
        case "Bool" | "StringEquals":
            return found is not None and found in values
        case "StringNotEquals" | "ArnNotEquals":
            return found is None or found not in values
    raise NotImplementedError(f"the operator `{operator}` of a bucket's policy is not understood here")


def denial(statements, action, resource, context):
    """The first statement that denies the request, or None."""
    for statement in statements:
        if statement["Effect"] != "Deny":
            continue
        about = any(fnmatchcase(action, pattern) for pattern in as_list(statement["Action"]))
        about = about and any(fnmatchcase(resource, pattern) for pattern in as_list(statement["Resource"]))
        conditions = statement.get("Condition", {}).items()
        if about and all(holds(operator, key, values, context) for operator, keys in conditions for key, values in keys.items()):
            return statement
    return None


def broken_by_bucket_policies(resources):
    """Each request that the buckets' policies treat other than they should."""
    policies = {
        resource["Properties"]["Bucket"]: resource["Properties"]["PolicyDocument"]["Statement"]
        for _, resource in resources
        if resource["Type"] == "AWS::S3::BucketPolicy"
    }
    for kind, what, action, key, beside, must_be_denied in REQUESTS:
        [bucket] = [name for name in policies if f"-{kind}-" in name]
        context = {"aws:SecureTransport": "true", "aws:PrincipalArn": ORGANIZER} | beside
        denied = denial(policies[bucket], action, f"arn:aws:s3:::{bucket}/{key}", context)
        if must_be_denied and not denied:
            yield f"the policy of the bucket of {kind} lets {what} pass"
        if denied and not must_be_denied:
            yield f"the policy of the bucket of {kind} denies {what}, by `{denied.get('Sid')}`"
