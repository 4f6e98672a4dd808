"""Checks what the deployment promises: least privilege, nothing lost, nothing public.

Usage: promises.py TEMPLATE

Deploys the template on paper (see deployment.py) and prints every broken promise.
"""

import json
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

from bucket_policies import as_list, broken_by_bucket_policies
from deployment import Stack

# The only actions that may be allowed on all resources, with the reason.
WILDCARD_RESOURCES = {
    "xray:PutTraceSegments": "X-Ray knows no resources in policies",
    "xray:PutTelemetryRecords": "X-Ray knows no resources in policies",
}
# The only actions that may be allowed on a whole bucket: they make S3 answer 404 instead of 403.
WHOLE_BUCKET_ACTIONS = {"s3:ListBucket", "s3:ListBucketVersions"}
# The only bucket whose objects the caretaker may touch: receipts. And of data sets it may read which boards are in force.
CARETAKER_OBJECTS = {"results"}
CARETAKER_READS = ("-datasets-", "*/current.json")
# The ends of the names of queues that only people read, when an alarm sends them there.
LAST_QUEUES = ("-unread", "-undelivered")
# All that the read API's role may do: it serves all benchmarks, so its actions are counted out and not its prefixes.
READING = WILDCARD_RESOURCES.keys() | WHOLE_BUCKET_ACTIONS | {
    "dynamodb:BatchGetItem",
    "dynamodb:GetItem",
    "dynamodb:Query",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "s3:GetObject",
    "s3:GetObjectVersion",
    "sqs:SendMessage",
}
# And of data sets what describes them and what is for participants (kits lie directly below a digest), never the data.
DESCRIPTIONS = (f"/*/{'?' * 64}/kit.zip", "/*/challenge.json", "/*/current.json", "/*/manifest.json", "/*/public/*", "/keys.json")
# All that the role may do beside which submitted programs run: log, and hand over failures. Nothing of any bucket or of the table.
RUNNING = {
    "logs:CreateLogStream": {"log-group:/aws/lambda/NAME-closed"},
    "logs:PutLogEvents": {"log-group:/aws/lambda/NAME-closed"},
    "sqs:SendMessage": {"NAME-failures"},
    "xray:PutTelemetryRecords": {"*"},
    "xray:PutTraceSegments": {"*"},
}
# All that the role may do which signs forms: what forms do, and what says who may have one.
SIGNING = WILDCARD_RESOURCES.keys() | {
    "dynamodb:GetItem",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "s3:GetObject",
    "s3:ListBucket",
    "s3:PutObject",
    "sqs:SendMessage",
}
SIGNERS_KEYS = {"token", "*#runs", "*#count#*"}
SIGNED_PREFIX = re.compile(r"[a-z][a-z0-9-]*/\*")
STATEFUL = {"AWS::S3::Bucket", "AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::SecretsManager::Secret", "AWS::KMS::Key"}
MAX_RETENTION_SECONDS = 14 * 24 * 3600
# Half of an account's usual thousand: the rest is for its other functions, and for moving shares from one function to another.
RESERVABLE = 500
# What IAM takes in one managed policy, without white space.
MANAGED_POLICY_CHARACTERS = 6144
# What a stream keeps; an outcome has to be given up well before.
STREAM_SECONDS = 24 * 3600
# What notifications send of a submission, and the attribute `id`: nothing that a feedback level withholds. `score` is the released one.
SENT_OF_AN_OUTCOME = set("submission id benchmark leaderboard round submitter status score received_at finished_at withdrawn_at".split())
# The attribute that the table's time to live is on: shared/dataperf-aws/src/submitters/tokens.rs writes it, and nothing else may.
EXPIRES = "expires_seconds"
# Partitions that the caretaker may touch: what a submission has that fails, boards that are due to be compared, and the sweep's own.
CARETAKER_KINDS = {"submission#*", "submitter#*", "unfinished*", "failed*", "count#*", "compare", "sweep", "quota#*", "taken#*", "set#*", "projections"}
# Those that it may list besides: what of a file's lines was filed that is given up.
CARETAKER_LISTS = {"examples#*", "rater#*"}
# Where the size of the largest artifact of each benchmark is written.
ARTIFACT_LIMIT = re.compile(r"const MAX(?:_ARTIFACT)?_BYTES: u64 = (\d+) << (\d+);")
ARTIFACT_LIMIT_FILES = ("shared/benchmarks/*/mod.rs", "shared/benchmarks/own_data/*/mod.rs", "shared/collections/src/nibbler/artifacts/*.rs", "shared/collections/src/text/lines/*.rs")


