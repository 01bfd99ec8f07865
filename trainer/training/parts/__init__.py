"""The parts of which trainer classes are made: each does one thing otherwise than the library's trainer."""
