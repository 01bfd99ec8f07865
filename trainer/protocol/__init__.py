"""What the trainer agreed with the service: the specification, the journal, failures, stopping."""
