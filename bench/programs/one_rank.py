"""`python one_rank.py SPEC`: trains a job of one worker as the only rank of the local engine, which no setting
does: what ranks cost apart from what several of them bring."""

import sys

from trainer.engines import local, single
from trainer.run import run

single.train = local.train
sys.exit(run(sys.argv[1]))
