"""Who may ask for what, how often, and which addresses the service itself may call."""