# The parameters that add an optional part.
OPTIONAL_PARTS = {"Page": "true", "Programs": "true", "Notifications": "true"}


def broken_by_statement(benchmark, statement, existing_arns):
    """What is wrong with one Allow statement of a benchmark's role; of a role for all benchmarks, `benchmark` is None."""
    sid = statement.get("Sid", "?")
    prefix = f"{benchmark}/" if benchmark else ""
    for action in as_list(statement["Action"]):
        if "*" in action:
            yield f"`{sid}` allows the wildcard action `{action}`, name each action"
        service = action.split(":")[0]
        if service == "dynamodb" and not benchmark:
            keys = as_list(statement.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys", "*"))
            kinds = {key.partition("#")[2] for key in keys}
            allowed = CARETAKER_KINDS | CARETAKER_LISTS if action == "dynamodb:Query" else CARETAKER_KINDS
            if not kinds <= allowed or any("*" in key.partition("#")[0] for key in keys):
                yield f"`{sid}` allows `{action}` on the partitions {sorted(keys)}, which are not of {sorted(allowed)} of named benchmarks only"
        if service == "dynamodb" and benchmark:
            keys = statement.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys")
            # all of its partitions, or some of them
            if not keys or not all(key.startswith(f"{benchmark}#") for key in as_list(keys)):
                yield f"`{sid}` allows `{action}` without the condition that the leading keys are like `{benchmark}#*`"
    for resource in as_list(statement["Resource"]):
        if resource == "*":
            if not WILDCARD_RESOURCES.keys() >= set(as_list(statement["Action"])):
                yield f"`{sid}` allows all resources, name them or give the reason in WILDCARD_RESOURCES"
        elif resource.startswith("arn:aws:kms:"):
            # any key, but by an alias made here only, so that the key can be rotated
            account, _, name = resource.rpartition(":")
            alias = statement.get("Condition", {}).get("StringLike", {}).get("kms:RequestAlias", "")
            known = any(fnmatchcase(arn, f"{account}:{alias}") for arn in existing_arns) if alias.startswith("alias/") else False
            if name != "key/*" or as_list(statement["Action"]) != ["kms:Sign"] or not known or (benchmark and not alias.endswith(f"-{benchmark}")):
                yield f"`{sid}` allows `{statement['Action']}` with other keys than that of the alias made here"
        elif resource in existing_arns and WHOLE_BUCKET_ACTIONS >= set(as_list(statement["Action"])):
            continue
        elif resource.startswith("arn:aws:s3:"):
            # the prefix, or one below it
            below = next((resource.removeprefix(f"{arn}/") for arn in existing_arns if resource.startswith(f"{arn}/")), "")
            bucket, path = CARETAKER_READS
            if not benchmark and below == path and bucket in resource and as_list(statement["Action"]) == ["s3:GetObject"]:
                continue
            if not below.startswith(prefix) or not below.endswith("*") or (not benchmark and below != "*"):
                yield f"`{sid}` allows `{resource}`, which is not the prefix `{prefix}` of a bucket made here"
            elif not benchmark and not any(f"-{bucket}-" in resource for bucket in CARETAKER_OBJECTS):
                yield f"`{sid}` allows `{resource}`, but objects of {sorted(CARETAKER_OBJECTS)} are all that a role for all may touch"
        elif resource.removesuffix(":*").removesuffix("/index/ranking") not in existing_arns:
            yield f"`{sid}` allows `{resource}`, which is nothing made here"


def broken_by_role(benchmark, role, existing_arns):
    if managed := role["Properties"].get("ManagedPolicyArns"):
        yield f"the role of `{benchmark}` has the managed policies `{managed}`, whose resources are wildcards"
    for policy in role["Properties"]["Policies"]:
        for statement in as_list(policy["PolicyDocument"]["Statement"]):
            if statement["Effect"] == "Allow":
                for problem in broken_by_statement(benchmark, statement, existing_arns):
                    yield f"the role of `{benchmark}`: {problem}"


def broken_by_reader(role, existing_arns):
    """The read API's role reads, and nothing that is hidden."""
    for policy in role["Properties"]["Policies"]:
        for statement in as_list(policy["PolicyDocument"]["Statement"]):
            sid, actions = statement["Sid"], set(as_list(statement["Action"]))
            for action in sorted(actions - READING):
                yield f"the reader's `{sid}` allows `{action}`, it may only read"
            for resource in as_list(statement["Resource"]):
                whole = resource.removesuffix(":*").removesuffix("/index/ranking")
                arn, _, below = whole.partition("/") if resource.startswith("arn:aws:s3:") else (whole, "", "")
                if resource == "*" and WILDCARD_RESOURCES.keys() >= actions:
                    continue
                if arn not in existing_arns:
                    yield f"the reader's `{sid}` allows `{resource}`, which is nothing made here"
                if below and "-datasets-" in arn and f"/{below}" not in DESCRIPTIONS:
                    yield f"the reader's `{sid}` allows `{resource}`, but data sets are hidden except for {DESCRIPTIONS}"


def broken_by_runner(role, name):
    """The role beside which submitted programs run reaches nothing."""
    for policy in role["Properties"]["Policies"]:
        for statement in as_list(policy["PolicyDocument"]["Statement"]):
            for action in as_list(statement["Action"]):
                for resource in as_list(statement["Resource"]):
                    said = resource.removesuffix(":*").split(":", 5)[-1].replace(f"/{name}-", "/NAME-").replace(f"{name}-f", "NAME-f")
                    if said not in RUNNING.get(action, ()):
                        yield f"the role that runs programs: `{statement['Sid']}` allows `{action}` on `{resource}`"


def broken_by_submitters(stack):
    """The policy of all submitters is within IAM's size, and the platform's folders are refused to whatever name somebody has."""
    document = stack.nested["Submitters"].resources["Policy"]["Properties"]["PolicyDocument"]
    # with the longest names of installations and regions
    n_characters = len(json.dumps(document, separators=(",", ":")).replace(stack.values["Name"], "n" * 23).replace("eu-central-1", "r" * 14))
    if n_characters > MANAGED_POLICY_CHARACTERS:
        yield f"the policy of submitters has {n_characters} characters, IAM takes {MANAGED_POLICY_CHARACTERS}"
    denied = [r for s in document["Statement"] if s["Effect"] == "Deny" and "s3:PutObject" in as_list(s["Action"]) for r in as_list(s["Resource"])]
    if not any("-submissions-" in resource and resource.endswith("/*/_/*") for resource in denied):
        yield "a submitter called `closed` could store outputs of programs: deny `s3:PutObject` below `_`"
    for statement in document["Statement"]:
        for resource in as_list(statement["Resource"]):
            if statement["Effect"] == "Allow" and "/" in resource and ":table/" not in resource and "${aws:PrincipalTag/" not in resource:
                yield f"the policy of submitters: `{statement['Sid']}` allows `{resource}` to everybody, whatever their name"


def broken_by_signer(role, existing_arns):
    """The role that forms are signed with stores uploads of named benchmarks, and reads what says who may upload."""
    statements = [s for policy in role["Properties"]["Policies"] for s in as_list(policy["PolicyDocument"]["Statement"])]
    denied = [s["Resource"] for s in statements if s["Effect"] == "Deny" and "s3:PutObject" in as_list(s["Action"])]
    if not any("-submissions-" in resource and resource.endswith("/*/_/*") for resource in denied):
        yield "the signer may store outputs of programs: deny `s3:PutObject` below `_`"
    for statement in statements:
        if statement["Effect"] == "Allow":
            sid, actions = statement["Sid"], set(as_list(statement["Action"]))
            for action in sorted(actions - SIGNING):
                yield f"the signer's `{sid}` allows `{action}`, it may only sign"
            if "dynamodb:GetItem" in actions:
                keys = as_list(statement.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys", "*"))
                if not set(keys) <= SIGNERS_KEYS:
                    yield f"the signer's `{sid}` allows the partitions {sorted(keys)}, it may read {sorted(SIGNERS_KEYS)}"
            for resource in as_list(statement["Resource"]):
                if resource == "*" and WILDCARD_RESOURCES.keys() >= actions:
                    continue
                arn, _, below = resource.removesuffix(":*").partition("/") if resource.startswith("arn:aws:s3:") else (resource.removesuffix(":*"), "", "")
                if arn not in existing_arns:
                    yield f"the signer's `{sid}` allows `{resource}`, which is nothing made here"
                if "s3:PutObject" in actions and ("-submissions-" not in arn or not SIGNED_PREFIX.fullmatch(below)):
                    yield f"the signer's `{sid}` allows `{resource}`, but forms are for one benchmark's uploads"
                if "s3:GetObject" in actions and ("-datasets-" not in arn or f"/{below}" not in ("/*/challenge.json", "/*/current.json")):
                    yield f"the signer's `{sid}` allows `{resource}`, but it may read rounds and what is in force only"


def broken_by_cors(resources):
    """Of all pages only ours may send anything to a bucket, and that is a form."""
    for name, resource in resources:
        if resource["Type"] != "AWS::S3::Bucket" or "CorsConfiguration" not in resource["Properties"]:
            continue
        for rule in resource["Properties"]["CorsConfiguration"]["CorsRules"]:
            if rule["AllowedMethods"] != ["POST"] or len(rule["AllowedOrigins"]) != 1 or "*" in str(rule["AllowedOrigins"]):
                yield f"the bucket `{name}` lets {rule['AllowedOrigins']} send {rule['AllowedMethods']}: one page, by POST, is all"


def broken_by_dashboards(policy):
    """What is wrong with the policy of dashboards: it reads public views and nothing else."""
    for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
        keys = as_list(statement.get("Condition", {}).get("ForAllValues:StringEquals", {}).get("dynamodb:LeadingKeys", "*"))
        if not set(as_list(statement["Action"])) <= {"dynamodb:GetItem", "dynamodb:Query"} or not all(key.endswith("#public") and "*" not in key for key in keys):
            yield f"the policy of dashboards allows {statement['Action']} on the partitions {sorted(keys)}, which are not public views alone"


def broken_by_other_role(name, role, existing_arns):
    """A role that is no benchmark's: named actions on what is made here, and nothing else."""
    if role["Properties"].get("ManagedPolicyArns"):
        yield f"the role `{name}` has managed policies, whose resources are wildcards"
    streams = {f"{arn}/stream/now" for arn in existing_arns}
    for policy in role["Properties"]["Policies"]:
        for statement in as_list(policy["PolicyDocument"]["Statement"]):
            for action in as_list(statement["Action"]):
                if "*" in action:
                    yield f"the role `{name}` allows the wildcard action `{action}`, name each action"
            for resource in as_list(statement["Resource"]):
                if resource.removesuffix(":*") not in existing_arns | streams:
                    yield f"the role `{name}` allows `{resource}`, which is nothing made here"


def broken_by_bucket(name, bucket, denials):
    properties = bucket["Properties"]
    block = properties.get("PublicAccessBlockConfiguration", {})
    if len(block) != 4 or not all(block.values()):
        yield f"the bucket `{name}` does not block all public access"
    if properties.get("VersioningConfiguration") != {"Status": "Enabled"}:
        yield f"the bucket `{name}` is not versioned"
    if "BucketEncryption" not in properties:
        yield f"the bucket `{name}` is not encrypted"
    rules = properties.get("LifecycleConfiguration", {}).get("Rules", [])
    if not any("AbortIncompleteMultipartUpload" in rule for rule in rules):
        yield f"the bucket `{name}` keeps incomplete multipart uploads for ever"
    if any(rule.get("AbortIncompleteMultipartUpload", {}).get("DaysAfterInitiation", 1) != 1 for rule in rules):
        yield f"the bucket `{name}` keeps incomplete multipart uploads for longer than a day"
    if properties["BucketName"] not in denials:
        yield f"the bucket `{name}` has no policy that denies connections without TLS"


def buckets_with_tls_only(resources):
    """Names of the buckets whose policy denies every action on bucket and objects without TLS."""
    for _, resource in resources:
        if resource["Type"] == "AWS::S3::BucketPolicy":
            bucket = resource["Properties"]["Bucket"]
            for statement in resource["Properties"]["PolicyDocument"]["Statement"]:
                if (
                    (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
                    and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
                    and set(statement["Resource"]) == {f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"}
                ):
                    yield bucket


def largest_artifact(project):
    """Bytes of the largest artifact that any benchmark reads, from the sources; None where there are none."""
    files = [path for pattern in ARTIFACT_LIMIT_FILES for path in project.glob(pattern)]
    limits = [int(n) << int(shift) for path in files for n, shift in ARTIFACT_LIMIT.findall(path.read_text())]
    return max(limits, default=None)


def broken_by_growth(resources, project):
    """Submitters can't fill the bucket for good: what is replaced and what is too large goes, and an alarm watches."""
    [bucket] = [r["Properties"] for _, r in resources if r["Type"] == "AWS::S3::Bucket" and "-submissions-" in r["Properties"]["BucketName"]]
    rules = bucket["LifecycleConfiguration"]["Rules"]
    replaced = [rule for rule in rules if "NoncurrentVersionExpiration" in rule and "ObjectSizeGreaterThan" not in rule]
    if not replaced or int(replaced[0]["NoncurrentVersionExpiration"]["NoncurrentDays"]) < 30:
        yield "replaced versions of submissions are kept for ever, or for less than 30 days"
    large = [rule for rule in rules if "ObjectSizeGreaterThan" in rule]
    if not large or large[0].get("ExpirationInDays") != 1 or large[0].get("NoncurrentVersionExpiration") != {"NoncurrentDays": 1}:
        yield "what is too large to be a submission does not expire after a day"
    elif (limit := largest_artifact(project)) and int(large[0]["ObjectSizeGreaterThan"]) != limit:
        yield f"submissions expire that are larger than {large[0]['ObjectSizeGreaterThan']} bytes, but the largest artifact has {limit}"
    watched = [
        dimension["Value"]
        for _, resource in resources
        if resource["Type"] == "AWS::CloudWatch::Alarm"
        for query in resource["Properties"].get("Metrics", [])
        if query.get("MetricStat", {}).get("Metric", {}).get("MetricName") == "BucketSizeBytes"
        for dimension in query["MetricStat"]["Metric"]["Dimensions"]
    ]
    if bucket["BucketName"] not in watched:
        yield "no alarm watches how the bucket of submissions grows"


def broken_by_notifications(resources):
    """What is read of the stream in batches is sent before the stream forgets it, or handed to the queue."""
    mappings = [r["Properties"] for _, r in resources if r["Type"] == "AWS::Lambda::EventSourceMapping" and "/stream/" in r["Properties"]["EventSourceArn"]]
    if not mappings:
        return
    [source] = mappings
    [function] = [r["Properties"] for _, r in resources if r["Type"] == "AWS::Lambda::Function" and "ZipFile" in r["Properties"]["Code"]]
    if source.get("BatchSize") != 10 or source.get("ParallelizationFactor", 1) < 2:
        yield "outcomes are not sent as many at once as SNS takes: batches of 10, several at once"
    if source.get("FunctionResponseTypes") != ["ReportBatchItemFailures"] or source.get("BisectBatchOnFunctionError") is not True:
        yield "one outcome that can't be sent holds back its batch: report item failures, and bisect batches"
    if not 0 < source.get("MaximumRecordAgeInSeconds", -1) <= STREAM_SECONDS // 2 or "OnFailure" not in source.get("DestinationConfig", {}):
        yield "what the stream forgets reaches no queue: give up half a day before, into a queue"
    named = set(re.findall(r'"(\w+)"', function["Code"]["ZipFile"].partition("SENT = ")[2].partition("}}")[0]))
    if named != SENT_OF_AN_OUTCOME:
        yield f"an outcome tells {sorted(named)}, not {sorted(SENT_OF_AN_OUTCOME)}: what else an item has may be withheld while a round is open"
    alarms = [r["Properties"] for _, r in resources if r["Type"] == "AWS::CloudWatch::Alarm"]
    wanted = [{"Name": "FunctionName", "Value": function["FunctionName"]}]
    if not any(alarm.get("MetricName") == "IteratorAge" and alarm["Dimensions"] == wanted for alarm in alarms):
        yield "no alarm says that outcomes are late"


def broken_by_concurrency(stack):
    """Each function has its own share of the account's concurrency, or, where the account is too small, none has."""
    reserved = {
        name: resource["Properties"].get("ReservedConcurrentExecutions")
        for name, resource in stack.resources.items()
        if resource["Type"] == "AWS::Lambda::Function"
    }
    is_on = stack.values["ReserveConcurrency"] == "true"
    for name, n in reserved.items():
        if is_on != (n is not None):
            yield f"the function `{name}` reserves {n or 'no'} concurrency, where ReserveConcurrency is {is_on}"
    if (total := sum(int(n) for n in reserved.values() if n)) > RESERVABLE:
        yield f"the functions reserve {total} of the account's concurrency, of which at most {RESERVABLE} are reserved"


def broken_by_cache(resources):
    """No header but the token tells answers apart, and none other reaches the API."""
    for name, resource in resources:
        if resource["Type"] == "AWS::CloudFront::CachePolicy":
            headers = resource["Properties"]["CachePolicyConfig"]["ParametersInCacheKeyAndForwardedToOrigin"]["HeadersConfig"]
            if headers.get("Headers") != ["Authorization"]:
                yield f"answers are kept by the headers {headers.get('Headers')}: with any but `Authorization` everybody gets past the cache"
        if resource["Type"] == "AWS::CloudFront::Distribution":
            for behavior in resource["Properties"]["DistributionConfig"]["CacheBehaviors"]:
                if "OriginRequestPolicyId" in behavior:
                    yield f"`{behavior['PathPattern']}` passes headers on that answers are not kept by: everybody could spoil the cache"


def broken_by_frames(resources):
    """Other pages may frame the embedded board and nothing else of this one."""
    policies = {name: resource["Properties"]["ResponseHeadersPolicyConfig"]["SecurityHeadersConfig"]["ContentSecurityPolicy"]["ContentSecurityPolicy"]
                for name, resource in resources if resource["Type"] == "AWS::CloudFront::ResponseHeadersPolicy"}
    for _, resource in resources:
        if resource["Type"] != "AWS::CloudFront::Distribution":
            continue
        config = resource["Properties"]["DistributionConfig"]
        for behavior in [config["DefaultCacheBehavior"], *config["CacheBehaviors"]]:
            path = behavior.get("PathPattern", "the page")
            if behavior["TargetOriginId"] != "page":
                continue
            policy = policies[behavior["ResponseHeadersPolicyId"]]
            frames = [directive.split()[1:] for directive in policy.split(";") if directive.split()[:1] == ["frame-ancestors"]]
            if frames != ([["*"]] if path in ("/embed", "/embed.html") else [["'none'"]]):
                yield f"{path} may be framed by {frames}"


def broken_by_function(stack, name, queue_arns):
    """A function must keep its failures: two retries, then a queue made here that its role may write to and it does not read."""
    configs = [
        resource["Properties"]
        for resource in stack.resources.values()
        if resource["Type"] == "AWS::Lambda::EventInvokeConfig"
        and resource["Properties"]["FunctionName"] == stack.resources[name]["Properties"]["FunctionName"]
    ]
    if len(configs) != 1:
        yield f"the function `{name}` has {len(configs)} EventInvokeConfigs, it needs one"
        return
    destination = configs[0].get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    if destination not in queue_arns:
        yield f"the function `{name}` sends its failures to `{destination}`, which is no queue made here"
    if configs[0].get("MaximumRetryAttempts") != 2:
        yield f"the function `{name}` is tried again `{configs[0].get('MaximumRetryAttempts')}` times, it must be 2"
    read = [
        resource["Properties"]["EventSourceArn"]
        for resource in stack.resources.values()
        if resource["Type"] == "AWS::Lambda::EventSourceMapping"
        and resource["Properties"]["FunctionName"] == stack.resources[name]["Properties"]["FunctionName"]
    ]
    if destination in read:
        yield f"the function `{name}` sends its failures to the queue `{destination}` that it reads itself"
    role = stack.resources[name]["Properties"]["Role"]
    for nested in stack.nested.values():
        for inner_name, inner in nested.resources.items():
            if inner["Type"] == "AWS::IAM::Role" and nested.attribute(inner_name, "Arn") == role:
                statements = inner["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
                if not any("sqs:SendMessage" in as_list(s["Action"]) and s["Resource"] == destination for s in statements):
                    yield f"the role of the function `{name}` may not send to `{destination}`"
                return
    yield f"the function `{name}` has the role `{role}`, which no template in infra/ makes"


def unread_failures(stack, queue_arns):
    """Each queue that failures go to is read by a function, or is the last one, which an alarm watches."""
    mappings = [r["Properties"] for r in stack.resources.values() if r["Type"] == "AWS::Lambda::EventSourceMapping"]
    read = {mapping["EventSourceArn"] for mapping in mappings}
    alarms = [r["Properties"] for _, r in stack.all_resources() if r["Type"] == "AWS::CloudWatch::Alarm"]
    metrics = alarms + [query.get("MetricStat", {}).get("Metric", {}) for alarm in alarms for query in alarm.get("Metrics", [])]
    watched = {
        dimension["Value"]
        for metric in metrics
        for dimension in metric.get("Dimensions", [])
        if dimension["Name"] == "QueueName"
    }
    for arn in sorted(queue_arns):
        if arn.split(":")[-1] not in watched:
            yield f"no alarm watches the queue `{arn}`"
    last = {arn for arn in queue_arns - read if arn.split(":")[-1].endswith(LAST_QUEUES)}
    for arn in sorted(queue_arns - read - last):
        yield f"nobody reads the queue `{arn}`"
    for mapping in mappings:
        if mapping.get("FunctionResponseTypes") != ["ReportBatchItemFailures"]:
            yield f"one bad message of `{mapping['EventSourceArn']}` would bring the whole batch back: report item failures"


def broken_promises(template_path, parameters=None):
    """Every broken promise, a sentence each."""
    stack = Stack(template_path, parameters)
    resources = list(stack.all_resources())
    # names of optional parts may be in policies where the parts are left out
    is_whole = OPTIONAL_PARTS.items() <= stack.values.items()
    whole = stack if is_whole else Stack(template_path, {**(parameters or {}), **OPTIONAL_PARTS})
    existing_arns = {arn for _, resource in whole.all_resources() if (arn := whole.arn(resource))}
    queue_arns = {stack.arn(resource) for _, resource in resources if resource["Type"] == "AWS::SQS::Queue"}
    tls_only = set(buckets_with_tls_only(resources))
    for name, resource in resources:
        if resource["Type"] in STATEFUL:
            policies = resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy")
            if policies != ("RetainExceptOnCreate", "Retain"):
                yield f"`{name}` may be deleted with the stack: its policies are `{policies}`"
        if resource["Type"] == "AWS::S3::Bucket":
            yield from broken_by_bucket(name, resource, tls_only)
        if resource["Type"] == "AWS::DynamoDB::Table":
            if resource["Properties"].get("TimeToLiveSpecification") != {"AttributeName": EXPIRES, "Enabled": True}:
                yield f"the table `{name}` does not drop tokens by `{EXPIRES}`"
        if resource["Type"] == "AWS::SQS::Queue":
            if resource["Properties"].get("MessageRetentionPeriod") != MAX_RETENTION_SECONDS:
                yield f"the queue `{name}` does not keep its messages for {MAX_RETENTION_SECONDS} seconds"
        if resource["Type"] == "AWS::Lambda::Function" and name in stack.resources:
            yield from broken_by_function(stack, name, queue_arns)
        if resource["Type"] == "AWS::IAM::Role" and name in stack.resources:
            yield f"`{name}` is a role beside those of infra/; give the function the role made there"
    for nested in stack.nested.values():
        for name, resource in nested.resources.items():
            if nested.path.stem == "leaderboard" and resource["Type"] == "AWS::IAM::ManagedPolicy":
                yield from broken_by_dashboards(resource)
            if resource["Type"] != "AWS::IAM::Role" or nested.path.stem == "leaderboard":
                continue
            benchmark = nested.values.get("Benchmark")
            if benchmark or nested.path.stem == "caretaker":
                yield from broken_by_role(benchmark, resource, existing_arns)
            elif nested.path.stem == "reader":
                yield from broken_by_reader(resource, existing_arns)
            elif nested.path.stem == "closed":
                yield from broken_by_runner(resource, stack.values["Name"])
            elif nested.path.stem == "signer":
                yield from broken_by_signer(resource, existing_arns)
            else:
                yield from broken_by_other_role(name, resource, existing_arns)
    yield from unread_failures(stack, queue_arns)
    yield from broken_by_submitters(stack)
    yield from broken_by_bucket_policies(resources)
    yield from broken_by_growth(resources, Path(template_path).resolve().parent)
    yield from broken_by_notifications(resources)
    yield from broken_by_concurrency(stack)
    yield from broken_by_cache(resources)
    yield from broken_by_cors(resources)
    yield from broken_by_frames(resources)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    # Each parameter that adds or drops something, both ways.
    variants = [{}, {"Tracing": "Active", "ReserveConcurrency": "true", "TableDeletionProtection": "true", "Architecture": "arm64", "AlarmEmail": "a@b.c", "MonthlyBudgetUSD": "9", "Programs": "true"}, {"Page": "false", "Notifications": "false"}]
    problems = sorted({problem for variant in variants for problem in broken_promises(sys.argv[1], variant)})
    if problems:
        sys.exit("\n".join(f"{sys.argv[1]}: {problem}" for problem in problems))
