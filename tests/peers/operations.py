#!/usr/bin/env python3
"""Runs the commands of docs/operations.md, word for word, on the project's stack in moto_server.

CloudFormation makes the stack there from the templates, after the SAM transform. The functions are the built ones, called by the
test where moto would need Docker. What isn't run is named, with the reason.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import boto3
import moto
import moto_stack
from documented import Ran, Shell, statements
from moto_functions import Functions
from moto_judge import PATIENCE_SECONDS, signing_aliases, start_server, wait_for_server

NAME = "dataperf"
ACCOUNT, REGION = "123456789012", "us-east-1"  # moto's
# Whose commands of the AWS command line are run too, before the stack is taken down.
OTHER_DOCUMENTS = ["docs/submit.md", "infra/README.md", "docs/nibbler.md"]
BENCHMARK = "speech-selection"
BOARD = "en-25"
# Begins of statements that are not run, and why.
NOT_RUN = {
    "infra/check": "a test of its own",
    "cargo build --release": "the test's binaries are in its place",
    "export PATH=$PWD": "the test's binaries are on the PATH",
    "infra/preflight": "run before, by the test",
    "sam deploy": "as for `sam build`",
    "sam build": "moto has no SAM transform: the stack is made by CloudFormation from the transformed templates",
    "dataperf dataset fetch": "downloads; the demo's data are in its place",
}
NOT_RUN_QUICKLY = {"dataperf baseline submit": "most of a minute in a debug build: `--full` does, and the peer `baselines` compares them"}
# Begins of statements that the command line takes and moto then doesn't know.
NOT_KNOWN = {"aws sqs start-message-move-task": "moto has no StartMessageMoveTask: sent, but nothing moves"}
# What a stack leaves behind: of other types `World.existing` would know nothing.
KEPT_TYPES = {
    "AWS::S3::Bucket", "AWS::S3::BucketPolicy", "AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::SQS::QueuePolicy", "AWS::SecretsManager::Secret", "AWS::KMS::Key",
}
INSTEAD = [
    "the functions run here, in the environment that the template gives them, and not in moto, which wants Docker",
    "uploads are announced to them by the test, by the bucket's notifications in the template",
    "buckets are versioned, and the secret and the key that receipts are signed with are made, by the test",
    "`sam delete` is `aws cloudformation delete-stack`",
    "keys of KMS are not counted among what is left: a rotation makes more of them, and deleting one takes a week at least",
    "alarms, the stream of outcomes and the page's distribution have no command in the documents",
    "logs are not searched by JSON patterns: moto answers with all lines, and the test looks for the pattern itself",
]
# Asks CloudFormation for what `sam delete` asks it for.
SAM = """#!/bin/sh
[ "$1 $2" = "delete --stack-name" ] && [ $# = 3 ] || exit 2
exec aws cloudformation delete-stack --stack-name "$3"
"""


class Failed(Exception):
    """A command that did not do what the document says."""


def expect(holds: bool, what: object) -> None:
    if not holds:
        raise Failed(str(what))


class World:
    def __init__(self, root: Path, binaries: Path, scratch: Path):
        self.root, self.binaries, self.scratch = root, binaries, scratch
        self.endpoint, self.server = start_server(sys.executable, Path(__file__).with_name("moto_nested.py"))
        for name in [name for name in os.environ if name.startswith(("AWS_", "DATAPERF_"))]:
            del os.environ[name]
        os.environ.update({
            "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_PAGER": "", "AWS_ENDPOINT_URL": self.endpoint,
        })
        self.session = boto3.Session()
        self.s3, self.iam, self.sqs = (self.session.client(service) for service in ("s3", "iam", "sqs"))
        self.dynamodb, self.secrets = self.session.client("dynamodb"), self.session.client("secretsmanager")
        # words of the document, and what stands for them
        self.placeholders = {"ACCOUNT": ACCOUNT, "REGION": REGION, "SUBMITTER": "cy"}
        self.first: dict | None = None  # the data set that was published first
        self.are_logs_shipped = False

    def deploy(self) -> None:
        self.template, left = moto_stack.create(self.root, self.session, NAME)
        print(f"not made, moto's CloudFormation does not know them: {left}")
        print(*(f"instead: {what}" for what in INSTEAD), sep="\n")
        expect(left.kept == KEPT_TYPES, f"the stack leaves {left.kept}: teach it to this test")
        stack = self.session.client("cloudformation").describe_stacks(StackName=NAME)["Stacks"][0]
        self.outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
        # what moto's CloudFormation leaves out of a bucket, and the secret
        self.buckets = [self.outputs[f"{name}Bucket"] for name in ("Submissions", "Datasets", "Results", "Page")]
        for bucket in self.buckets:
            self.s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        # moto's CloudFormation makes keys that can't sign
        kms = self.session.client("kms")
        key = kms.create_key(KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["KeyId"]
        known = [alias["AliasName"] for alias in kms.list_aliases()["Aliases"]]
        for alias in signing_aliases(self.root, NAME):
            if alias in known:
                kms.delete_alias(AliasName=alias)
            kms.create_alias(AliasName=alias, TargetKeyId=key)
        self.secrets.create_secret(Name=self.outputs["ProvidersSecret"], SecretString='{"image-ids": "x"}')
        self.kept = sorted([
            *(f"bucket {bucket}" for bucket in self.buckets), f"table {NAME}", f"table {NAME}-restored", f"secret {NAME}-nibbler",
            *(f"queue {NAME}-{queue}" for queue in ("failures", "failures-unread", "outcomes-undelivered")),
        ])
        self.functions = Functions(self.session, self.binaries, dict(os.environ), self.scratch, NAME)
        self.functions.watch(self.template, self.outputs["SubmissionsBucket"])
        words = {"TOPIC": self.outputs["OutcomesTopicArn"], "QUEUE_ARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:subscriber"}
        self.shell = Shell(self.scratch, os.environ | words | {"AWS_ENDPOINT_URL_LAMBDA": self.functions.endpoint})
        self.shell.add_program("sam", SAM)
        (self.shell.programs / "dataperf").symlink_to(self.binaries / "dataperf")

    def preflight(self) -> None:
        """infra/preflight on this account: with free names, with those of the stack, and in a new account."""

        def ran(*args: str) -> subprocess.CompletedProcess:
            environment = os.environ | {"AWS_ENDPOINT_URL_LAMBDA": self.functions.endpoint}
            return subprocess.run([self.root / "infra" / "preflight", *args], env=environment, capture_output=True, text=True, check=False)

        fresh = ran("--name", "fresh", "--stack", "fresh")
        expect("no name is taken" in fresh.stdout and "FAIL" not in fresh.stdout.replace("FAIL  `", "tool: `"), fresh)
        taken = ran("--name", NAME, "--stack", "other")
        expect(taken.returncode == 1 and all(f"`{bucket}` is there already" in taken.stdout for bucket in self.buckets), taken)
        expect(f"`{NAME}-failures` is there already" in taken.stdout and f"DynamoDB `{NAME}`" in taken.stdout, taken)
        expect("updates it" in ran("--stack", NAME).stdout, "the stack that is there is updated")
        self.functions.concurrency = 10
        new = ran("--name", "fresh", "--stack", "fresh", "--reserve")
        expect(new.returncode == 1 and "of the account's 10 can be reserved" in new.stdout and "3008" in new.stdout, new)

    def prepare(self) -> None:
        """The files that the document speaks of, and two submissions that fail because the data set in force is not there."""
        work, demo = self.shell.work, self.root / "demo"
        (work / "demo").symlink_to(demo)
        shutil.copytree(demo / BENCHMARK, work / "public", ignore=shutil.ignore_patterns("submissions"))
        shutil.copytree(work / "public", work / "new")
        shutil.rmtree(work / "new" / "dataperf_id_data")
        (work / "challenge.yaml").write_text("schema: 1\ntitle: Spring\nbenchmarks:\n  speech-selection:\n    ranking: best\n")
        artifact = (demo / BENCHMARK / "submissions" / BOARD / "coin-flip" / "random.json").read_bytes()
        # of a data set that isn't there: the platform fails until one is published
        broken = {"schema": 2, "boards": {BOARD: "sha256:" + "0" * 64}}
        current = {"Bucket": self.outputs["DatasetsBucket"], "Key": f"{BENCHMARK}/current.json"}
        self.s3.put_object(**current, Body=json.dumps(broken).encode())
        for submitter in ("ada", "bo"):
            self.s3.put_object(Bucket=self.outputs["SubmissionsBucket"], Key=f"{BENCHMARK}/{BOARD}/{submitter}/x.json", Body=artifact)
        for name in ("my-selection.json", "coreset.json"):
            (work / name).write_bytes(artifact)
        (work / "page").symlink_to(self.root / "page")
        limit = re.search(r"```json\n(\[\{\"Name\": \"rate\".*?)```", (self.root / "docs" / "operations.md").read_text(), re.DOTALL)
        (work / "rate.json").write_text(limit[1])
        self.placeholders["SUBMISSIONS-BUCKET"] = self.outputs["SubmissionsBucket"]
        self.placeholders["ID"] = self.receipt("ada", "failed")["submission"]
        self.receipt("bo", "failed")
        self.s3.delete_object(**current)

    def receipt(self, submitter: str, status: str) -> dict:
        """The submitter's only receipt, once it has that status."""
        began = time.monotonic()
        bucket = self.outputs["ResultsBucket"]
        while True:
            objects = self.s3.list_objects_v2(Bucket=bucket, Prefix=f"{BENCHMARK}/{BOARD}/{submitter}/").get("Contents", [])
            receipts = [json.loads(self.s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read()) for item in objects]
            if [receipt["status"] for receipt in receipts] == [status]:
                return receipts[0]
            expect(time.monotonic() - began < PATIENCE_SECONDS, f"{receipts} instead of one that is `{status}`")
            time.sleep(0.1)

    def current(self) -> dict:
        """What says which data set is in force."""
        return json.loads(self.s3.get_object(Bucket=self.outputs["DatasetsBucket"], Key=f"{BENCHMARK}/current.json")["Body"].read())

    def existing(self) -> list[str]:
        """What costs money or holds a name, but for what the test itself put there."""
        own = (moto_stack.TEMPLATES_BUCKET, moto_stack.CODE_BUCKET)
        buckets = [bucket["Name"] for bucket in self.s3.list_buckets()["Buckets"]]
        functions = self.session.client("lambda").list_functions()["Functions"]
        groups = self.session.client("logs").describe_log_groups()["logGroups"]
        return sorted([
            *(f"bucket {name}" for name in buckets if name not in own),
            *(f"table {name}" for name in self.dynamodb.list_tables()["TableNames"]),
            *(f"queue {url.rsplit('/', 1)[1]}" for url in self.sqs.list_queues().get("QueueUrls", [])),
            *(f"secret {secret['Name']}" for secret in self.secrets.list_secrets()["SecretList"]),
            *(f"function {function['FunctionName']}" for function in functions),
            *(f"log group {group['logGroupName']}" for group in groups),
        ])

    def before(self, statement: str) -> None:
        """What has to have happened before a statement finds something to do."""
        if statement.startswith("aws logs ") and not self.are_logs_shipped:
            self.functions.ship_logs()
            self.are_logs_shipped = True
        if statement.startswith("aws sqs receive-message"):
            self.sqs.send_message(QueueUrl=self.outputs["UnreadFailuresQueueUrl"], MessageBody="set aside")
        if statement.startswith("sam delete"):
            self.functions.stop()
            # more than one request may delete, most of them delete markers
            bucket, keys = self.outputs["SubmissionsBucket"], [f"{BENCHMARK}/{BOARD}/dee/{n}.json" for n in range(60)]
            for key in keys:
                self.s3.put_object(Bucket=bucket, Key=key, Body=b"")
            for _ in range(2):
                self.s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in keys * 10]})

    def stop(self) -> None:
        if hasattr(self, "shell"):
            self.shell.stop()
            self.functions.stop()
        self.server.kill()
        self.server.wait()


