"""wordtie's language models for Hugging Face Transformers: an LSTM, GRU, RNN or RHN with tied or untied words.

This file needs PyTorch and Transformers alone. It is the only copy of the model: `import wordtie` registers its
classes, and `wordtie export hf --with-code` puts it beside the weights, for use without wordtie.

A sequence starts after <eos>, as wordtie's do: ids with and without a leading <eos> get the same scores. The state of
the recurrent layers takes the place of attention's keys and values, and masked tokens leave it as it is.

Shapes: B sequences, T tokens, V words, E embedding size, H units, G rows of all gates of a layer.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

LayerState = tuple[Tensor, ...]
"""(h,), or (h, c) of an LSTM, each (B, H)."""
CACHE = "cache" if "cache" in CausalLMOutputWithPast.__dataclass_fields__ else "past_key_values"
"""Name of a state in this version of Transformers."""


class WordtieConfig(PretrainedConfig):
    """Sizes and parts of a model, and the ids of its special words."""

    model_type = "wordtie"
    defaults: ClassVar[dict[str, Any]] = {
        "vocab_size": 10_000,
        "embedding_size": 200,
        "hidden_size": 200,
        "num_hidden_layers": 2,
        "core": "lstm",  # lstm, gru, rnn or rhn
        "depth": 1,  # of an rhn
        "coupled_gates": True,  # of an rhn
        "projection": False,  # a linear map before the output matrix
        "projection_bias": False,
        "output_bias": False,
        "tie_word_embeddings": True,
        "initializer_range": 0.1,
        "bos_token_id": 0,
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**self.defaults, **kwargs})


class WordtieState:
    """What B sequences have read, in place of attention's keys and values."""

    is_linear, is_compileable = (True,), False  # what `generate` asks: nothing in it grows with the text

    def __init__(self, layers: list[LayerState], started_B: Tensor, length: int = 0) -> None:
        """`started_B`: which sequences have read a word that was not masked; `length`: tokens read, masked ones too."""
        self.layers = layers
        self.started_B = started_B
        self.length = length

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return the number of tokens read, masked ones included."""
        return self.length

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Take the state of these sequences, as beam search asks for."""
        self.layers = [tuple(part.index_select(0, beam_idx.to(part.device)) for part in layer) for layer in self.layers]
        self.started_B = self.started_B.index_select(0, beam_idx.to(self.started_B.device))


class RecurrentLayer(nn.Module):
    """One layer: its parameters, and what it does at a step."""

    def __init__(self, config: WordtieConfig, size: int) -> None:
        super().__init__()
        hidden, self.core = config.hidden_size, config.core
        self.gates = {"lstm": 4, "gru": 3, "rnn": 1, "rhn": 2 if config.coupled_gates else 3}[self.core]
        rows, depth = self.gates * hidden, (config.depth,) if self.core == "rhn" else ()
        self.input_weight = nn.Parameter(torch.empty(rows, size))
        self.recurrent_weight = nn.Parameter(torch.empty(*depth, rows, hidden))
        self.bias = nn.Parameter(torch.empty(*depth, rows))
        if self.core == "gru":
            self.recurrent_bias = nn.Parameter(torch.empty(hidden))

    def forward(
        self, inputs_BTE: Tensor, state: LayerState, read_BT1: Tensor | None = None
    ) -> tuple[Tensor, LayerState]:
        """Outputs (B, T, H) and the state after them; where `read_BT1` is false, the state stays as it is."""
        step = getattr(self, f"_{self.core}")
        rows_BTG = inputs_BTE @ self.input_weight.T
        outputs = []
        for t in range(inputs_BTE.shape[1]):
            after = step(rows_BTG[:, t], *state)
            if read_BT1 is not None:
                after = tuple(torch.where(read_BT1[:, t], new, old) for new, old in zip(after, state, strict=True))
            state = after
            outputs.append(state[0])
        return torch.stack(outputs, 1), state

    def _lstm(self, rows: Tensor, hidden: Tensor, cell: Tensor) -> LayerState:
        i, f, g, o = (rows + self.bias + hidden @ self.recurrent_weight.T).chunk(4, 1)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        return o.sigmoid() * cell.tanh(), cell

    def _gru(self, rows: Tensor, hidden: Tensor) -> LayerState:
        r, z, n = (rows + self.bias).chunk(3, 1)
        from_r, from_z, from_n = (hidden @ self.recurrent_weight.T).chunk(3, 1)
        candidate = torch.tanh(n + torch.sigmoid(r + from_r) * (from_n + self.recurrent_bias))
        z = torch.sigmoid(z + from_z)
        return ((1 - z) * candidate + z * hidden,)

    def _rnn(self, rows: Tensor, hidden: Tensor) -> LayerState:
        return (torch.tanh(rows + self.bias + hidden @ self.recurrent_weight.T),)

    def _rhn(self, rows: Tensor, hidden: Tensor) -> LayerState:
        for level, (weight, bias) in enumerate(zip(self.recurrent_weight, self.bias, strict=True)):
            scores = bias + hidden @ weight.T
            candidate, transform, *carry = (scores + rows if level == 0 else scores).chunk(self.gates, 1)
            transform = transform.sigmoid()
            kept = carry[0].sigmoid() if carry else 1 - transform
            hidden = candidate.tanh() * transform + hidden * kept
        return (hidden,)


