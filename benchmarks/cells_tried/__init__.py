"""The cores that `benchmarks.beyond_the_papers` tries: of one product a window, normalised, with summed outputs."""