# ---- What has to hold after a statement, by what the statement begins with ----


def names_are_the_stacks(world: World, _: Ran) -> None:
    """The variables are what the template tells the caretaker."""
    names = [f"DATAPERF_{name}" for name in ("SUBMISSIONS_BUCKET", "DATASETS_BUCKET", "RESULTS_BUCKET", "TABLE", "FUNCTION_PREFIX")]
    configuration = world.session.client("lambda").get_function_configuration(FunctionName=f"{NAME}-caretaker")
    told = [configuration["Environment"]["Variables"][name] for name in names]
    found = world.shell.run("printf '%s\\n' " + " ".join(f'"${name}"' for name in names)).stdout.splitlines()
    expect(found == told, f"{found} instead of {told}")


def data_set_is_in_force(world: World, _: Ran) -> None:
    """The first time, and again after the way back."""
    world.first = world.first or world.current()
    expect(world.current() == world.first, world.current())


def scored(world: World, ran: Ran) -> None:
    receipt = world.receipt("organizer", "scored")
    world.placeholders["0123456789abcdef0123456789abcdef"] = receipt["submission"]
    offline = world.shell.run(f"dataperf --format json score {BENCHMARK} -l {BOARD} -d frozen/ first.json")
    expect(json.loads(offline.stdout)["score"] == receipt["score"], (offline, receipt))


