"""The parts of `benchmarks.quality_in_minutes`: contenders, training within a time, goals, page."""
