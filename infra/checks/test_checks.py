"""The checks, checked: each must find the fault it is there for. Run with `python -m unittest` in this folder."""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from binary import inspect
from cycles import dependencies, find_cycle
from layout import broken_layout
from promises import ARTIFACT_LIMIT_FILES, broken_promises, largest_artifact
from transform import load, transformed

HERE = Path(__file__).parent
PROJECT = HERE.parent.parent

# file, what it says, what it says once broken, what the check must answer
PROMISE_FAULTS = [
    ("infra/evaluator.yaml", "Action: [s3:GetObject, s3:PutObject]", "Action: s3:*", "wildcard action `s3:*`"),
    ("infra/evaluator.yaml", "Action: sqs:SendMessage", "Action: sqs:Send*", "wildcard action `sqs:Send*`"),
    ("infra/evaluator.yaml", "-${AWS::Region}/${Benchmark}/*", "-${AWS::Region}/*", "not the prefix"),
    ("infra/evaluator.yaml", ":table/${Name}", ":table/${Name}-other", "which is nothing made here"),
    ("infra/evaluator.yaml", "log-group:/aws/lambda/${Name}-${Benchmark}:*", "log-group:*", "which is nothing made here"),
    ("infra/evaluator.yaml", "!Sub ${Benchmark}#*", '"*"', "without the condition that the leading keys"),
    ("infra/evaluator.yaml", "ForAllValues:StringLike", "ForAllValues:StringEquals", "without the condition"),
    ("infra/evaluator.yaml", "Action: sqs:SendMessage", "Action: sqs:GetQueueUrl", "may not send to"),
    (
        "infra/evaluator.yaml",
        "Resource: !Sub arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${Name}-failures",
        'Resource: "*"',
        "`HandOverFailures` allows all resources",
    ),
    (
        "infra/evaluator.yaml",
        "      AssumeRolePolicyDocument:",
        "      ManagedPolicyArns: [arn:aws:iam::aws:policy/AmazonS3FullAccess]\n      AssumeRolePolicyDocument:",
        "has the managed policies",
    ),
    ("infra/bucket.yaml", 'aws:SecureTransport: "false"', 'aws:SecureTransport: "true"', "without TLS"),
    ("infra/bucket.yaml", "BlockPublicAcls: true", "BlockPublicAcls: false", "does not block all public access"),
    ("infra/bucket.yaml", "Status: Enabled }", "Status: Suspended }", "is not versioned"),
    ("infra/bucket.yaml", "DeletionPolicy: RetainExceptOnCreate", "DeletionPolicy: Delete", "may be deleted"),
    ("infra/leaderboard.yaml", "UpdateReplacePolicy: Retain", "UpdateReplacePolicy: Delete", "may be deleted"),
    ("infra/failures.yaml", "MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 345600", "does not keep its messages"),
    ("infra/notifications.yaml", "Action: sns:Publish\n                Res", "Action: sns:*\n                Res", "wildcard action `sns:*`"),
    ("infra/notifications.yaml", "Resource: !Ref TableStreamArn", 'Resource: "*"', "`*`, which is nothing made here"),
    ("template.yaml", "MaximumRetryAttempts: 2", "MaximumRetryAttempts: 0", "is tried again `0` times"),
    ("template.yaml", "Destination: !GetAtt Failures.Outputs.QueueArn", "Destination: arn:aws:sqs:::x", "no queue made here"),
    ("template.yaml", "      Role: !GetAtt SpeechSelectionAccess.Outputs.RoleArn\n", "", "beside those of infra/;"),
]

PROMISE_FAULTS += [
    ("infra/evaluator.yaml", "kms:RequestAlias: !Sub alias/${Name}-receipts-${Benchmark}", 'kms:RequestAlias: "*"', "with other keys than"),
    ("infra/evaluator.yaml", "alias/${Name}-receipts-${Benchmark}\n              # The table", "alias/${Name}-receipts-*\n              # The table", "with other keys than"),
    ("infra/caretaker.yaml", "Action: kms:Sign", "Action: kms:Decrypt", "with other keys than"),
    ("infra/signing.yaml", "DeletionPolicy: RetainExceptOnCreate", "DeletionPolicy: Delete", "may be deleted"),
    ("infra/reader.yaml", "Action: [dynamodb:BatchGetItem,", "Action: [kms:Sign, dynamodb:BatchGetItem,", "`kms:Sign`, it may only read"),
]

