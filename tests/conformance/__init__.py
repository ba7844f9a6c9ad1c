"""The official conformance suite, run by ``make conformance`` on the product and on its transport with the suite's own
fixtures (``python -m tests.conformance``)."""