def shows(word: str):
    def check(_: World, ran: Ran) -> None:
        expect(word in ran.stdout, f"no `{word}` in `{ran.stdout}`")

    return check


def challenge_is_published(world: World, _: Ran) -> None:
    world.s3.head_object(Bucket=world.outputs["DatasetsBucket"], Key=f"{BENCHMARK}/challenge.json")


def forms_are_for_the_bucket(world: World, ran: Ran) -> None:
    expect(ran.stdout.count("curl") >= 3 and world.outputs["SubmissionsBucket"] in ran.stdout, ran.stdout)


def forms_are_in_the_file(world: World, _: Ran) -> None:
    forms = json.loads((world.shell.work / "ada.json").read_text())
    expect(all(world.outputs["SubmissionsBucket"] in form["form"]["url"] for form in forms) and len(forms) >= 3, forms)


def commands_are_the_documents(world: World, ran: Ran) -> None:
    """What the command prints is what the document runs next."""
    document = (world.root / "docs/operations.md").read_text()
    printed = [line for line in ran.stdout.splitlines() if line.startswith("aws ")]
    expect(len(printed) == 2 and all(f"{line}\n" in document for line in printed), ran.stdout)


def policy_is_the_users(world: World, _: Ran) -> None:
    attached = world.iam.list_attached_user_policies(UserName="ada")["AttachedPolicies"]
    expect([policy["PolicyArn"] for policy in attached] == [world.outputs["SubmitterPolicy"]], attached)
    expect(world.iam.list_user_tags(UserName="ada")["Tags"] == [{"Key": "submitter", "Value": "ada"}], attached)
    version = world.iam.get_policy(PolicyArn=world.outputs["SubmitterPolicy"])["Policy"]["DefaultVersionId"]
    document = world.iam.get_policy_version(PolicyArn=world.outputs["SubmitterPolicy"], VersionId=version)["PolicyVersion"]["Document"]
    expect(f"{world.outputs['SubmissionsBucket']}/*/*/${{aws:PrincipalTag/submitter}}/*" in json.dumps(document), document)


