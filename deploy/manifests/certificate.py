"""`python -m deploy.manifests.certificate | kubectl apply -f -`: a new certificate of the webhook, valid for a year."""

from __future__ import annotations

import sys

from deploy.manifests.parts import text_of
from deploy.manifests.webhook import certified

if __name__ == "__main__":
    sys.stdout.write(text_of(certified()))
