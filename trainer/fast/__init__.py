"""What makes a step fast and leaves what it computes: no padding, no logits of prompts, LoRA in place."""
