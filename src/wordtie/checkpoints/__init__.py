"""Checkpoints of other programs, read without running anything in them, and made into run folders."""
