"""Publish the question an agent run stopped on, in one envelope, to wherever it can be answered."""
