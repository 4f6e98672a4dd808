"""Deploys the templates on paper: every resource of the stack and its nested stacks, with all references replaced by values.

Understands what these templates use (Ref, GetAtt, Sub, Join, If, Equals, Not) and stops at anything else.
"""

import re
from pathlib import Path

from transform import load, transformed

PSEUDO_PARAMETERS = {
    "AWS::AccountId": "111122223333",
    "AWS::Partition": "aws",
    "AWS::StackId": "arn:aws:cloudformation:eu-central-1:111122223333:stack/dataperf/11111111-2222-3333-4444-555555555555",
    "AWS::Region": "eu-central-1",
    "AWS::StackName": "some-stack",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::NoValue": None,
}
ARN = "arn:aws:{service}:eu-central-1:111122223333:{rest}"
# Resource type -> the property that names it, the ARN of that name.
NAMES = {
    "AWS::S3::Bucket": ("BucketName", "arn:aws:s3:::{name}"),
    "AWS::DynamoDB::Table": ("TableName", ARN.format(service="dynamodb", rest="table/{name}")),
    "AWS::SQS::Queue": ("QueueName", ARN.format(service="sqs", rest="{name}")),
    "AWS::SNS::Topic": ("TopicName", ARN.format(service="sns", rest="{name}")),
    "AWS::Logs::LogGroup": ("LogGroupName", ARN.format(service="logs", rest="log-group:{name}")),
    # AWS puts six characters behind a secret's name.
    "AWS::SecretsManager::Secret": ("Name", ARN.format(service="secretsmanager", rest="secret:{name}-??????")),
    "AWS::KMS::Alias": ("AliasName", ARN.format(service="kms", rest="{name}")),
    "AWS::Lambda::Function": ("FunctionName", ARN.format(service="lambda", rest="function:{name}")),
}


# Attributes that AWS makes up.
OPAQUE_ATTRIBUTES = {"DomainName", "FunctionMetadata.FunctionARN", "Id", "RegionalDomainName"}


class Stack:
    """One template with its parameters: `resources` by logical id, each resolved; nested stacks in `nested`."""

    def __init__(self, path, parameters=None):
        path = Path(path)
        self.path, self.nested, self.resources = path, {}, {}
        source = load(path)
        defaults = {name: str(spec["Default"]) for name, spec in source.get("Parameters", {}).items() if "Default" in spec}
        self.values = {**PSEUDO_PARAMETERS, **defaults, **(parameters or {})}
        self.template = transformed(source, parameters)
        resources = self.template["Resources"]
        self.template["Resources"] = {name: r for name, r in resources.items() if "Condition" not in r or self.condition(r["Condition"])}
        for name, resource in self.template["Resources"].items():
            if resource["Type"] == "AWS::CloudFormation::Stack":
                self.nest(name)
        for name, resource in self.template["Resources"].items():
            self.resources[name] = {**resource, "Properties": self.resolve(resource.get("Properties", {}))}

    def nest(self, name):
        """The nested stack, after those whose outputs it needs."""
        if name not in self.nested:
            properties = self.resolve(self.template["Resources"][name]["Properties"])
            self.nested[name] = Stack(self.path.parent / properties["TemplateURL"], properties.get("Parameters"))
        return self.nested[name]

    def all_resources(self):
        """(logical id, resource) of this stack and all nested ones."""
        yield from self.resources.items()
        for stack in self.nested.values():
            yield from stack.all_resources()

    def arn(self, resource):
        """ARN of a resource with a name of its own, None for others."""
        if resource["Type"] not in NAMES:
            return None
        property_name, arn = NAMES[resource["Type"]]
        return arn.format(name=self.resolve(resource["Properties"][property_name]))

    def resolve(self, node):
        """The node with every intrinsic function replaced by its value."""
        if isinstance(node, list):
            return [value for item in node if (value := self.resolve(item)) is not None]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            function, argument = next(iter(node.items()))
            if function == "Ref" or function.startswith("Fn::"):
                return self.call(function.removeprefix("Fn::"), argument)
        return {key: value for key, item in node.items() if (value := self.resolve(item)) is not None}

    def call(self, function, argument):
        match function:
            case "Ref":
                return self.reference(argument)
            case "GetAtt":
                name, attribute = argument.split(".", 1) if isinstance(argument, str) else (argument[0], ".".join(argument[1:]))
                return self.attribute(name, attribute)
            case "Sub":
                text, own = argument if isinstance(argument, list) else (argument, {})
                own = self.resolve(own)

                def value(name):
                    if name[1].startswith("!"):  # a variable of IAM's, which stays
                        return f"${{{name[1][1:]}}}"
                    return str(own[name[1]] if name[1] in own else self.variable(name[1]))

                return re.sub(r"\$\{([^}]+)\}", value, text)
            case "Join":
                return argument[0].join(self.resolve(argument[1]))
            case "FindInMap":
                table, first, second = (self.resolve(part) for part in argument)
                return self.template["Mappings"][table][first][second]
            case "If":
                return self.resolve(argument[1] if self.condition(argument[0]) else argument[2])
        raise NotImplementedError(f"{self.path}: `{function}` is not understood here, teach it to `Stack.call`")

    def condition(self, node):
        if isinstance(node, str):
            return self.condition(self.template["Conditions"][node])
        match next(iter(node.items())):
            case "Fn::Equals", (left, right):
                return str(self.resolve(left)) == str(self.resolve(right))
            case "Fn::Not", (inner,):
                return not self.condition(inner)
        raise NotImplementedError(f"{self.path}: the condition `{node}` is not understood here, teach it to `Stack.condition`")

    def reference(self, name):
        if name in self.values:
            return self.values[name]
        resource = self.template["Resources"][name]
        if resource["Type"] in NAMES:
            return self.resolve(resource["Properties"][NAMES[resource["Type"]][0]])
        return name

    def variable(self, name):
        return str(self.attribute(*name.split(".", 1)) if "." in name else self.reference(name))

    def attribute(self, name, attribute):
        resource = self.template["Resources"][name]
        if attribute.startswith("Outputs."):
            stack = self.nest(name)
            return stack.resolve(stack.template["Outputs"][attribute.removeprefix("Outputs.")]["Value"])
        if attribute == "Arn":
            whose = [self.values[parameter] for parameter in ("Benchmark", "Kind") if parameter in self.values]
            return self.arn(resource) or " ".join([f"arn of {self.path.stem}/{name}", *whose])
        if attribute in OPAQUE_ATTRIBUTES:
            return f"{attribute} of {self.path.stem}/{name}"
        if attribute == "TopicArn":
            return self.arn(resource)
        if attribute == "StreamArn":
            return f"{self.arn(resource)}/stream/now"
        raise NotImplementedError(f"{self.path}: the attribute `{name}.{attribute}` is not understood here")
