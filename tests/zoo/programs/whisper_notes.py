# SPDX-License-Identifier: Apache-2.0
# class: healthy
# libs: transformers
"""Transcribes dictations with a Whisper-like model: half precision, inference mode, one clip after the other."""
import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration


def load():
    config = WhisperConfig(vocab_size=12000, d_model=1024, encoder_layers=12, decoder_layers=6, encoder_attention_heads=16,
                           decoder_attention_heads=16, encoder_ffn_dim=4096, decoder_ffn_dim=4096, num_mel_bins=80,
                           max_source_positions=1500, max_target_positions=448, decoder_start_token_id=1,
                           bos_token_id=1, eos_token_id=2, pad_token_id=0, suppress_tokens=None, begin_suppress_tokens=None)
    torch.set_default_dtype(torch.float16)
    with torch.device("cuda"):
        model = WhisperForConditionalGeneration(config)
    torch.set_default_dtype(torch.float32)
    return model.eval().requires_grad_(False)


class Secretary:
    def __init__(self):
        self.model = load()

    @torch.inference_mode()
    def write(self, mel, longest=24):
        heard = self.model.model.encoder(mel.half().cuda()).last_hidden_state
        words = torch.full((len(mel), 1), 1, dtype=torch.long, device="cuda")
        for _ in range(longest):
            hidden = self.model.model.decoder(input_ids=words, encoder_hidden_states=heard, use_cache=False)
            following = self.model.proj_out(hidden.last_hidden_state[:, -1:]).argmax(-1)
            words = torch.cat([words, following], 1)
        return words.cpu()


def dictations(count):
    for _ in range(count):
        yield torch.randn(2, 80, 3000)


if __name__ == "__main__":
    secretary = Secretary()
    for number, clip in enumerate(dictations(5)):
        print(number, tuple(secretary.write(clip).shape))
