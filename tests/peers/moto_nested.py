#!/usr/bin/env python3
"""moto_server, with nested stacks that tell their outputs (moto makes them, but answers no `Fn::GetAtt NESTED.Outputs.NAME`), and for one
request at a time: what it lists while another thread writes is an error 500 now and then."""

import sys
import threading

import moto.server
from moto.cloudformation.models import Stack
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.server import main

LOCK = threading.RLock()


def get_cfn_attribute(stack: Stack, attribute: str) -> str:
    return stack.output_map[attribute.removeprefix("Outputs.")].value


class OneAtATime(DomainDispatcherApplication):
    def __call__(self, environ: dict, start_response):
        with LOCK:
            return super().__call__(environ, start_response)


if __name__ == "__main__":
    if not hasattr(Stack, "get_cfn_attribute"):
        Stack.get_cfn_attribute = get_cfn_attribute
    moto.server.DomainDispatcherApplication = OneAtATime
    sys.exit(main())
