"""Faster steps with the same result: no padding, no logits of prompts, LoRA in place."""
