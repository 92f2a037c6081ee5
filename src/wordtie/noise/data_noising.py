"""Data noising: each token of a window is replaced or kept on its own (Xie et al. 2017; Kong et al. 2019, section 2).

An input word i becomes a word of the proposal with probability gamma_i. Kneser-Ney noising replaces the target
as well, by a draw of its own, exactly where it replaced the input before it: where "San" goes, "Francisco" goes.

Shapes: T steps, B streams.
"""

from __future__ import annotations

from torch import Tensor, where

from wordtie.noise.proposals import Proposal


def noised_window(
    proposal: Proposal, inputs_TB: Tensor, targets_TB: Tensor, replace_targets: bool
) -> tuple[Tensor, Tensor]:
    """Return the window with words replaced, (T, B) ids each; targets are unchanged unless `replace_targets`."""
    noised_TB, replaced_TB = proposal.replace(inputs_TB)
    if replace_targets:
        targets_TB = where(replaced_TB, proposal.draw(targets_TB), targets_TB)
    return noised_TB, targets_TB
