"""The service: REST, an OpenAI-compatible proxy in front of any endpoint, and the pages that show their history."""