PROMISE_FAULTS += [
    ("infra/caretaker.yaml", "-results-${AWS::AccountId}", "-datasets-${AWS::AccountId}", "all that a role for all may touch"),
    ("infra/caretaker.yaml", "Action: lambda:InvokeFunction", "Action: lambda:*", "wildcard action `lambda:*`"),
    ("infra/caretaker.yaml", ":function:${Name}-speech-selection", ":function:*", "which is nothing made here"),
    ("infra/observability.yaml", 'Value: !Sub "${Name}-failures-unread"', 'Value: !Sub "${Name}-other"', "no alarm watches"),
    ("template.yaml", "            FunctionResponseTypes: [ReportBatchItemFailures]\n", "", "bring the whole batch back"),
    ("template.yaml", "!GetAtt Failures.Outputs.UnreadQueueArn", "!GetAtt Failures.Outputs.QueueArn", "that it reads itself"),
]

PROMISE_FAULTS += [
    ("infra/closed.yaml", ":${Name}-failures", ":*", "the role that runs programs"),
    ("infra/submitters.yaml", "/*/_/*", "/*/-/*", "called `closed` could store outputs"),
    ("infra/submitters.yaml", "/*/*/${!aws:PrincipalTag/submitter}/*.json", "/*", "whatever their name"),
    ("template.yaml", "${SubmissionsBucket.Arn}/*/*/*/*/*", "${SubmissionsBucket.Arn}/*/*/*/*/*/*", "a key with a further folder"),
    ("infra/closed.yaml", "Action: sqs:SendMessage", "Action: [sqs:SendMessage, kms:Sign]", "the role that runs programs"),
    ("infra/reader.yaml", "dynamodb:GetItem", "dynamodb:Scan", "`dynamodb:Scan`, it may only read"),
    ("infra/reader.yaml", "dynamodb:GetItem", "dynamodb:PutItem", "`dynamodb:PutItem`, it may only read"),
    ("infra/reader.yaml", "/*/manifest.json", "/*", "data sets are hidden except"),
    ("infra/reader.yaml", "-submissions-${AWS::AccountId}-${AWS::Region}/*", "-others/*", "which is nothing made here"),
    ("infra/page.yaml", "form-action 'none'; frame-ancestors 'none'", "form-action 'none'; frame-ancestors *", "may be framed by"),
    ("infra/page.yaml", "BlockPublicPolicy: true", "BlockPublicPolicy: false", "does not block all public access"),
]

PROMISE_FAULTS += [
    ("template.yaml", "StringNotEquals: { s3:x-amz-storage-class: STANDARD }", "StringEquals: { s3:x-amz-storage-class: GLACIER }", "an upload of class DEEP_ARCHIVE pass"),
    ("template.yaml", '              "Null": { s3:x-amz-storage-class: "false" }\n', "", "denies an upload, by `OnlyTheUsualStorageClass`"),
    ("template.yaml", "s3:x-amz-server-side-encryption: AES256 }", "s3:x-amz-server-side-encryption: aws:kms }", "encrypted by aws:kms pass"),
    ("template.yaml", "customer-algorithm: \"false\"", "customer-algorithm: \"true\"", "an upload with SSE-C pass"),
    ("template.yaml", "          - Sid: NoUploadsInParts\n            Effect: Deny", "          - Sid: NoUploadsInParts\n            Effect: Allow", "the begin of an upload in parts pass"),
    ("template.yaml", "BreakGlassRole: !Sub ${Name}-break-glass", 'BreakGlassRole: ""', "whatever was there pass"),
    ("infra/bucket.yaml", '"Null": { s3:if-none-match: "true" }', '"Null": { s3:if-match: "true" }', "denies a new file of a data set"),
    ("infra/bucket.yaml", '                Bool: { s3:ObjectCreationOperation: "true" }\n', "", "denies a part of a large file"),
    ("infra/bucket.yaml", "Action: [s3:DeleteObject, s3:DeleteObjectVersion]", "Action: s3:DeleteObject", "deleting a version of it for good pass"),
    ("infra/bucket.yaml", "/*/" + "?" * 64 + "/*", "/*", "denies another data set in force"),
    ("template.yaml", "ObjectSizeGreaterThan: 33554432", "ObjectSizeGreaterThan: 4194304", "but the largest artifact has 33554432"),
    ("template.yaml", "            ExpirationInDays: 1\n", "            ExpirationInDays: 10\n", "does not expire after a day"),
    ("template.yaml", "NoncurrentDays: !Ref ReplacedUploadsDays", "NoncurrentDays: 7", "for less than 30 days"),
    ("template.yaml", "AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 }", "AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 }", "for longer than a day"),
    ("infra/observability.yaml", "-submissions-${AWS::AccountId}", "-results-${AWS::AccountId}", "no alarm watches how the bucket of submissions grows"),
    ("infra/notifications.yaml", "BatchSize: 10", "BatchSize: 1", "as many at once as SNS takes"),
    ("infra/notifications.yaml", "ParallelizationFactor: 10", "ParallelizationFactor: 1", "several at once"),
    ("infra/notifications.yaml", '"status", "score"', '"status", "receipt"', "an outcome tells"),
    ("infra/notifications.yaml", '"finished_at", "withdrawn_at"', '"finished_at", "withdrawn_at", "receipt"', "an outcome tells"),
    ("infra/notifications.yaml", "BisectBatchOnFunctionError: true", "MaximumBatchingWindowInSeconds: 0", "holds back its batch"),
    ("infra/notifications.yaml", "MaximumRecordAgeInSeconds: 43200", "MaximumRecordAgeInSeconds: 86400", "what the stream forgets"),
    ("infra/notifications.yaml", "MetricName: IteratorAge", "MetricName: Errors", "no alarm says that outcomes are late"),
    ("infra/caretaker.yaml", "- speech-selection#submission#*", "- token", "which are not of"),
    ("infra/caretaker.yaml", "- speech-selection#submission#*", '- "*#submission#*"', "of named benchmarks only"),
    ("infra/caretaker.yaml", "- speech-selection#submission#*", "- speech-selection#rows#*", "which are not of"),
    ("template.yaml", "  DataAcquisitionConcurrency:\n    Type: Number\n    Default: 50", "  DataAcquisitionConcurrency:\n    Type: Number\n    Default: 100", "of which at most 500 are reserved"),
    (
        "template.yaml",
        "      ReservedConcurrentExecutions: !If [ReservesConcurrency, !Ref CaretakerConcurrency, !Ref AWS::NoValue]\n",
        "",
        "`CaretakerFunction` reserves no concurrency",
    ),
    ("infra/leaderboard.yaml", "AttributeName: expires_seconds", "AttributeName: issued_at", "does not drop tokens"),
    ("infra/page.yaml", "Headers: [Authorization]", "Headers: [Accept, Authorization]", "everybody gets past the cache"),
    ("infra/page.yaml", "            CachePolicyId: !Ref AnswerCache", "            CachePolicyId: !Ref AnswerCache\n            OriginRequestPolicyId: x", "could spoil the cache"),
]