def key_is_made(world: World, ran: Ran) -> None:
    world.placeholders["ACCESS-KEY-ID"] = json.loads(ran.stdout)["AccessKey"]["AccessKeyId"]


def user_is_gone(world: World, _: Ran) -> None:
    users = [user["UserName"] for user in world.iam.list_users()["Users"]]
    expect(users == [], users)
    # somebody who is still there when the deployment is taken down
    world.iam.create_user(UserName="bo")
    world.iam.attach_user_policy(UserName="bo", PolicyArn=world.outputs["SubmitterPolicy"])


def policy_is_nobodys(world: World, _: Ran) -> None:
    attached = world.iam.list_attached_user_policies(UserName="bo")["AttachedPolicies"]
    expect(attached == [], attached)


def nothing_has_switched(world: World, _: Ran) -> None:
    expect(world.current() == world.first, world.current())


def data_set_has_switched(world: World, _: Ran) -> None:
    expect(world.current() != world.first, world.current())


def boards_are_listed(world: World, ran: Ran) -> None:
    expect(all(board in ran.stdout for board in world.current()["boards"]), ran.stdout)


def nobody_lacks_a_board(_: World, ran: Ran) -> None:
    expect("nobody lacks a leaderboard" in ran.stdout, ran.stdout)


def faults_are_logged(world: World, ran: Ran) -> None:
    """moto answers with all lines, whatever JSON the pattern looks for: the test looks for it itself."""
    lines = [json.loads(event["message"]) for event in json.loads(ran.stdout)["events"]]
    name, value = re.search(r'\{ \$\.(\w+) = "(\w+)" \}', ran.statement).groups()
    expect(any(line.get(name) == value for line in lines), f"no line has `{name}` as `{value}`: {lines}")


