"""The interfaces of other projects, as layers on the public API."""