PROMISE_FAULTS += [
    ("infra/signer.yaml", "Action: s3:PutObject", "Action: [s3:PutObject, s3:DeleteObject]", "`s3:DeleteObject`, it may only sign"),
    ("infra/signer.yaml", "-submissions-${AWS::AccountId}-${AWS::Region}/speech-selection/*", "-submissions-${AWS::AccountId}-${AWS::Region}/*", "forms are for one benchmark's uploads"),
    ("infra/signer.yaml", "-submissions-${AWS::AccountId}-${AWS::Region}/speech-selection/*", "-results-${AWS::AccountId}-${AWS::Region}/speech-selection/*", "forms are for one benchmark's uploads"),
    ("infra/signer.yaml", "/*/_/*", "/*/other/*", "the signer may store outputs of programs"),
    ("infra/signer.yaml", "/*/current.json", "/*", "rounds and what is in force only"),
    ("infra/leaderboard.yaml", "- speech-selection#public", "- speech-selection#facts", "the policy of dashboards allows"),
    ("infra/signer.yaml", '- "*#count#*"', '- "*#rows#*"', "the signer's `ReadTable` allows the partitions"),
    ("template.yaml", "AllowedOrigins: [!GetAtt PageFront.Outputs.Origin]", 'AllowedOrigins: ["*"]', "one page, by POST, is all"),
    ("template.yaml", "AllowedMethods: [POST]", "AllowedMethods: [POST, PUT]", "one page, by POST, is all"),
]

LAYOUT_FAULTS = [
    ("infra/caretaker.yaml", ":function:${Name}-vision-selection", ":function:${Name}-vision", "have `vision-selection` evaluate again"),
    ("infra/caretaker.yaml", "- vision-selection#unfinished*\n", "- vision#unfinished*\n", "end submissions of `vision-selection`: `#unfinished*`"),
    ("template.yaml", "!Ref VisionDebuggingConcurrency", "!Ref DataAcquisitionConcurrency", "parameter `VisionDebuggingConcurrency`"),
    ("template.yaml", "Binary: caretaker", "Binary: other", "Binary is `other`"),
    ("template.yaml", "Binary: leaderboards", "Binary: other", "Binary is `other`"),
    ("template.yaml", "Binary: uploads", "Binary: other", "Binary is `other`"),
    ("template.yaml", "Value: speech-selection/", "Value: speech/", "must have one S3 trigger"),
    ("template.yaml", "Binary: speech-selection", "Binary: other", "Binary is `other`"),
    ("template.yaml", "Benchmark: speech-selection", "Benchmark: other", "must be an infra/evaluator.yaml"),
    ("template.yaml", "  SpeechSelectionFunction:\n    Type", "  SpeechFunction:\n    Type", "has no `SpeechSelectionFunction`"),
    ("template.yaml", "  SpeechSelectionFunction:\n    Type", "  SpeechFunction:\n    Type", "has no folder in functions/"),
    ("Cargo.toml", 'panic = "unwind"', 'panic = "abort"', "must say `panic"),
    ("samconfig.toml", "cached = false", "cached = true", "must say `cached = false`"),
    ("events/speech-selection.json", '"sequencer"', '"sequence"', "record 0 lacks ['sequencer']"),
    ("events/speech-selection.json", '"key": "speech-selection/', '"key": "other/', "begins with no benchmark's prefix"),
]