def both_have_failed(world: World, ran: Ran) -> None:
    expect(world.placeholders["ID"][:8] in ran.stdout and "bo" in ran.stdout, ran.stdout)


def ada_is_scored(world: World, _: Ran) -> None:
    world.receipt("ada", "scored")
    world.receipt("bo", "failed")


def bo_is_scored(world: World, _: Ran) -> None:
    world.receipt("bo", "scored")


def message_would_move(world: World, ran: Ran) -> None:
    [call] = [call for call in ran.calls if "start-message-move-task" in call.arguments]
    named = dict(zip(call.arguments[2::2], call.arguments[3::2]))
    arns = {flag: f"arn:aws:sqs:{REGION}:{ACCOUNT}:{NAME}-{queue}" for flag, queue in (("--source-arn", "failures-unread"), ("--destination-arn", "failures"))}
    expect(named == arns, f"{named} instead of {arns}")


def swept(world: World, _: Ran) -> None:
    began = time.monotonic()
    while not (sweeps := [answer for _, event, *answer in world.functions.invoked if event == {"source": "aws.events"}]):
        expect(time.monotonic() - began < PATIENCE_SECONDS, "the caretaker has not been called")
        time.sleep(0.1)
    [[kind, answer]] = sweeps
    expect(kind == "response" and answer[BENCHMARK] == {"evaluated_again": 0, "given_up": 0}, sweeps)


def uploaded(world: World, ran: Ran) -> None:
    """From the other documents: what was uploaded has a verdict."""
    board, submitter, _ = re.search(rf"/{BENCHMARK}/([^/]+)/([^/]+)/(\S+)", ran.statement).groups()
    began, bucket = time.monotonic(), world.outputs["ResultsBucket"]
    while not world.s3.list_objects_v2(Bucket=bucket, Prefix=f"{BENCHMARK}/{board}/{submitter}/")["KeyCount"]:
        expect(time.monotonic() - began < PATIENCE_SECONDS, "no receipt")
        time.sleep(0.1)


def page_is_there(world: World, _: Ran) -> None:
    found = world.s3.head_object(Bucket=world.outputs["PageBucket"], Key="index.html")
    expect(found["CacheControl"] == "no-cache", found)


