"""Agents of frameworks behind the layer, one module a framework; no framework is imported before its agent is run.

`ReliabilityLayer.wrap` knows their objects by itself (registry); the functions here are for their settings.
"""
