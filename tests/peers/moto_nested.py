#!/usr/bin/env python3
"""moto_server, whose nested stacks also tell their outputs: moto makes them, but answers no `Fn::GetAtt NESTED.Outputs.NAME`."""

import sys

from moto.cloudformation.models import Stack
from moto.server import main


def get_cfn_attribute(stack: Stack, attribute: str) -> str:
    return stack.output_map[attribute.removeprefix("Outputs.")].value


if __name__ == "__main__":
    if not hasattr(Stack, "get_cfn_attribute"):
        Stack.get_cfn_attribute = get_cfn_attribute
    sys.exit(main())
