"""The regions that a deployment is for, and what some of them lack.

Usage: regions.py PROJECT

Checks both against cfn-lint's registry of resource types, without AWS.
"""

import sys
from pathlib import Path

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from deployment import Stack

# AWS Budgets is made by CloudFormation in these regions only; elsewhere MonthlyBudgetUSD has to be 0.
WITH_BUDGETS = """
ap-northeast-1 ap-northeast-2 ap-south-1 ap-southeast-1 ap-southeast-2 ca-central-1 eu-central-1 eu-west-1 eu-west-2 eu-west-3
me-south-1 sa-east-1 us-east-1 us-east-2 us-west-1 us-west-2
""".split()
WITHOUT_BUDGETS = """
af-south-1 ap-east-1 ap-east-2 ap-northeast-3 ap-south-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7
ca-west-1 eu-central-2 eu-north-1 eu-south-1 eu-south-2 il-central-1 me-central-1 mx-central-1
""".split()
# Region -> what it lacks -> the parameter that leaves it out. GovCloud and China have no CloudFront functions and are not supported.
REGIONS = dict(sorted({
    **{region: {} for region in WITH_BUDGETS},
    **{region: {"AWS Budgets": "MonthlyBudgetUSD=0"} for region in WITHOUT_BUDGETS},
}.items()))
TYPES = {"AWS Budgets": "AWS::Budgets::Budget"}


def problems(project):
    stack = Stack(project / "template.yaml", {"MonthlyBudgetUSD": "9"})
    types = {resource["Type"] for _, resource in stack.all_resources()}
    for region, lacks in REGIONS.items():
        missing = types - set(PROVIDER_SCHEMA_MANAGER.get_resource_types(region))
        known = {TYPES[what] for what in lacks}
        if missing != known:
            yield f"{region} lacks {sorted(missing)}, and REGIONS has {sorted(known)}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if found := list(problems(Path(sys.argv[1]))):
        sys.exit("\n".join(found))
