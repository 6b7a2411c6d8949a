"""One file a step; run by `likewise.store.migrate`."""
