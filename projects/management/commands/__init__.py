"""Commands of Django for operators."""
