"""Make Hugging Face Transformers know wordtie's models, so that its Auto classes open an exported folder."""

from __future__ import annotations

from transformers import AutoConfig, AutoModelForCausalLM

from wordtie.export.modeling_wordtie import WordtieConfig, WordtieForCausalLM


def register() -> None:
    """Register the classes. After `import wordtie`, this is called once Transformers is imported."""
    AutoConfig.register(WordtieConfig.model_type, WordtieConfig, exist_ok=True)
    AutoModelForCausalLM.register(WordtieConfig, WordtieForCausalLM, exist_ok=True)
