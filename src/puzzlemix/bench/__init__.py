"""How long mixing and training steps take, all measured side by side in one process."""