class WordtieForCausalLM(PreTrainedModel, GenerationMixin):
    """Scores of the next word."""

    config_class = WordtieConfig
    main_input_name = "input_ids"
    _tied_weights_keys = {"lm_head.weight": "embed.weight"}  # noqa: RUF012
    _is_stateful = True  # a state cannot go back, as assisted generation would have it

    def __init__(self, config: WordtieConfig) -> None:
        super().__init__(config)
        self.embed = nn.Embedding(config.vocab_size, config.embedding_size)
        sizes = [config.embedding_size, *[config.hidden_size] * (config.num_hidden_layers - 1)]
        self.layers = nn.ModuleList(RecurrentLayer(config, size) for size in sizes)
        size = config.embedding_size if config.projection else config.hidden_size
        self.projection = nn.Linear(config.hidden_size, size, config.projection_bias) if config.projection else None
        self.lm_head = nn.Linear(size, config.vocab_size, config.output_bias)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        for name, parameter in module.named_parameters(recurse=False):
            if isinstance(module, nn.Linear) and name == "bias":
                nn.init.zeros_(parameter)
            else:
                nn.init.uniform_(parameter, -self.config.initializer_range, self.config.initializer_range)

    def get_input_embeddings(self) -> nn.Module:
        """Return the word matrix."""
        return self.embed

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Replace the word matrix."""
        self.embed = value

    def get_output_embeddings(self) -> nn.Module:
        """Return the output matrix, which is the word matrix if they are tied, and the output bias."""
        return self.lm_head

    def set_output_embeddings(self, new_embeddings: nn.Linear) -> None:
        """Replace the output matrix and bias."""
        self.lm_head = new_embeddings

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # or `generate` would begin with a cache of keys and values

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: Any = None,
        cache: Any = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        logits_to_keep: int = 0,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast | tuple[Any, ...]:
        """Return the scores (B, T, V) of the word after each token; of the last `logits_to_keep` alone, if not 0.

        A state given as `cache` or `past_key_values` is not changed; one of another type counts as none.
        `attention_mask` (B, T), or as long as all that was read: 0 for a token that is to be passed over.
        """
        batch, length = input_ids.shape
        read_BT = torch.ones_like(input_ids, dtype=torch.bool)
        if attention_mask is not None:
            read_BT = attention_mask[:, -length:].bool()
        state = past_key_values if cache is None else cache
        state = self._started(state if isinstance(state, WordtieState) else self._empty(batch), input_ids, read_BT)
        read_BT1 = None if bool(read_BT.all()) else read_BT[..., None]
        hidden_states, after = [self.embed(input_ids)], []
        for layer, layer_state in zip(self.layers, state.layers, strict=True):
            outputs_BTH, layer_state = layer(hidden_states[-1], layer_state, read_BT1)
            hidden_states.append(outputs_BTH)
            after.append(layer_state)
        query = hidden_states[-1][:, -logits_to_keep:]
        logits = self.lm_head(query if self.projection is None else self.projection(query))
        loss = None
        if labels is not None:
            loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.vocab_size, **kwargs)
        found: dict[str, Any] = {"loss": loss, "logits": logits}
        if use_cache is not False:
            found[CACHE] = WordtieState(after, state.started_B | read_BT.any(1), state.length + length)
        if output_hidden_states:
            found["hidden_states"] = tuple(hidden_states)
        output = CausalLMOutputWithPast(**found)
        return output.to_tuple() if return_dict is False else output

    def _empty(self, batch: int) -> WordtieState:
        zeros_BH = self.embed.weight.new_zeros(batch, self.config.hidden_size)
        parts = 2 if self.config.core == "lstm" else 1
        layers: list[LayerState] = [(zeros_BH,) * parts for _ in self.layers]
        return WordtieState(layers, zeros_BH.new_zeros(batch, dtype=torch.bool))

    def _started(self, state: WordtieState, input_ids: Tensor, read_BT: Tensor) -> WordtieState:
        """Let sequences that begin here have read <eos>, unless it is their first word."""
        first_B = input_ids.gather(1, read_BT.int().argmax(1, keepdim=True))[:, 0]
        begins_B = ~state.started_B & read_BT.any(1) & (first_B != self.config.bos_token_id)
        if not bool(begins_B.any()):
            return state
        outputs, layers = self.embed(torch.full_like(input_ids[:1, :1], self.config.bos_token_id)), []
        for layer, before, empty in zip(self.layers, state.layers, self._empty(1).layers, strict=True):
            outputs, after = layer(outputs, empty)
            layers.append(tuple(torch.where(begins_B[:, None], a, b) for a, b in zip(after, before, strict=True)))
        return WordtieState(layers, state.started_B, state.length)

    def prepare_inputs_for_generation(
        self,
        input_ids: Tensor,
        past_key_values: Any = None,
        cache: Any = None,
        attention_mask: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the tokens that the state has not read. `attention_mask` is for those that it has read, too."""
        state = past_key_values if cache is None else cache
        if isinstance(state, WordtieState):
            total = input_ids.shape[1] if attention_mask is None else attention_mask.shape[1]
            input_ids = input_ids[:, state.length - total :]
        more = {} if logits_to_keep is None else {"logits_to_keep": logits_to_keep}
        return {"input_ids": input_ids, "attention_mask": attention_mask, CACHE: state, "use_cache": use_cache, **more}
