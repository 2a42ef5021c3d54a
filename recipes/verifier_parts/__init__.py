"""The parts of what makes a verifier: contrasts, batches of claims, training and export.

Contrasts are phrases with spans that say them, and with spans that look alike and do not.
"""