class Faults(unittest.TestCase):
    def copy_with_fault(self, file, found, broken):
        """A copy of the project's infrastructure in which one place of one file is broken."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        copy = Path(folder.name)
        for name in ["template.yaml", "samconfig.toml", "Cargo.toml"]:
            shutil.copy(PROJECT / name, copy)
        for name in ["infra", "events"]:
            shutil.copytree(PROJECT / name, copy / name)
        for pattern in ARTIFACT_LIMIT_FILES:
            for source in PROJECT.glob(pattern):
                target = copy / source.relative_to(PROJECT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        for manifest in (PROJECT / "functions").glob("*/main.rs"):
            (copy / "functions" / manifest.parent.name).mkdir(parents=True)
            shutil.copy(manifest, copy / "functions" / manifest.parent.name)
        text = (copy / file).read_text()
        self.assertIn(found, text, f"{file} has changed, so that this fault no longer applies")
        (copy / file).write_text(text.replace(found, broken, 1))
        return copy

    def assert_all_found(self, faults, problems_of):
        for file, found, broken, answer in faults:
            with self.subTest(file=file, broken=broken):
                problems = "\n".join(problems_of(self.copy_with_fault(file, found, broken)))
                self.assertIn(answer, problems)

    def test_every_broken_promise_is_found(self):
        self.assert_all_found(PROMISE_FAULTS, lambda copy: broken_promises(copy / "template.yaml", {"ReserveConcurrency": "true", "Programs": "true"}))

    def test_the_largest_artifact_is_found_in_the_sources(self):
        self.assertEqual(32 << 20, largest_artifact(PROJECT))

    def test_every_broken_layout_is_found(self):
        self.assert_all_found(LAYOUT_FAULTS, broken_layout)

    def test_a_function_folder_without_a_block_is_found(self):
        copy = self.copy_with_fault("template.yaml", "Transform", "Transform")
        (copy / "functions/no-such-benchmark").mkdir()
        (copy / "functions/no-such-benchmark/main.rs").touch()
        problems = "\n".join(broken_layout(copy))
        self.assertIn("no `NoSuchBenchmarkFunction`", problems)
        self.assertIn("events/no-such-benchmark.json is missing", problems)

    def test_a_policy_that_refers_to_the_triggering_bucket_is_a_cycle(self):
        cycle = find_cycle(dependencies(transformed(load(HERE / "samples/cyclic.yaml"))))
        self.assertEqual(["Scorer", "ScorerRole", "Uploads", "Scorer"], cycle)

    def test_a_bucket_handed_to_the_access_stack_is_a_cycle(self):
        found = "Benchmark: speech-selection\n"
        copy = self.copy_with_fault("template.yaml", found, f"{found}        Bucket: !Ref SubmissionsBucket\n")
        cycle = find_cycle(dependencies(transformed(load(copy / "template.yaml"))))
        self.assertEqual({"SpeechSelectionAccess", "SubmissionsBucket"}, {"SpeechSelectionAccess", "SubmissionsBucket"} & set(cycle))

    def test_a_binary_for_another_processor_or_library_is_refused(self):
        with self.assertRaisesRegex(ValueError, "is no 64-bit"):
            inspect(__file__, "x86_64")
        with tempfile.NamedTemporaryFile() as file:
            header = b"\x7fELF\x02\x01".ljust(18, b"\0") + (183).to_bytes(2, "little")
            file.write(header + b"GLIBC_2.17\0GLIBC_2.34\0")
            file.flush()
            self.assertIn("glibc 2.34", inspect(file.name, "arm64"))
            with self.assertRaisesRegex(ValueError, "is for ELF machine 183"):
                inspect(file.name, "x86_64")
            file.write(b"GLIBC_2.38\0")
            file.flush()
            with self.assertRaisesRegex(ValueError, "needs glibc 2.38"):
                inspect(file.name, "arm64")


if __name__ == "__main__":
    sys.exit(unittest.main())
