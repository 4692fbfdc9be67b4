"""How many random cases the property tests try: HYPOTHESIS_PROFILE=default, ci or nightly.

`default` and `ci` try the same cases every time, so that a red run is due to the change at hand;
`nightly` searches. None has a deadline: the machines that run this are shared.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow]

settings.register_profile(
    "default", max_examples=20, deadline=None, derandomize=True, suppress_health_check=_SLOW
)
settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=_SLOW
)
settings.register_profile(
    "nightly", max_examples=10_000, deadline=None, print_blob=True, suppress_health_check=_SLOW
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
