"""Benchmarks of data: validate, score and submit what you made of a data set.

Everything is done by the command `dataperf`, which comes with this package; a verdict here is the command's, byte for byte.

    from dataperf import Dataset, Rejected

    kit = Dataset("kit/")
    try:
        kit.validate("digits-20", ["d0001", "d0002"])
    except Rejected as rejected:
        for reason in rejected.reasons:
            print(reason.at, reason.message)
"""

from ._artifacts import Artifact
from ._command import DataperfError, Reason, Rejected
from ._dataset import Dataset, Valid, Verdict, submit
from ._rank import rank

__all__ = ["Artifact", "DataperfError", "Dataset", "Reason", "Rejected", "Valid", "Verdict", "rank", "submit"]