def filters_by_message(world: World, _: Ran) -> None:
    sns = world.session.client("sns")
    arns = [subscription["SubscriptionArn"] for subscription in sns.list_subscriptions()["Subscriptions"]]
    attributes = [sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"] for arn in arns if arn.startswith("arn:")]
    expect(all(json.loads(attribute["FilterPolicy"]) and attribute["FilterPolicyScope"] == "MessageBody" for attribute in attributes), attributes)


def secret_holds_the_file(world: World, _: Ran) -> None:
    secret = world.secrets.get_secret_value(SecretId=world.outputs["ProvidersSecret"])["SecretString"]
    expect("image-ids" in json.loads(secret), "the key of the images is gone")


def outcomes_are_told_again(world: World, _: Ran) -> None:
    """Every submission's own item that has ended, and no other, was changed: the stream has it again, and the function sends it."""
    items = world.dynamodb.scan(TableName=NAME)["Items"]
    ended = [item for item in items if item["sk"]["S"] == "submission" and "finished_at" in item]
    expect(len(ended) >= 3 and all("told_again_at" in item for item in ended), ended)
    expect(len([item for item in items if "told_again_at" in item]) == len(ended), "other items were changed")
    sns, topic = world.session.client("sns"), world.outputs["OutcomesTopicArn"]
    queue = world.sqs.create_queue(QueueName="outcomes-read")["QueueUrl"]
    arn = world.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    subscribed = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})["SubscriptionArn"]
    code = re.search(r"ZipFile: \|\n(.*?)\n\n  Stream:", (world.root / "infra/notifications.yaml").read_text(), re.DOTALL)[1]
    os.environ["TOPIC"] = topic
    function: dict = {}
    exec(textwrap.dedent(code), function)  # as Lambda runs it, with the SDK of this environment
    records = [{"dynamodb": {"NewImage": item, "SequenceNumber": str(n)}} for n, item in enumerate(ended[:3])]
    expect(function["handler"]({"Records": records}, None) == {"batchItemFailures": []}, "outcomes were not sent")
    sent = [json.loads(message["Body"]) for message in world.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]]
    wanted = {item["id"]["S"]: item.get("score", {}).get("N", "") for item in ended[:3]}
    expect({message["submission"]: message["score"] for message in sent} == wanted, sent)
    expect(all(len(message) == 10 for message in sent), sent)
    sns.unsubscribe(SubscriptionArn=subscribed)
    world.sqs.delete_queue(QueueUrl=queue)


def table_is_restored(world: World, _: Ran) -> None:
    keys = [world.dynamodb.describe_table(TableName=name)["Table"]["KeySchema"] for name in (NAME, f"{NAME}-restored")]
    expect(keys[0] == keys[1], keys)


def older_receipt_is_chosen(world: World, ran: Ran) -> None:
    newest, oldest = sorted(json.loads(ran.stdout)["Versions"], key=lambda version: not version["IsLatest"])
    world.placeholders |= {"KEY": oldest["Key"], "VERSION": oldest["VersionId"]}
    world.receipt("ada", "scored")


def older_receipt_is_back(world: World, _: Ran) -> None:
    world.receipt("ada", "failed")


def what_is_kept_stays(world: World, _: Ran) -> None:
    kept = world.existing()
    expect(kept == world.kept, f"{kept} instead of {world.kept}")


def table_is_free(world: World, _: Ran) -> None:
    expect(NAME not in world.dynamodb.list_tables()["TableNames"], "the table is still there")


def batches_are_small_enough(world: World, ran: Ran) -> None:
    """S3 deletes a thousand at once, moto any number."""
    numbers = [int(call.stdout) for call in ran.calls if call.arguments[1] == "delete-objects"]
    expect(len(numbers) > 1 and max(numbers) <= 1_000, numbers)
    expect(not [name for name in world.existing() if name.startswith("bucket")], world.existing())


def nothing_is_left(world: World) -> None:
    left = world.existing()
    expect(left == [f"table {NAME}-restored"], f"the document leaves {left}")


