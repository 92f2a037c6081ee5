"""What shapes the first parameters alone is named where those of another run are taken over."""

from __future__ import annotations

from wordtie.config import ModelSettings, Settings, TrainingSettings
from wordtie.config.unused_settings import unused_settings

TAKEN_OVER = "has no effect with training.start_from, whose parameters are taken over"


def test_a_start_that_is_taken_over_leaves_each_setting_of_a_start_without_effect() -> None:
    earlier = TrainingSettings(start_from="runs/before")
    lstm = ModelSettings(init=0.2, core_init=0.3, forget_bias=1.0)
    assert unused_settings(Settings(model=lstm)) == []
    assert unused_settings(Settings(model=lstm, training=earlier)) == [
        f"model.init 0.2 {TAKEN_OVER}",
        f"model.core_init 0.3 {TAKEN_OVER}",
        f"model.forget_bias 1.0 {TAKEN_OVER}",
    ]
    rhn = ModelSettings(core="rhn", transform_bias=-1.0)
    assert unused_settings(Settings(model=rhn)) == []
    assert unused_settings(Settings(model=rhn, training=earlier)) == [f"model.transform_bias -1.0 {TAKEN_OVER}"]


def test_a_setting_is_named_once_where_two_others_leave_it_without_effect() -> None:
    model = ModelSettings(core="gru", forget_bias=1.0, transform_bias=-1.0)
    assert unused_settings(Settings(model=model, training=TrainingSettings(start_from="runs/before"))) == [
        "model.forget_bias 1.0 has no effect with a core that is no lstm",
        "model.transform_bias -1.0 has no effect with a core that is no rhn",
    ]