CHECKS = {
    "export DATAPERF_SUBMISSIONS_BUCKET": names_are_the_stacks,
    "dataperf dataset publish frozen/ ": data_set_is_in_force,
    "dataperf submit ": scored,
    "dataperf leaderboard ": shows("organizer"),
    "dataperf challenge publish ": challenge_is_published,
    "dataperf submitter add ada speech-selection  ": forms_are_for_the_bucket,
    "dataperf submitter add ada speech-selection --format json": forms_are_in_the_file,
    "dataperf submitter add ada speech-selection --access policy": commands_are_the_documents,
    "aws iam attach-user-policy ": policy_is_the_users,
    "aws iam create-access-key ": key_is_made,
    "aws iam delete-user ": user_is_gone,
    "dataperf dataset publish frozen-new/ --stage": nothing_has_switched,
    "dataperf dataset publish frozen-new/ --replace": data_set_has_switched,
    "dataperf dataset publish frozen/ --replace": data_set_is_in_force,
    "dataperf dataset list ": boards_are_listed,
    "dataperf submitter refresh ": nobody_lacks_a_board,
    "aws logs filter-log-events ": faults_are_logged,
    "aws sqs receive-message ": shows("set aside"),
    "dataperf status ": both_have_failed,
    "dataperf status --misplaced": shows("The caretaker looks for such files"),
    "dataperf redrive ID": ada_is_scored,
    "dataperf redrive --all-failed": bo_is_scored,
    "aws sqs start-message-move-task ": message_would_move,
    "aws lambda invoke ": swept,
    "for pk in ": outcomes_are_told_again,
    "for user in ": policy_is_nobodys,
    "aws dynamodb restore-table-to-point-in-time ": table_is_restored,
    "aws s3api list-object-versions ": older_receipt_is_chosen,
    "aws s3api copy-object ": older_receipt_is_back,
    "aws s3 cp ": uploaded,
    "aws s3 sync page/ ": page_is_there,
    "aws sns subscribe ": filters_by_message,
    "aws secretsmanager put-secret-value ": secret_holds_the_file,
    "sam delete ": what_is_kept_stays,
    "for bucket in ": batches_are_small_enough,
    "aws dynamodb delete-table ": table_is_free,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--size", choices=["quick", "full"], default="quick")
    parser.add_argument("--document", type=Path, help="instead of docs/operations.md")
    args = parser.parse_args()
    document = args.document or args.root / "docs" / "operations.md"
    if args.size == "quick":
        NOT_RUN.update(NOT_RUN_QUICKLY)
    n_failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        world = World(args.root, args.bin.resolve(), Path(scratch))
        try:
            wait_for_server(world.s3, world.server)
            print("moto", moto.__version__)
            world.deploy()
            world.preflight()
            world.prepare()
            unused = {*CHECKS, *NOT_RUN, *NOT_KNOWN}
            for statement in documented(args.root, document):
                n_failed += not run(world, statement, unused)
            try:
                nothing_is_left(world)
            except Failed as error:
                n_failed += 1
                print(f"FAILED: {error}")
            for begin in sorted(unused):
                n_failed += 1
                print(f"FAILED: no command begins with `{begin}` any more: change this test with the document")
        finally:
            world.stop()
    return 1 if n_failed else 0


def documented(root: Path, document: Path) -> list[str]:
    before, after = document.read_text(encoding="utf-8").split("\n## Take it down\n")
    texts = [(root / name).read_text(encoding="utf-8") for name in OTHER_DOCUMENTS]
    others = [statement for text in texts for statement in statements(text) if statement.startswith("aws ")]
    return [*statements(before), *others, *statements(after)]


def run(world: World, statement: str, unused: set[str]) -> bool:
    began = time.monotonic()

    def entry(table: dict):
        begins = [begin for begin in table if statement.startswith(begin)]
        unused.difference_update(begins)
        return table[max(begins, key=len)] if begins else None

    not_run, not_known, check = entry(NOT_RUN), entry(NOT_KNOWN), entry(CHECKS)
    outcome, is_fine = f"not run: {not_run}" if not_run else "passed", True
    try:
        if not not_run:
            world.before(statement)
            filled = statement
            if words := sorted(world.placeholders, key=len, reverse=True):
                filled = re.sub(rf"\b({'|'.join(words)})\b", lambda word: world.placeholders[word[0]], statement)
            ran = world.shell.run(f"AWS_MAX_ATTEMPTS=1 {filled}" if not_known else filled)
            if not_known and ran.calls and "(500) when calling" in ran.calls[-1].stderr:
                ran.calls[-1].code = ran.code = 0
                outcome = f"passed as far as it goes: {not_known}"
            faults = ran.faults()
            expect(not faults, "; ".join(faults))
            if check:
                check(world, ran)
    except Exception as error:  # every command is run, whatever became of the one before
        outcome, is_fine = f"FAILED: {type(error).__name__}: {error}", False
    print(f"{time.monotonic() - began:5.1f} s  {' '.join(statement.split('#')[0].split())[:80]:80}  {outcome}", flush=True)
    return is_fine


if __name__ == "__main__":
    sys.exit(main())
